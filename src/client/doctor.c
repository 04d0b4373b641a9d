/* What this machine can do, by asking the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <qiming/sandbox.h>

#include "client/program.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "os/child.h"

int qsb_is_available(const char *program, struct qsb_error *err)
{
	struct qsb_result *result = NULL;
	char *text = NULL;
	size_t length = 0;
	int rc = qsb__availability_ask(program, &text, &length, err);

	if (rc == 0)
		rc = qsb__result_parse(&result, text, length, err);
	if (rc == 0 && result->exit_code != 0)
		rc = qsb__fail(err, QSB_E_UNSUPPORTED, "availability",
			       "a command that does nothing ended with status %d in the "
			       "sandbox; `qiming-sandbox doctor` says more",
			       result->exit_code);
	qsb_result_free(result);
	return rc;
}

static int collect(const struct qsb__child *child, int from, int *to, char **out, struct qsb_error *err)
{
	size_t length = 0;
	int64_t pid;
	int status = 0, waited;
	int rc = qsb__child_start(&pid, child, err);

	/* Ours would keep the pipe from ending. */
	close(*to);
	*to = -1;
	if (rc)
		return rc;
	rc = qsb__descriptor_read_all(from, out, &length, err);
	if (rc)
		qsb__child_signal(pid, 9, NULL);
	waited = qsb__child_wait(pid, &status, rc ? NULL : err);
	if (rc || waited)
		return rc ? rc : waited;
	/* A host that cannot run a sandbox gets its report too, with another status. */
	if (length == 0)
		return qsb__fail(err, QSB_E_PROTOCOL, "doctor", "the program ended with status %d and without a report",
				 status);
	return 0;
}

int qsb_doctor_json(const char *program, char **out, struct qsb_error *err)
{
	static char name[] = "qiming-sandbox", verb[] = "doctor", json[] = "--json";
	char *const words[] = {name, verb, json, NULL};
	char path[QSB__PROGRAM_PATH];
	QSB_CLEANUP_FREE char *text = NULL;
	int ends[2], rc;

	*out = NULL;
	rc = qsb__program_find(path, program, err);
	if (rc == 0)
		rc = qsb__pipe(ends, err);
	if (rc)
		return rc;
	rc = collect(&(struct qsb__child){.program = path, .argv = words, .stdio = {-1, ends[1], -1}}, ends[0],
		     &ends[1], &text, err);
	close(ends[0]);
	if (rc == 0)
		*out = QSB_TAKE(text);
	return rc;
}
