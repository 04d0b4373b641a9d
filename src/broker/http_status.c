#include <string.h>

#include "broker/http_head.h"

enum { PREFIX = 9, CODE = 3, PREFIX_AND_CODE = PREFIX + CODE };

/* The byte behind a status code ends it. */
static bool ends_code(char byte)
{
	return byte == ' ' || byte == '\r';
}

static bool is_status_byte(char byte, size_t at)
{
	static const char start[PREFIX + 1] = "HTTP/1.? ";

	if (at >= PREFIX_AND_CODE)
		return ends_code(byte);
	if (at == 7)
		return byte == '0' || byte == '1';
	if (at < PREFIX)
		return byte == start[at];
	return byte >= (at == PREFIX ? '1' : '0') && byte <= '9';
}

enum qsb__parse qsb__http_status_parse(const char *bytes, size_t length, unsigned *status, size_t *size)
{
	size_t end = length < QSB__HTTP_HEAD_MAX ? length : QSB__HTTP_HEAD_MAX, line = 0;

	*status = 0;
	*size = 0;
	for (size_t at = 0; at < end && at <= PREFIX_AND_CODE; at++)
		if (!is_status_byte(bytes[at], at))
			return QSB__PARSE_BAD;
	for (size_t at = 0; at < end; at++) {
		if (bytes[at] == '\0')
			return QSB__PARSE_BAD;
		if (bytes[at] == '\r' && at + 1 < end && bytes[at + 1] != '\n')
			return QSB__PARSE_BAD;
		if (bytes[at] != '\n')
			continue;
		if (at == 0 || bytes[at - 1] != '\r')
			return QSB__PARSE_BAD;
		if (at - line == 1) {
			*status = (unsigned)((bytes[PREFIX] - '0') * 100 + (bytes[PREFIX + 1] - '0') * 10 +
					     (bytes[PREFIX + 2] - '0'));
			*size = at + 1;
			return QSB__PARSE_DONE;
		}
		line = at + 1;
	}
	return length >= QSB__HTTP_HEAD_MAX ? QSB__PARSE_BAD : QSB__PARSE_MORE;
}
