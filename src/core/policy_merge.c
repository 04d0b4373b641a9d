/* One layer laid over the weaker ones, where it wins. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/policy_load.h"
#include "core/policy_patch.h"

enum { MOST_COMPARED = 8 };

/* A file often repeats what its preset says. Only a few present entries are looked for, so that the cost stays flat. */
static void drop_repeated(struct qsb__list *more, const struct qsb__list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < more->count; i++) {
		bool repeated = false;

		for (size_t j = 0; j < list->count && j < MOST_COMPARED; j++)
			repeated = repeated || strcmp(list->items[j].text, more->items[i].text) == 0;
		if (repeated)
			free(more->items[i].text);
		else
			more->items[kept++] = more->items[i];
	}
	more->count = kept;
}

/* Moves the entries of `more` behind those of `list`. The new ones may be many, the present ones are few. */
static int append(struct qsb__list *list, struct qsb__list *more)
{
	size_t count = list->count;

	drop_repeated(more, list);
	if (qsb__list_reserve(more, count + more->count))
		return QSB_E_MEMORY;
	memmove(more->items + count, more->items, more->count * sizeof(*more->items));
	memcpy(more->items, list->items, count * sizeof(*more->items));
	more->count += count;
	free(list->items);
	*list = *more;
	*more = (struct qsb__list){0};
	return 0;
}

/* Sets one "NAME=VALUE": a stronger layer's value stands instead of a weaker one's. */
static int set_variable(struct qsb__list *list, const char *text, enum qsb__layer layer, unsigned index)
{
	size_t name = strcspn(text, "=") + 1;

	for (size_t i = 0; i < list->count; i++) {
		if (strncmp(list->items[i].text, text, name) == 0) {
			char *copy = strdup(text);

			if (!copy)
				return QSB_E_MEMORY;
			free(list->items[i].text);
			list->items[i] = (struct qsb__item){.text = copy, .layer = layer, .index = index};
			return 0;
		}
	}
	return qsb__list_add(list, text, layer, index);
}

int qsb__map_merge(struct qsb__list *list, const struct qsb__list *more)
{
	for (size_t i = 0; i < more->count; i++)
		if (set_variable(list, more->items[i].text, more->items[i].layer, more->items[i].index))
			return QSB_E_MEMORY;
	return 0;
}

static int merge_list(const struct qsb__row *row, struct qsb__list *list, struct qsb__list *more)
{
	if (row->type == QSB__ROW_MAP)
		return qsb__map_merge(list, more);
	/* What a weaker layer refuses stays refused; what it allows, a stronger file says anew. */
	if (row->tighten == QSB__TIGHTEN_ADD && list->count)
		return append(list, more);
	qsb__list_clear(list);
	*list = *more;
	*more = (struct qsb__list){0};
	return 0;
}

static int merge_row(struct qsb_policy *policy, const struct qsb__row *row, struct qsb__patch *patch)
{
	struct qsb__list *list = qsb__row_list_at(policy, row);

	if (row->offset == offsetof(struct qsb_policy, trusted_folders) && patch->layer != QSB__LAYER_USER)
		return qsb__note(policy, patch->layer, "%s: %s: only the user's own policy can trust folders; ignored",
				 patch->source, row->pointer);
	policy->origin[qsb__row_index(row)] = patch->layer;
	if (row->type == QSB__ROW_TEXT)
		return qsb__row_set_text(policy, row, qsb__row_text(&patch->values, row));
	if (list)
		return merge_list(row, list, qsb__row_list_at(&patch->values, row));
	qsb__row_set(policy, row, qsb__row_get(&patch->values, row));
	return 0;
}

int qsb__patch_merge(struct qsb_policy *policy, struct qsb__patch *patch, struct qsb_error *err)
{
	for (size_t i = 0; i < qsb__row_count; i++)
		if (patch->named[i] && merge_row(policy, &qsb__rows[i], patch))
			return qsb__fail_memory(err, "policy");
	return 0;
}

/* `--env NAME` passes a variable on, `--env NAME=VALUE` sets it: two keys behind one option. */
static const struct qsb__row *row_of_text(const struct qsb__row *row, const char *text)
{
	if (row->type == QSB__ROW_MAP && !strchr(text, '='))
		return qsb__row_by_pointer("/environment/pass");
	return row;
}

static int add_text(struct qsb_policy *policy, const struct qsb__row *row, const char *text, enum qsb__layer layer)
{
	struct qsb__list *list = qsb__row_list_at(policy, row);
	unsigned index = 0;

	if (list->count && list->items[list->count - 1].layer == layer)
		index = list->items[list->count - 1].index + 1;
	return row->type == QSB__ROW_MAP ? set_variable(list, text, layer, index)
					 : qsb__list_add(list, text, layer, index);
}

int qsb__policy_set_text(struct qsb_policy *policy, const struct qsb__row *option_row, const char *text,
			 enum qsb__layer layer, struct qsb_error *err)
{
	const struct qsb__row *row = row_of_text(option_row, text);
	struct qsb__place place = {.pointer = option_row->option ? option_row->option : option_row->pointer};
	uint64_t value;
	int code;

	if (row->type == QSB__ROW_TEXT) {
		code = qsb__entry_check(row, text, &place, err);
		if (!code && qsb__row_set_text(policy, row, text))
			code = qsb__fail_memory(err, place.pointer);
	} else if (qsb__row_is_list(row)) {
		code = qsb__entry_check(row, text, &place, err);
		if (!code && add_text(policy, row, text, layer))
			code = qsb__fail_memory(err, place.pointer);
	} else {
		code = qsb__value_parse(row, text, &place, &value, err);
		if (!code)
			qsb__row_set(policy, row, value);
	}
	if (!code)
		policy->origin[qsb__row_index(row)] = layer;
	return code;
}

int qsb__policy_merge_json(struct qsb_policy *policy, enum qsb__layer layer, const char *text, size_t length,
			   const char *source, struct qsb_error *err)
{
	static const struct qsb__places nowhere = {0};
	struct qsb__patch patch = {.layer = layer, .source = source};
	int code = qsb__patch_parse(&patch, text, length, err);

	if (!code && (layer == QSB__LAYER_PROJECT || layer == QSB__LAYER_MANAGED))
		code = qsb__patch_tighten(policy, &patch, &nowhere, err);
	else if (!code)
		code = qsb__patch_merge(policy, &patch, err);
	qsb__patch_clear(&patch);
	return code;
}
