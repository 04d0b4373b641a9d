/* Can a command be run in a sandbox here? By trying. */
#include "client/program.h"

int qsb__availability_ask(const char *program, char **out, size_t *length, struct qsb_error *err)
{
	struct qsb_spawn_options options;
	struct qsb_sandbox *sandbox = NULL;
	int rc;

	*out = NULL;
	qsb_spawn_options_init(&options, sizeof(options));
	options.program = program;
	options.command = ":";
	options.workspace = "/";
	/* Callers wait for the answer. */
	options.policy_json = "{\"extends\":\"read-only\",\"limits\":{\"timeout\":10}}";
	options.stdout_fd = options.stderr_fd = QSB_STREAM_NULL;
	rc = qsb__sandbox_spawn(&sandbox, &options, err);
	if (rc == 0)
		rc = qsb_sandbox_wait_json(sandbox, out, length, err);
	qsb_sandbox_free(sandbox);
	return rc;
}
