/* What is told of refusals: suggestions that can be pasted, lists that stay bounded, lines that help. */
#include <string.h>

#include "backend/ledger.h"
#include "plan/plan.h"
#include "supervisor/summary.h"
#include "tap.h"

static void is_suggested(const char *path, const char *wanted, const char *name)
{
	char out[300];
	bool said = qsb__suggest_option(out, sizeof(out), "--write", path);

	tap_is_text(out, wanted, name);
	tap_ok(said == (wanted[0] != '\0'), "and it is known whether there is one");
}

static void test_suggestions(void)
{
	char out[16], longest[400], line[100];

	is_suggested("/a/b-c_d.e", "--write /a/b-c_d.e", "a plain path needs no quotes");
	is_suggested("/a b", "--write '/a b'", "a space is quoted");
	is_suggested("/it's", "--write '/it'\\''s'", "a quote leaves the quotes for a moment");
	is_suggested("/$(id)`x`\\\"", "--write '/$(id)`x`\\\"'", "what a shell would run is quoted");
	is_suggested("/a*b", "--write '/a[*]b'", "a star is one for the policy, too");
	is_suggested("/[x]?", "--write '/[[]x][?]'", "a class and a question mark are themselves");
	is_suggested("/\xc3\xbc", "--write '/\xc3\xbc'", "UTF-8 stays what it is");
	is_suggested("/a\nb", "", "a newline cannot be pasted");
	is_suggested("/\x1b[31m", "", "an escape cannot be pasted");
	is_suggested("/\xc2\x9b", "", "a C1 control cannot be pasted");
	is_suggested("/\xe2\x80\xaetxt", "", "what is shown in another order cannot be pasted");
	is_suggested("/\xd8\x9c", "", "nor can a mark of direction");
	is_suggested("/\xff", "", "what is not UTF-8 cannot be pasted");
	is_suggested("/\x7f", "", "a delete cannot be pasted");
	tap_ok(!qsb__suggest_option(out, sizeof(out), "--write", "/1234567") && !out[0], "half an option is none");
	tap_ok(qsb__suggest_option(out, sizeof(out), "--write", "/123456"), "one that just fits is one");
	tap_ok(!qsb__suggest_option(out, sizeof(out), "--write", "/1 345"), "also with quotes");
	memset(longest, '\'', sizeof(longest) - 1);
	tap_ok(qsb__suggest_entry(line, sizeof(line), "network", "unixSockets", "/a\"\\b"), "a line for a policy");
	tap_is_text(line, "\"network\": {\"unixSockets\": [\"/a\\\"\\\\b\"]}", "is JSON, whatever the name");
	tap_ok(!qsb__suggest_entry(line, sizeof(line), "a", "b", "/\n") && !line[0], "but for control characters");
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	is_suggested(longest, "", "one that grows beyond its room is none");
}

static struct qsb__denial denial(const char *operation, const char *target)
{
	struct qsb__denial made;

	memset(&made, 0, sizeof(made));
	snprintf(made.kind, sizeof(made.kind), "file");
	snprintf(made.operation, sizeof(made.operation), "%s", operation);
	qsb__denial_set_target(&made, target);
	return made;
}

static void test_targets(void)
{
	struct qsb__denial made = denial("write", "");
	char path[3000];

	memset(path, 'a', sizeof(path));
	for (size_t i = 1; i + 2 < sizeof(path); i += 2)
		memcpy(path + i, "\xc3\xbc", 2);
	path[sizeof(path) - 1] = '\0';
	tap_ok(!qsb__denial_set_target(&made, path), "a target that is too long is cut");
	tap_is_text(made.target + strlen(made.target) - 5, "\xc3\xbc…", "at the end of a character, and says so");
	path[sizeof(made.target) - 1] = '\0';
	tap_ok(qsb__denial_set_target(&made, path), "the longest one is not");
}

static struct qsb__ledger ledger;

