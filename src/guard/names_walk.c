/* The walk over compiled name rules, component by component. */
#include <string.h>

#include "core/glob.h"
#include "guard/names_table.h"
#include "plan/builtin.h"

/* One component of a path. */
struct component {
	char text[QSB__NAME_BYTES + 1];
	size_t length;
	uint32_t hash;
};

static void set_component(struct component *component, const char *name, size_t length)
{
	/* Longer names exist nowhere: the kernel says so when it is asked. */
	component->length = length > QSB__NAME_BYTES ? QSB__NAME_BYTES : length;
	memcpy(component->text, name, component->length);
	component->text[component->length] = '\0';
	component->hash = qsb__names_hash(component->text, component->length);
}

static struct qsb__names_key key_of(const struct component *component, uint32_t parent, bool fold)
{
	return (struct qsb__names_key){.parent = parent,
				       .hash = component->hash,
				       .length = (uint32_t)component->length,
				       .fold = fold,
				       .name = component->text};
}

static bool goes_on(const struct qsb__names_node *node)
{
	return node->exact || node->folded || node->globs || node->loops;
}

static void keep(struct qsb__name_state *state, uint32_t node)
{
	for (uint32_t i = 0; i < state->count; i++)
		if (state->active[i] == node)
			return;
	if (state->count == QSB__NAMES_ACTIVE)
		state->full = true;
	else
		state->active[state->count++] = node;
}

/* From here on what hangs below the node may come next. A "**" may also stand for nothing. */
static void keep_open(const struct qsb__names *names, struct qsb__name_state *state, uint32_t node)
{
	if (goes_on(&names->nodes[node]))
		keep(state, node);
	if (names->nodes[node].any)
		keep(state, names->nodes[node].any);
}

/* The component on hand has matched this node's. */
static void reach(const struct qsb__names *names, struct qsb__name_state *state, uint32_t at)
{
	const struct qsb__names_node *node = &names->nodes[at];
	uint32_t rule = state->access & QSB__ACCESS_READ ? node->read : node->write;

	if (!(node->denies & state->access))
		return;
	if (rule && !state->denied)
		state->denied = rule;
	if (rule && !names->plan->steps[rule - 1].builtin)
		state->asked = true;
	if (goes_on(node) || node->any) {
		state->begins |= node->literal;
		keep_open(names, state, at);
	}
}

static void go_on(const struct qsb__names *names, struct qsb__name_state *state, uint32_t at,
		  const struct component *component)
{
	const struct qsb__names_node *node = &names->nodes[at];

	for (unsigned fold = 0; fold < 2; fold++) {
		if (fold ? node->folded : node->exact) {
			const struct qsb__names_key key = key_of(component, at, fold);
			uint32_t next = *qsb__names_node_slot(names, &key);

			if (next)
				reach(names, state, next);
		}
	}
	for (uint32_t next = node->globs; next; next = names->nodes[next].next_glob)
		if (qsb__glob_match(names->nodes[next].glob, component->text, names->nodes[next].key.fold))
			reach(names, state, next);
}

/* The built-in rules for any depth. A folder of packages must be called so exactly. */
static void begin_anywhere(const struct qsb__names *names, struct qsb__name_state *state,
			   const struct component *component)
{
	const struct qsb__names_key key = key_of(component, 1, true);
	uint32_t at = *qsb__names_node_slot(names, &key);
	const struct qsb__names_node *node = &names->nodes[at];

	if (at && (state->anywhere & (node->project ? QSB__ANYWHERE_PROJECT : QSB__ANYWHERE_ALWAYS)))
		reach(names, state, at);
	if ((at && node->packages && memcmp(node->key.name, component->text, component->length) == 0) ||
	    qsb__is_package_version(component->text, component->length))
		state->anywhere &= ~(unsigned)QSB__ANYWHERE_PROJECT;
}

/* What holds at a place besides what came from above it. */
static void arrive(const struct qsb__names *names, struct qsb__name_state *state)
{
	const struct qsb__names_place *place = &names->places[state->place];
	uint32_t literal = state->access & QSB__ACCESS_READ ? place->literal_read : place->literal;

	if (!state->place)
		return;
	state->begins |= place->leads;
	state->writable |= (place->granted & QSB__ACCESS_WRITE) != 0;
	if (place->granted & (QSB__NAMES_SCRATCH | QSB__NAMES_HOST))
		state->scratch = !(place->granted & QSB__NAMES_HOST);
	state->loose |= place->loose;
	if (literal)
		state->denied = literal;
	state->asked |= literal && !names->plan->steps[literal - 1].builtin;
	if (place->granted & state->access)
		state->denied = 0, state->asked = false;
	if (state->access & QSB__ACCESS_WRITE)
		state->anywhere |= place->anywhere;
	if (place->first && (names->nodes[place->first].denies & state->access))
		keep_open(names, state, place->first);
}

