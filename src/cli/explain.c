#include "cli/explain.h"

#include <string.h>

#include "cli/message.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"

static const struct qsb__option options[] = {
	{.id = QSB__OPT_JSON, .name = "--json", .group = QSB__GROUP_OUTPUT, .summary = "Print JSON."},
	{.id = QSB__OPT_CWD,
	 .name = "--cwd",
	 .value = QSB__VALUE_DIR,
	 .metavar = "DIR",
	 .group = QSB__GROUP_FILES,
	 .summary = "Where the command would start."},
	{.id = 0},
};

static const char *const notes[] = {
	"Without an operand it tells the whole plan, also what is asked for and not enforced yet.",
	"path PATH  may it be read and written, and which rule of which layer says so",
	"host HOST[:PORT]  may it be reached; nothing is looked up",
	"-- COMMAND  where the command would be found, and what it may do",
	NULL,
};

static int print_json(json_t *value, FILE *to, struct qsb_error *err)
{
	QSB_CLEANUP_FREE char *text = value ? json_dumps(value, JSON_INDENT(2)) : NULL;

	json_decref(value);
	if (!text)
		return qsb__fail_memory(err, "explain");
	fprintf(to, "%s\n", text);
	return 0;
}

static void say(FILE *to, const char *label, bool allowed, const char *rule)
{
	fprintf(to, "  %-6s %-4s  ", label, allowed ? "yes" : "no");
	qsb__print_text(to, rule);
	fputc('\n', to);
}

static void say_fix(FILE *to, const char *fix)
{
	if (!fix[0])
		return;
	fputs("  to allow it: ", to);
	qsb__print_text(to, fix);
	fputc('\n', to);
}

static int explain_path(const struct qsb__loaded *loaded, const char *text, bool json, FILE *to, struct qsb_error *err)
{
	const struct qsb__path_base base = {.home = loaded->facts.host.home, .folder = loaded->facts.host.cwd};
	struct qsb__verdict verdict;
	char path[QSB__PATH_MAX];
	bool read, write;
	int rc = qsb__path_absolute(path, text, &base, err);

	if (rc == 0)
		rc = qsb__plan_explain_path(loaded->plan, &loaded->facts.host, path, &verdict, err);
	if (rc)
		return rc;
	read = verdict.access & QSB__ACCESS_READ;
	write = verdict.access & QSB__ACCESS_WRITE;
	if (json)
		return print_json(json_pack("{s:o, s:o, s:b, s:o, s:b, s:o, s:o, s:b}", "path", qsb__json_text(path),
					    "resolved", qsb__json_text(verdict.resolved), "read", read, "readRule",
					    qsb__json_text(verdict.read_rule), "write", write, "writeRule",
					    qsb__json_text(verdict.write_rule), "fix", qsb__json_text(verdict.fix),
					    "own", verdict.own),
				  to, err);
	qsb__print_text(to, path);
	if (strcmp(path, verdict.resolved) != 0) {
		fputs(", which is ", to);
		qsb__print_text(to, verdict.resolved);
	}
	fputc('\n', to);
	say(to, "read", read, verdict.read_rule);
	say(to, "write", write, verdict.write_rule);
	if (verdict.own)
		fputs("  it is the sandbox's own: what the host has there is not seen\n", to);
	say_fix(to, verdict.fix);
	return 0;
}

static int explain_host(const struct qsb__loaded *loaded, const char *text, bool json, FILE *to, struct qsb_error *err)
{
	struct qsb__host_verdict verdict;
	int rc = qsb__plan_explain_host(loaded->plan, text, &verdict, err);

	if (rc)
		return rc;
	if (json)
		return print_json(json_pack("{s:s, s:i, s:b, s:s, s:s}", "host", verdict.host, "port",
					    (int)verdict.port, "allowed", verdict.allowed, "rule", verdict.rule, "fix",
					    verdict.fix),
				  to, err);
	fprintf(to, "%s, port %u\n", verdict.host, verdict.port);
	say(to, "reach", verdict.allowed, verdict.rule);
	say_fix(to, verdict.fix);
	return 0;
}

