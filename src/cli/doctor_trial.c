/* The probes look at what a run needs, one by one; whether they are enough, only a run can tell. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"
#include "os/child.h"
#include "supervisor/run.h"

/* A run of a command that cannot be executed, since it is a folder: everything is set up for it, and nothing of
 * anybody's is started. */
static int run_nothing(const struct qsb__doctor *doctor, int output, int *status, struct qsb_error *err)
{
	const char *const words[] = {"qiming-sandbox",     "run", "--json", "--backend",
				     doctor->chosen->name, "--",  "/",      NULL};
	const struct qsb__child child = {
		.program = doctor->loaded.facts.host.program,
		.argv = (char *const *)(uintptr_t)words,
		.stdio = {-1, output, -1},
	};
	int64_t pid;
	int rc = qsb__child_start(&pid, &child, err);

	return rc ? rc : qsb__child_wait(pid, status, err);
}

static const char *message_of(const json_t *result)
{
	const char *message = json_string_value(json_object_get(json_object_get(result, "error"), "message"));

	return message ? message : "a run that was tried ended without saying why";
}

void qsb__doctor_try(struct qsb__doctor *doctor)
{
	QSB__CLEANUP_JSON json_t *result = NULL;
	QSB_CLEANUP_FREE char *text = NULL;
	struct qsb_error fault = {.code = 0};
	size_t length = 0;
	int ends[2], status = 0, rc;

	if (!doctor->chosen || !doctor->loaded.facts.host.program)
		return;
	rc = qsb__pipe(ends, &fault);
	if (rc == 0) {
		/* The result is one line, which a pipe holds. */
		rc = run_nothing(doctor, ends[1], &status, &fault);
		close(ends[1]);
		if (rc == 0)
			rc = qsb__descriptor_read_all(ends[0], &text, &length, &fault);
		close(ends[0]);
	}
	if (rc == 0 && status == QSB__EXIT_NOT_EXECUTABLE)
		return;
	result = text ? json_loadb(text, length, 0, NULL) : NULL;
	doctor->chosen = NULL;
	doctor->cause = fault;
	if (rc == 0)
		qsb__fail(&doctor->cause, QSB_E_UNSUPPORTED, "run", "%s", message_of(result));
}
