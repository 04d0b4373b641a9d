#include "core/json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "core/utf8.h"

enum { POINTER_MAX = 512 };

void qsb__json_release(json_t **value)
{
	json_decref(*value);
}

void qsb__json_printable(char *buffer, size_t size, const char *text, size_t length)
{
	static const char more[] = "…";
	size_t used = 0;

	for (size_t at = 0, step; at < length; at += step) {
		size_t good = qsb__utf8_length(text + at, length - at);
		bool shown = good && !qsb__utf8_is_control(text + at, good);

		step = good ? good : 1;
		if (used + step + sizeof(more) > size) {
			memcpy(buffer + used, more, sizeof(more) - 1);
			used += sizeof(more) - 1;
			break;
		}
		memcpy(buffer + used, shown ? text + at : "?", shown ? good : 1);
		used += shown ? good : 1;
	}
	buffer[used] = '\0';
}

void qsb__json_pointer_add(char *buffer, size_t size, const char *segment, size_t length)
{
	size_t used = strlen(buffer), step;
	char shown[256];

	if (used + 1 >= size)
		return;
	buffer[used++] = '/';
	qsb__json_printable(shown, sizeof(shown), segment, length);
	for (const char *at = shown; *at && used + 4 < size; at += step) {
		step = qsb__utf8_length(at, strlen(at));
		if (*at == '~' || *at == '/') {
			buffer[used++] = '~';
			buffer[used++] = *at == '~' ? '0' : '1';
		} else {
			memcpy(buffer + used, at, step);
			used += step;
		}
	}
	buffer[used] = '\0';
}

json_t *qsb__json_bytes(const char *data, size_t length)
{
	QSB_CLEANUP_FREE char *clean = qsb__utf8_repair(data, length, &length);

	return clean ? json_stringn_nocheck(clean, length) : NULL;
}

json_t *qsb__json_text(const char *text)
{
	return text ? qsb__json_bytes(text, strlen(text)) : json_null();
}

/* One open '{' or '[' on the way to a place in the text. */
struct level {
	bool is_array, key_next;
	unsigned index;
	const char *key; /* with its quotes, the last of which may be missing */
	size_t key_length;
};

struct walk {
	struct level levels[QSB__JSON_DEPTH_MAX];
	size_t depth;
	bool too_deep;
};

/* The length of the string that begins at `text`, with its quotes. */
static size_t string_length(const char *text, size_t length)
{
	const char *end = text + length, *quote = text;

	while ((quote = memchr(quote + 1, '"', (size_t)(end - quote - 1)))) {
		size_t escapes = 0;

		while (quote[-1 - (ptrdiff_t)escapes] == '\\')
			escapes++;
		if (escapes % 2 == 0)
			return (size_t)(quote + 1 - text);
	}
	return length;
}

static void open_level(struct walk *walk, bool is_array)
{
	walk->too_deep = walk->depth == QSB__JSON_DEPTH_MAX;
	if (!walk->too_deep)
		walk->levels[walk->depth++] = (struct level){.is_array = is_array, .key_next = !is_array};
}

/* A scan that knows only brackets, strings and commas: enough to bound the depth before Jansson recurses, and to say
 * in which key a fault lies, which Jansson does not. */
static void walk_to(struct walk *walk, const char *text, size_t length)
{
	*walk = (struct walk){0};
	for (size_t at = 0, step; at < length && !walk->too_deep; at += step) {
		struct level *top = walk->depth ? &walk->levels[walk->depth - 1] : NULL;

		step = text[at] == '"' ? string_length(text + at, length - at) : 1;
		if (text[at] == '{' || text[at] == '[') {
			open_level(walk, text[at] == '[');
		} else if (!top) {
			continue;
		} else if (text[at] == '}' || text[at] == ']') {
			walk->depth--;
		} else if (text[at] == ',') {
			top->index++;
			top->key = NULL;
			top->key_next = !top->is_array;
		} else if (text[at] == '"' && top->key_next) {
			top->key = text + at;
			top->key_length = step;
			top->key_next = false;
		}
	}
}

/* A key as its escapes mean it or, where the fault lies in it, as it is written. */
static void add_key(char *buffer, size_t size, const struct level *level)
{
	QSB__CLEANUP_JSON json_t *key = json_loadb(level->key, level->key_length, JSON_DECODE_ANY, NULL);

	if (key)
		qsb__json_pointer_add(buffer, size, json_string_value(key), json_string_length(key));
	else
		qsb__json_pointer_add(buffer, size, level->key + 1, level->key_length - 1);
}

