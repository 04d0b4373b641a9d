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
	memset(text, '{', sizeof(text));
	tap_is_number(parse(text, sizeof(text)), QSB_E_RANGE, "an endless row of braces is refused");
	tap_is_text(err.where, "/", "and has a place, though it has no key");
	tap_is_number(parse("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"", 44), 0,
		      "brackets in a string are not levels");
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
	refused("{\"a\":{\"\\u00e9\":1,\"\xC3\xA9\":2}}", QSB_E_INVALID, "/a/\xC3\xA9", "twice",
		"a duplicate key is one however it is written");
	refused("{\"a\":{\"\xC3\xA9\":1,\"\\u00e9\":2}}", QSB_E_INVALID, "/a/\xC3\xA9", "twice",
		"and is named as it is meant");
	refused("{\"a\":[{\"b\":1},{\"c\":1,\"c\":2}]}", QSB_E_INVALID, "/a/1/c", "twice",
		"a duplicate key in a list is found");
	refused("{\"a\":[1,2,\"\xFF\"]}", QSB_E_INVALID, "/a/2", "UTF-8", "bytes that are not UTF-8 are refused");
	refused("{\"a\":\"\xED\xA0\x80\"}", QSB_E_INVALID, "/a", "UTF-8", "a surrogate in UTF-8 is refused");
	refused("\xEF\xBB\xBF{}", QSB_E_INVALID, "/", "byte-order mark", "a byte-order mark is refused");
	refused("\xFF\xFE{\"", QSB_E_INVALID, "/", "", "UTF-16 is refused");
	refused("{} // x", QSB_E_INVALID, "/", "comments", "a comment behind it is refused");
	refused("{/* x */}", QSB_E_INVALID, "/", "comments", "a comment in it is refused");
	refused("# x\n{}", QSB_E_INVALID, "/", "p.json:1:1: comments", "a comment of a shell is refused");
	refused("{\"a\":\"\\#\"}", QSB_E_INVALID, "/a", "escape", "a strange escape in a text is no comment");
	refused("{\"a\":1,}", QSB_E_INVALID, "/", "p.json:1:8: a comma", "a comma too many is refused");
	refused("{\"a\":[1,2 , ]}", QSB_E_INVALID, "/a/2", "comma", "a comma too many in a list is refused");
	refused("{\"a\":[1}", QSB_E_INVALID, "/a/0", "']' expected near '}'", "a bracket of the other kind is refused");
	refused("{'a':1}", QSB_E_INVALID, "/", "double quotes", "single quotes are refused");
	refused("{\"a\":01}", QSB_E_INVALID, "/a", "p.json:1:", "a leading zero is refused");
	refused("{\"a\":NaN}", QSB_E_INVALID, "/a", "p.json:1:", "NaN is refused");
	refused("{\"a\":1e999}", QSB_E_RANGE, "/a", "too large", "a number beyond a double is refused");
	refused("{\"a\":99999999999999999999}", QSB_E_RANGE, "/a", "too large", "an integer beyond 64 bits is refused");
	refused("{\"a\":\"x\\u0000y\"}", QSB_E_INVALID, "/a", "zero character", "an escaped zero byte is refused");
	refused("{\"a\":\"\\uD800\"}", QSB_E_INVALID, "/a", "\\u", "half a surrogate pair is refused");
	refused("{\"a\":\"\\uDC00\\uD800\"}", QSB_E_INVALID, "/a", "\\u", "a pair in the wrong order is refused");
	refused("{\"a\":\"\\u12\"}", QSB_E_INVALID, "/a", "\\u", "a short escape is refused");
	refused("{\"a\":\"\\x41\"}", QSB_E_INVALID, "/a", "escape", "an unknown escape is refused");
	refused("{\"a\":\"x\ny\"}", QSB_E_INVALID, "/a", "newline", "a line break in a text is refused");
	refused("{\"a\":.5}", QSB_E_INVALID, "/a", "near '.'", "a number begins with a digit");
	refused("{\"a\":5.}", QSB_E_INVALID, "/a", "near '5.'", "a point has digits behind it");
	refused("{\"a\":5e}", QSB_E_INVALID, "/a", "near '5e'", "an exponent has digits");
	refused("{\"a\":+5}", QSB_E_INVALID, "/a", "near '+'", "a number has no plus");
	refused("{\"a\":tru}", QSB_E_INVALID, "/a", "near 'tru'", "half a word is refused");
	refused("{\n \"a\": [1,\n 2,, 3]}", QSB_E_INVALID, "/a/2", "p.json:3:4", "the line and the column are named");
	refused("{\"\\u00e9/~\":nul}", QSB_E_INVALID, "/\xC3\xA9~1~0", "near 'nul'", "a key is named as it is meant");
	refused("{\"a\":{\"b\\x\":1}}", QSB_E_INVALID, "/a/b\\", "escape",
		"a key at fault is named as far as it is good");
	refused("{\"a\" 1}", QSB_E_INVALID, "/a", "':'", "a colon is expected");
	refused("{\"a\":1} {}", QSB_E_INVALID, "/", "p.json:1:", "a second value is refused");
	refused("{\"a\":[1,2", QSB_E_INVALID, "/a/1", "breaks off", "a text that breaks off is refused");
	tap_is_number(parse("{\"a\":\0}", 7), QSB_E_INVALID, "a zero byte is refused");
	tap_is_number(parse("{\"\\\"\":[\"\\\\\",{}]}", 16), 0, "escaped quotes do not confuse the scan");
	tap_is_number(parse("\"", 1), QSB_E_INVALID, "a lone quote is refused");
	tap_is_number(parse("\"\\", 2), QSB_E_INVALID, "a lone backslash is refused");
	tap_is_number(parse("]]]]}}", 6), QSB_E_INVALID, "closing brackets alone are refused");
}

