#include "core/json.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

static struct qsb_error err;

static int parse(const char *text, size_t length)
{
	QSB__CLEANUP_JSON json_t *value = NULL;

	memset(&err, 0, sizeof(err));
	return qsb__json_parse(&value, text, length, "p.json", &err);
}

static void refused(const char *text, int code, const char *where, const char *message, const char *name)
{
	int got = parse(text, strlen(text));

	tap_is_number(got, code, name);
	tap_is_text(err.where, where, "the place is a JSON pointer");
	if (!tap_ok(strstr(err.message, message) != NULL, "the message says: %s", message))
		printf("#      got: %s\n", err.message);
}

static void nested(size_t depth, const char *open, const char *close, char *out)
{
	out[0] = '\0';
	for (size_t i = 0; i < depth; i++)
		strcat(out, open);
	strcat(out, "1");
	for (size_t i = 0; i < depth; i++)
		strcat(out, close);
}

static void depths(void)
{
	static char text[65536];

	nested(32, "[", "]", text);
	tap_is_number(parse(text, strlen(text)), 0, "32 levels are parsed");
	nested(33, "[", "]", text);
	tap_is_number(parse(text, strlen(text)), QSB_E_RANGE, "33 levels are refused");
	nested(33, "{\"a\":", "}", text);
	tap_is_number(parse(text, strlen(text)), QSB_E_RANGE, "33 levels of objects are refused");
	memset(text, '[', sizeof(text));
	tap_is_number(parse(text, sizeof(text)), QSB_E_RANGE, "an endless row of brackets is refused");
	tap_is_number(parse("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"", 44), QSB_E_INVALID,
	              "brackets in a string are not levels");
	tap_ok(strstr(err.message, "deeper") == NULL, "and the error is another one");
}

static void sizes(void)
{
	size_t length = QSB__JSON_MAX + 1;
	char *text = malloc(length);

	if (!text)
		return;
	memset(text, ' ', length);
	memcpy(text, "{}", 2);
	tap_is_number(parse(text, length - 1), 0, "1 MiB is parsed");
	tap_is_number(parse(text, length), QSB_E_RANGE, "a byte more is refused");
	free(text);
}

static void texts(void)
{
	refused("", QSB_E_INVALID, "/", "is empty", "an empty text is refused");
	refused(" \n\t ", QSB_E_INVALID, "/", "is empty", "blanks are an empty text");
	refused("{\"a\":{\"b\":1,\"b\":2}}", QSB_E_INVALID, "/a/b", "twice", "a duplicate key is refused");
	refused("{\"a\":[{\"b\":1},{\"c\":1,\"c\":2}]}", QSB_E_INVALID, "/a/1/c", "twice",
	        "a duplicate key in a list is found");
	refused("{\"a\":[1,2,\"\xFF\"]}", QSB_E_INVALID, "/a/2", "UTF-8", "bytes that are not UTF-8 are refused");
	refused("{\"a\":\"\xED\xA0\x80\"}", QSB_E_INVALID, "/a", "UTF-8", "a surrogate in UTF-8 is refused");
	refused("\xEF\xBB\xBF{}", QSB_E_INVALID, "/", "byte-order mark", "a byte-order mark is refused");
	refused("\xFF\xFE{\"", QSB_E_INVALID, "/", "", "UTF-16 is refused");
	refused("{} // x", QSB_E_INVALID, "/", "comments", "a comment behind it is refused");
	refused("{/* x */}", QSB_E_INVALID, "/", "comments", "a comment in it is refused");
	refused("{\"a\":1,}", QSB_E_INVALID, "/", "p.json:1:", "a comma too many is refused");
	refused("{'a':1}", QSB_E_INVALID, "/", "p.json:1:", "single quotes are refused");
	refused("{\"a\":01}", QSB_E_INVALID, "/a", "p.json:1:", "a leading zero is refused");
	refused("{\"a\":NaN}", QSB_E_INVALID, "/a", "p.json:1:", "NaN is refused");
	refused("{\"a\":1e999}", QSB_E_RANGE, "/a", "too large", "a number beyond a double is refused");
	refused("{\"a\":99999999999999999999}", QSB_E_RANGE, "/a", "too large", "an integer beyond 64 bits is refused");
	refused("{\"a\":\"x\\u0000y\"}", QSB_E_INVALID, "/a", "zero character", "an escaped zero byte is refused");
	refused("{\"a\":1} {}", QSB_E_INVALID, "/", "p.json:1:", "a second value is refused");
	refused("{\"a\":[1,2", QSB_E_INVALID, "/a/1", "p.json:1:", "a text that breaks off is refused");
	tap_is_number(parse("{\"a\":\0}", 7), QSB_E_INVALID, "a zero byte is refused");
	tap_is_number(parse("{\"\\\"\":[\"\\\\\",{}]}", 16), 0, "escaped quotes do not confuse the scan");
	tap_is_number(parse("\"", 1), QSB_E_INVALID, "a lone quote is refused");
	tap_is_number(parse("\"\\", 2), QSB_E_INVALID, "a lone backslash is refused");
	tap_is_number(parse("]]]]}}", 6), QSB_E_INVALID, "closing brackets alone are refused");
}

static void pointers(void)
{
	char pointer[16] = "", shown[16];

	qsb__json_pointer_add(pointer, sizeof(pointer), "a/b~c", 5);
	tap_is_text(pointer, "/a~1b~0c", "a pointer's key is escaped as RFC 6901 says");
	qsb__json_pointer_add(pointer, sizeof(pointer), "0123456789", 10);
	tap_is_text(pointer, "/a~1b~0c/012", "a pointer that does not fit is cut");
	qsb__json_printable(shown, sizeof(shown), "a\x1B[31m\x7F", 7);
	tap_is_text(shown, "a?[31m?", "control characters are not shown");
	qsb__json_printable(shown, sizeof(shown), "\xC2\x9B" "1m", 4);
	tap_is_text(shown, "?1m", "nor are those above ASCII");
	qsb__json_printable(shown, sizeof(shown), "a\xFF\xE4\xB8z", 5);
	tap_is_text(shown, "a???z", "nor bytes that are not UTF-8");
	qsb__json_printable(shown, sizeof(shown), "\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD", 15);
	tap_is_text(shown, "\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD…", "a text is cut at a whole character");
}

int main(void)
{
	depths();
	sizes();
	texts();
	pointers();
	return tap_done();
}
