/*
 * The self-test: real attacks against a sandbox of this host. Each is a function of this program, run by it through a
 * hidden subcommand: once plainly, as the control, and once inside a sandbox that `qiming-sandbox run` makes.
 */
#ifndef QSB_CLI_SELFTEST_H
#define QSB_CLI_SELFTEST_H

#include "backend/backend.h"
#include "cli/options.h"

enum qsb__verdict_kind { QSB__HELD, QSB__NOT_HELD, QSB__CANNOT_TELL };

enum { QSB__SELF_TEST_ROWS = 40 };

struct qsb__self_test_row {
	const char *name;  /* "write-outside" */
	const char *title; /* "write a file outside the workspace" */
	enum qsb__verdict_kind verdict;
	char detail[300]; /* how it was held, or why nothing can be told */
};

struct qsb__self_test {
	struct qsb__self_test_row rows[QSB__SELF_TEST_ROWS];
	size_t count;
	char problem[400]; /* why it ended early, "" = it did not */
};

void qsb__self_test_run(struct qsb__self_test *out, const struct qsb__backend *backend, const char *program);

/* Was every attack shown to be held? */
bool qsb__self_test_held(const struct qsb__self_test *test);

/* "held", "NOT HELD", "cannot tell" */
const char *qsb__verdict_name(enum qsb__verdict_kind verdict);

/* Hidden: `self-test-probe NAME ARGUMENTS`. */
extern const struct qsb__command qsb__self_test_probe_command;

#endif
