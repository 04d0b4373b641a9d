#include <string.h>

#include <jansson.h>

#include "cli/explain.h"
#include "cli/message.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"
#include "core/policy_load.h"
#include "core/proxy_url.h"

enum { COLUMN = 44, MOST_SHOWN = 40, TEXT_WIDTH = 96 };

/* One heading of the account of files: the steps of some kinds, and whether they are worth their single lines. */
struct group {
	const char *title, *key; /* the key in JSON */
	unsigned kinds;          /* bits by enum qsb__step_kind */
};

#define KIND(kind) (1U << (kind))

static const struct group groups[] = {
	{"It may read and write", "writable", KIND(QSB__STEP_BIND_RW) | KIND(QSB__STEP_NAME_GRANT)},
	{"It may read, and not write", "readOnly", KIND(QSB__STEP_BIND_RO)},
	{"It may not read or write", "hidden", KIND(QSB__STEP_MASK_FILE) | KIND(QSB__STEP_MASK_DIR)},
	{"Its own and gone with it, whatever the host has there", "own",
	 KIND(QSB__STEP_TMPFS) | KIND(QSB__STEP_PROC) | KIND(QSB__STEP_DEV)},
	{"Folders that must keep their names, for what lies in them", "pinned", KIND(QSB__STEP_PIN)},
	{"Names that must not be made or changed", "names", KIND(QSB__STEP_NAME_RULE)},
};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static bool is_in(const struct group *group, const struct qsb__step *step)
{
	return group->kinds & KIND(step->kind);
}

static bool starts_empty(const struct qsb__plan *plan)
{
	return plan->step_count && plan->steps[0].kind == QSB__STEP_ROOT;
}

static void print_line(FILE *to, const char *what, const char *text, const char *rule, const char *reason)
{
	char shown[2 * QSB__PATH_MAX];
	int used;

	qsb__json_printable(shown, sizeof(shown), what, strlen(what));
	used = fprintf(to, "  %s", shown);
	if (text && used > 0) {
		qsb__json_printable(shown, sizeof(shown), text, strlen(text));
		used += fprintf(to, "%s%s", strcmp(what, "/") == 0 ? "" : "/", shown);
	}
	fprintf(to, "%*s", used < COLUMN ? COLUMN - used : 2, "");
	qsb__print_text(to, rule);
	if (reason)
		fprintf(to, ": %s", reason);
	fputc('\n', to);
}

static bool is_builtin_name(const struct qsb__step *step)
{
	return step->kind == QSB__STEP_NAME_RULE && strncmp(step->rule, "built-in: ", 10) == 0;
}

/* The built-in names of one list and one folder, as running text: there are about a hundred. Returns their number. */
static size_t print_names(FILE *to, const struct qsb__plan *plan, size_t first)
{
	const struct qsb__step *head = &plan->steps[first];
	size_t i = first;
	int column = 0;

	fprintf(to, "  in ");
	qsb__print_text(to, head->path);
	fprintf(to, " (%s):", head->rule);
	for (; i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];
		const char *name = strncmp(step->text, "**/", 3) == 0 ? step->text + 3 : step->text;

		if (!is_builtin_name(step) || strcmp(step->path, head->path) != 0 ||
		    strcmp(step->rule, head->rule) != 0)
			break;
		if (column == 0 || column + (int)strlen(name) > TEXT_WIDTH)
			column = fprintf(to, "%s\n   ", column ? "," : "") - 1;
		else
			column += fprintf(to, ",");
		column += fprintf(to, " ");
		qsb__print_text(to, name);
		column += (int)strlen(name);
	}
	fputc('\n', to);
	return i - first;
}

static void print_group(FILE *to, const struct qsb__plan *plan, const struct group *group)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];

		if (!is_in(group, step) || count++ >= MOST_SHOWN)
			continue;
		if (count == 1)
			fprintf(to, "\n%s:\n", group->title);
		if (is_builtin_name(step)) {
			i += print_names(to, plan, i) - 1;
			continue;
		}
		print_line(to, step->path,
			   step->kind == QSB__STEP_NAME_RULE || step->kind == QSB__STEP_DEV ? step->text : NULL,
			   step->rule, step->reason);
	}
	if (count > MOST_SHOWN)
		fprintf(to, "  and %zu more; --json shows them all\n", count - MOST_SHOWN);
}

static void print_files(FILE *to, const struct qsb__plan *plan)
{
	fputs("Workspace: ", to);
	qsb__print_text(to, plan->workspace);
	fputs("\nStarts in: ", to);
	qsb__print_text(to, plan->cwd);
	fprintf(to, "\n\nFiles: %s may be read, only what stands below may be written.\n",
		starts_empty(plan) ? "only what stands below" : "everything but what stands below");
	for (size_t i = 0; i < GROUPS; i++)
		print_group(to, plan, &groups[i]);
}

static void print_texts(FILE *to, const char *label, char *const *texts)
{
	for (; texts && *texts; texts++) {
		fprintf(to, "  %s ", label);
		qsb__print_text(to, *texts);
		fputc('\n', to);
	}
}

