/* What the library gives of a result: every field, as the program wrote it. */
#include <string.h>

#include "played_run.h"

static void test_result(void)
{
	struct qsb_result *result = run_with(fresh(), "whole");

	if (!tap_ok(result != NULL, "a result arrives"))
		return;
	tap_is_number(result->exit_code, 143, "with the exit code");
	tap_is_text(result->signal, "SIGTERM", "the signal");
	tap_ok(result->timed_out && !result->out_of_memory, "and why it ended");
	tap_ok(result->stdout_length == 3 && memcmp(result->stdout_data, "a\0b", 4) == 0, "output may hold a NUL");
	tap_ok(strcmp(result->stderr_data, "err") == 0 && result->stderr_truncated && !result->stdout_truncated,
	       "error output has its own length and cut");
	tap_ok(result->duration_ms == 12 && result->user_ms == 3 && result->system_ms == 4 && result->processes == 5,
	       "usage is told");
	tap_is_number((long long)result->max_rss_bytes, 1LL << 33, "numbers may be large");
	tap_is_number((long long)result->denial_count, 2, "denials are counted");
	tap_is_text(result->denials[0].suggestion, "--write /etc/x", "a denial has a suggestion");
	tap_is_text(result->denials[0].rule, "/filesystem/allowWrite", "and a rule");
	tap_ok(result->denials[0].pid == 7 && result->denials[0].count == 2, "a process and a count");
	tap_is_text(result->denials[0].time, "2026-01-31T12:00:00.000Z", "and a time");
	tap_ok(result->denials[1].pid == 0 && strcmp(result->denials[1].process, "") == 0,
	       "what is not known is empty");
	tap_is_text(result->denials[0].detail, "core.pager", "what of the target");
	tap_is_text(result->denials[1].detail, "", "or all of it");
	tap_is_number((long long)result->denials_left_out, 9, "and how many were left out");
	qsb_result_free(result);
}

static void test_findings(void)
{
	struct qsb_result *result = run_with(fresh(), "whole");
	const struct qsb_finding *moved, *left;

	if (!tap_ok(result && result->finding_count == 2, "findings are counted"))
		return;
	moved = &result->findings[0];
	left = &result->findings[1];
	tap_is_text(moved->kind, "gitHook", "one has a kind");
	tap_is_text(moved->path, "/w/x/hooks/update", "a path");
	tap_is_text(moved->what, "update", "what it is");
	tap_is_text(moved->reason, "git runs it", "and why");
	tap_is_text(moved->moved_to, "/w/x/hooks/update.quarantined", "it says where it was moved");
	tap_is_text(moved->error, "", "without an error");
	tap_is_text(left->moved_to, "", "another one could not be moved");
	tap_is_text(left->error, "Read-only file system", "and says why");
	tap_is_number((long long)result->findings_left_out, 3, "what was left out is counted");
	qsb_result_free(result);
}

static void test_report(void)
{
	struct qsb_result *result = run_with(fresh(), "whole");

	if (!tap_ok(result != NULL, "a result arrives again"))
		return;
	tap_is_text(result->backend, "played", "the back end is named");
	tap_ok(result->enforced_count == 2 && result->limits_by_count == 1, "what was enforced is listed");
	tap_is_text(result->enforced[0].value, "true", "a plain yes is true");
	tap_is_text(result->enforced[1].value, "existing", "a part of it has its word");
	tap_ok(result->not_enforced_count == 1 && strcmp(result->not_enforced[0].name, "names") == 0, "a gap is told");
	tap_is_text(result->limits_by[0].value, "watch", "the mechanism of a limit is named");
	tap_is_number((long long)result->reported_count, 3, "which refusals are told is listed");
	tap_is_text(result->reported[1].value, "some", "with a word for a part");
	tap_is_text(result->reported[2].value, "false", "and a plain no");
	qsb_result_free(result);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "run") == 0)
		return play(argv);
	if (!find_self())
		return 1;
	test_result();
	test_findings();
	test_report();
	return tap_done();
}
