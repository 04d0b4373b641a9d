/* JSON to one layer's values. Strict: what is not understood is an error, since a rule that is not read is not held. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"
#include "core/json_tree.h"
#include "core/policy_patch.h"
#include "core/suggest.h"

enum { POINTER_MAX = 320, SHOWN_MAX = 80 };

/* Where the parser stands. */
struct cursor {
	struct qsb__patch *patch;
	const struct qsb__json_tree *tree;
	char pointer[POINTER_MAX];
	struct qsb_error *err;
};

static struct qsb__place place_of(const struct cursor *cursor)
{
	return (struct qsb__place){.pointer = cursor->pointer[0] ? cursor->pointer : "/",
				   .source = cursor->patch->source};
}

/* What stands there, for a message: the value itself where it is short, else its kind. */
static void show_value(const struct qsb__json_node *value, char out[SHOWN_MAX])
{
	static const char *const kinds[] = {
		[QSB__JSON_NULL] = "null",    [QSB__JSON_FALSE] = "false",      [QSB__JSON_TRUE] = "true",
		[QSB__JSON_ARRAY] = "a list", [QSB__JSON_OBJECT] = "an object",
	};
	char text[SHOWN_MAX - 2];

	switch (value->kind) {
	case QSB__JSON_STRING:
		qsb__json_printable(text, sizeof(text), value->is.text, strlen(value->is.text));
		snprintf(out, SHOWN_MAX, "\"%s\"", text);
		return;
	case QSB__JSON_INTEGER:
		snprintf(out, SHOWN_MAX, "%lld", (long long)value->is.integer);
		return;
	case QSB__JSON_REAL:
		snprintf(out, SHOWN_MAX, "%.10g", value->is.real);
		return;
	default:
		snprintf(out, SHOWN_MAX, "%s", kinds[value->kind]);
	}
}

static int refuse(struct cursor *cursor, const struct qsb__row *row, int code, const struct qsb__json_node *value)
{
	struct qsb__place place = place_of(cursor);
	char shown[SHOWN_MAX];

	show_value(value, shown);
	return qsb__value_refuse(row, code, shown, &place, cursor->err);
}

static int parse_number(struct cursor *cursor, const struct qsb__row *row, const struct qsb__json_node *value,
			uint64_t *out)
{
	bool thousandths = row->type == QSB__ROW_SECONDS || row->type == QSB__ROW_CPUS;
	bool fraction = value->kind == QSB__JSON_REAL;
	double real = (fraction ? value->is.real : (double)value->is.integer) * (thousandths ? 1000 : 1);

	if (fraction && !thousandths)
		return refuse(cursor, row, QSB_E_INVALID, value);
	/* Compared as reals first: what is out of range must not be cast. */
	if (!(real >= (double)row->min && real <= (double)row->max))
		return refuse(cursor, row, QSB_E_RANGE, value);
	*out = fraction ? (uint64_t)(real + 0.5) : (uint64_t)value->is.integer * (thousandths ? 1000U : 1U);
	return *out >= row->min && *out <= row->max ? 0 : refuse(cursor, row, QSB_E_RANGE, value);
}

static int parse_text(struct cursor *cursor, const struct qsb__row *row, const struct qsb__json_node *value,
		      uint64_t *out)
{
	struct qsb__place place = place_of(cursor);

	/* A count has one form in JSON. */
	if (row->type == QSB__ROW_COUNT && !(row->none_allowed && strcmp(value->is.text, "none") == 0))
		return refuse(cursor, row, QSB_E_INVALID, value);
	return qsb__value_parse(row, value->is.text, &place, out, cursor->err);
}

static int parse_scalar(struct cursor *cursor, const struct qsb__row *row, const struct qsb__json_node *value)
{
	uint64_t number = value->kind == QSB__JSON_TRUE;
	bool boolean = value->kind == QSB__JSON_TRUE || value->kind == QSB__JSON_FALSE;
	int code = 0;

	if (row->type == QSB__ROW_BOOL)
		code = boolean ? 0 : refuse(cursor, row, QSB_E_INVALID, value);
	else if (value->kind == QSB__JSON_STRING)
		code = parse_text(cursor, row, value, &number);
	else if (qsb__row_is_number(row) && (value->kind == QSB__JSON_INTEGER || value->kind == QSB__JSON_REAL))
		code = parse_number(cursor, row, value, &number);
	else
		code = refuse(cursor, row, QSB_E_INVALID, value);
	if (!code)
		qsb__row_set(&cursor->patch->values, row, number);
	return code;
}