/* True when it is a file that this user could start; the folder may be hidden from the command all the same. */
static bool is_there(const struct qsb__loaded *loaded, const char *path, char *out)
{
	const struct qsb__host *host = &loaded->facts.host;
	char real[QSB__PATH_MAX];

	if (host->ops->resolve(host->context, path, real, sizeof(real)) ||
	    host->ops->kind(host->context, real) != QSB__FILE_PLAIN)
		return false;
	snprintf(out, QSB__PATH_MAX, "%s", path);
	return true;
}

bool qsb__explain_find_command(const struct qsb__loaded *loaded, const char *command, char *out)
{
	const struct qsb__path_base base = {.folder = loaded->plan->cwd};
	const char *path = NULL;
	char candidate[QSB__PATH_MAX], whole[QSB__PATH_MAX];

	/* A shell has replaced ~ by now: here it is the name of a file. */
	if (strchr(command, '/'))
		return qsb__path_join(whole, command[0] == '/' ? "/" : base.folder, command) &&
		       qsb__path_absolute(candidate, whole, &base, NULL) == 0 && is_there(loaded, candidate, out);
	for (char **at = loaded->plan->environment; *at; at++)
		if (strncmp(*at, "PATH=", 5) == 0)
			path = *at + 5;
	while (path && *path) {
		size_t length = strcspn(path, ":");

		if (snprintf(candidate, sizeof(candidate), "%.*s/%s", length ? (int)length : 1, length ? path : ".",
			     command) < (int)sizeof(candidate) &&
		    candidate[0] == '/' && is_there(loaded, candidate, out))
			return true;
		path += length + (path[length] ? 1 : 0);
	}
	return false;
}

enum question { WHOLE, PATH, HOST, COMMAND };

/* What the operands ask. Words behind `--` are a command, also when they read like a question. */
static int read_question(const struct qsb__invocation *invocation, enum question *out, struct qsb_error *err)
{
	static const char *const words[] = {"path", "host"};
	char **operands = invocation->operands;
	size_t count = invocation->operand_count;

	*out = WHOLE;
	if (count == 0)
		return 0;
	if (invocation->dashed_at == 0) {
		*out = COMMAND;
		return 0;
	}
	if (strcmp(operands[0], "path") != 0 && strcmp(operands[0], "host") != 0)
		return qsb__fail_unknown(err, "question", operands[0], words, 2);
	*out = operands[0][0] == 'p' ? PATH : HOST;
	if (count != 2)
		return qsb__fail(err, QSB_E_INVALID, "explain",
				 "explain %s takes one %s, such as: qiming-sandbox explain %s %s", operands[0],
				 operands[0], operands[0], *out == PATH ? "~/.ssh/id_ed25519" : "example.com");
	return 0;
}

static int answer(const struct qsb__invocation *invocation, const struct qsb__loaded *loaded, enum question question,
		  struct qsb_error *err)
{
	bool json = qsb__invocation_value(invocation, QSB__OPT_JSON) != NULL;
	const char *command = question == COMMAND ? invocation->operands[0] : NULL;

	if (question == PATH)
		return explain_path(loaded, invocation->operands[1], json, invocation->out, err);
	if (question == HOST)
		return explain_host(loaded, invocation->operands[1], json, invocation->out, err);
	if (json)
		return qsb__explain_plan_json(loaded, command, invocation->out, err);
	if (qsb__explain_plan(loaded, command, invocation->out))
		return qsb__fail_memory(err, "explain");
	return 0;
}

static int run(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	struct qsb__loaded loaded = {.policy = NULL};
	enum question question;
	int rc = read_question(invocation, &question, err);

	if (rc == 0)
		rc = qsb__load(&loaded, invocation, err);
	if (rc == 0)
		rc = answer(invocation, &loaded, question, err);
	qsb__loaded_clear(&loaded);
	return rc;
}

static const char *const verbs[] = {"path", "host", NULL};

const struct qsb__command qsb__explain_command = {
	.name = "explain",
	.operands = "[path PATH | host HOST | -- COMMAND]",
	.summary = "Tell what a command may do and which rule says so.",
	.verbs = verbs,
	.notes = notes,
	.tables = {options, qsb__policy_source_options},
	.policy_options = true,
	.run = run,
};
