/* Strict JSON from strangers: small, shallow, UTF-8, no duplicate key, no comment, nothing behind it. */
#ifndef QSB_CORE_JSON_H
#define QSB_CORE_JSON_H

#include <stddef.h>

#include <jansson.h>
#include <qiming/sandbox.h>

enum { QSB__JSON_MAX = 1 << 20, QSB__JSON_DEPTH_MAX = 32 };

/* Parses `length` bytes. `source` names the text in messages. The caller owns *out. A failure's `where` is the JSON
 * pointer of the place, and the message has it too. */
int qsb__json_parse(json_t **out, const char *text, size_t length, const char *source, struct qsb_error *err);

/* Appends one segment to a JSON pointer in `buffer`, escaped as RFC 6901 says; control characters become '?', since
 * the pointer is printed. What does not fit is cut. */
void qsb__json_pointer_add(char *buffer, size_t size, const char *segment, size_t length);

/* Copies text for a message: control characters (also C1) become '?', and "…" ends what was cut. */
void qsb__json_printable(char *buffer, size_t size, const char *text, size_t length);

/* Any bytes as a JSON string: what is not UTF-8 becomes U+FFFD. A new reference, NULL = no memory. */
json_t *qsb__json_bytes(const char *data, size_t length);
/* The same for a text that ends with a NUL; NULL becomes null. */
json_t *qsb__json_text(const char *text);

void qsb__json_release(json_t **value);
#define QSB__CLEANUP_JSON __attribute__((cleanup(qsb__json_release)))

#endif
