/* Help texts, made from the tables of options.h and the policy's rows. */
#ifndef QSB_CLI_HELP_H
#define QSB_CLI_HELP_H

#include "cli/options.h"

/* What `qiming-sandbox` without arguments says: how to go on. */
void qsb__help_short(FILE *to);

/* The list of subcommands. */
void qsb__help_program(FILE *to);

/* One subcommand: usage, options by group, notes. Fits 80 columns. */
void qsb__help_command(FILE *to, const struct qsb__command *command);

/* Hidden: `help-dump --format scdoc|bash|zsh|json` writes the manual page and the completions. */
extern const struct qsb__command qsb__help_dump_command;

#endif