static void values(void)
{
	static const char text[] = "{\"z\":[-9223372036854775808,1.5e3],\"b\\u00e9\\n\":\"\\ud83d\\ude00\\/\",\"a\":1}";
	QSB__CLEANUP_JSON json_t *value = NULL;
	const char *key, *keys[3] = {NULL};
	size_t count = 0;
	json_t *entry;

	tap_is_number(qsb__json_parse(&value, text, sizeof(text) - 1, "p.json", &err), 0, "every kind is read");
	json_object_foreach(value, key, entry)
		if (count < 3)
			keys[count++] = key;
	tap_ok(count == 3 && strcmp(keys[0], "z") == 0 && strcmp(keys[2], "a") == 0, "keys keep their order");
	tap_is_text(keys[1] ? keys[1] : "", "b\xC3\xA9\n", "a key's escapes are read");
	entry = json_object_get(value, "z");
	tap_ok(json_integer_value(json_array_get(entry, 0)) == INT64_MIN, "the smallest integer is exact");
	tap_ok(json_real_value(json_array_get(entry, 1)) == 1500.0, "an exponent is read");
}

static void many_keys(void)
{
	static char text[QSB__JSON_MAX];
	size_t used = 1, count = 0;

	text[0] = '{';
	for (; used < sizeof(text) - 32; count++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "\"k%zu\":1,", count);
	used += (size_t)snprintf(text + used, sizeof(text) - used, "\"x\":1}");
	tap_is_number(parse(text, used), 0, "as many keys as a text can hold are read");
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
	qsb__json_printable(shown, sizeof(shown),
			    "\xC2\x9B"
			    "1m",
			    4);
	tap_is_text(shown, "?1m", "nor are those above ASCII");
	qsb__json_printable(shown, sizeof(shown), "a\xE2\x80\xAE\xE2\x80\xA8\xE2\x81\xA6z\xE2\x80\xA7", 14);
	tap_is_text(shown, "a???z\xE2\x80\xA7", "nor what turns the order around, or ends a line");
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
	values();
	many_keys();
	pointers();
	return tap_done();
}
