/* What a run left behind that other programs would run. */
#include <stdlib.h>

#include "supervisor/internal.h"

static void keep(struct qsb__supervisor *supervisor, const struct qsb__finding *finding)
{
	struct qsb__result *result = supervisor->result;
	struct qsb__finding *more = realloc(result->findings, (result->finding_count + 1) * sizeof(*more));

	if (!more) {
		result->findings_left_out++;
		return;
	}
	result->findings = more;
	more[result->finding_count++] = *finding;
	qsb__events_finding(supervisor, finding);
}

void qsb__findings_take(struct qsb__supervisor *supervisor)
{
	const struct qsb__backend *backend = supervisor->request->backend;
	struct qsb__finding finding;

	if (!backend->next_finding || supervisor->outcome.end == QSB__END_FAILED)
		return;
	/* The command's end was told before that of whatever it left running. */
	backend->kill(supervisor->sandbox);
	backend->wait_dead(supervisor->sandbox, NULL);
	while (backend->next_finding(supervisor->sandbox, &finding))
		keep(supervisor, &finding);
	if (backend->findings_left_out)
		supervisor->result->findings_left_out += backend->findings_left_out(supervisor->sandbox);
}
