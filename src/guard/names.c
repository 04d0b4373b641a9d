#include "guard/names.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/error.h"
#include "core/glob.h"
#include "core/path.h"

/* A literal component below another one. */
struct place {
	uint32_t parent;
	uint32_t length;
	const char *name;
	uint32_t literal;       /* 1 + index of the step that denies exactly this path */
	uint32_t literal_read;  /* the same, of one that denies reading */
	uint32_t first_pattern; /* 1 + index of the first pattern that starts here */
	unsigned granted;       /* QSB__ACCESS_* that a mount here gives whatever a rule above says, SCRATCH */
	bool leads;             /* a rule starts or lies below */
};

struct part {
	const char *text;
	bool any_depth; /* "**" */
	bool names;     /* holds a character that must be there: more than stars */
};

struct pattern {
	const struct qsb__step *step;
	uint32_t next; /* of those that start at the same place */
	unsigned count;
	struct part *parts;
	char *text;
};

struct qsb__names {
	const struct qsb__plan *plan;
	bool fold;
	struct place *places; /* [0] is unused, [1] is the root */
	uint32_t place_count, place_capacity;
	uint32_t *table; /* of places, by parent and name */
	uint32_t table_size;
	struct pattern *patterns;
	uint32_t pattern_count;
};

enum { ROOT = 1, SCRATCH = 1U << 8 /* in `granted`: the sandbox's own file system */ };

static uint32_t hash(const struct qsb__names *names, uint32_t parent, const char *name, size_t length)
{
	uint32_t value = 2166136261U ^ parent * 16777619U;

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)name[i];

		if (names->fold && byte >= 'A' && byte <= 'Z')
			byte = (unsigned char)(byte + 32);
		value = (value ^ byte) * 16777619U;
	}
	return value ^ value >> 15;
}

static bool same_name(const struct qsb__names *names, const struct place *place, const char *name, size_t length)
{
	return place->length == length &&
	       (names->fold ? strncasecmp(place->name, name, length) == 0 : memcmp(place->name, name, length) == 0);
}

/* Where the place is in the table, or would be. */
static uint32_t *slot(const struct qsb__names *names, uint32_t parent, const char *name, size_t length)
{
	uint32_t at = hash(names, parent, name, length) & (names->table_size - 1);

	while (names->table[at]) {
		const struct place *place = &names->places[names->table[at]];

		if (place->parent == parent && same_name(names, place, name, length))
			break;
		at = (at + 1) & (names->table_size - 1);
	}
	return &names->table[at];
}

/* Room was made before: every component of every step is counted. */
static uint32_t add_place(struct qsb__names *names, uint32_t parent, const char *name, size_t length)
{
	uint32_t *at = slot(names, parent, name, length);

	if (!*at) {
		*at = names->place_count++;
		names->places[*at] = (struct place){.parent = parent, .name = name, .length = (uint32_t)length};
	}
	return *at;
}

/* The components of `path` from `from` on, at most `length` bytes of it. */
static uint32_t add_path(struct qsb__names *names, uint32_t from, const char *path, size_t length)
{
	const char *end = path + length;

	while (path < end) {
		size_t size = strcspn(path, "/");

		if (size > (size_t)(end - path))
			size = (size_t)(end - path);
		if (size > 0)
			from = add_place(names, from, path, size);
		path += size + 1;
	}
	return from;
}

static size_t count_parts(const char *path)
{
	size_t count = 0;

	while (*(path += strspn(path, "/"))) {
		count++;
		path += strcspn(path, "/");
	}
	return count;
}

static void mark(struct qsb__names *names, uint32_t at)
{
	for (; at && !names->places[at].leads; at = names->places[at].parent)
		names->places[at].leads = true;
}

/* Trailing "**" say nothing more: a denied name covers all below it. Alone, one means everything below the folder. */
static int split(struct pattern *pattern, const char *text, struct qsb_error *err)
{
	size_t count = count_parts(text);
	char *rest;

	if (count > QSB__NAMES_PARTS)
		return qsb__fail(err, QSB_E_RANGE, pattern->step->rule, "the pattern %.60s has more than %d components",
				 text, QSB__NAMES_PARTS);
	pattern->text = strdup(text);
	pattern->parts = calloc(count + 1, sizeof(*pattern->parts));
	if (!pattern->text || !pattern->parts)
		return qsb__fail_memory(err, "guard");
	rest = pattern->text;
	for (char *part; (part = strsep(&rest, "/"));)
		if (*part)
			pattern->parts[pattern->count++] = (struct part){.text = part,
									 .any_depth = strcmp(part, "**") == 0,
									 .names = part[strspn(part, "*")] != '\0'};
	while (pattern->count > 1 && pattern->parts[pattern->count - 1].any_depth)
		pattern->count--;
	if (pattern->parts[0].any_depth && pattern->count == 1)
		pattern->parts[0] = (struct part){.text = "*"};
	return 0;
}