static int too_many(struct cursor *cursor, const struct qsb__row *row, size_t count)
{
	struct qsb__place place = place_of(cursor);

	return qsb__place_fail(cursor->err, QSB_E_RANGE, &place, "may have at most %llu entries; it has %zu",
			       (unsigned long long)row->max, count);
}

static int refuse_entry(struct cursor *cursor, const struct qsb__place *place, const char *wanted,
			const struct qsb__json_node *value)
{
	char shown[SHOWN_MAX];

	show_value(value, shown);
	return qsb__place_fail(cursor->err, QSB_E_INVALID, place, "must be a %s; it is %s", wanted, shown);
}

/* Its text stays where it was read. */
static int parse_string(struct cursor *cursor, const struct qsb__row *row, const struct qsb__json_node *value,
			const struct qsb__place *place)
{
	struct qsb__item item = {.layer = cursor->patch->layer, .index = (unsigned)*place->index, .borrowed = true};
	int code;

	if (value->kind != QSB__JSON_STRING)
		return refuse_entry(cursor, place, "string", value);
	code = qsb__entry_check(row, value->is.text, place, cursor->err);
	if (code)
		return code;
	item.text = (char *)(uintptr_t)value->is.text;
	if (qsb__list_push(qsb__row_list_at(&cursor->patch->values, row), &item))
		return qsb__fail_memory(cursor->err, place->pointer);
	return 0;
}

static int add_copy(struct cursor *cursor, const struct qsb__row *row, const char *text, const struct qsb__place *place)
{
	struct qsb__list *list = qsb__row_list_at(&cursor->patch->values, row);
	int code = qsb__entry_check(row, text, place, cursor->err);

	if (!code && qsb__list_add(list, text, cursor->patch->layer, (unsigned)list->count))
		code = qsb__fail_memory(cursor->err, place->pointer);
	return code;
}

static int parse_port(struct cursor *cursor, const struct qsb__row *row, const struct qsb__json_node *value,
		      const struct qsb__place *place)
{
	char text[SHOWN_MAX];

	if (value->kind != QSB__JSON_INTEGER)
		return refuse_entry(cursor, place, "port number", value);
	show_value(value, text);
	return add_copy(cursor, row, text, place);
}

static int parse_list(struct cursor *cursor, const struct qsb__row *row, const struct qsb__json_node *value)
{
	struct qsb__place place = place_of(cursor);
	const struct qsb__json_node *nodes = cursor->tree->nodes, *entry = value + 1;
	int code = 0;

	if (value->kind != QSB__JSON_ARRAY)
		return refuse(cursor, row, QSB_E_INVALID, value);
	if (value->is.count > row->max)
		return too_many(cursor, row, value->is.count);
	/* With room for what the presets put before them. */
	if (qsb__list_reserve(qsb__row_list_at(&cursor->patch->values, row), value->is.count + 4))
		return qsb__fail_memory(cursor->err, place.pointer);
	for (size_t i = 0; i < value->is.count && !code; i++, entry = nodes + entry->next) {
		place.index = &i;
		code = row->type == QSB__ROW_PORTS ? parse_port(cursor, row, entry, &place)
						   : parse_string(cursor, row, entry, &place);
	}
	return code;
}

static int parse_variable(struct cursor *cursor, const struct qsb__row *row, const struct qsb__json_node *value)
{
	struct qsb__place place = place_of(cursor);
	QSB_CLEANUP_FREE char *text = NULL;

	place.key = value->key;
	if (value->kind != QSB__JSON_STRING)
		return refuse_entry(cursor, &place, "string", value);
	if (strchr(value->key, '='))
		return qsb__place_fail(cursor->err, QSB_E_INVALID, &place, "a variable's name has no =");
	if (asprintf(&text, "%s=%s", value->key, value->is.text) < 0)
		return qsb__fail_memory(cursor->err, place.pointer);
	return add_copy(cursor, row, text, &place);
}

static int parse_map(struct cursor *cursor, const struct qsb__row *row, const struct qsb__json_node *value)
{
	const struct qsb__json_node *nodes = cursor->tree->nodes, *entry = value + 1;
	int code = 0;

	if (value->kind != QSB__JSON_OBJECT)
		return refuse(cursor, row, QSB_E_INVALID, value);
	if (value->is.count > row->max)
		return too_many(cursor, row, value->is.count);
	for (uint32_t i = 0; i < value->is.count && !code; i++, entry = nodes + entry->next)
		code = parse_variable(cursor, row, entry);
	return code;
}

static int parse_row(struct cursor *cursor, const struct qsb__row *row, const struct qsb__json_node *value)
{
	cursor->patch->named[qsb__row_index(row)] = true;
	cursor->patch->values.origin[qsb__row_index(row)] = cursor->patch->layer;
	if (row->type == QSB__ROW_MAP)
		return parse_map(cursor, row, value);
	return qsb__row_is_list(row) ? parse_list(cursor, row, value) : parse_scalar(cursor, row, value);
}

