/* JSON to one layer's values. Strict: what is not understood is an error, since a rule that is not read is not held. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"
#include "core/policy_patch.h"
#include "core/suggest.h"

enum { POINTER_MAX = 320, SHOWN_MAX = 80 };

/* Where the parser stands. */
struct cursor {
	struct qsb__patch *patch;
	char pointer[POINTER_MAX];
	struct qsb_error *err;
};

static struct qsb__place place_of(const struct cursor *cursor)
{
	return (struct qsb__place){.pointer = cursor->pointer[0] ? cursor->pointer : "/",
				   .source = cursor->patch->source};
}

/* What stands there, for a message: the value itself where it is short, else its kind. */
static void show_value(const json_t *value, char out[SHOWN_MAX])
{
	static const char *const kinds[] = {
		[JSON_NULL] = "null",    [JSON_FALSE] = "false",      [JSON_TRUE] = "true",
		[JSON_ARRAY] = "a list", [JSON_OBJECT] = "an object",
	};
	char text[SHOWN_MAX - 2];

	switch (json_typeof(value)) {
	case JSON_STRING:
		qsb__json_printable(text, sizeof(text), json_string_value(value), json_string_length(value));
		snprintf(out, SHOWN_MAX, "\"%s\"", text);
		return;
	case JSON_INTEGER:
		snprintf(out, SHOWN_MAX, "%lld", (long long)json_integer_value(value));
		return;
	case JSON_REAL:
		snprintf(out, SHOWN_MAX, "%.10g", json_real_value(value));
		return;
	default:
		snprintf(out, SHOWN_MAX, "%s", kinds[json_typeof(value)]);
	}
}

static int refuse(struct cursor *cursor, const struct qsb__row *row, int code, const json_t *value)
{
	struct qsb__place place = place_of(cursor);
	char shown[SHOWN_MAX];

	show_value(value, shown);
	return qsb__value_refuse(row, code, shown, &place, cursor->err);
}

static int parse_number(struct cursor *cursor, const struct qsb__row *row, const json_t *value, uint64_t *out)
{
	bool thousandths = row->type == QSB__ROW_SECONDS || row->type == QSB__ROW_CPUS;
	double real = json_number_value(value) * (thousandths ? 1000 : 1);

	if (json_is_real(value) && !thousandths)
		return refuse(cursor, row, QSB_E_INVALID, value);
	/* Compared as reals first: what is out of range must not be cast. */
	if (!(real >= (double)row->min && real <= (double)row->max))
		return refuse(cursor, row, QSB_E_RANGE, value);
	*out = json_is_real(value) ? (uint64_t)(real + 0.5)
				   : (uint64_t)json_integer_value(value) * (thousandths ? 1000U : 1U);
	return *out >= row->min && *out <= row->max ? 0 : refuse(cursor, row, QSB_E_RANGE, value);
}

static int parse_text(struct cursor *cursor, const struct qsb__row *row, const json_t *value, uint64_t *out)
{
	struct qsb__place place = place_of(cursor);
	const char *text = json_string_value(value);

	/* A count has one form in JSON. */
	if (row->type == QSB__ROW_COUNT && !(row->none_allowed && strcmp(text, "none") == 0))
		return refuse(cursor, row, QSB_E_INVALID, value);
	return qsb__value_parse(row, text, &place, out, cursor->err);
}

static int parse_single(struct cursor *cursor, const struct qsb__row *row, const json_t *value)
{
	struct qsb__place place = place_of(cursor);
	int code;

	if (!json_is_string(value))
		return refuse(cursor, row, QSB_E_INVALID, value);
	code = qsb__entry_check(row, json_string_value(value), &place, cursor->err);
	if (!code && qsb__row_set_text(&cursor->patch->values, row, json_string_value(value)))
		code = qsb__fail_memory(cursor->err, place.pointer);
	return code;
}

