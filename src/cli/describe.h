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

/* "Files" */
const char *qsb__group_title(enum qsb__option_group group);

#endif
