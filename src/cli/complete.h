/* Completion files for shells, made from the tables of the subcommands. */
#ifndef QSB_CLI_COMPLETE_H
#define QSB_CLI_COMPLETE_H

#include <stdio.h>

void qsb__complete_bash(FILE *to);
void qsb__complete_zsh(FILE *to);

#endif
