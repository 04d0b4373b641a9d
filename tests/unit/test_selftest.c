/*
 * The self-test against sandboxes that are none: a program stands in its place whose `run` starts the command plainly,
 * not at all, or fails. What it then says of every attack is known.
 */
#include "cli/selftest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static const struct qsb__backend backend = {.name = "made-up"};
static struct qsb__self_test report;
static char folder[] = "/tmp/qsb-selftest-XXXXXX";

/* Stands for the program: `run … -- PROGRAM ARGUMENTS` is answered by `answer`, everything else by the real one. */
static void test_program(const char *answer)
{
	char path[128], text[4096];
	int fd, length;

	snprintf(path, sizeof(path), "%s/program", folder);
	length = snprintf(text, sizeof(text),
			  "#!/bin/sh\n"
			  "real='%s'\n"
			  "[ \"$1\" = run ] || exec \"$real\" \"$@\"\n"
			  "while [ \"$1\" != -- ]; do shift; done\n"
			  "shift 2\n"
			  "%s\n",
			  getenv("QSB_TEST_PROGRAM"), answer);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	if (fd < 0 || write(fd, text, (size_t)length) != length) {
		printf("Bail out! cannot write %s\n", path);
		exit(1);
	}
	close(fd);
	qsb__self_test_run(&report, &backend, path);
}

static size_t count(enum qsb__verdict_kind verdict)
{
	size_t found = 0;

	for (size_t i = 0; i < report.count; i++) {
		found += report.rows[i].verdict == verdict;
		if (report.rows[i].verdict != verdict)
			printf("# %s: %s: %s\n", report.rows[i].name, qsb__verdict_name(report.rows[i].verdict),
			       report.rows[i].detail);
	}
	return found;
}

static bool all_details_hold(const char *text)
{
	for (size_t i = 0; i < report.count; i++)
		if (!strstr(report.rows[i].detail, text))
			return false;
	return report.count > 0;
}

static void a_missing_sandbox(void)
{
	test_program("said=$(\"$real\" \"$@\")\n"
		     "printf '{\"exitCode\":%d,\"stdout\":\"%s\"}\\n' $? \"$said\"");
	tap_ok(report.problem[0] == '\0', "the self-test reaches its end: '%s'", report.problem);
	tap_ok(report.count > 20 && count(QSB__NOT_HELD) == report.count,
	       "where the command runs plainly, every attack is reported as not held");
	tap_ok(!qsb__self_test_held(&report), "and the whole as not held");
}

static void a_failing_sandbox(void)
{
	test_program("echo '{\"exitCode\":125,\"error\":{\"message\":\"no luck today\"}}'; exit 125");
	tap_ok(report.count > 20 && count(QSB__CANNOT_TELL) == report.count,
	       "where no sandbox can be had, nothing is told of any attack");
	tap_ok(all_details_hold("no luck today"), "and the reason is given");
	tap_ok(!qsb__self_test_held(&report), "and the whole as not held");
}

static void a_silent_sandbox(void)
{
	test_program("echo '{\"exitCode\":0,\"stdout\":\"\"}'");
	tap_ok(report.count > 20 && count(QSB__CANNOT_TELL) == report.count,
	       "an attack that gave no answer inside is not taken for one that was held");
	test_program("echo hello");
	tap_ok(report.count > 20 && count(QSB__CANNOT_TELL) == report.count,
	       "nor one of a program that gives no result");
}

static void a_missing_program(void)
{
	qsb__self_test_run(&report, &backend, "/no/such/program");
	tap_ok(report.problem[0] && !qsb__self_test_held(&report), "a program that is not there: '%s'", report.problem);
	qsb__self_test_run(&report, &backend, NULL);
	tap_ok(report.problem[0] && !qsb__self_test_held(&report), "a program that is not known: '%s'", report.problem);
}

int main(void)
{
	char path[128];

	if (!getenv("QSB_TEST_PROGRAM") || !mkdtemp(folder)) {
		puts("Bail out! QSB_TEST_PROGRAM names the program");
		return 1;
	}
	a_missing_sandbox();
	a_failing_sandbox();
	a_silent_sandbox();
	a_missing_program();
	snprintf(path, sizeof(path), "%s/program", folder);
	unlink(path);
	tap_ok(rmdir(folder) == 0, "nothing is left behind");
	return tap_done();
}
