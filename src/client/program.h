/* The program `qiming-sandbox`, as the library uses it. */
#ifndef QSB_CLIENT_PROGRAM_H
#define QSB_CLIENT_PROGRAM_H

#include <qiming/sandbox.h>

enum { QSB__PROGRAM_PATH = 4096 };

/* Where it lies: `asked` (may be NULL), $QIMING_SANDBOX_PROGRAM, beside this library, where it was installed. */
int qsb__program_find(char out[QSB__PROGRAM_PATH], const char *asked, struct qsb_error *err);

/* qsb_sandbox_spawn with whole options, whose policy is text. */
int qsb__sandbox_spawn(struct qsb_sandbox **out, const struct qsb_spawn_options *options, struct qsb_error *err);

/* Runs a command that does nothing and gives the program's answer, as qsb_sandbox_wait_json does: is qsb_is_available
 * true? */
int qsb__availability_ask(const char *program, char **out, size_t *length, struct qsb_error *err);

/*
 * A result as the program wrote it, `length` bytes of JSON. Takes `text` over, also on failure. The caller frees *out.
 * Where the program reports that the command never ran, that is the failure.
 */
int qsb__result_parse(struct qsb_result **out, char *text, size_t length, struct qsb_error *err);

#endif
