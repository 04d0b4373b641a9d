/* The effective policy as text: for `policy show`, and as a policy that can be loaded again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/json.h"
#include "core/policy_load.h"
#include "core/policy_patch.h"
#include "core/proxy_url.h"
#include "core/utf8.h"

static json_t *number_json(const struct qsb__row *row, uint64_t value)
{
	char text[QSB__NUMBER_TEXT_MAX];

	if (row->none_allowed && value == 0)
		return json_string("none");
	if (row->type == QSB__ROW_SIZE) {
		qsb__value_format(row, value, text);
		return json_string(text);
	}
	if (row->type == QSB__ROW_COUNT)
		return json_integer((json_int_t)value);
	return value % 1000 == 0 ? json_integer((json_int_t)(value / 1000)) : json_real((double)value / 1000);
}

static json_t *map_json(const struct qsb__list *list)
{
	json_t *object = json_object();

	for (size_t i = 0; i < list->count; i++) {
		const char *equals = strchr(list->items[i].text, '=');
		size_t length = (size_t)(equals - list->items[i].text);
		QSB_CLEANUP_FREE char *name = qsb__utf8_repair(list->items[i].text, length, &length);

		if (!name || json_object_set_new(object, name, qsb__json_text(equals + 1))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static json_t *list_json(const struct qsb__row *row, const struct qsb__list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++) {
		const char *text = list->items[i].text;
		json_t *entry =
			row->type == QSB__ROW_PORTS ? json_integer(strtol(text, NULL, 10)) : qsb__json_text(text);

		if (json_array_append_new(array, entry)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *row_json(const struct qsb_policy *policy, const struct qsb__row *row)
{
	uint64_t value = qsb__row_get(policy, row);

	switch (row->type) {
	case QSB__ROW_BOOL:
		return json_boolean(value);
	case QSB__ROW_ENUM:
		return json_string(row->names[value]);
	case QSB__ROW_MAP:
		return map_json(qsb__row_list(policy, row));
	case QSB__ROW_TEXT:
		return qsb__json_text(qsb__row_text(policy, row));
	case QSB__ROW_PATHS:
	case QSB__ROW_STRINGS:
	case QSB__ROW_PORTS:
		return list_json(row, qsb__row_list(policy, row));
	default:
		return number_json(row, value);
	}
}

/* Puts a value at a pointer of one or two keys, making the group. Takes the value. */
static int put(json_t *root, const char *pointer, json_t *value)
{
	const char *slash = strchr(pointer + 1, '/');
	char group[64];
	json_t *object;

	if (!slash)
		return json_object_set_new(root, pointer + 1, value);
	snprintf(group, sizeof(group), "%.*s", (int)(slash - pointer - 1), pointer + 1);
	object = json_object_get(root, group);
	if (!object) {
		object = json_object();
		if (json_object_set_new(root, group, object)) {
			json_decref(value);
			return -1;
		}
	}
	return json_object_set_new(object, slash + 1, value);
}

static bool is_left_out(const struct qsb_policy *policy, const struct qsb__row *row)
{
	/* Only the user's file may name them: a policy that does would leave a note elsewhere. */
	if (row->offset == offsetof(struct qsb_policy, trusted_folders))
		return policy->trusted_folders.count == 0;
	return row->offset == offsetof(struct qsb_policy, comment) && policy->comment.count == 0;
}

static json_t *values_json(const struct qsb_policy *policy)
{
	json_t *root = json_object();

	for (size_t i = 0; i < qsb__row_count; i++) {
		if (is_left_out(policy, &qsb__rows[i]))
			continue;
		if (put(root, qsb__rows[i].pointer, row_json(policy, &qsb__rows[i]))) {
			json_decref(root);
			return NULL;
		}
	}
	return root;
}

static json_t *place_json(const struct qsb_policy *policy, enum qsb__layer layer)
{
	json_t *place = json_pack("{s:s}", "layer", qsb__layer_name(layer));

	if (policy->source[layer])
		json_object_set_new(place, "file", qsb__json_text(policy->source[layer]));
	return place;
}

static json_t *origin_json(const struct qsb_policy *policy, const struct qsb__row *row)
{
	const struct qsb__list *list = qsb__row_list(policy, row);
	json_t *place = place_json(policy, policy->origin[qsb__row_index(row)]);
	json_t *entries;

	if (!list || !place)
		return place;
	entries = json_array();
	for (size_t i = 0; i < list->count; i++) {
		char origin[512];

		qsb__item_origin(row, &list->items[i], origin, sizeof(origin));
		json_array_append_new(entries, qsb__json_text(origin));
	}
	json_object_set_new(place, "entries", entries);
	return place;
}

static json_t *with_origins_json(const struct qsb_policy *policy)
{
	json_t *root = json_object(), *origins = json_object(), *notes = json_array();

	for (size_t i = 0; i < qsb__row_count; i++)
		if (!is_left_out(policy, &qsb__rows[i]))
			json_object_set_new(origins, qsb__rows[i].pointer, origin_json(policy, &qsb__rows[i]));
	for (size_t i = 0; i < policy->notes.count; i++)
		json_array_append_new(notes, qsb__json_text(policy->notes.items[i].text));
	if (json_object_set_new(root, "policy", values_json(policy)) || json_object_set_new(root, "origins", origins) ||
	    json_object_set_new(root, "notes", notes)) {
		json_decref(root);
		return NULL;
	}
	return root;
}

char *qsb__policy_to_json(const struct qsb_policy *policy, bool with_origins)
{
	QSB__CLEANUP_JSON json_t *root = with_origins ? with_origins_json(policy) : values_json(policy);

	return root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
}

static char *list_text(const struct qsb__list *list)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (size_t i = 0; i < list->count; i++)
		fprintf(to, "%s%s", i ? ", " : "", list->items[i].text);
	return fclose(to) ? NULL : text;
}

static char *hidden_text(const char *text)
{
	char hidden[QSB__PROXY_URL_MAX + 8];

	qsb__proxy_url_hide(text, hidden, sizeof(hidden));
	return strdup(hidden);
}

int qsb__policy_hide_passwords(struct qsb_policy *policy)
{
	for (size_t i = 0; i < qsb__row_count; i++) {
		QSB_CLEANUP_FREE char *text = NULL;

		if (qsb__rows[i].type != QSB__ROW_TEXT)
			continue;
		text = hidden_text(qsb__row_text(policy, &qsb__rows[i]));
		if (!text || qsb__row_set_text(policy, &qsb__rows[i], text))
			return QSB_E_MEMORY;
	}
	return 0;
}

char *qsb__policy_value_text(const struct qsb_policy *policy, const struct qsb__row *row)
{
	const struct qsb__list *list = qsb__row_list(policy, row);
	uint64_t value = qsb__row_get(policy, row);
	char text[QSB__NUMBER_TEXT_MAX];

	if (list)
		return list_text(list);
	if (row->type == QSB__ROW_TEXT)
		return hidden_text(qsb__row_text(policy, row));
	if (row->type == QSB__ROW_BOOL)
		return strdup(value ? "true" : "false");
	if (row->type == QSB__ROW_ENUM)
		return strdup(row->names[value]);
	if (row->none_allowed && value == 0)
		return strdup("none");
	qsb__value_format(row, value, text);
	return strdup(text);
}
