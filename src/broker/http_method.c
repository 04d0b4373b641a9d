#include <string.h>

#include "broker/http_head.h"
#include "broker/http_line.h"

/* The registry of methods, by RFC 9110 and those that extend it. */
static const char *const methods[] = {
	"ACL",
	"BASELINE-CONTROL",
	"BIND",
	"CHECKIN",
	"CHECKOUT",
	"CONNECT",
	"COPY",
	"DELETE",
	"GET",
	"HEAD",
	"LABEL",
	"LINK",
	"LOCK",
	"MERGE",
	"MKACTIVITY",
	"MKCALENDAR",
	"MKCOL",
	"MKREDIRECTREF",
	"MKWORKSPACE",
	"MOVE",
	"OPTIONS",
	"ORDERPATCH",
	"PATCH",
	"POST",
	"PRI",
	"PROPFIND",
	"PROPPATCH",
	"PUT",
	"QUERY",
	"REBIND",
	"REPORT",
	"SEARCH",
	"TRACE",
	"UNBIND",
	"UNCHECKOUT",
	"UNLINK",
	"UNLOCK",
	"UPDATE",
	"UPDATEREDIRECTREF",
	"VERSION-CONTROL",
};

static bool is_registered(const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strlen(methods[i]) == size && memcmp(methods[i], text, size) == 0)
			return true;
	return false;
}

/* Does `text` begin with `word`, which is in lower case, in whatever case? -1 = too short to tell. */
static int begins(struct qsb__http_text text, const char *word)
{
	size_t size = strlen(word);
	char start[16];

	if (text.size >= size)
		return qsb__http_begins(text, word);
	memcpy(start, word, text.size);
	start[text.size] = '\0';
	return qsb__http_begins(text, start) ? -1 : 0;
}

/* What follows an unknown method and its blank: a target, a blank and a version? */
static int is_target_and_version(struct qsb__http_text text)
{
	size_t at = 0;

	while (at < text.size && text.at[at] > 0x20 && text.at[at] < 0x7F)
		at++;
	if (at > 0 && text.at[0] != '/' && text.at[0] != '*') {
		int scheme = begins(text, "http:");

		if (scheme != 1)
			return scheme;
	}
	/* No head is that large: the parser will say so. */
	if (at >= QSB__HTTP_HEAD_MAX)
		return 1;
	if (at == text.size)
		return -1;
	if (at == 0 || text.at[at] != ' ')
		return 0;
	return begins((struct qsb__http_text){text.at + at + 1, text.size - at - 1}, "http/");
}

int qsb__http_is_request(const char *bytes, size_t length)
{
	size_t start = 0, end;
	int known;

	/* Servers skip empty lines before a request; the parser refuses them. */
	while (start < length && (bytes[start] == '\r' || bytes[start] == '\n'))
		start++;
	if (start >= QSB__HTTP_HEAD_MAX)
		return 1;
	for (end = start; end < length && qsb__http_is_token_byte(bytes[end]);)
		end++;
	if (end - start >= QSB__HTTP_HEAD_MAX)
		return 1;
	if (end == length)
		return -1;
	if (end == start || (bytes[end] != ' ' && bytes[end] != '\t'))
		return 0;
	if (is_registered(bytes + start, end - start))
		return 1;
	known = is_target_and_version((struct qsb__http_text){bytes + end + 1, length - end - 1});
	/* No head is larger: more bytes to tell by will not come. */
	return known < 0 && length >= QSB__HTTP_HEAD_MAX ? 1 : known;
}

bool qsb__http_may_become_method(const char *bytes, size_t length)
{
	while (length > 0 && (*bytes == '\r' || *bytes == '\n')) {
		bytes++;
		length--;
	}
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (length <= strlen(methods[i]) && memcmp(methods[i], bytes, length) == 0)
			return true;
	return false;
}
