#include "core/json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/utf8.h"

enum { POINTER_MAX = 512 };

void qsb__json_release(json_t **value)
{
	json_decref(*value);
}

/* What would move a terminal's cursor: C0, DEL, and C1 as UTF-8 writes it. */
static bool is_control(const char *at, size_t length)
{
	unsigned char lead = (unsigned char)at[0];

	return lead < 0x20 || lead == 0x7F || (length == 2 && lead == 0xC2 && (unsigned char)at[1] < 0xA0);
}

void qsb__json_printable(char *buffer, size_t size, const char *text, size_t length)
{
	static const char more[] = "…";
	size_t used = 0;

	for (size_t at = 0, step; at < length; at += step) {
		size_t good = qsb__utf8_length(text + at, length - at);
		bool shown = good && !is_control(text + at, good);

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

/* One open '{' or '[' on the way to a place in the text. */
struct level {
	bool is_array, key_next;
	unsigned index;
	const char *key;
	size_t key_length;
};

struct walk {
	struct level levels[QSB__JSON_DEPTH_MAX];
	size_t depth;
	bool too_deep;
};

static const char *end_of_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\' && at + 1 < end)
			at++;
	return at < end ? at : end;
}

/* A scan that knows only brackets, strings and commas: enough to bound the depth before the parser recurses, and to say
 * in which key an error lies, which Jansson does not. */
static void walk_to(struct walk *walk, const char *at, const char *end)
{
	*walk = (struct walk){0};
	for (; at < end; at++) {
		struct level *top = walk->depth ? &walk->levels[walk->depth - 1] : NULL;

		if (*at == '"') {
			const char *close = end_of_string(at, end);

			if (top && top->key_next) {
				top->key = at + 1;
				top->key_length = (size_t)(close - at) - (close > at);
				top->key_next = false;
			}
			at = close;
		} else if (*at == '{' || *at == '[') {
			if (walk->depth == QSB__JSON_DEPTH_MAX) {
				walk->too_deep = true;
				return;
			}
			walk->levels[walk->depth++] = (struct level){.is_array = *at == '[', .key_next = *at == '{'};
		} else if ((*at == '}' || *at == ']') && top) {
			walk->depth--;
		} else if (*at == ',' && top) {
			top->index++;
			top->key_next = !top->is_array;
		}
	}
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
			qsb__json_pointer_add(buffer, size, level->key, level->key_length);
		}
	}
}

static bool at_comment(const char *text, size_t length, size_t position)
{
	for (size_t i = position > 2 ? position - 2 : 0; i + 1 < length && i <= position; i++)
		if (text[i] == '/' && (text[i + 1] == '/' || text[i + 1] == '*'))
			return true;
	return false;
}

/* Jansson's words, except where they speak of its own flags. */
static void explain_fault(char *reason, size_t size, const json_error_t *fault, bool comment)
{
	switch (json_error_code(fault)) {
	case json_error_duplicate_key:
		snprintf(reason, size, "the key stands there twice");
		return;
	case json_error_invalid_utf8:
		snprintf(reason, size, "the text is not valid UTF-8");
		return;
	case json_error_null_character:
	case json_error_null_byte_in_key:
		snprintf(reason, size, "a zero character (\\u0000) cannot be part of a text");
		return;
	case json_error_numeric_overflow:
		snprintf(reason, size, "the number is too large");
		return;
	default:
		if (comment)
			snprintf(reason, size, "comments are not part of JSON");
		else
			qsb__json_printable(reason, size, fault->text, strlen(fault->text));
	}
}

static int fail_at(struct qsb_error *err, const json_error_t *fault, const char *text, size_t length, const char *source)
{
	size_t position = fault->position > 0 && (size_t)fault->position <= length ? (size_t)fault->position : length;
	char pointer[POINTER_MAX], reason[JSON_ERROR_TEXT_LENGTH];
	struct walk walk;

	walk_to(&walk, text, text + position);
	walk_pointer(&walk, pointer, sizeof(pointer));
	explain_fault(reason, sizeof(reason), fault, at_comment(text, length, position));
	return qsb__fail(err, json_error_code(fault) == json_error_numeric_overflow ? QSB_E_RANGE : QSB_E_INVALID,
	                 pointer[0] ? pointer : "/", "%s:%d:%d: %s%s%s", source, fault->line, fault->column, pointer,
	                 pointer[0] ? ": " : "", reason);
}

static bool is_blank(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr(" \t\r\n", text[i]) || !text[i])
			return false;
	return true;
}

int qsb__json_parse(json_t **out, const char *text, size_t length, const char *source, struct qsb_error *err)
{
	char pointer[POINTER_MAX];
	json_error_t fault;
	struct walk walk;

	*out = NULL;
	if (length > QSB__JSON_MAX)
		return qsb__fail(err, QSB_E_RANGE, "/", "%s is larger than 1 MiB, the most a policy may have", source);
	if (is_blank(text, length))
		return qsb__fail(err, QSB_E_INVALID, "/", "%s is empty: the smallest policy is {}", source);
	if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
		return qsb__fail(err, QSB_E_INVALID, "/", "%s begins with a byte-order mark: save it as plain UTF-8", source);
	if (memchr(text, '\0', length))
		return qsb__fail(err, QSB_E_INVALID, "/", "%s has a zero byte in it: it is not JSON", source);
	walk_to(&walk, text, text + length);
	if (walk.too_deep) {
		walk_pointer(&walk, pointer, sizeof(pointer));
		return qsb__fail(err, QSB_E_RANGE, pointer[0] ? pointer : "/", "%s is nested deeper than %d levels", source, QSB__JSON_DEPTH_MAX);
	}
	*out = json_loadb(text, length, JSON_REJECT_DUPLICATES, &fault);
	return *out ? 0 : fail_at(err, &fault, text, length, source);
}
