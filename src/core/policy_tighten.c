/*
 * One layer laid over the others where it is stricter: a project's file, which comes with a repository and so from
 * anybody, and the managed file, which bounds what everybody else asked for. Nothing here may ever widen a policy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "core/policy_load.h"
#include "core/policy_patch.h"

struct tightening {
	struct qsb_policy *policy;
	struct qsb__patch *patch;
	const struct qsb__places *places;
};

static bool is_project(const struct tightening *to)
{
	return to->patch->layer == QSB__LAYER_PROJECT;
}

/* "no limit" is 0 in memory, and the largest value in meaning. */
static uint64_t order_of(const struct qsb__row *row, uint64_t value)
{
	bool limit = row->none_allowed && row->tighten == QSB__TIGHTEN_MIN;

	return limit && value == 0 ? UINT64_MAX : value;
}

static int note_scalar(struct tightening *to, const struct qsb__row *row)
{
	QSB_CLEANUP_FREE char *asked = qsb__policy_value_text(&to->patch->values, row);
	QSB_CLEANUP_FREE char *now = qsb__policy_value_text(to->policy, row);

	if (!asked || !now)
		return QSB_E_MEMORY;
	if (is_project(to))
		return qsb__note(to->policy, to->patch->layer,
				 "%s: %s: a project may not loosen the policy, so %s is ignored and %s holds",
				 to->patch->source, row->pointer, asked, now);
	return qsb__note(to->policy, to->patch->layer, "%s: %s: bounded to %s; the %s asked for %s", to->patch->source,
			 row->pointer, asked, qsb__layer_name(to->policy->origin[qsb__row_index(row)]), now);
}

static int tighten_scalar(struct tightening *to, const struct qsb__row *row)
{
	uint64_t asked = qsb__row_get(&to->patch->values, row), now = qsb__row_get(to->policy, row);
	uint64_t asked_order = order_of(row, asked), now_order = order_of(row, now);
	enum qsb__layer *origin = &to->policy->origin[qsb__row_index(row)];
	bool stricter = row->tighten == QSB__TIGHTEN_MAX ? asked_order > now_order : asked_order < now_order;

	if (asked == now)
		return 0;
	if (!stricter)
		return is_project(to) && !to->patch->quiet ? note_scalar(to, row) : 0;
	if (!is_project(to) && *origin != QSB__LAYER_PRESET && note_scalar(to, row))
		return QSB_E_MEMORY;
	qsb__row_set(to->policy, row, asked);
	*origin = to->patch->layer;
	return 0;
}

static int note_entry(struct tightening *to, const struct qsb__row *row, const struct qsb__item *item, bool theirs)
{
	char origin[256];

	qsb__item_origin(row, item, origin, sizeof(origin));
	if (theirs)
		return qsb__note(to->policy, to->patch->layer,
				 "%s: %s/%u: \"%.200s\" would loosen the policy and is ignored", to->patch->source,
				 row->pointer, item->index, item->text);
	return qsb__note(to->policy, to->patch->layer, "%s: %s: \"%.200s\" of %s lies outside the bound and is dropped",
			 to->patch->source, row->pointer, item->text, origin);
}

static int keep(struct qsb__list *list, const struct qsb__item *item)
{
	return qsb__list_add(list, item->text, item->layer, item->index);
}

/* What both allow: present entries within the asked ones, and asked entries within the present ones. */
static int intersect(struct tightening *to, const struct qsb__row *row, struct qsb__list *both)
{
	const struct qsb__list *now = qsb__row_list(to->policy, row), *asked = qsb__row_list(&to->patch->values, row);
	int code = 0;

	for (size_t i = 0; i < now->count && !code; i++) {
		if (qsb__cover_holds(row, asked, now->items[i].text, to->places))
			code = keep(both, &now->items[i]);
		else if (!is_project(to) && now->items[i].layer != QSB__LAYER_PRESET)
			code = note_entry(to, row, &now->items[i], false);
	}
	for (size_t i = 0; i < asked->count && !code; i++) {
		if (qsb__list_has(both, asked->items[i].text))
			continue;
		if (qsb__cover_allows(to->policy, row, now, asked->items[i].text, to->places))
			code = keep(both, &asked->items[i]);
		else if (is_project(to) && !to->patch->quiet)
			code = note_entry(to, row, &asked->items[i], true);
	}
	return code;
}

