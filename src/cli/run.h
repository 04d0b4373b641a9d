/* `qiming-sandbox run`. */
#ifndef QSB_CLI_RUN_H
#define QSB_CLI_RUN_H

#include "cli/options.h"

extern const struct qsb__command qsb__run_command;

#endif
