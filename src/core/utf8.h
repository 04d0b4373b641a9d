#ifndef QSB_CORE_UTF8_H
#define QSB_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the character that begins at `text` (1 to 4), or 0 when it is not UTF-8. `left` bytes may be read. */
size_t qsb__utf8_length(const char *text, size_t left);

/* Would this character, of that length, move a terminal's cursor, or change the order or lines that others are shown
 * in? C0, DEL, C1, Unicode's marks of direction and its ends of lines. */
bool qsb__utf8_is_control(const char *at, size_t length);

/* A copy in which every byte that is not part of a UTF-8 character became U+FFFD. The caller frees it. */
char *qsb__utf8_repair(const char *data, size_t length, size_t *out_length);

#endif
