/* The one way to fail: fill in a caller-owned struct qsb_error and return its code. */
#ifndef QSB_CORE_ERROR_H
#define QSB_CORE_ERROR_H

#include <qiming/sandbox.h>

/* Both fill in *err where err is not NULL and return `code`, so that `return qsb__fail(…)` reads well.
 * `where` is cut to its field; the message is cut at a whole UTF-8 character and newlines in it become spaces.
 * Async-signal-safe only when the format uses no more than %s %d %u %c %lu %ld %x %zu. */
int qsb__fail(struct qsb_error *err, int code, const char *where, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* As qsb__fail with QSB_E_OS; ": " and the text of `os_code` are appended. */
int qsb__fail_os(struct qsb_error *err, int os_code, const char *where, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The name of a code as results and the bindings write it, "not-found", and back; unknown: "unknown", QSB_E_PROTOCOL.
 */
const char *qsb__error_name(int code);
int qsb__error_of_name(const char *name);

int qsb__fail_memory(struct qsb_error *err, const char *where);

#endif