static int add_rule(struct qsb__names *names, uint32_t index, struct qsb_error *err)
{
	const struct qsb__step *step = &names->plan->steps[index];
	uint32_t at = add_path(names, ROOT, step->path, strlen(step->path));
	const char *text = step->text + strspn(step->text, "/");
	size_t literal = qsb__glob_literal_prefix(text);
	struct pattern *pattern;

	at = add_path(names, at, text, literal);
	mark(names, at);
	text += literal + strspn(text + literal, "/");
	if (!*text) {
		names->places[at].literal = index + 1;
		if (step->denies & QSB__ACCESS_READ)
			names->places[at].literal_read = index + 1;
		return 0;
	}
	if (names->pattern_count == QSB__NAMES_PATTERNS)
		return qsb__fail(err, QSB_E_RANGE, step->rule,
				 "more than %d patterns cannot be held live: put some of them "
				 "together, as in *.[kp]e[my]",
				 QSB__NAMES_PATTERNS);
	pattern = &names->patterns[names->pattern_count++];
	pattern->step = step;
	pattern->next = names->places[at].first_pattern;
	names->places[at].first_pattern = names->pattern_count;
	return split(pattern, text, err);
}

/* What a mount at its path gives back, however a rule by name above it reads. */
static unsigned granted_by(const struct qsb__step *step)
{
	switch (step->kind) {
	case QSB__STEP_BIND_RW:
	case QSB__STEP_PROC:
		return QSB__ACCESS_READ | QSB__ACCESS_WRITE;
	case QSB__STEP_TMPFS:
	case QSB__STEP_DEV:
		return QSB__ACCESS_READ | QSB__ACCESS_WRITE | SCRATCH;
	case QSB__STEP_BIND_RO:
		/* One that a denial of writing brought about says nothing of reading: another rule may deny that. */
		return step->allows & QSB__ACCESS_READ;
	default:
		return 0;
	}
}

static int make_room(struct qsb__names *names, struct qsb_error *err)
{
	size_t count = 2;

	for (size_t i = 0; i < names->plan->step_count; i++) {
		const struct qsb__step *step = &names->plan->steps[i];

		count += count_parts(step->path) + (step->kind == QSB__STEP_NAME_RULE ? count_parts(step->text) : 0);
	}
	names->table_size = 64;
	while (names->table_size < count * 2)
		names->table_size *= 2;
	names->places = calloc(count, sizeof(*names->places));
	names->table = calloc(names->table_size, sizeof(*names->table));
	names->patterns = calloc(QSB__NAMES_PATTERNS, sizeof(*names->patterns));
	names->place_count = ROOT + 1;
	return names->places && names->table && names->patterns ? 0 : qsb__fail_memory(err, "guard");
}

int qsb__names_new(struct qsb__names **out, const struct qsb__plan *plan, bool (*holds)(const struct qsb__step *),
		   struct qsb_error *err)
{
	struct qsb__names *names = calloc(1, sizeof(*names));
	int code;

	*out = NULL;
	if (!names)
		return qsb__fail_memory(err, "guard");
	names->plan = plan;
	names->fold = plan->fold_names;
	code = make_room(names, err);
	for (size_t i = 0; code == 0 && i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];

		if (step->kind == QSB__STEP_NAME_RULE && holds(step))
			code = add_rule(names, (uint32_t)i, err);
		else if (granted_by(step))
			names->places[add_path(names, ROOT, step->path, strlen(step->path))].granted |=
				granted_by(step);
	}
	if (code == 0)
		*out = names;
	else
		qsb__names_free(names);
	return code;
}

void qsb__names_free(struct qsb__names *names)
{
	if (!names)
		return;
	for (uint32_t i = 0; names->patterns && i < names->pattern_count; i++) {
		free(names->patterns[i].parts);
		free(names->patterns[i].text);
	}
	free(names->patterns);
	free(names->places);
	free(names->table);
	free(names);
}

/* A "**" may also stand for nothing: what comes after it may be next, too. */
static uint64_t close_over(const struct pattern *pattern, uint64_t reached)
{
	for (unsigned i = 0; i < pattern->count; i++)
		if ((reached >> i & 1) && pattern->parts[i].any_depth)
			reached |= UINT64_C(2) << i;
	return reached;
}