static bool is_group(const char *pointer)
{
	size_t length = strlen(pointer);

	for (size_t i = 0; i < qsb__row_count; i++)
		if (strncmp(qsb__rows[i].pointer, pointer, length) == 0 && qsb__rows[i].pointer[length] == '/')
			return true;
	return false;
}

/* The keys that may stand in the group of `length` bytes at `pointer`: a group's name may come more than once. */
static size_t keys_of(const char *pointer, size_t length, char keys[QSB__ROWS_MAX][SHOWN_MAX],
		      const char *names[QSB__ROWS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < qsb__row_count; i++) {
		const char *row = qsb__rows[i].pointer;

		if (strncmp(row, pointer, length) != 0 || row[length] != '/')
			continue;
		snprintf(keys[count], SHOWN_MAX, "%.*s", (int)strcspn(row + length + 1, "/"), row + length + 1);
		names[count] = keys[count];
		count++;
	}
	return count;
}

/* The pointer of a row whose last key is this one: a good key in the wrong group. */
static const char *elsewhere(const char *key)
{
	for (size_t i = 0; i < qsb__row_count; i++)
		if (strcmp(strrchr(qsb__rows[i].pointer, '/') + 1, key) == 0)
			return qsb__rows[i].pointer;
	return NULL;
}

static int refuse_key(struct cursor *cursor, size_t group, const char *key)
{
	struct qsb__place place = place_of(cursor);
	char keys[QSB__ROWS_MAX][SHOWN_MAX];
	const char *names[QSB__ROWS_MAX] = {NULL};
	const char *other = elsewhere(key);
	const char *near = qsb__suggest(key, names, keys_of(cursor->pointer, group, keys, names));

	if (near)
		return qsb__place_fail(cursor->err, QSB_E_UNKNOWN, &place,
				       "there is no such key; did you mean %.*s/%s?", (int)group, cursor->pointer,
				       near);
	if (other)
		return qsb__place_fail(cursor->err, QSB_E_UNKNOWN, &place, "there is no such key; did you mean %s?",
				       other);
	return qsb__place_fail(cursor->err, QSB_E_UNKNOWN, &place, "there is no such key");
}

static int parse_group(struct cursor *cursor, const struct qsb__json_node *object);

static int parse_key(struct cursor *cursor, const struct qsb__json_node *value)
{
	size_t length = strlen(cursor->pointer);
	const struct qsb__row *row;
	int code;

	qsb__json_pointer_add(cursor->pointer, sizeof(cursor->pointer), value->key, strlen(value->key));
	row = qsb__row_by_pointer(cursor->pointer);
	if (row)
		code = parse_row(cursor, row, value);
	else if (is_group(cursor->pointer))
		code = parse_group(cursor, value);
	else
		code = refuse_key(cursor, length, value->key);
	cursor->pointer[length] = '\0';
	return code;
}

/* Groups are two deep at the most, and only a known group is entered: this ends. */
static int parse_group(struct cursor *cursor, const struct qsb__json_node *object)
{
	struct qsb__place place = place_of(cursor);
	const struct qsb__json_node *nodes = cursor->tree->nodes, *value = object + 1;
	char shown[SHOWN_MAX];
	int code = 0;

	if (object->kind != QSB__JSON_OBJECT) {
		show_value(object, shown);
		return qsb__place_fail(cursor->err, QSB_E_INVALID, &place, "must be an object; it is %s", shown);
	}
	for (uint32_t i = 0; i < object->is.count && !code; i++, value = nodes + value->next)
		code = parse_key(cursor, value);
	return code;
}

static int keep_text(struct qsb__patch *patch, char *text)
{
	struct qsb__text *kept = malloc(sizeof(*kept));

	if (!kept) {
		free(text);
		return QSB_E_MEMORY;
	}
	*kept = (struct qsb__text){.next = patch->values.texts, .bytes = text};
	patch->values.texts = kept;
	return 0;
}

int qsb__patch_parse(struct qsb__patch *patch, char *text, size_t length, struct qsb_error *err)
{
	QSB_CLEANUP(qsb__json_tree_clear) struct qsb__json_tree tree = {0};
	struct cursor cursor = {.patch = patch, .tree = &tree, .err = err};
	int code;

	if (keep_text(patch, text))
		return qsb__fail_memory(err, "policy");
	code = qsb__json_tree_parse(&tree, text, length, patch->source, err);
	return code ? code : parse_group(&cursor, tree.nodes);
}