static void walk_pointer(const struct walk *walk, char *buffer, size_t size)
{
	buffer[0] = '\0';
	for (size_t i = 0; i < walk->depth; i++) {
		const struct level *level = &walk->levels[i];
		char number[16];

		if (level->is_array) {
			snprintf(number, sizeof(number), "%u", level->index);
			qsb__json_pointer_add(buffer, size, number, strlen(number));
		} else if (level->key) {
			add_key(buffer, size, level);
		}
	}
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static bool ends_with_comma(const char *text, size_t length)
{
	while (length && is_blank(text[length - 1]))
		length--;
	return length && text[length - 1] == ',';
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Words for what Jansson says in terms of its grammar or of its flags; NULL = its own are clear. `before` is the
 * number of bytes before the fault. */
static const char *words_for(const json_error_t *fault, const char *text, size_t before)
{
	switch (json_error_code(fault)) {
	case json_error_duplicate_key:
		return "the key stands there twice";
	case json_error_invalid_utf8:
		return "the text is not valid UTF-8";
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return "a zero character (\\u0000) cannot be part of a text";
	case json_error_numeric_overflow:
		return "the number is too large";
	case json_error_premature_end_of_input:
		return "the text breaks off here";
	default:
		break;
	}
	if (ends_with(fault->text, "near '/'") || ends_with(fault->text, "near '#'"))
		return "comments are not part of JSON";
	if (ends_with(fault->text, "near '''"))
		return "keys and texts stand in double quotes";
	if ((ends_with(fault->text, "near '}'") || ends_with(fault->text, "near ']'")) && ends_with_comma(text, before))
		return "a comma stands before the closing bracket";
	return NULL;
}

/* Jansson stands behind the token at fault, which does not count: a comma has not led to a next entry. A key does. A
 * text that breaks off or is not UTF-8 has no such token. */
static size_t bytes_before(const json_error_t *fault, const char *text, size_t length)
{
	size_t position = fault->position < 0 ? 0 : (size_t)fault->position;

	if (position > length)
		position = length;
	if (json_error_code(fault) == json_error_premature_end_of_input ||
	    json_error_code(fault) == json_error_invalid_utf8)
		return position;
	return position && text[position - 1] != '"' ? position - 1 : position;
}

static int fail_at(struct qsb_error *err, const json_error_t *fault, const char *text, size_t length,
		   const char *source)
{
	size_t before = bytes_before(fault, text, length);
	const char *words = words_for(fault, text, before);
	int code = json_error_code(fault) == json_error_numeric_overflow ? QSB_E_RANGE : QSB_E_INVALID;
	char pointer[POINTER_MAX], theirs[JSON_ERROR_TEXT_LENGTH];
	struct walk walk;

	walk_to(&walk, text, before);
	walk_pointer(&walk, pointer, sizeof(pointer));
	qsb__json_printable(theirs, sizeof(theirs), fault->text, strlen(fault->text));
	return qsb__fail(err, code, pointer[0] ? pointer : "/", "%s:%d:%d: %s%s%s", source, fault->line, fault->column,
			 pointer, pointer[0] ? ": " : "", words ? words : theirs);
}

/* What Jansson lets pass, such as a zero byte behind a number, or says less clearly. */
static int check_bytes(const char *text, size_t length, const char *source, struct qsb_error *err)
{
	size_t blanks = 0;

	if (length > QSB__JSON_MAX)
		return qsb__fail(err, QSB_E_RANGE, "/", "%s is larger than 1 MiB, the most a policy may have", source);
	if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
		return qsb__fail(err, QSB_E_INVALID, "/", "%s begins with a byte-order mark: save it as plain UTF-8",
				 source);
	if (length && memchr(text, '\0', length))
		return qsb__fail(err, QSB_E_INVALID, "/", "%s has a zero byte in it: it is not JSON", source);
	while (blanks < length && is_blank(text[blanks]))
		blanks++;
	return blanks < length ? 0
			       : qsb__fail(err, QSB_E_INVALID, "/", "%s is empty: the smallest policy is {}", source);
}

static int check_depth(const char *text, size_t length, const char *source, struct qsb_error *err)
{
	char pointer[POINTER_MAX];
	struct walk walk;

	walk_to(&walk, text, length);
	if (!walk.too_deep)
		return 0;
	walk_pointer(&walk, pointer, sizeof(pointer));
	return qsb__fail(err, QSB_E_RANGE, pointer[0] ? pointer : "/", "%s is nested deeper than %d levels", source,
			 QSB__JSON_DEPTH_MAX);
}

int qsb__json_parse(json_t **out, const char *text, size_t length, const char *source, struct qsb_error *err)
{
	json_error_t fault;
	int code = check_bytes(text, length, source, err);

	*out = NULL;
	if (!code)
		code = check_depth(text, length, source, err);
	if (code)
		return code;
	*out = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
	if (*out)
		return 0;
	/* Out of memory is the one failure of which Jansson says nothing. */
	return fault.text[0] ? fail_at(err, &fault, text, length, source) : qsb__fail_memory(err, "policy");
}
