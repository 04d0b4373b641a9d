/* `qiming-sandbox policy check|show|init|schema`. */
#ifndef QSB_CLI_POLICY_H
#define QSB_CLI_POLICY_H

#include "cli/options.h"

extern const struct qsb__command qsb__policy_command;

/* Writes a starter file (policy_init.c). */
int qsb__policy_init(const struct qsb__invocation *invocation, struct qsb_error *err);

#endif
