#include "cli/options.h"

#include "tap.h"

static int nothing(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	return 0;
}

static const char *const formats[] = {"long", "short", NULL};

static const struct qsb__option own[] = {
	{.id = QSB__OPT_POLICY, .name = "--policy", .value = QSB__VALUE_PATH, .metavar = "FILE", .summary = "A file."},
	{.id = QSB__OPT_TTY, .name = "--tty", .alias = "-t", .summary = "A terminal."},
	{.id = QSB__OPT_COMMAND, .name = "-c", .value = QSB__VALUE_TEXT, .metavar = "STRING", .summary = "A text."},
	{.id = QSB__OPT_EVENTS_FD,
	 .name = "--events-fd",
	 .value = QSB__VALUE_TEXT,
	 .metavar = "N",
	 .summary = "A number."},
	{.id = QSB__OPT_FORMAT,
	 .name = "--format",
	 .value = QSB__VALUE_WORD,
	 .metavar = "FORMAT",
	 .words = formats,
	 .summary = "One of a few."},
	{.id = 0},
};

static const struct qsb__command runs = {
	.name = "runs",
	.tables = {own},
	.policy_options = true,
	.stop_at_operand = true,
	.run = nothing,
};

static const struct qsb__command asks = {.name = "asks", .tables = {own}, .run = nothing};

static struct qsb__invocation invocation;
static struct qsb_error err;

static int parse(const struct qsb__command *command, char **argv)
{
	memset(&err, 0, sizeof(err));
	return qsb__options_parse(&invocation, command, argv, &err);
}

#define PARSE(command, ...) parse(&(command), (char *[]){__VA_ARGS__, NULL})

static char text[16][32];

/* String literals are constant, argv is not. */
static char *w(const char *word)
{
	static size_t next;
	char *copy = text[next++ % 16];

	snprintf(copy, sizeof(text[0]), "%s", word);
	return copy;
}

static void test_values(void)
{
	tap_is_number(PARSE(runs, w("--policy"), w("a"), w("--tty"), w("-c"), w("--x")), 0,
		      "options with values parse");
	tap_is_text(qsb__invocation_value(&invocation, QSB__OPT_POLICY), "a", "a value follows its option");
	tap_is_text(qsb__invocation_value(&invocation, QSB__OPT_TTY), "true", "an option without a value is true");
	tap_is_text(qsb__invocation_value(&invocation, QSB__OPT_COMMAND), "--x", "a value may look like an option");
	tap_ok(!qsb__invocation_value(&invocation, QSB__OPT_JSON), "what was not given is absent");
	qsb__invocation_clear(&invocation);

	PARSE(runs, w("--policy=a=b"), w("--policy="), w("-t"));
	tap_is_text(invocation.uses[0].value, "a=b", "an attached value keeps its equals signs");
	tap_is_text(qsb__invocation_value(&invocation, QSB__OPT_POLICY), "",
		    "the last of two values counts, also an empty one");
	tap_is_text(qsb__invocation_value(&invocation, QSB__OPT_TTY), "true", "an alias is the option");
	qsb__invocation_clear(&invocation);
}

static void test_policy_rows(void)
{
	PARSE(runs, w("--write"), w("/a"), w("--memory=1g"), w("--write"), w("/b"), w("--allow-nested-sandbox"));
	tap_is_number((long long)invocation.use_count, 4, "every use of a policy option is kept");
	tap_is_text(invocation.uses[0].row->pointer, "/filesystem/allowWrite", "a policy option leads to its row");
	tap_is_text(invocation.uses[1].value, "1g", "a policy option takes an attached value");
	tap_is_text(invocation.uses[3].value, "true", "a boolean key is an option without a value");
	qsb__invocation_clear(&invocation);

	PARSE(runs, w("--allow-nested-sandbox=false"));
	tap_is_text(invocation.uses[0].value, "false", "a boolean key can be switched off");
	qsb__invocation_clear(&invocation);
	tap_is_number(PARSE(asks, w("--write"), w("/a")), QSB_E_UNKNOWN,
		      "a subcommand without a policy takes no policy option");
}

