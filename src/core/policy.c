#include "core/policy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/policy_load.h"
#include "core/policy_patch.h"

size_t qsb__row_index(const struct qsb__row *row)
{
	return (size_t)(row - qsb__rows);
}

bool qsb__row_is_list(const struct qsb__row *row)
{
	return row->type == QSB__ROW_PATHS || row->type == QSB__ROW_STRINGS || row->type == QSB__ROW_MAP ||
	       row->type == QSB__ROW_PORTS;
}

bool qsb__row_is_number(const struct qsb__row *row)
{
	return row->type == QSB__ROW_SIZE || row->type == QSB__ROW_SECONDS || row->type == QSB__ROW_COUNT ||
	       row->type == QSB__ROW_CPUS;
}

struct qsb__list *qsb__row_list_at(struct qsb_policy *policy, const struct qsb__row *row)
{
	return qsb__row_is_list(row) ? (struct qsb__list *)(void *)((char *)policy + row->offset) : NULL;
}

const struct qsb__list *qsb__row_list(const struct qsb_policy *policy, const struct qsb__row *row)
{
	return qsb__row_is_list(row) ? (const struct qsb__list *)(const void *)((const char *)policy + row->offset)
				     : NULL;
}

char **qsb__row_text_at(struct qsb_policy *policy, const struct qsb__row *row)
{
	return row->type == QSB__ROW_TEXT ? (char **)(void *)((char *)policy + row->offset) : NULL;
}

const char *qsb__row_text(const struct qsb_policy *policy, const struct qsb__row *row)
{
	const char *text = NULL;

	if (row->type == QSB__ROW_TEXT)
		memcpy(&text, (const char *)policy + row->offset, sizeof(text));
	return text ? text : "none";
}

int qsb__row_set_text(struct qsb_policy *policy, const struct qsb__row *row, const char *text)
{
	char **at = qsb__row_text_at(policy, row);
	char *copy = strcmp(text, "none") == 0 ? NULL : strdup(text);

	if (!copy && strcmp(text, "none") != 0)
		return QSB_E_MEMORY;
	free(*at);
	*at = copy;
	return 0;
}

uint64_t qsb__row_get(const struct qsb_policy *policy, const struct qsb__row *row)
{
	const char *at = (const char *)policy + row->offset;
	unsigned name;
	uint64_t number;

	switch (row->type) {
	case QSB__ROW_BOOL:
		return *(const bool *)at;
	case QSB__ROW_ENUM:
		memcpy(&name, at, sizeof(name));
		return name;
	case QSB__ROW_SIZE:
	case QSB__ROW_SECONDS:
	case QSB__ROW_COUNT:
	case QSB__ROW_CPUS:
		memcpy(&number, at, sizeof(number));
		return number;
	default:
		return 0;
	}
}

void qsb__row_set(struct qsb_policy *policy, const struct qsb__row *row, uint64_t value)
{
	char *at = (char *)policy + row->offset;
	unsigned name = (unsigned)value;

	if (row->type == QSB__ROW_BOOL)
		*(bool *)at = value != 0;
	else if (row->type == QSB__ROW_ENUM)
		memcpy(at, &name, sizeof(name));
	else
		memcpy(at, &value, sizeof(value));
}

int qsb__list_reserve(struct qsb__list *list, size_t count)
{
	struct qsb__item *items = count > list->room ? reallocarray(list->items, count, sizeof(*items)) : list->items;

	if (!items && count)
		return QSB_E_MEMORY;
	list->items = items;
	list->room = count > list->room ? count : list->room;
	return 0;
}

int qsb__list_add(struct qsb__list *list, const char *text, enum qsb__layer layer, unsigned index)
{
	char *copy = strdup(text);

	if (!copy)
		return QSB_E_MEMORY;
	if (list->count == list->room && qsb__list_reserve(list, list->room ? list->room * 2 : 4)) {
		free(copy);
		return QSB_E_MEMORY;
	}
	list->items[list->count++] = (struct qsb__item){.text = copy, .layer = layer, .index = index};
	return 0;
}

void qsb__list_clear(struct qsb__list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].text);
	free(list->items);
	*list = (struct qsb__list){0};
}

bool qsb__list_has(const struct qsb__list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].text, text) == 0)
			return true;
	return false;
}

static void clear_values(struct qsb_policy *policy)
{
	for (size_t i = 0; i < qsb__row_count; i++) {
		struct qsb__list *list = qsb__row_list_at(policy, &qsb__rows[i]);

		if (list)
			qsb__list_clear(list);
		else if (qsb__row_text_at(policy, &qsb__rows[i]))
			free(*qsb__row_text_at(policy, &qsb__rows[i]));
	}
	qsb__list_clear(&policy->notes);
	for (size_t i = 0; i < QSB__LAYER_COUNT; i++)
		free(policy->source[i]);
}

void qsb__patch_clear(struct qsb__patch *patch)
{
	clear_values(&patch->values);
}

void qsb__policy_free(struct qsb_policy *policy)
{
	if (!policy)
		return;
	clear_values(policy);
	free(policy);
}

void qsb__policy_release(struct qsb_policy **policy)
{
	qsb__policy_free(*policy);
}

const char *qsb__layer_name(enum qsb__layer layer)
{
	static const char *const names[QSB__LAYER_COUNT] = {"preset",      "user",         "project",
							    "policy file", "command line", "managed"};

	return (unsigned)layer < QSB__LAYER_COUNT ? names[layer] : "unknown";
}

void qsb__item_origin(const struct qsb__row *row, const struct qsb__item *item, char *buffer, size_t size)
{
	const char *layer = qsb__layer_name(item->layer);

	if (item->layer == QSB__LAYER_OPTION)
		snprintf(buffer, size, "%s (%s)", row->option ? row->option : row->pointer, layer);
	else if (row->type == QSB__ROW_MAP)
		snprintf(buffer, size, "%s/%.*s (%s)", row->pointer, (int)strcspn(item->text, "="), item->text, layer);
	else
		snprintf(buffer, size, "%s/%u (%s)", row->pointer, item->index, layer);
}

int qsb__note(struct qsb_policy *policy, enum qsb__layer layer, const char *format, ...)
{
	char sentence[512], shown[520];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	/* It speaks of a stranger's file, and is printed. */
	qsb__json_printable(shown, sizeof(shown), sentence, strlen(sentence));
	return qsb__list_add(&policy->notes, shown, layer, 0);
}