static int parse_scalar(struct cursor *cursor, const struct qsb__row *row, const json_t *value)
{
	uint64_t number = json_is_true(value);
	int code;

	if (row->type == QSB__ROW_TEXT)
		return parse_single(cursor, row, value);
	if (row->type == QSB__ROW_BOOL)
		code = json_is_boolean(value) ? 0 : refuse(cursor, row, QSB_E_INVALID, value);
	else if (json_is_string(value))
		code = parse_text(cursor, row, value, &number);
	else if (qsb__row_is_number(row) && json_is_number(value))
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

static int refuse_entry(struct cursor *cursor, const struct qsb__place *place, const char *wanted, const json_t *value)
{
	char shown[SHOWN_MAX];

	show_value(value, shown);
	return qsb__place_fail(cursor->err, QSB_E_INVALID, place, "must be a %s; it is %s", wanted, shown);
}

static int add_entry(struct cursor *cursor, const struct qsb__row *row, const char *text,
		     const struct qsb__place *place)
{
	struct qsb__list *list = qsb__row_list_at(&cursor->patch->values, row);
	int code = qsb__entry_check(row, text, place, cursor->err);

	if (!code && qsb__list_add(list, text, cursor->patch->layer, (unsigned)list->count))
		code = qsb__fail_memory(cursor->err, place->pointer);
	return code;
}

static int parse_entry(struct cursor *cursor, const struct qsb__row *row, const json_t *value,
		       const struct qsb__place *place)
{
	char port[SHOWN_MAX];

	if (row->type != QSB__ROW_PORTS)
		return json_is_string(value) ? add_entry(cursor, row, json_string_value(value), place)
					     : refuse_entry(cursor, place, "string", value);
	if (!json_is_integer(value))
		return refuse_entry(cursor, place, "port number", value);
	show_value(value, port);
	return add_entry(cursor, row, port, place);
}

static int parse_list(struct cursor *cursor, const struct qsb__row *row, const json_t *value)
{
	struct qsb__place place = place_of(cursor);
	size_t count = json_array_size(value);
	int code = 0;

	if (row->single_allowed && json_is_string(value))
		return add_entry(cursor, row, json_string_value(value), &place);
	if (!json_is_array(value))
		return refuse(cursor, row, QSB_E_INVALID, value);
	if (count > row->max)
		return too_many(cursor, row, count);
	/* With room for what the presets put before them. */
	if (qsb__list_reserve(qsb__row_list_at(&cursor->patch->values, row), count + 4))
		return qsb__fail_memory(cursor->err, place.pointer);
	for (size_t i = 0; i < count && !code; i++) {
		place.index = &i;
		code = parse_entry(cursor, row, json_array_get(value, i), &place);
	}
	return code;
}

static int parse_variable(struct cursor *cursor, const struct qsb__row *row, const char *name, const json_t *value)
{
	struct qsb__place place = place_of(cursor);
	QSB_CLEANUP_FREE char *text = NULL;

	place.key = name;
	if (!json_is_string(value))
		return refuse_entry(cursor, &place, "string", value);
	if (strchr(name, '='))
		return qsb__place_fail(cursor->err, QSB_E_INVALID, &place, "a variable's name has no =");
	if (asprintf(&text, "%s=%s", name, json_string_value(value)) < 0)
		return qsb__fail_memory(cursor->err, place.pointer);
	return add_entry(cursor, row, text, &place);
}

static int parse_map(struct cursor *cursor, const struct qsb__row *row, json_t *value)
{
	const char *name;
	json_t *entry;
	int code = 0;

	if (!json_is_object(value))
		return refuse(cursor, row, QSB_E_INVALID, value);
	if (json_object_size(value) > row->max)
		return too_many(cursor, row, json_object_size(value));
	json_object_foreach(value, name, entry) {
		code = parse_variable(cursor, row, name, entry);
		if (code)
			break;
	}
	return code;
}

static int parse_row(struct cursor *cursor, const struct qsb__row *row, json_t *value)
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

static int parse_group(struct cursor *cursor, json_t *object);

static int parse_key(struct cursor *cursor, const char *key, json_t *value)
{
	size_t length = strlen(cursor->pointer);
	const struct qsb__row *row;
	int code;

	qsb__json_pointer_add(cursor->pointer, sizeof(cursor->pointer), key, strlen(key));
	row = qsb__row_by_pointer(cursor->pointer);
	if (row)
		code = parse_row(cursor, row, value);
	else if (is_group(cursor->pointer))
		code = parse_group(cursor, value);
	else
		code = refuse_key(cursor, length, key);
	cursor->pointer[length] = '\0';
	return code;
}

/* Groups are two deep at the most, and only a known group is entered: this ends. */
static int parse_group(struct cursor *cursor, json_t *object)
{
	struct qsb__place place = place_of(cursor);
	char shown[SHOWN_MAX];
	const char *key;
	json_t *value;
	int code = 0;

	if (!json_is_object(object)) {
		show_value(object, shown);
		return qsb__place_fail(cursor->err, QSB_E_INVALID, &place, "must be an object; it is %s", shown);
	}
	json_object_foreach(object, key, value) {
		code = parse_key(cursor, key, value);
		if (code)
			break;
	}
	return code;
}

int qsb__patch_parse(struct qsb__patch *patch, const char *text, size_t length, struct qsb_error *err)
{
	QSB__CLEANUP_JSON json_t *root = NULL;
	struct cursor cursor = {.patch = patch, .err = err};
	int code = qsb__json_parse(&root, text, length, patch->source, err);

	return code ? code : parse_group(&cursor, root);
}