/* What holds at a place besides what came from above it. */
static void arrive(const struct qsb__names *names, struct qsb__name_state *state)
{
	const struct place *place = &names->places[state->place];
	uint32_t literal = state->access & QSB__ACCESS_READ ? place->literal_read : place->literal;

	if (!state->place)
		return;
	state->writable |= (place->granted & QSB__ACCESS_WRITE) != 0;
	state->scratch |= (place->granted & SCRATCH) != 0;
	if (literal)
		state->literal = literal;
	if (place->granted & state->access) {
		state->literal = 0;
		for (uint32_t i = 0; i < names->pattern_count; i++)
			state->reached[i] &= ~(UINT64_C(1) << names->patterns[i].count);
	}
	for (uint32_t i = place->first_pattern; i; i = names->patterns[i - 1].next)
		if (names->patterns[i - 1].step->denies & state->access)
			state->reached[i - 1] |= close_over(&names->patterns[i - 1], 1);
}

void qsb__names_start(const struct qsb__names *names, unsigned access, struct qsb__name_state *state)
{
	memset(state->reached, 0, names->pattern_count * sizeof(state->reached[0]));
	state->access = access;
	state->place = ROOT;
	state->literal = 0;
	state->begins = state->writable = state->scratch = false;
	arrive(names, state);
}

static uint64_t advance(const struct pattern *pattern, uint64_t reached, const char *name, bool fold, bool *begins)
{
	uint64_t denied = UINT64_C(1) << pattern->count;
	uint64_t next = reached & denied;

	for (unsigned i = 0; i < pattern->count; i++) {
		if (!(reached >> i & 1))
			continue;
		if (pattern->parts[i].any_depth) {
			next |= UINT64_C(1) << i;
		} else if (qsb__glob_match(pattern->parts[i].text, name, fold)) {
			next |= UINT64_C(2) << i;
			*begins |= pattern->parts[i].names && i + 1 < pattern->count;
		}
	}
	return close_over(pattern, next);
}

void qsb__names_enter(const struct qsb__names *names, struct qsb__name_state *state, const char *name, size_t length)
{
	char text[256];

	/* Longer names exist nowhere: the kernel says so when it is asked. */
	if (length >= sizeof(text))
		length = sizeof(text) - 1;
	memcpy(text, name, length);
	text[length] = '\0';
	state->begins = false;
	for (uint32_t i = 0; i < names->pattern_count; i++)
		if (state->reached[i])
			state->reached[i] =
				advance(&names->patterns[i], state->reached[i], text, names->fold, &state->begins);
	if (state->place)
		state->place = *slot(names, state->place, text, length);
	if (state->place && names->places[state->place].leads)
		state->begins = true;
	arrive(names, state);
}

const struct qsb__step *qsb__names_denied(const struct qsb__names *names, const struct qsb__name_state *state)
{
	if (state->literal)
		return &names->plan->steps[state->literal - 1];
	for (uint32_t i = 0; i < names->pattern_count; i++)
		if (state->reached[i] >> names->patterns[i].count & 1)
			return names->patterns[i].step;
	return NULL;
}

const struct qsb__step *qsb__names_judge(const struct qsb__names *names, const char *path, unsigned access,
					 struct qsb__name_state *state)
{
	qsb__names_start(names, access, state);
	while (*(path += strspn(path, "/"))) {
		size_t length = strcspn(path, "/");

		qsb__names_enter(names, state, path, length);
		path += length;
	}
	return qsb__names_denied(names, state);
}

bool qsb__names_hold_below(const struct qsb__names *names, const struct qsb__name_state *state)
{
	if (state->place && names->places[state->place].leads)
		return true;
	for (uint32_t i = 0; i < names->pattern_count; i++)
		if (state->reached[i] & ~(UINT64_C(1) << names->patterns[i].count))
			return true;
	return false;
}

bool qsb__names_difference(const struct qsb__names *names, const struct qsb__name_state *state,
			   const struct qsb__name_state *other, struct qsb__name_state *out)
{
	for (uint32_t i = 0; i < names->pattern_count; i++)
		out->reached[i] = state->reached[i] & ~other->reached[i] & ~(UINT64_C(1) << names->patterns[i].count);
	out->place = state->place == other->place ? 0 : state->place;
	out->access = state->access;
	out->literal = 0;
	out->begins = out->writable = out->scratch = false;
	return qsb__names_hold_below(names, out);
}
