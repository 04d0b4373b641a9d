/* Every option of a subcommand in one form, wherever it is described: for help, manual and completions. */
#ifndef QSB_CLI_DESCRIBE_H
#define QSB_CLI_DESCRIBE_H

#include "cli/options.h"

struct qsb__described {
	const char *name;
	const char *alias;   /* NULL = none */
	const char *metavar; /* NULL = no value */
	enum qsb__option_value value;
	const char *const *words; /* NULL-terminated, where `value` is a word */
	enum qsb__option_group group;
	const char *summary; /* borrowed until the next option */
	const struct qsb__row *row;
};

typedef void qsb__describe_each(void *context, const struct qsb__described *option);

void qsb__describe_options(const struct qsb__command *command, qsb__describe_each *each, void *context);

/*
 * One key in a paragraph: the row's sentence, its choices, and what holds where nothing is said (`defaults`; NULL = not
 * told). Lists and switches have no default to tell.
 */
void qsb__describe_row(char *out, size_t size, const struct qsb__row *row, const struct qsb_policy *defaults);

/* "Files" */
const char *qsb__group_title(enum qsb__option_group group);

#endif
