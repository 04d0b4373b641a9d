#include "cli/describe.h"

#include <string.h>

#include "core/cleanup.h"
#include "core/policy_load.h"

static bool names_own_option(const struct qsb__command *command, const char *name)
{
	for (size_t i = 0; i < QSB__OPTION_TABLES && command->tables[i]; i++)
		for (const struct qsb__option *option = command->tables[i]; option->id; option++)
			if (strcmp(option->name, name) == 0)
				return true;
	return false;
}

static void describe_table(const struct qsb__option *table, qsb__describe_each *each, void *context)
{
	for (const struct qsb__option *option = table; option->id; option++) {
		struct qsb__described described = {
			.name = option->name,
			.alias = option->alias,
			.metavar = option->metavar,
			.value = option->value,
			.words = option->words,
			.group = option->group,
			.summary = option->summary,
		};

		each(context, &described);
	}
}

static enum qsb__option_value row_value(const struct qsb__row *row)
{
	if (qsb__row_is_flag(row))
		return QSB__VALUE_NONE;
	if (row->names)
		return QSB__VALUE_WORD;
	return row->type == QSB__ROW_PATHS ? QSB__VALUE_PATH : QSB__VALUE_TEXT;
}

void qsb__describe_row(char *out, size_t size, const struct qsb__row *row, const struct qsb_policy *defaults)
{
	bool told = defaults && !qsb__row_is_flag(row) && !qsb__row_list(defaults, row);
	QSB_CLEANUP_FREE char *value = told ? qsb__policy_value_text(defaults, row) : NULL;
	size_t length = strlen(row->summary);
	size_t used;

	if (row->names && length > 0 && row->summary[length - 1] == '.')
		length--;
	used = (size_t)snprintf(out, size, "%.*s", (int)length, row->summary);
	for (size_t i = 0; row->names && row->names[i] && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s%s", i ? ", " : ": ", row->names[i],
					 row->names[i + 1] ? "" : ".");
	if (value && used < size)
		snprintf(out + used, size - used, " Default: %s.", value);
}

static void describe_row(const struct qsb__row *row, const struct qsb_policy *defaults, qsb__describe_each *each,
			 void *context)
{
	char summary[600];
	struct qsb__described described = {
		.name = row->option,
		.value = row_value(row),
		.words = row->names,
		.group = qsb__row_group(row),
		.summary = summary,
		.row = row,
	};

	if (described.value != QSB__VALUE_NONE)
		described.metavar = row->metavar ? row->metavar : "VALUE";
	qsb__describe_row(summary, sizeof(summary), row, defaults);
	each(context, &described);
}

void qsb__describe_options(const struct qsb__command *command, qsb__describe_each *each, void *context)
{
	QSB__CLEANUP_POLICY struct qsb_policy *defaults = NULL;

	for (size_t i = 0; i < QSB__OPTION_TABLES && command->tables[i]; i++)
		describe_table(command->tables[i], each, context);
	/* Without memory for them the defaults are not told: no reason to refuse help. */
	if (command->policy_options)
		qsb__policy_new(&defaults, QSB__PRESET_WORKSPACE, NULL);
	for (size_t i = 0; command->policy_options && i < qsb__row_count; i++)
		if (qsb__rows[i].option && !names_own_option(command, qsb__rows[i].option))
			describe_row(&qsb__rows[i], defaults, each, context);
	describe_table(qsb__common_options, each, context);
}
