#include "broker/http_line.h"

#include <string.h>

bool qsb__http_is_token_byte(char byte)
{
	char lower = (char)(byte | 0x20);

	return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') ||
	       (byte != '\0' && strchr("!#$%&'*+-.^_`|~", byte));
}

bool qsb__http_is_token(struct qsb__http_text text)
{
	for (size_t i = 0; i < text.size; i++)
		if (!qsb__http_is_token_byte(text.at[i]))
			return false;
	return text.size > 0;
}

static char lower(char byte)
{
	return byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
}

bool qsb__http_begins(struct qsb__http_text text, const char *word)
{
	size_t size = strlen(word);

	if (text.size < size)
		return false;
	for (size_t i = 0; i < size; i++)
		if (lower(text.at[i]) != word[i])
			return false;
	return true;
}

bool qsb__http_is_word(struct qsb__http_text text, const char *word)
{
	return text.size == strlen(word) && qsb__http_begins(text, word);
}

bool qsb__http_same_word(struct qsb__http_text a, struct qsb__http_text b)
{
	if (a.size != b.size)
		return false;
	for (size_t i = 0; i < a.size; i++)
		if (lower(a.at[i]) != lower(b.at[i]))
			return false;
	return true;
}

enum qsb__parse qsb__http_line_cut(struct qsb__http_text *rest, struct qsb__http_text *line, const char **why)
{
	for (size_t i = 0; i < rest->size; i++) {
		unsigned char byte = (unsigned char)rest->at[i];

		if ((byte >= 0x20 && byte != 0x7F) || byte == '\t')
			continue;
		if (byte == '\r' && i + 1 == rest->size)
			return QSB__PARSE_MORE;
		if (byte == '\r' && rest->at[i + 1] == '\n') {
			*line = (struct qsb__http_text){rest->at, i};
			rest->at += i + 2;
			rest->size -= i + 2;
			return QSB__PARSE_DONE;
		}
		*why = byte == '\r'   ? "a CR without LF"
		       : byte == '\n' ? "an LF without CR"
				      : "a control byte in the request";
		return QSB__PARSE_BAD;
	}
	return QSB__PARSE_MORE;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static struct qsb__http_text trim(struct qsb__http_text text)
{
	while (text.size > 0 && is_blank(text.at[0])) {
		text.at++;
		text.size--;
	}
	while (text.size > 0 && is_blank(text.at[text.size - 1]))
		text.size--;
	return text;
}

const char *qsb__http_field_read(struct qsb__http_text line, struct qsb__http_field *out)
{
	const char *colon = memchr(line.at, ':', line.size);

	if (line.size > 0 && is_blank(line.at[0]))
		return "a folded header line";
	if (!colon)
		return "a header line without a colon";
	out->name = (struct qsb__http_text){line.at, (size_t)(colon - line.at)};
	out->value = trim((struct qsb__http_text){colon + 1, line.size - out->name.size - 1});
	if (out->name.size == 0)
		return "a header without a name";
	if (is_blank(colon[-1]))
		return "a blank before the colon of a header";
	return qsb__http_is_token(out->name) ? NULL : "a header name with a byte that no name has";
}

bool qsb__http_list_cut(struct qsb__http_text *list, struct qsb__http_text *element)
{
	const char *comma;
	size_t size;

	if (!list->at)
		return false;
	comma = memchr(list->at, ',', list->size);
	size = comma ? (size_t)(comma - list->at) : list->size;
	*element = trim((struct qsb__http_text){list->at, size});
	*list = comma ? (struct qsb__http_text){comma + 1, list->size - size - 1} : (struct qsb__http_text){NULL, 0};
	return true;
}
