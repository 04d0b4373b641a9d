/* `qiming-sandbox explain`: what a command may do, and which rule says so. */
#ifndef QSB_CLI_EXPLAIN_H
#define QSB_CLI_EXPLAIN_H

#include "cli/load.h"

extern const struct qsb__command qsb__explain_command;

/* The whole plan, in words (explain_plan.c) or as JSON (explain_json.c). `command` is what would be run, NULL = nothing
 * named. */
int qsb__explain_plan(const struct qsb__loaded *loaded, const char *command, FILE *to);
int qsb__explain_plan_json(const struct qsb__loaded *loaded, const char *command, FILE *to, struct qsb_error *err);

/* Where `execvp` would find the command inside; false = nowhere. `out` holds QSB__PATH_MAX bytes. */
bool qsb__explain_find_command(const struct qsb__loaded *loaded, const char *command, char *out);

#endif