static void test_ledger(void)
{
	struct qsb__denial one = denial("write", "/a/1"), two = denial("create", "/a/1"), got;
	char path[32];
	size_t taken = 0;

	qsb__ledger_init(&ledger);
	tap_ok(!qsb__ledger_count(&ledger, &one), "a new one is not known");
	tap_ok(qsb__ledger_add(&ledger, &one), "the first one wakes");
	tap_ok(!qsb__ledger_add(&ledger, &two), "the next one does not");
	tap_ok(qsb__ledger_count(&ledger, &one) && qsb__ledger_count(&ledger, &one), "a known one is counted");
	tap_ok(qsb__ledger_next(&ledger, &got) && got.count == 3 && strcmp(got.operation, "write") == 0,
	       "and taken so");
	tap_ok(qsb__ledger_next(&ledger, &got) && got.count == 1, "another operation is another one");
	tap_ok(!qsb__ledger_next(&ledger, &got), "then there is none");
	tap_ok(qsb__ledger_count(&ledger, &two) && qsb__ledger_add(&ledger, &one),
	       "after that the next one wakes again");
	tap_ok(qsb__ledger_next(&ledger, &got) && got.count == 1, "and counts from there");
	for (int i = 2; i < 300; i++) {
		snprintf(path, sizeof(path), "/a/%d", i);
		two = denial("write", path);
		qsb__ledger_add(&ledger, &two);
	}
	tap_ok(qsb__ledger_left_out(&ledger) == 300 - QSB__LEDGER_ENTRIES, "what finds no room is counted");
	tap_ok(qsb__ledger_beside(&ledger, &one) == QSB__LEDGER_ENTRIES - 1, "those of one folder are known");
	tap_ok(qsb__ledger_count(&ledger, &one), "a full list still counts what it has");
	while (qsb__ledger_next(&ledger, &got))
		taken += got.count;
	tap_ok(taken == QSB__LEDGER_ENTRIES, "and gives all of it");
	qsb__ledger_clear(&ledger);
}

static struct qsb__denial with(struct qsb__denial made, const char *rule, const char *suggestion, unsigned count)
{
	snprintf(made.rule, sizeof(made.rule), "%s", rule);
	snprintf(made.suggestion, sizeof(made.suggestion), "%s", suggestion);
	snprintf(made.process, sizeof(made.process), "tool");
	made.count = count;
	return made;
}

static void test_summary(void)
{
	static const char by_default[] = "default: only what is allowed by name may be written";
	struct qsb__denial list[] = {
		with(denial("create", "/o/__pycache__/x.pyc"), by_default, "--write /o/__pycache__", 9),
		with(denial("create", "/o/a"), by_default, "--write /o", 1),
		with(denial("create", "/w/x.key"), "--deny-write", "take it out of --deny-write", 2),
		with(denial("remove", "/o/a"), by_default, "--write /o", 1),
		with(denial("create", "/o/b"), by_default, "--write /o", 4),
	};
	struct qsb__result result = {.denials = list, .denial_count = 5, .denials_left_out = 7};
	static char lines[QSB__SUMMARY_LINES][QSB__SUMMARY_WIDTH];

	tap_ok(qsb__summary(&result, lines) == 2, "what one option allows is one line, and caches are none");
	tap_is_text(lines[0], "refused: create /w/x.key (tool, 2 times): --deny-write; take it out of --deny-write",
		    "what was denied by name comes first");
	tap_is_text(lines[1],
		    "refused: create /o/a and 1 more (tool, 6 times): default: only what is allowed by name may be "
		    "written; to allow it: --write /o; and 8 more, which --json tells",
		    "names and times are counted, and so is what is not shown");
	result.denial_count = 1;
	tap_ok(qsb__summary(&result, lines) == 0, "a cache alone is not told");
}

static void test_order(void)
{
	struct qsb__denial list[8];
	struct qsb__result result = {.denials = list, .denial_count = 8};
	static char lines[QSB__SUMMARY_LINES][QSB__SUMMARY_WIDTH];
	char path[32];

	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "/%d/x", i);
		list[i] = with(denial("write", path), "default: x", "", 1);
	}
	snprintf(list[0].kind, sizeof(list[0].kind), "call");
	snprintf(list[6].kind, sizeof(list[6].kind), "network");
	snprintf(list[7].kind, sizeof(list[7].kind), "limit");
	tap_ok(qsb__summary(&result, lines) == QSB__SUMMARY_LINES, "there are only so many lines");
	tap_is_text(lines[0], "limit reached: write /7/x (default: x)", "a limit stands first");
	tap_is_text(lines[1], "refused: write /6/x (tool): default: x", "then the network");
	tap_is_text(lines[2], "refused: write /1/x (tool): default: x", "then files in the order in which they came");
	tap_is_text(lines[3], "refused: write /2/x (tool): default: x; and 4 more, which --json tells", "and so on");
}

int main(void)
{
	test_suggestions();
	test_targets();
	test_ledger();
	test_summary();
	test_order();
	return tap_done();
}
