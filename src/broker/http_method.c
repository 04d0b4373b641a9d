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

/* There are proxies that take their most dangerous method in whatever case. */
static bool is_registered(struct qsb__http_text word)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strlen(methods[i]) == word.size && memcmp(methods[i], word.at, word.size) == 0)
			return true;
	return qsb__http_is_word(word, "connect");
}

/* RFC 9112, 3: what lenient servers take for the blank between two words, or skip in front of a request. */
static bool is_lenient_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\v' || byte == '\f';
}

/* Does a word end here? -1 = the next byte tells: a CR alone is such a blank too. */
static int ends_word(struct qsb__http_text text)
{
	if (text.size == 0 || (text.at[0] == '\r' && text.size == 1))
		return -1;
	return is_lenient_blank(text.at[0]) || (text.at[0] == '\r' && text.at[1] != '\n');
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
	int ends;

	while (at < text.size && text.at[at] > 0x20 && text.at[at] < 0x7F)
		at++;
	if (at > 0 && text.at[0] != '/' && text.at[0] != '*') {
		int scheme = begins(text, "http:");

		if (scheme != 1)
			return scheme;
	}
	ends = at == 0 && text.size > 0 ? 0 : ends_word((struct qsb__http_text){text.at + at, text.size - at});
	return ends == 1 ? begins((struct qsb__http_text){text.at + at + 1, text.size - at - 1}, "http/") : ends;
}

static int tell(const char *bytes, size_t length)
{
	size_t start = 0, end;
	int ends;

	/* The parser refuses what stands in front. */
	while (start < length && (bytes[start] == '\r' || bytes[start] == '\n' || is_lenient_blank(bytes[start])))
		start++;
	for (end = start; end < length && qsb__http_is_token_byte(bytes[end]);)
		end++;
	if ((end == start && end < length) || end - start >= QSB__HTTP_METHOD_MAX)
		return 0;
	ends = ends_word((struct qsb__http_text){bytes + end, length - end});
	if (ends != 1)
		return ends;
	if (is_registered((struct qsb__http_text){bytes + start, end - start}))
		return 1;
	return is_target_and_version((struct qsb__http_text){bytes + end + 1, length - end - 1});
}

int qsb__http_is_request(const char *bytes, size_t length)
{
	int kind = tell(bytes, length);

	/* No head is that large: nobody waits for more of it, and the parser says so. */
	return kind < 0 && length >= QSB__HTTP_HEAD_MAX ? 1 : kind;
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
