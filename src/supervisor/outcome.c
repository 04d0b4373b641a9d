/* What the caller is told when everything is over. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "supervisor/internal.h"

static void note_limits(struct qsb__supervisor *supervisor)
{
	const struct qsb__plan *plan = supervisor->request->plan;
	const struct qsb__backend *backend = supervisor->request->backend;

	for (size_t i = 0; i < sizeof(qsb__limit_names) / sizeof(qsb__limit_names[0]); i++) {
		const char *name = qsb__limit_names[i];
		const char *by = backend->limit_by(supervisor->sandbox, name);

		if (!by && strcmp(name, "timeout") == 0)
			by = plan->timeout_ms ? "supervisor" : "none";
		else if (!by && strcmp(name, "diskReserve") == 0)
			by = plan->disk_reserve_bytes ? "watch" : "none";
		else if (!by && strcmp(name, "output") == 0)
			by = !plan->output_bytes ||
					     !(qsb__output_is_relayed(supervisor) || supervisor->request->capture)
				     ? "none"
				     : "supervisor";
		snprintf(supervisor->result->limit_by[i], sizeof(supervisor->result->limit_by[i]), "%s",
			 by ? by : "none");
	}
}

/* Some of it is known only where the sandbox was made. */
static void note_enforced(struct qsb__supervisor *supervisor)
{
	const struct qsb__backend *backend = supervisor->request->backend;
	struct qsb__result *result = supervisor->result;

	for (size_t i = 0; qsb__restriction_names[i] && i < sizeof(result->enforced) / sizeof(result->enforced[0]); i++)
		snprintf(result->enforced[i], sizeof(result->enforced[i]), "%s",
			 backend->enforces(supervisor->request->plan, supervisor->sandbox, qsb__restriction_names[i]));
}

static void note_reported(struct qsb__supervisor *supervisor)
{
	const struct qsb__backend *backend = supervisor->request->backend;
	struct qsb__result *result = supervisor->result;

	for (size_t i = 0; qsb__report_names[i] && i < sizeof(result->reported) / sizeof(result->reported[0]); i++)
		snprintf(result->reported[i], sizeof(result->reported[i]), "%s",
			 backend->reports(supervisor->request->plan, supervisor->sandbox, qsb__report_names[i]));
}

static void note_outcome(struct qsb__supervisor *supervisor)
{
	const struct qsb__outcome *outcome = &supervisor->outcome;
	struct qsb__result *result = supervisor->result;
	int status = outcome->wait_status;

	result->user_ms = outcome->user_us / 1000;
	result->system_ms = outcome->system_us / 1000;
	result->max_rss_bytes = outcome->max_rss_bytes;
	if (outcome->end == QSB__END_NOT_FOUND) {
		result->exec_errno = outcome->os_error;
		result->exit_code = outcome->os_error == ENOENT ? QSB__EXIT_NOT_FOUND : QSB__EXIT_NOT_EXECUTABLE;
	} else if (outcome->end == QSB__END_EXITED && WIFEXITED(status)) {
		result->exit_code = WEXITSTATUS(status);
	} else {
		/* Killed before it could have the signal that asked for its end. */
		int asked = supervisor->started ? 0 : supervisor->ended_by;

		result->signal = outcome->end == QSB__END_EXITED ? WTERMSIG(status) : asked ? asked : SIGKILL;
		result->exit_code = 128 + result->signal;
	}
	if (result->timed_out)
		result->exit_code = QSB__EXIT_TIMEOUT;
}

static void note_output(struct qsb__supervisor *supervisor)
{
	struct qsb__result *result = supervisor->result;

	result->out.truncated = qsb__stream_finish(&supervisor->out);
	result->err.truncated = qsb__stream_finish(&supervisor->err);
	if (supervisor->request->capture) {
		qsb__keeper_take(&supervisor->kept_out, &result->out);
		qsb__keeper_take(&supervisor->kept_err, &result->err);
	}
}

void qsb__outcome_note(struct qsb__supervisor *supervisor)
{
	note_output(supervisor);
	note_outcome(supervisor);
	note_limits(supervisor);
	note_enforced(supervisor);
	note_reported(supervisor);
	qsb__watch_settle(supervisor);
}
