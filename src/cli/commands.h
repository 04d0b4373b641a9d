/* The subcommands. */
#ifndef QSB_CLI_COMMANDS_H
#define QSB_CLI_COMMANDS_H

#include "cli/options.h"

/* NULL-terminated, in the order of the help. */
extern const struct qsb__command *const qsb__commands[];

#endif
