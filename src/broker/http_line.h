/* The lines of an HTTP head, and the parts of a line. Internal to the HTTP parser. RFC 9112, 9110. */
#ifndef QSB_BROKER_HTTP_LINE_H
#define QSB_BROKER_HTTP_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "broker/parse.h"

struct qsb__http_text {
	const char *at;
	size_t size;
};

struct qsb__http_field {
	struct qsb__http_text name, value; /* the value without the blanks around it */
};

/* A byte of a method or of a field's name. */
bool qsb__http_is_token_byte(char byte);
bool qsb__http_is_token(struct qsb__http_text text);

/* Whether `word`, which is in lower case, is the whole of it, in whatever case. */
bool qsb__http_is_word(struct qsb__http_text text, const char *word);
bool qsb__http_begins(struct qsb__http_text text, const char *word);
bool qsb__http_same_word(struct qsb__http_text a, struct qsb__http_text b);

/*
 * Cuts the first line off `rest`, without its CR LF. BAD, with a phrase in *why: a bare CR or LF, or a control byte
 * other than the tab, also in a line that is not whole yet.
 */
enum qsb__parse qsb__http_line_cut(struct qsb__http_text *rest, struct qsb__http_text *line, const char **why);

/* NULL, or what is wrong with the line of a header. */
const char *qsb__http_field_read(struct qsb__http_text line, struct qsb__http_field *out);

/* Cuts the first element off a list with commas; false = there are no more. Elements may be empty. */
bool qsb__http_list_cut(struct qsb__http_text *list, struct qsb__http_text *element);

#endif
