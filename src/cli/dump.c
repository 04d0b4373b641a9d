/*
 * `qiming-sandbox help-dump --format FORMAT [TEMPLATE]`, hidden: the build makes the manual page and the completions
 * with it, so that no option is described twice.
 *   bash, zsh  a completion file
 *   json       every subcommand and option, for other generators
 *   scdoc      TEMPLATE, in which each line "@options NAME@" becomes the options of that subcommand and
 *              "@subcommands@" their list, "@keys@" the keys of the policy
 */
#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/describe.h"
#include "cli/help.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"
#include "core/policy_load.h"

/* What scdoc takes for markup, and is text here. */
static void print_scdoc_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\_*<>#`[]~", *text))
			fputc('\\', to);
		fputc(*text, to);
	}
}

struct section {
	FILE *to;
	enum qsb__option_group group;
	bool titled;
};

static void print_scdoc_option(void *context, const struct qsb__described *option)
{
	struct section *section = context;
	FILE *to = section->to;

	if (option->group != section->group)
		return;
	if (!section->titled)
		fprintf(to, "*%s*\n\n", qsb__group_title(section->group));
	section->titled = true;
	if (option->alias)
		fprintf(to, "*%s*, ", option->alias);
	fprintf(to, "*%s*", option->name);
	if (option->metavar) {
		fputs(" _", to);
		print_scdoc_text(to, option->metavar);
		fputs("_", to);
	}
	fputs("\n\t", to);
	print_scdoc_text(to, option->summary);
	fputs("\n\n", to);
}

static const struct qsb__command *find_command(const char *name, size_t length)
{
	for (size_t i = 0; qsb__commands[i]; i++)
		if (strlen(qsb__commands[i]->name) == length && strncmp(qsb__commands[i]->name, name, length) == 0)
			return qsb__commands[i];
	return NULL;
}

static int print_scdoc_options(FILE *to, const char *name, struct qsb_error *err)
{
	const struct qsb__command *command = find_command(name, strcspn(name, "@"));

	if (!command)
		return qsb__fail(err, QSB_E_UNKNOWN, "template", "no such subcommand in the template: %s", name);
	for (int group = 0; group < QSB__GROUP_COUNT; group++) {
		struct section section = {.to = to, .group = (enum qsb__option_group)group};

		qsb__describe_options(command, print_scdoc_option, &section);
	}
	return 0;
}

static void print_scdoc_commands(FILE *to)
{
	for (size_t i = 0; qsb__commands[i]; i++) {
		if (qsb__commands[i]->hidden)
			continue;
		fprintf(to, "*%s*\n\t", qsb__commands[i]->name);
		print_scdoc_text(to, qsb__commands[i]->summary);
		fputs("\n\n", to);
	}
}

/* Every key of the policy: what it means, its choices, its value in the preset "workspace", its option. */
static int print_scdoc_keys(FILE *to, struct qsb_error *err)
{
	QSB__CLEANUP_POLICY struct qsb_policy *defaults = NULL;
	int rc = qsb__policy_new(&defaults, QSB__PRESET_WORKSPACE, err);

	for (size_t i = 0; rc == 0 && i < qsb__row_count; i++) {
		char summary[600];

		qsb__describe_row(summary, sizeof(summary), &qsb__rows[i], defaults);
		fputs("*", to);
		print_scdoc_text(to, qsb__rows[i].pointer);
		fputs("*\n\t", to);
		print_scdoc_text(to, summary);
		if (qsb__rows[i].option)
			fprintf(to, " Option: *%s*.", qsb__rows[i].option);
		fputs("\n\n", to);
	}
	return rc;
}

static void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static int dump_scdoc(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	static const char options[] = "@options ";
	const char *path = invocation->operands[0];
	QSB_CLEANUP(close_file) FILE *template = path ? fopen(path, "re") : NULL;
	char line[1024];

	if (!path)
		return qsb__fail(err, QSB_E_INVALID, "template", "the format scdoc needs the TEMPLATE to fill in");
	if (!template)
		return qsb__fail_os(err, errno, "template", "cannot open %s", path);
	while (fgets(line, sizeof(line), template)) {
		int rc = 0;

		if (strncmp(line, options, sizeof(options) - 1) == 0)
			rc = print_scdoc_options(invocation->out, line + sizeof(options) - 1, err);
		else if (strcmp(line, "@keys@\n") == 0)
			rc = print_scdoc_keys(invocation->out, err);
		else if (strcmp(line, "@subcommands@\n") == 0)
			print_scdoc_commands(invocation->out);
		else
			fputs(line, invocation->out);
		if (rc)
			return rc;
	}
	return 0;
}

static void add_json_option(void *context, const struct qsb__described *option)
{
	json_t *words = option->words ? json_array() : NULL;

	for (size_t i = 0; option->words && option->words[i]; i++)
		json_array_append_new(words, json_string(option->words[i]));
	json_array_append_new(context, json_pack("{s:s, s:s?, s:s?, s:s, s:s, s:s?, s:o?}", "name", option->name,
						 "alias", option->alias, "value", option->metavar, "group",
						 qsb__group_title(option->group), "summary", option->summary, "key",
						 option->row ? option->row->pointer : NULL, "words", words));
}

static int dump_json(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	QSB__CLEANUP_JSON json_t *commands = json_array();
	QSB_CLEANUP_FREE char *text = NULL;

	for (size_t i = 0; qsb__commands[i]; i++) {
		const struct qsb__command *command = qsb__commands[i];
		json_t *options = json_array();

		if (!command->hidden) {
			qsb__describe_options(command, add_json_option, options);
			json_array_append_new(commands, json_pack("{s:s, s:s?, s:s, s:O}", "name", command->name,
								  "operands", command->operands, "summary",
								  command->summary, "options", options));
		}
		json_decref(options);
	}
	text = json_dumps(commands, JSON_INDENT(2));
	if (!text)
		return qsb__fail_memory(err, "help-dump");
	fprintf(invocation->out, "%s\n", text);
	return 0;
}

static const char *const formats[] = {"scdoc", "bash", "zsh", "json", NULL};

static int dump(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	const char *format = qsb__invocation_value(invocation, QSB__OPT_FORMAT);

	if (!format)
		return qsb__fail(err, QSB_E_INVALID, "--format", "--format is needed: scdoc, bash, zsh or json");
	if (strcmp(format, "scdoc") == 0)
		return dump_scdoc(invocation, err);
	if (strcmp(format, "json") == 0)
		return dump_json(invocation, err);
	if (strcmp(format, "bash") == 0)
		qsb__complete_bash(invocation->out);
	else if (strcmp(format, "zsh") == 0)
		qsb__complete_zsh(invocation->out);
	else
		return qsb__fail_unknown(err, "format", format, formats, 4);
	return 0;
}

static const struct qsb__option options[] = {
	{.id = QSB__OPT_FORMAT,
	 .name = "--format",
	 .value = QSB__VALUE_WORD,
	 .metavar = "FORMAT",
	 .words = formats,
	 .group = QSB__GROUP_OTHER,
	 .summary = "What to write."},
	{.id = 0},
};

const struct qsb__command qsb__help_dump_command = {
	.name = "help-dump",
	.operands = "[TEMPLATE]",
	.summary = "Write the option parts of the manual and the completions, from the tables.",
	.tables = {options},
	.hidden = true,
	.run = dump,
};
