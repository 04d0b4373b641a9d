#include "cli/policy.h"

#include <string.h>

#include "cli/load.h"
#include "cli/message.h"
#include "core/cleanup.h"
#include "core/domain.h"
#include "core/error.h"
#include "core/json.h"
#include "core/policy_load.h"

enum { EXIT_BAD_POLICY = 125 };

static const struct qsb__option options[] = {
	{.id = QSB__OPT_JSON, .name = "--json", .group = QSB__GROUP_OUTPUT, .summary = "Print JSON (check, show)."},
	{.id = QSB__OPT_USER,
	 .name = "--user",
	 .group = QSB__GROUP_OTHER,
	 .summary = "init: write the user's file. This is the default."},
	{.id = QSB__OPT_PROJECT,
	 .name = "--project",
	 .group = QSB__GROUP_OTHER,
	 .summary = "init: write the workspace's .qiming-sandbox.json, which can only make the policy stricter."},
	{.id = QSB__OPT_FORCE,
	 .name = "--force",
	 .group = QSB__GROUP_OTHER,
	 .summary = "init: replace a file that is there."},
	{.id = 0},
};

static int print_document(const struct qsb__invocation *invocation, char *text, struct qsb_error *err)
{
	if (!text)
		return qsb__fail_memory(err, "policy");
	fprintf(invocation->out, "%s\n", text);
	free(text);
	return 0;
}

static int print_schema(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	return print_document(invocation, qsb__policy_schema_json(), err);
}

static void print_place(FILE *to, const struct qsb_policy *policy, enum qsb__layer layer, const char *option)
{
	if (layer == QSB__LAYER_PRESET)
		fprintf(to, "preset %s", qsb__preset_name(policy->extends));
	else
		fputs(qsb__layer_name(layer), to);
	if (layer == QSB__LAYER_OPTION && option)
		fprintf(to, " (%s)", option);
	if (policy->source[layer]) {
		fputs(" (", to);
		qsb__print_text(to, policy->source[layer]);
		fputc(')', to);
	}
	fputc('\n', to);
}

static int print_scalar(FILE *to, const struct qsb_policy *policy, const struct qsb__row *row)
{
	QSB_CLEANUP_FREE char *text = qsb__policy_value_text(policy, row);

	if (!text)
		return QSB_E_MEMORY;
	fprintf(to, "%-27s %-24s ", row->pointer, text);
	print_place(to, policy, policy->origin[row - qsb__rows], row->option);
	return 0;
}

static void print_list(FILE *to, const struct qsb_policy *policy, const struct qsb__row *row)
{
	const struct qsb__list *list = qsb__row_list(policy, row);

	if (list->count == 0) {
		fprintf(to, "%-27s %-24s ", row->pointer, "(none)");
		print_place(to, policy, policy->origin[row - qsb__rows], row->option);
	}
	for (size_t i = 0; i < list->count; i++) {
		char shown[2 * QSB__PATH_MAX];

		qsb__json_printable(shown, sizeof(shown), list->items[i].text, strlen(list->items[i].text));
		fprintf(to, "%-27s %-24s ", i ? "" : row->pointer, shown);
		print_place(to, policy, list->items[i].layer, row->option);
	}
}

static void print_notes(FILE *to, const struct qsb_policy *policy)
{
	for (size_t i = 0; i < policy->notes.count; i++) {
		fputs(i ? "note: " : "\nnote: ", to);
		qsb__print_text(to, policy->notes.items[i].text);
		fputc('\n', to);
	}
}

static int print_policy(const struct qsb__invocation *invocation, const struct qsb_policy *policy,
			struct qsb_error *err)
{
	FILE *to = invocation->out;

	if (qsb__invocation_value(invocation, QSB__OPT_JSON))
		return print_document(invocation, qsb__policy_to_json(policy, true), err);
	for (size_t i = 0; i < qsb__row_count; i++) {
		if (qsb__row_list(policy, &qsb__rows[i]))
			print_list(to, policy, &qsb__rows[i]);
		else if (print_scalar(to, policy, &qsb__rows[i]))
			return qsb__fail_memory(err, "policy");
	}
	print_notes(to, policy);
	return 0;
}

static int show(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	QSB_CLEANUP(qsb__loaded_clear) struct qsb__loaded loaded = {.policy = NULL};
	int code = qsb__load_policy(&loaded, invocation, err);

	if (!code && qsb__policy_hide_passwords(loaded.policy))
		code = qsb__fail_memory(err, "policy");
	return code ? code : print_policy(invocation, loaded.policy, err);
}

