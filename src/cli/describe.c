#include "cli/describe.h"

#include <string.h>

static bool names_own_option(const struct qsb__command *command, const char *name)
{
	for (size_t i = 0; i < QSB__OPTION_TABLES && command->tables[i]; i++)
		for (const struct qsb__option *option = command->tables[i]; option->id; option++)
			if (strcmp(option->name, name) == 0)
				return true;
	return false;
}

static void describe_table(const struct qsb__option *table,
			   void (*each)(void *context, const struct qsb__described *option), void *context)
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

static void describe_row(const struct qsb__row *row, void (*each)(void *context, const struct qsb__described *option),
			 void *context)
{
	char summary[400];
	size_t used = (size_t)snprintf(summary, sizeof(summary), "%s", row->summary);
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
	for (size_t i = 0; row->names && row->names[i] && used < sizeof(summary); i++)
		used += (size_t)snprintf(summary + used, sizeof(summary) - used, "%s%s", i ? ", " : ": ",
					 row->names[i]);
	each(context, &described);
}

void qsb__describe_options(const struct qsb__command *command,
			   void (*each)(void *context, const struct qsb__described *option), void *context)
{
	for (size_t i = 0; i < QSB__OPTION_TABLES && command->tables[i]; i++)
		describe_table(command->tables[i], each, context);
	for (size_t i = 0; command->policy_options && i < qsb__row_count; i++)
		if (qsb__rows[i].option && !names_own_option(command, qsb__rows[i].option))
			describe_row(&qsb__rows[i], each, context);
	describe_table(qsb__common_options, each, context);
}
