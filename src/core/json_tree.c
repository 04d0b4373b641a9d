#include "core/json_tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/json.h"
#include "core/json_string.h"

enum { POINTER_MAX = 512 };

struct reader {
	struct qsb__json_tree *tree;
	size_t room;
	char *at, *end;
	const char *line_start;
	int line;
	uint32_t path[QSB__JSON_DEPTH_MAX]; /* the containers that are open */
	unsigned depth;
	const char *key; /* read, but its value is not yet */
	const char *source;
	struct qsb_error *err;
};

static struct qsb__json_node *node_at(const struct reader *reader, size_t number)
{
	return &reader->tree->nodes[number];
}

/* The last child that was begun in a container: the one in which the reader stands. */
static const char *key_inside(const struct reader *reader, unsigned level)
{
	if (level + 1 < reader->depth)
		return node_at(reader, reader->path[level + 1])->key;
	return reader->key;
}

static void make_pointer(const struct reader *reader, char *buffer, size_t size)
{
	buffer[0] = '\0';
	for (unsigned level = 0; level < reader->depth; level++) {
		const struct qsb__json_node *node = node_at(reader, reader->path[level]);
		const char *key = key_inside(reader, level);
		char number[16];

		if (node->kind == QSB__JSON_ARRAY) {
			snprintf(number, sizeof(number), "%u", node->is.count ? node->is.count - 1 : 0);
			key = number;
		}
		if (key)
			qsb__json_pointer_add(buffer, size, key, strlen(key));
	}
}

__attribute__((format(printf, 4, 5))) static int fail(const struct reader *reader, int code, const char *at,
						      const char *format, ...)
{
	char pointer[POINTER_MAX], reason[128];
	va_list arguments;

	make_pointer(reader, pointer, sizeof(pointer));
	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	return qsb__fail(reader->err, code, pointer[0] ? pointer : "/", "%s:%d:%td: %s%s%s", reader->source,
			 reader->line, at - reader->line_start + 1, pointer, pointer[0] ? ": " : "", reason);
}

static int fail_expected(const struct reader *reader, const char *what)
{
	unsigned char byte = (unsigned char)*reader->at;

	if (reader->at >= reader->end)
		return fail(reader, QSB_E_INVALID, reader->at, "the text breaks off where %s is expected", what);
	if (byte == '/' || byte == '#')
		return fail(reader, QSB_E_INVALID, reader->at, "comments are not part of JSON");
	if (byte > 0x20 && byte < 0x7F)
		return fail(reader, QSB_E_INVALID, reader->at, "%s is expected, not '%c'", what, byte);
	return fail(reader, QSB_E_INVALID, reader->at, "%s is expected, not byte 0x%02X", what, byte);
}

/* New lines stand between values only, so this is where they are counted. */
static void skip_blanks(struct reader *reader)
{
	for (; reader->at < reader->end; reader->at++) {
		char byte = *reader->at;

		if (byte == '\n') {
			reader->line++;
			reader->line_start = reader->at + 1;
		} else if (byte != ' ' && byte != '\t' && byte != '\r') {
			return;
		}
	}
}

/* The number of a new node, UINT32_MAX without memory. */
static uint32_t add_node(struct reader *reader)
{
	struct qsb__json_tree *tree = reader->tree;

	if (tree->count == reader->room) {
		/* Long texts are mostly lists of paths; what is reserved too much is never touched. */
		size_t room = reader->room ? reader->room * 2 : 32 + (size_t)(reader->end - reader->at) / 32;
		struct qsb__json_node *nodes = reallocarray(tree->nodes, room, sizeof(*nodes));

		if (!nodes)
			return UINT32_MAX;
		tree->nodes = nodes;
		reader->room = room;
	}
	tree->nodes[tree->count] = (struct qsb__json_node){.key = reader->key};
	return (uint32_t)tree->count++;
}