static void test_end_of_options(void)
{
	PARSE(runs, w("--tty"), w("ls"), w("--tty"), w("--"), w("-x"));
	tap_is_number((long long)invocation.operand_count, 4, "the first operand ends the options of a command to run");
	tap_is_text(invocation.operands[1], "--tty", "an option behind it is data");
	tap_is_text(invocation.operands[2], "--", "two dashes behind it are data");
	tap_is_number((long long)invocation.use_count, 1, "and counts as no option");
	qsb__invocation_clear(&invocation);

	PARSE(runs, w("--"), w("--no-such-option"), w("--"));
	tap_is_text(invocation.operands[0], "--no-such-option", "two dashes end the options");
	tap_is_text(invocation.operands[1], "--", "only the first two dashes do");
	tap_is_number((long long)invocation.dashed_at, 0, "the place of the dashes is known");
	qsb__invocation_clear(&invocation);

	PARSE(asks, w("path"), w("--tty"), w("-"), w("x"), w("--"), w("-y"));
	tap_is_number((long long)invocation.operand_count, 4, "elsewhere options and operands mix");
	tap_is_text(invocation.operands[1], "-", "a single dash is an operand");
	tap_is_number((long long)invocation.dashed_at, 3, "operands behind the dashes are told apart");
	tap_ok(invocation.operands[4] == NULL, "the operands end with NULL");
	qsb__invocation_clear(&invocation);

	PARSE(asks, w("path"));
	tap_ok(invocation.dashed_at == SIZE_MAX, "without dashes there is no place");
	qsb__invocation_clear(&invocation);
}

static void test_failures(void)
{
	tap_is_number(PARSE(runs, w("--timout"), w("3")), QSB_E_UNKNOWN, "an unknown option fails");
	tap_is_text(err.message, "unknown option --timout; did you mean --timeout?",
		    "the nearest policy option is suggested");
	PARSE(runs, w("--polcy=x"));
	tap_is_text(err.message, "unknown option --polcy; did you mean --policy?",
		    "the value is no part of the suggestion");
	PARSE(runs, w("--hlep"));
	tap_is_text(err.message, "unknown option --hlep; did you mean --help?",
		    "options of every subcommand are suggested");
	PARSE(runs, w("--zzzzzzzz"));
	tap_is_text(err.message, "unknown option --zzzzzzzz; `qiming-sandbox runs --help` lists them",
		    "where nothing is near, help is named");
	tap_is_number(PARSE(runs, w("--policy")), QSB_E_INVALID, "a missing value fails");
	tap_is_text(err.message, "--policy needs a value: FILE", "and says which");
	PARSE(runs, w("--format"));
	tap_is_text(err.message, "--format needs a value: FORMAT (long, short)", "a choice is listed");
	PARSE(runs, w("--network"));
	tap_is_text(err.message, "--network needs a value: MODE (off, filtered, host)", "so is that of a policy key");
	tap_is_number(PARSE(runs, w("--tty=yes")), QSB_E_INVALID, "a value for an option without one fails");
	tap_is_number(PARSE(runs, w("-x")), QSB_E_UNKNOWN, "an unknown letter fails");
}

static void test_descriptors(void)
{
	static const char *const wrong[] = {"", "-1", "+3", "3x", "x", " 3", "99999999999999999999", "1048577", "0x3"};
	int fd;

	PARSE(runs, w("--events-fd"), w("7"));
	tap_is_number(qsb__invocation_fd(&invocation, QSB__OPT_EVENTS_FD, &fd, &err), 0,
		      "a descriptor's number is read");
	tap_is_number(fd, 7, "as it is");
	qsb__invocation_fd(&invocation, QSB__OPT_RESULT_FD, &fd, &err);
	tap_is_number(fd, -1, "a descriptor that was not given is -1");
	qsb__invocation_clear(&invocation);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		PARSE(runs, w("--events-fd"), w(wrong[i]));
		tap_ok(qsb__invocation_fd(&invocation, QSB__OPT_EVENTS_FD, &fd, &err) == QSB_E_INVALID && fd == -1,
		       "'%s' is no descriptor", wrong[i]);
		qsb__invocation_clear(&invocation);
	}
}

static void test_words(void)
{
	static const char *const words[] = {"doctor", "explain", "policy"};

	qsb__fail_unknown(&err, "subcommand", "docter", words, 3);
	tap_is_text(err.message, "unknown subcommand docter; did you mean doctor?", "the nearest word is suggested");
	qsb__fail_unknown(&err, "subcommand", "zebra", words, 3);
	tap_is_text(err.message, "unknown subcommand zebra; there are: doctor, explain, policy", "else all are listed");
	qsb__fail_unknown(&err, "subcommand", "", words, 3);
	tap_is_number(err.code, QSB_E_UNKNOWN, "an empty word is unknown");
}

int main(void)
{
	test_values();
	test_policy_rows();
	test_end_of_options();
	test_failures();
	test_descriptors();
	test_words();
	return tap_done();
}
