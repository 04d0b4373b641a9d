/* What the program itself says, on stderr and in its reports. */
#ifndef QSB_CLI_MESSAGE_H
#define QSB_CLI_MESSAGE_H

#include <stdio.h>

/*
 * One line, "qiming-sandbox: …". Names of files and of commands may be somebody else's: control characters in it, with
 * which they could write to the terminal, become '?'.
 */
void qsb__message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same care for a name within other output. */
void qsb__print_text(FILE *to, const char *text);

#endif