static int read_string(struct reader *reader, const char **out)
{
	const char *reason = qsb__json_string_read(&reader->at, reader->end, out);

	return reason ? fail(reader, QSB_E_INVALID, reader->at, "%s", reason) : 0;
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static int too_large(const struct reader *reader, const char *start)
{
	return fail(reader, QSB_E_RANGE, start, "the number is too large");
}

/* The digits of a number: value = digits * 10^exponent. Beyond 19 digits they only move the exponent. */
struct decimal {
	uint64_t digits;
	int exponent;
	bool whole; /* every digit is in `digits` */
};

static void take_digits(struct reader *reader, struct decimal *number, int step)
{
	for (; is_digit(*reader->at); reader->at++) {
		if (number->digits > (UINT64_MAX - 9) / 10) {
			number->whole = false;
			number->exponent += 1 + step;
			continue;
		}
		number->digits = number->digits * 10 + (unsigned)(*reader->at - '0');
		number->exponent += step;
	}
}

static int take_exponent(struct reader *reader, struct decimal *number)
{
	bool negative = *++reader->at == '-';
	int value = 0;

	if (*reader->at == '-' || *reader->at == '+')
		reader->at++;
	if (!is_digit(*reader->at))
		return fail_expected(reader, "a digit of the exponent");
	for (; is_digit(*reader->at); reader->at++)
		value = value < 100000 ? value * 10 + (*reader->at - '0') : value;
	number->exponent += negative ? -value : value;
	return 0;
}

static double scale(const struct decimal *number)
{
	double value = (double)number->digits;

	/* No strtod: its decimal point is the locale's. A policy's numbers need three decimals, not the last bit. */
	for (int i = number->exponent; i > 0 && value != 0 && !isinf(value); i--)
		value *= 10;
	for (int i = number->exponent; i < 0 && value != 0; i++)
		value /= 10;
	return value;
}

static int set_number(struct reader *reader, struct qsb__json_node *node, const struct decimal *number,
		      const char *start)
{
	bool negative = *start == '-';

	if (node->kind == QSB__JSON_REAL) {
		node->is.real = scale(number) * (negative ? -1 : 1);
		return isinf(node->is.real) ? too_large(reader, start) : 0;
	}
	if (!number->whole || number->digits > (uint64_t)INT64_MAX + negative)
		return too_large(reader, start);
	node->is.integer = negative ? (int64_t)(0 - number->digits) : (int64_t)number->digits;
	return 0;
}

static int read_number(struct reader *reader, struct qsb__json_node *node)
{
	struct decimal number = {.whole = true};
	const char *start = reader->at;
	int code = 0;

	reader->at += *reader->at == '-';
	if (!is_digit(*reader->at))
		return fail_expected(reader, "a digit");
	if (reader->at[0] == '0' && is_digit(reader->at[1]))
		return fail(reader, QSB_E_INVALID, start, "a number has no leading zero");
	take_digits(reader, &number, 0);
	node->kind = QSB__JSON_INTEGER;
	if (*reader->at == '.') {
		node->kind = QSB__JSON_REAL;
		if (!is_digit(*++reader->at))
			return fail_expected(reader, "a digit behind the point");
		take_digits(reader, &number, -1);
	}
	if (*reader->at == 'e' || *reader->at == 'E') {
		node->kind = QSB__JSON_REAL;
		code = take_exponent(reader, &number);
	}
	return code ? code : set_number(reader, node, &number, start);
}

static int read_word(struct reader *reader, struct qsb__json_node *node)
{
	static const struct {
		const char *text;
		enum qsb__json_kind kind;
	} words[] = {{"true", QSB__JSON_TRUE}, {"false", QSB__JSON_FALSE}, {"null", QSB__JSON_NULL}};

	for (size_t i = 0; i < 3; i++) {
		size_t length = strlen(words[i].text);

		if ((size_t)(reader->end - reader->at) >= length && memcmp(reader->at, words[i].text, length) == 0) {
			node->kind = (uint8_t)words[i].kind;
			reader->at += length;
			return 0;
		}
	}
	return fail_expected(reader, "a value");
}

static int read_value(struct reader *reader);

/* Keys are few: QSB__JSON_KEYS_MAX bounds the cost. */
static int check_key(struct reader *reader, uint32_t object, const char *start)
{
	const struct qsb__json_node *node = node_at(reader, object);
	uint32_t child = object + 1;

	if (node->is.count == QSB__JSON_KEYS_MAX)
		return fail(reader, QSB_E_RANGE, start, "an object has at most %d keys", QSB__JSON_KEYS_MAX);
	for (uint32_t i = 0; i < node->is.count; i++, child = node_at(reader, child)->next)
		if (strcmp(node_at(reader, child)->key, reader->key) == 0)
			return fail(reader, QSB_E_INVALID, start, "the key stands there twice");
	return 0;
}

static int read_key(struct reader *reader, uint32_t object)
{
	const char *start = reader->at, *key;
	int code;

	if (reader->at >= reader->end || *reader->at != '"')
		return fail_expected(reader, "a key in double quotes");
	code = read_string(reader, &key);
	if (code)
		return code;
	reader->key = key;
	code = check_key(reader, object, start);
	if (code)
		return code;
	skip_blanks(reader);
	if (reader->at >= reader->end || *reader->at != ':')
		return fail_expected(reader, "':'");
	reader->at++;
	skip_blanks(reader);
	return 0;
}

static int read_children(struct reader *reader, uint32_t container, char close)
{
	for (bool first = true;; first = false) {
		int code = 0;

		skip_blanks(reader);
		if (reader->at < reader->end && *reader->at == close && first)
			break;
		if (close == '}')
			code = read_key(reader, container);
		if (code)
			return code;
		node_at(reader, container)->is.count++;
		code = read_value(reader);
		if (code)
			return code;
		reader->key = NULL;
		skip_blanks(reader);
		if (reader->at < reader->end && *reader->at == close)
			break;
		if (reader->at >= reader->end || *reader->at != ',')
			return fail_expected(reader, close == '}' ? "',' or '}'" : "',' or ']'");
		reader->at++;
	}
	reader->at++;
	return 0;
}

static int read_container(struct reader *reader, uint32_t number)
{
	bool object = *reader->at == '{';
	int code;

	if (reader->depth == QSB__JSON_DEPTH_MAX)
		return fail(reader, QSB_E_RANGE, reader->at, "nested deeper than %d levels", QSB__JSON_DEPTH_MAX);
	node_at(reader, number)->kind = object ? QSB__JSON_OBJECT : QSB__JSON_ARRAY;
	node_at(reader, number)->is.count = 0;
	reader->path[reader->depth++] = number;
	reader->key = NULL;
	reader->at++;
	code = read_children(reader, number, object ? '}' : ']');
	/* After a failure the path stays, but the message has been made. */
	reader->depth--;
	return code;
}

static int read_value(struct reader *reader)
{
	uint32_t number = add_node(reader);
	char byte = *reader->at;
	int code;

	if (number == UINT32_MAX)
		return qsb__fail_memory(reader->err, "policy");
	if (reader->at >= reader->end)
		return fail_expected(reader, "a value");
	if (byte == '{' || byte == '[') {
		code = read_container(reader, number);
	} else if (byte == '"') {
		node_at(reader, number)->kind = QSB__JSON_STRING;
		code = read_string(reader, &node_at(reader, number)->is.text);
	} else if (byte == '-' || is_digit(byte)) {
		code = read_number(reader, node_at(reader, number));
	} else {
		code = read_word(reader, node_at(reader, number));
	}
	node_at(reader, number)->next = (uint32_t)reader->tree->count;
	return code;
}

int qsb__json_tree_parse(struct qsb__json_tree *tree, char *text, size_t length, const char *source,
			 struct qsb_error *err)
{
	struct reader reader = {.tree = tree,
				.at = text,
				.end = text + length,
				.line_start = text,
				.line = 1,
				.source = source,
				.err = err};
	int code;

	*tree = (struct qsb__json_tree){0};
	if (length > QSB__JSON_MAX)
		return qsb__fail(err, QSB_E_RANGE, "/", "%s is larger than 1 MiB, the most a policy may have", source);
	if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
		return qsb__fail(err, QSB_E_INVALID, "/", "%s begins with a byte-order mark: save it as plain UTF-8",
				 source);
	skip_blanks(&reader);
	if (reader.at == reader.end)
		return qsb__fail(err, QSB_E_INVALID, "/", "%s is empty: the smallest policy is {}", source);
	code = read_value(&reader);
	if (code)
		return code;
	skip_blanks(&reader);
	return reader.at == reader.end ? 0 : fail_expected(&reader, "the end of the text");
}

void qsb__json_tree_clear(struct qsb__json_tree *tree)
{
	free(tree->nodes);
	*tree = (struct qsb__json_tree){0};
}