static void clear(struct qsb__name_state *state, unsigned access)
{
	state->access = access;
	state->place = 0;
	state->denied = 0;
	state->anywhere = 0;
	state->count = 0;
	state->asked = state->begins = state->writable = state->scratch = state->loose = state->full = false;
}

void qsb__names_start(const struct qsb__names *names, unsigned access, struct qsb__name_state *state)
{
	clear(state, access);
	state->place = QSB__NAMES_ROOT;
	arrive(names, state);
	state->begins = false;
}

static void match(const struct qsb__names *names, struct qsb__name_state *state, const struct qsb__name_state *before,
		  const struct component *component)
{
	for (uint32_t i = 0; i < before->count; i++)
		go_on(names, state, before->active[i], component);
	if (before->anywhere)
		begin_anywhere(names, state, component);
}

/* Where the file system takes other texts for the same name, those count, too. */
static void match_loosely(const struct qsb__names *names, struct qsb__name_state *state,
			  const struct qsb__name_state *before, const struct component *component)
{
	struct component plain;

	if (qsb__names_plain(component->text, component->length, plain.text, &plain.length)) {
		plain.hash = qsb__names_hash(plain.text, plain.length);
		match(names, state, before, &plain);
		state->anywhere = before->anywhere; /* what is not called so exactly is no folder of packages */
	}
	if (qsb__names_is_short(component->text, component->length) && !state->denied) {
		state->denied = names->overflow;
		state->asked = true; /* nobody knows which rule it would be */
	}
}

void qsb__names_enter(const struct qsb__names *names, struct qsb__name_state *state, const char *name, size_t length)
{
	struct component component;
	struct qsb__name_state before;

	set_component(&component, name, length);
	state->begins = false;
	if (state->count || state->anywhere) {
		before.count = state->count;
		before.anywhere = state->anywhere;
		memcpy(before.active, state->active, state->count * sizeof(state->active[0]));
		state->count = 0;
		for (uint32_t i = 0; i < before.count; i++)
			if (names->nodes[before.active[i]].loops)
				keep(state, before.active[i]);
		match(names, state, &before, &component);
		if (state->loose)
			match_loosely(names, state, &before, &component);
	}
	if (state->place) {
		const struct qsb__names_key key = key_of(&component, state->place, names->fold);

		state->place = *qsb__names_place_slot(names, &key);
	}
	arrive(names, state);
}

const struct qsb__step *qsb__names_denied(const struct qsb__names *names, const struct qsb__name_state *state)
{
	uint32_t rule = state->denied ? state->denied : state->full ? names->overflow : 0;

	return rule ? &names->plan->steps[rule - 1] : NULL;
}

const struct qsb__step *qsb__names_judge(const struct qsb__names *names, const char *path, unsigned access,
					 struct qsb__name_state *state)
{
	qsb__names_start(names, access, state);
	while (*path) {
		size_t length;

		while (*path == '/')
			path++;
		for (length = 0; path[length] && path[length] != '/'; length++)
			;
		if (length)
			qsb__names_enter(names, state, path, length);
		path += length;
	}
	return qsb__names_denied(names, state);
}

bool qsb__names_hold_below(const struct qsb__names *names, const struct qsb__name_state *state)
{
	return state->full || state->count || state->anywhere || (state->place && names->places[state->place].leads);
}

/* Where something is granted below, not all that the state denies there is denied. */
static bool covers_all(const struct qsb__names *names, const struct qsb__name_state *state)
{
	return !state->place || !names->places[state->place].gives;
}

static bool is_active(const struct qsb__name_state *state, uint32_t node)
{
	for (uint32_t i = 0; i < state->count; i++)
		if (state->active[i] == node)
			return true;
	return false;
}

bool qsb__names_difference(const struct qsb__names *names, const struct qsb__name_state *state,
			   const struct qsb__name_state *other, struct qsb__name_state *out)
{
	struct qsb__name_state rest;
	bool all = covers_all(names, other);

	clear(&rest, state->access);
	rest.place = state->place == other->place ? 0 : state->place;
	rest.anywhere = all ? state->anywhere & ~other->anywhere : state->anywhere;
	rest.loose = state->loose;
	rest.full = state->full && !(all && other->full);
	for (uint32_t i = 0; i < state->count; i++)
		if (!all || !is_active(other, state->active[i]))
			rest.active[rest.count++] = state->active[i];
	*out = rest;
	return qsb__names_hold_below(names, out);
}
