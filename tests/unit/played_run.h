/* One run of the played program: by the library, as a caller would. */
#ifndef QSB_TESTS_PLAYED_RUN_H
#define QSB_TESTS_PLAYED_RUN_H

#include "played_program.h"
#include "tap.h"

static char self[4096];

static struct qsb_error err;

static int start(struct qsb_sandbox **sandbox, struct qsb_spawn_options *options, const char *role)
{
	const char *const argv[] = {role, NULL};

	options->program = self;
	if (!options->command)
		options->argv = argv;
	memset(&err, 0, sizeof(err));
	return qsb_sandbox_spawn(sandbox, options, &err);
}

static struct qsb_spawn_options fresh(void)
{
	struct qsb_spawn_options options;

	qsb_spawn_options_init(&options, QSB_SPAWN_OPTIONS_SIZE);
	return options;
}

/* Starts it, waits, and gives the result, which the caller frees; NULL = a failure in `err`. */
static struct qsb_result *run_with(struct qsb_spawn_options options, const char *role)
{
	struct qsb_sandbox *sandbox = NULL;
	struct qsb_result *result = NULL;

	if (start(&sandbox, &options, role) == 0)
		qsb_sandbox_wait(sandbox, &result, &err);
	qsb_sandbox_free(sandbox);
	return result;
}

static bool find_self(void)
{
	return readlink("/proc/self/exe", self, sizeof(self) - 1) > 0;
}

#endif