static void print_upstream(FILE *to, const struct qsb__plan *plan)
{
	char hidden[QSB__PROXY_URL_MAX + 8];

	if (!plan->upstream_proxy)
		return;
	qsb__proxy_url_hide(plan->upstream_proxy, hidden, sizeof(hidden));
	fputs("  leaves through the proxy ", to);
	qsb__print_text(to, hidden);
	fprintf(to, ", which is given %s\n", plan->upstream_resolves ? "names" : "addresses");
	print_texts(to, "but not to", plan->upstream_bypass);
}

static void print_network(FILE *to, const struct qsb__loaded *loaded)
{
	static const char *const sentences[] = {
		[QSB__NETWORK_OFF] = "none; its own loopback works",
		[QSB__NETWORK_FILTERED] = "only the hosts that the rules allow",
		[QSB__NETWORK_HOST] = "that of the host, without limits",
	};
	const struct qsb__row *row = qsb__row_by_pointer("/network/mode");
	const struct qsb__plan *plan = loaded->plan;

	fprintf(to, "\nNetwork: %s (/network/mode, %s)\n", sentences[plan->network],
		qsb__layer_name(loaded->policy->origin[row - qsb__rows]));
	if (plan->network == QSB__NETWORK_FILTERED) {
		print_texts(to, "allowed", plan->allowed_domains);
		print_texts(to, "denied ", plan->denied_domains);
	}
	for (const uint16_t *port = plan->publish_ports; port && *port; port++)
		fprintf(to, "  port %u of the sandbox is opened on the host's loopback\n", *port);
	for (const uint16_t *port = plan->reach_ports; port && *port; port++)
		fprintf(to, "  port %u of the host's loopback can be reached\n", *port);
	print_texts(to, "socket ", plan->unix_sockets);
	print_upstream(to, plan);
}

static int print_limits(FILE *to, const struct qsb_policy *policy)
{
	fputs("\nLimits:\n", to);
	for (size_t i = 0; i < qsb__row_count; i++) {
		const struct qsb__row *row = &qsb__rows[i];
		QSB_CLEANUP_FREE char *value = NULL;

		if (strncmp(row->pointer, "/limits/", 8) != 0)
			continue;
		value = qsb__policy_value_text(policy, row);
		if (!value)
			return QSB_E_MEMORY;
		fprintf(to, "  %-14s %-10s %s\n", row->pointer + 8, value, qsb__layer_name(policy->origin[i]));
	}
	return 0;
}

static size_t count_texts(char *const *texts)
{
	size_t count = 0;

	while (texts && texts[count])
		count++;
	return count;
}

/* Values are not shown: what is passed on purpose may be a secret. */
static void print_environment(FILE *to, const struct qsb__plan *plan)
{
	fprintf(to, "\nEnvironment: %zu variables are handed on", count_texts(plan->environment));
	if (!plan->scrubbed[0]) {
		fputs(", none is left out as a secret\n", to);
		return;
	}
	fputs("; left out as secrets or ways out (pass one with --env NAME):\n  ", to);
	for (char *const *at = plan->scrubbed; *at; at++) {
		fputs(at == plan->scrubbed ? "" : ", ", to);
		qsb__print_text(to, *at);
	}
	fputc('\n', to);
}

static void print_rest(FILE *to, const struct qsb__loaded *loaded)
{
	const struct qsb__plan *plan = loaded->plan;
	const struct qsb__list *notes = &loaded->policy->notes;

	if (plan->gap_count)
		fputs("\nNot enforced yet:\n", to);
	for (size_t i = 0; i < plan->gap_count; i++)
		print_line(to, plan->gaps[i].what, NULL, plan->gaps[i].rule, NULL);
	if (notes->count || plan->notes[0])
		fputs("\nTo know:\n", to);
	for (size_t i = 0; i < notes->count; i++) {
		fputs("  ", to);
		qsb__print_text(to, notes->items[i].text);
		fputc('\n', to);
	}
	print_texts(to, "", plan->notes);
}

static void print_command(FILE *to, const struct qsb__loaded *loaded, const char *command)
{
	struct qsb__verdict verdict;
	char path[QSB__PATH_MAX];

	fputs("Command: ", to);
	qsb__print_text(to, command);
	if (!qsb__explain_find_command(loaded, command, path)) {
		fputs(" is not found: it would end with status 127\n", to);
		return;
	}
	if (strcmp(path, command) != 0) {
		fputs(", which is ", to);
		qsb__print_text(to, path);
	}
	if (qsb__plan_explain_path(loaded->plan, &loaded->facts.host, path, &verdict, NULL) == 0 &&
	    !(verdict.access & QSB__ACCESS_READ))
		fprintf(to, ", which may not be read (%s)", verdict.read_rule);
	fputc('\n', to);
}

int qsb__explain_plan(const struct qsb__loaded *loaded, const char *command, FILE *to)
{
	if (command)
		print_command(to, loaded, command);
	fprintf(to, "Preset: %s\n", qsb__preset_name(loaded->policy->extends));
	for (int layer = 0; layer < QSB__LAYER_COUNT; layer++) {
		if (!loaded->policy->source[layer])
			continue;
		fprintf(to, "%s: ", qsb__layer_name((enum qsb__layer)layer));
		qsb__print_text(to, loaded->policy->source[layer]);
		fputc('\n', to);
	}
	print_files(to, loaded->plan);
	print_network(to, loaded);
	if (print_limits(to, loaded->policy))
		return QSB_E_MEMORY;
	print_environment(to, loaded->plan);
	print_rest(to, loaded);
	return 0;
}