/* A named file is judged for itself, as a policy: neither the layers of this machine nor its bound count. */
static int check_file(struct qsb_policy **policy, const char *path, struct qsb_error *err)
{
	struct qsb__policy_sources sources = {.policy_file = path, .policy_fd = -1, .managed_file = ""};

	return qsb__policy_load(policy, &sources, err);
}

/* What is allowed and hardly meant. */
static void print_warnings(FILE *to, const struct qsb_policy *policy)
{
	const struct qsb__row *row = qsb__row_by_pointer("/network/allowedDomains");
	const struct qsb__list *list = qsb__row_list(policy, row);

	for (size_t i = 0; i < list->count; i++) {
		char canonical[QSB__DOMAIN_MAX], why[300], origin[128];
		const char *caution = NULL;

		if (qsb__domain_canonical(list->items[i].text, canonical, why, sizeof(why)) == 0)
			caution = qsb__domain_caution(canonical);
		if (!caution)
			continue;
		qsb__item_origin(row, &list->items[i], origin, sizeof(origin));
		fprintf(to, "warning: %s: %s %s\n", origin, canonical, caution);
	}
}

static int print_verdict(const struct qsb__invocation *invocation, const char *file, const struct qsb_error *fault,
			 struct qsb_error *err)
{
	QSB__CLEANUP_JSON json_t *root =
		json_pack("{s:b, s:o}", "valid", fault->code == 0, "file", qsb__json_text(file));

	if (fault->code)
		json_object_set_new(root, "error",
				    json_pack("{s:i, s:s, s:s}", "code", fault->code, "where", fault->where, "message",
					      fault->message));
	return print_document(invocation, json_dumps(root, JSON_INDENT(2)), err);
}

static int check(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	QSB_CLEANUP(qsb__loaded_clear) struct qsb__loaded loaded = {.policy = NULL};
	const char *file = invocation->operand_count > 1 ? invocation->operands[1] : NULL;
	struct qsb_error fault = {.code = 0};
	int code = file ? check_file(&loaded.policy, file, &fault) : qsb__load_policy(&loaded, invocation, &fault);

	if (qsb__invocation_value(invocation, QSB__OPT_JSON)) {
		int printed = print_verdict(invocation, file, &fault, err);

		return printed ? printed : code ? EXIT_BAD_POLICY : 0;
	}
	if (code) {
		*err = fault;
		return code;
	}
	fputs("good: ", invocation->out);
	qsb__print_text(invocation->out, file ? file : "every policy file that counts here");
	fputc('\n', invocation->out);
	print_warnings(invocation->out, loaded.policy);
	print_notes(invocation->out, loaded.policy);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const struct qsb__invocation *invocation, struct qsb_error *err);
	size_t most_operands;
} verbs[] = {
	{"check", check, 2},
	{"show", show, 1},
	{"init", qsb__policy_init, 1},
	{"schema", print_schema, 1},
};

enum { VERB_COUNT = sizeof(verbs) / sizeof(verbs[0]) };

static int run_policy(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	const char *verb = invocation->operand_count ? invocation->operands[0] : NULL;
	const char *names[VERB_COUNT];

	if (!verb)
		return qsb__fail(err, QSB_E_INVALID, "policy", "say what to do: policy check, show, init or schema");
	for (size_t i = 0; i < VERB_COUNT; i++) {
		names[i] = verbs[i].name;
		if (strcmp(verb, verbs[i].name) != 0)
			continue;
		if (invocation->operand_count > verbs[i].most_operands)
			return qsb__fail(err, QSB_E_INVALID, "policy", "policy %s does not take the argument '%s'",
					 verb, invocation->operands[verbs[i].most_operands]);
		return verbs[i].run(invocation, err);
	}
	return qsb__fail_unknown(err, "policy command", verb, names, VERB_COUNT);
}

static const char *const notes[] = {
	"check [FILE]: is the file a policy? Without FILE: are all files that count here?",
	"show: the effective value of every key, and which layer it comes from. Takes the options of `run`.",
	"init: writes a first policy to edit, from the preset given by --preset.",
	"schema: prints the JSON Schema of policies, for editors.",
	NULL,
};

static const char *const verb_names[] = {"check", "show", "init", "schema", NULL};

const struct qsb__command qsb__policy_command = {
	.name = "policy",
	.operands = "check [FILE] | show | init | schema",
	.summary = "Check, show or begin a policy.",
	.verbs = verb_names,
	.notes = notes,
	.tables = {options, qsb__policy_source_options},
	.policy_options = true,
	.run = run_policy,
};