static int tighten_within(struct tightening *to, const struct qsb__row *row)
{
	struct qsb__list *now = qsb__row_list_at(to->policy, row);
	struct qsb__list both = {0};
	int code = intersect(to, row, &both);

	if (code) {
		qsb__list_clear(&both);
		return code;
	}
	qsb__list_clear(now);
	*now = both;
	to->policy->origin[qsb__row_index(row)] = to->patch->layer;
	return 0;
}

static int tighten_add(struct tightening *to, const struct qsb__row *row)
{
	struct qsb__list *now = qsb__row_list_at(to->policy, row);
	const struct qsb__list *more = qsb__row_list(&to->patch->values, row);

	for (size_t i = 0; i < more->count; i++)
		if (!(to->patch->quiet && qsb__list_has(now, more->items[i].text)) && keep(now, &more->items[i]))
			return QSB_E_MEMORY;
	if (more->count && !to->patch->quiet)
		to->policy->origin[qsb__row_index(row)] = to->patch->layer;
	return 0;
}

static int note_never(struct tightening *to, const struct qsb__row *row)
{
	return qsb__note(to->policy, to->patch->layer,
			 "%s: %s: only the user's own policy or an option can say this; ignored", to->patch->source,
			 row->pointer);
}

/* Keys that have no stricter side. The administrator's variables are set, a project's are not: they could steer
 * programs that the user runs with other expectations (LD_PRELOAD, GIT_SSH_COMMAND, …). So is the administrator's
 * proxy, while a project's would read whatever the command sends. */
static int tighten_never(struct tightening *to, const struct qsb__row *row)
{
	const struct qsb__list *asked = qsb__row_list(&to->patch->values, row);

	if (row->type == QSB__ROW_TEXT && !is_project(to)) {
		to->policy->origin[qsb__row_index(row)] = to->patch->layer;
		return qsb__row_set_text(to->policy, row, qsb__row_text(&to->patch->values, row));
	}
	if (row->type == QSB__ROW_TEXT &&
	    strcmp(qsb__row_text(to->policy, row), qsb__row_text(&to->patch->values, row)))
		return note_never(to, row);
	if (row->type == QSB__ROW_MAP && !is_project(to))
		return qsb__map_merge(qsb__row_list_at(to->policy, row), asked);
	return asked && asked->count ? note_never(to, row) : 0;
}

static int tighten_row(struct tightening *to, const struct qsb__row *row)
{
	switch (row->tighten) {
	case QSB__TIGHTEN_MIN:
	case QSB__TIGHTEN_MAX:
		return tighten_scalar(to, row);
	case QSB__TIGHTEN_ADD:
		return tighten_add(to, row);
	case QSB__TIGHTEN_WITHIN:
		return tighten_within(to, row);
	default:
		return tighten_never(to, row);
	}
}

int qsb__patch_tighten(struct qsb_policy *policy, struct qsb__patch *patch, const struct qsb__places *places,
		       struct qsb_error *err)
{
	struct tightening to = {.policy = policy, .patch = patch, .places = places};

	/* Allow lists first: an entry is judged by the rules that stood before this layer, which added none of them. */
	for (size_t i = 0; i < qsb__row_count; i++)
		if (patch->named[i] && qsb__rows[i].tighten == QSB__TIGHTEN_WITHIN && tighten_row(&to, &qsb__rows[i]))
			return qsb__fail_memory(err, "policy");
	for (size_t i = 0; i < qsb__row_count; i++)
		if (patch->named[i] && qsb__rows[i].tighten != QSB__TIGHTEN_WITHIN && tighten_row(&to, &qsb__rows[i]))
			return qsb__fail_memory(err, "policy");
	return 0;
}
