/* One string of a JSON text, read in place. */
#ifndef QSB_CORE_JSON_STRING_H
#define QSB_CORE_JSON_STRING_H

/*
 * *at is the opening quote; a NUL stands at `end`. NULL: *out is the string's content, ended by a NUL where its quote
 * or an escape was, and *at the byte behind it. Otherwise the reason, and *at the fault's place.
 */
const char *qsb__json_string_read(char **at, char *end, const char **out);

#endif
