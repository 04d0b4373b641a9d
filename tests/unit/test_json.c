#include "core/json_tree.h"

#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/json.h"
#include "tap.h"

static struct qsb_error err;

static int parse(const char *text, size_t length)
{
	QSB_CLEANUP_FREE char *copy = malloc(length + 1);
	struct qsb__json_tree tree;
	int code;

	if (!copy)
		return QSB_E_MEMORY;
	memcpy(copy, text, length);
	copy[length] = '\0';
	memset(&err, 0, sizeof(err));
	code = qsb__json_tree_parse(&tree, copy, length, "p.json", &err);
	qsb__json_tree_clear(&tree);
	return code;
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
	refused("{\"a\":\"x\\u0000y\"}", QSB_E_INVALID, "/a", "\\u", "an escaped zero byte is refused");
	refused("{\"a\":\"\\uD800\"}", QSB_E_INVALID, "/a", "\\u", "half a surrogate pair is refused");
	refused("{\"a\":\"\\uDC00\\uD800\"}", QSB_E_INVALID, "/a", "\\u", "a pair in the wrong order is refused");
	refused("{\"a\":\"\\u12\"}", QSB_E_INVALID, "/a", "\\u", "a short escape is refused");
	refused("{\"a\":\"\\x41\"}", QSB_E_INVALID, "/a", "escape", "an unknown escape is refused");
	refused("{\"a\":\"x\ny\"}", QSB_E_INVALID, "/a", "\\u000a", "a line break in a text is refused");
	refused("{\"a\":.5}", QSB_E_INVALID, "/a", "value", "a number begins with a digit");
	refused("{\"a\":5.}", QSB_E_INVALID, "/a", "digit", "a point has digits behind it");
	refused("{\"a\":5e}", QSB_E_INVALID, "/a", "digit", "an exponent has digits");
	refused("{\"a\":+5}", QSB_E_INVALID, "/a", "value", "a number has no plus");
	refused("{\"a\":tru}", QSB_E_INVALID, "/a", "value", "half a word is refused");
	refused("{\n \"a\": [1,\n 2,, 3]}", QSB_E_INVALID, "/a/2", "p.json:3:4", "the line and the column are named");
	refused("{\"a\" 1}", QSB_E_INVALID, "/a", "':'", "a colon is expected");
	refused("{\"a\":1} {}", QSB_E_INVALID, "/", "p.json:1:", "a second value is refused");
	refused("{\"a\":[1,2", QSB_E_INVALID, "/a/1", "p.json:1:", "a text that breaks off is refused");
	tap_is_number(parse("{\"a\":\0}", 7), QSB_E_INVALID, "a zero byte is refused");
	tap_is_number(parse("{\"\\\"\":[\"\\\\\",{}]}", 16), 0, "escaped quotes do not confuse the scan");
	tap_is_number(parse("\"", 1), QSB_E_INVALID, "a lone quote is refused");
	tap_is_number(parse("\"\\", 2), QSB_E_INVALID, "a lone backslash is refused");
	tap_is_number(parse("]]]]}}", 6), QSB_E_INVALID, "closing brackets alone are refused");
}

static void values(void)
{
	char text[] = "{\"a\":[-9223372036854775808,1.5e3,-0.25,1E-2,0],\"b\\u00e9\\n\":\"\\ud83d\\ude00\\/\","
		      "\"c\":{\"d\":{}},\"e\":[true,false,null]}";
	struct qsb__json_tree tree;
	const struct qsb__json_node *node;

	tap_is_number(qsb__json_tree_parse(&tree, text, sizeof(text) - 1, "p.json", &err), 0, "every kind is read");
	node = tree.nodes;
	tap_ok(node->kind == QSB__JSON_OBJECT && node->is.count == 4 && node->next == tree.count,
	       "the root holds four keys");
	tap_ok(node[1].kind == QSB__JSON_ARRAY && node[1].is.count == 5 && node[1].next == 7,
	       "a list knows where it ends");
	tap_ok(node[2].kind == QSB__JSON_INTEGER && node[2].is.integer == INT64_MIN, "the smallest integer is exact");
	tap_ok(node[3].kind == QSB__JSON_REAL && node[3].is.real == 1500.0, "an exponent is read");
	tap_ok(node[4].kind == QSB__JSON_REAL && node[4].is.real == -0.25, "a fraction is read");
	tap_ok(node[5].kind == QSB__JSON_REAL && node[5].is.real == 0.01, "a negative exponent is read");
	tap_is_text(node[7].key, "b\xC3\xA9\n", "a key's escapes are read");
	tap_is_text(node[7].is.text, "\xF0\x9F\x98\x80/", "a surrogate pair is one character");
	tap_ok(node[9].kind == QSB__JSON_OBJECT && node[9].is.count == 0, "an empty object has no keys");
	tap_ok(node[11].kind == QSB__JSON_TRUE && node[12].kind == QSB__JSON_FALSE && node[13].kind == QSB__JSON_NULL,
	       "the three words are read");
	qsb__json_tree_clear(&tree);
}

/* A key more costs more with every key before it: their number is bounded. */
static void many_keys(void)
{
	char text[QSB__JSON_KEYS_MAX * 16 + 64] = "{";
	size_t used = 1;

	for (int i = 0; i < QSB__JSON_KEYS_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"k%d\":1", i ? "," : "", i);
	strcpy(text + used, "}");
	tap_is_number(parse(text, used + 1), 0, "2048 keys are read");
	strcpy(text + used, ",\"x\":1}");
	tap_is_number(parse(text, used + 7), QSB_E_RANGE, "one more is refused");
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
