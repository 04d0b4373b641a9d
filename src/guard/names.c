#include "guard/names.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/error.h"
#include "core/glob.h"
#include "core/path.h"
#include "guard/names_table.h"
#include "plan/builtin.h"

enum { ANYWHERE = 1 /* the node where the built-in rules for any depth start */, SMALLEST = 64 };

/* FNV-1a. One hash serves for both kinds of comparing: a pair that differs in case only is told apart by its text. */
uint32_t qsb__names_hash(const char *name, size_t length)
{
	uint32_t value = 2166136261U;

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)name[i];

		if (byte >= 'A' && byte <= 'Z')
			byte = (unsigned char)(byte + 32);
		value = (value ^ byte) * 16777619U;
	}
	return value;
}

static uint32_t first_slot(const struct qsb__names *names, const struct qsb__names_key *key)
{
	uint32_t value = key->hash ^ key->parent * 0x9e3779b1U;

	return (value ^ value >> 15) & (names->table_size - 1);
}

static bool same_key(const struct qsb__names_key *a, const struct qsb__names_key *b)
{
	return a->hash == b->hash && a->parent == b->parent && a->length == b->length && a->fold == b->fold &&
	       (a->fold ? strncasecmp(a->name, b->name, a->length) == 0 : memcmp(a->name, b->name, a->length) == 0);
}

uint32_t *qsb__names_place_slot(const struct qsb__names *names, const struct qsb__names_key *key)
{
	uint32_t at = first_slot(names, key);

	while (names->place_table[at] && !same_key(&names->places[names->place_table[at]].key, key))
		at = (at + 1) & (names->table_size - 1);
	return &names->place_table[at];
}

uint32_t *qsb__names_node_slot(const struct qsb__names *names, const struct qsb__names_key *key)
{
	uint32_t at = first_slot(names, key);

	while (names->node_table[at] && !same_key(&names->nodes[names->node_table[at]].key, key))
		at = (at + 1) & (names->table_size - 1);
	return &names->node_table[at];
}

static struct qsb__names_key make_key(uint32_t parent, const char *name, size_t length, bool fold)
{
	return (struct qsb__names_key){.parent = parent,
				       .hash = qsb__names_hash(name, length),
				       .length = (uint32_t)length,
				       .fold = fold,
				       .name = name};
}

/* Room was made before: every component of every step is counted. */
static uint32_t add_place(struct qsb__names *names, uint32_t parent, const char *name, size_t length)
{
	const struct qsb__names_key key = make_key(parent, name, length, names->fold);
	uint32_t *at = qsb__names_place_slot(names, &key);

	if (!*at) {
		*at = names->place_count++;
		names->places[*at] = (struct qsb__names_place){.key = key};
	}
	return *at;
}

/* Loops, not strspn and strcspn: these prepare tables for each call, which costs more than a few bytes. */
static const char *next_part(const char *text)
{
	while (*text == '/')
		text++;
	return text;
}

static size_t part_length(const char *text)
{
	size_t length = 0;

	while (text[length] && text[length] != '/')
		length++;
	return length;
}

/* The components of `path` from `from` on, at most `length` bytes of it. */
static uint32_t add_path(struct qsb__names *names, uint32_t from, const char *path, size_t length)
{
	const char *end = path + length;

	while (path < end) {
		size_t size = part_length(path);

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

	for (bool inside = false; *path; path++) {
		count += *path != '/' && !inside;
		inside = *path != '/';
	}
	return count;
}

static void mark(struct qsb__names *names, uint32_t at)
{
	for (; at && !names->places[at].leads; at = names->places[at].key.parent)
		names->places[at].leads = true;
}

static bool is_any_depth(const char *part, size_t length)
{
	return length == 2 && part[0] == '*' && part[1] == '*';
}

/* Trailing "**" say nothing more: a denied name covers all below it. */
static bool only_any_depth(const char *text)
{
	while (*(text = next_part(text))) {
		size_t length = part_length(text);

		if (!is_any_depth(text, length))
			return false;
		text += length;
	}
	return true;
}

static bool is_glob(const char *part, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (part[i] == '*' || part[i] == '?' || part[i] == '[')
			return true;
	return false;
}

static uint32_t new_node(struct qsb__names *names, const struct qsb__names_key *key)
{
	uint32_t at = names->node_count++;

	names->nodes[at].key = *key;
	return at;
}

static uint32_t add_any(struct qsb__names *names, uint32_t parent)
{
	struct qsb__names_node *node = &names->nodes[parent];

	if (node->loops)
		return parent;
	if (!node->any) {
		const struct qsb__names_key key = {.parent = parent};

		node->any = new_node(names, &key);
		names->nodes[node->any].loops = true;
	}
	return node->any;
}

static uint32_t add_literal(struct qsb__names *names, uint32_t parent, const struct qsb__names_key *key)
{
	uint32_t *at = qsb__names_node_slot(names, key);

	if (!*at) {
		*at = new_node(names, key);
		names->nodes[*at].literal = true;
		if (key->fold)
			names->nodes[parent].folded = true;
		else
			names->nodes[parent].exact = true;
	}
	return *at;
}

/* 0 = no memory, or too many of them: `full` tells. */
static uint32_t add_glob(struct qsb__names *names, uint32_t parent, const struct qsb__names_key *key, bool *full)
{
	uint32_t *first = &names->nodes[parent].globs, at;
	char *text;

	for (at = *first; at; at = names->nodes[at].next_glob)
		if (same_key(&names->nodes[at].key, key))
			return at;
	*full = names->pattern_count == QSB__NAMES_PATTERNS;
	text = *full ? NULL : strndup(key->name, key->length);
	if (!text)
		return 0;
	names->pattern_count++;
	at = new_node(names, key);
	names->nodes[at].glob = text;
	names->nodes[at].literal = text[strspn(text, "*")] != '\0';
	names->nodes[at].next_glob = *first;
	*first = at;
	return at;
}

/* The node that a rule's text leads to. Alone, "**" means everything below the folder. */
static int add_parts(struct qsb__names *names, uint32_t *node, const struct qsb__step *step, const char *text,
		     struct qsb_error *err)
{
	bool fold = names->fold || step->builtin, full = false;

	if (only_any_depth(text))
		text = "*";
	while (*(text = next_part(text)) && !only_any_depth(text)) {
		size_t length = part_length(text);
		const struct qsb__names_key key = make_key(*node, text, length, fold);

		if (is_any_depth(text, length))
			*node = add_any(names, *node);
		else if (is_glob(text, length))
			*node = add_glob(names, *node, &key, &full);
		else
			*node = add_literal(names, *node, &key);
		if (full)
			return qsb__fail(err, QSB_E_RANGE, step->rule,
					 "more than %d patterns cannot be held live: put some of them "
					 "together, as in *.[kp]e[my]",
					 QSB__NAMES_PATTERNS);
		if (!*node)
			return qsb__fail_memory(err, "guard");
		text += length;
	}
	return 0;
}

/* A rule ends at this node. */
static void finish(struct qsb__names *names, uint32_t node, uint32_t index)
{
	const struct qsb__step *step = &names->plan->steps[index];
	struct qsb__names_node *last = &names->nodes[node];

	if ((step->denies & QSB__ACCESS_WRITE) && !last->write)
		last->write = index + 1;
	if ((step->denies & QSB__ACCESS_READ) && !last->read)
		last->read = index + 1;
	for (; node && (names->nodes[node].denies | step->denies) != names->nodes[node].denies;
	     node = names->nodes[node].key.parent)
		names->nodes[node].denies |= step->denies;
}

/* The built-in rules for any depth are the same for each folder they hold in: one table, made for the first. */
static int add_anywhere(struct qsb__names *names, uint32_t index, uint32_t at, struct qsb_error *err)
{
	const struct qsb__step *steps = names->plan->steps, *step = &steps[index];
	uint32_t node = ANYWHERE, *next = &names->anywhere_next;
	int code;

	names->places[at].anywhere |= step->project ? QSB__ANYWHERE_PROJECT : QSB__ANYWHERE_ALWAYS;
	if (names->anywhere_end == 0)
		names->first_anywhere = *next = index;
	if (step->path == steps[names->first_anywhere].path) {
		names->anywhere_end = index + 1;
	} else {
		/* They come in the same order. */
		uint32_t at_first = *next;

		*next = at_first + 1 < names->anywhere_end ? at_first + 1 : names->first_anywhere;
		if (steps[at_first].text == step->text)
			return 0;
	}
	code = add_parts(names, &node, step, step->text + 3, err);
	if (code != 0)
		return code;
	finish(names, node, index);
	while (names->nodes[node].key.parent != ANYWHERE)
		node = names->nodes[node].key.parent;
	names->nodes[node].project = step->project;
	return 0;
}

static uint32_t start_here(struct qsb__names *names, uint32_t at)
{
	struct qsb__names_place *place = &names->places[at];

	if (!place->first) {
		const struct qsb__names_key none = {.parent = 0};

		place->first = new_node(names, &none);
	}
	return place->first;
}

/* Hundreds of rules after each other hold in one folder. */
static uint32_t find_folder(struct qsb__names *names, const struct qsb__step *step)
{
	if (names->last_path != step->path) {
		names->last_path = step->path;
		names->last_place = add_path(names, QSB__NAMES_ROOT, step->path, strlen(step->path));
		mark(names, names->last_place);
	}
	return names->last_place;
}

static int add_rule(struct qsb__names *names, uint32_t index, struct qsb_error *err)
{
	const struct qsb__step *step = &names->plan->steps[index];
	uint32_t at = find_folder(names, step), node;
	const char *text = next_part(step->text);
	size_t literal;
	int code;

	names->overflow = names->overflow ? names->overflow : index + 1;
	if (step->builtin && strncmp(text, "**/", 3) == 0 && step->denies == QSB__ACCESS_WRITE)
		return add_anywhere(names, index, at, err);
	if (count_parts(text) > QSB__NAMES_PARTS)
		return qsb__fail(err, QSB_E_RANGE, step->rule, "the pattern %.60s has more than %d components", text,
				 QSB__NAMES_PARTS);
	if (!step->builtin) {
		literal = qsb__glob_literal_prefix(text);
		at = add_path(names, at, text, literal);
		mark(names, at);
		text = next_part(text + literal);
		if (!*text) {
			names->places[at].literal = index + 1;
			if (step->denies & QSB__ACCESS_READ)
				names->places[at].literal_read = index + 1;
			return 0;
		}
	}
	node = start_here(names, at);
	code = add_parts(names, &node, step, text, err);
	if (code == 0)
		finish(names, node, index);
	return code;
}

/* What a mount at its path gives back, however a rule by name above it reads. */
static unsigned granted_by(const struct qsb__step *step)
{
	switch (step->kind) {
	case QSB__STEP_BIND_RW:
		return QSB__ACCESS_READ | QSB__ACCESS_WRITE | QSB__NAMES_HOST;
	case QSB__STEP_PROC:
	case QSB__STEP_NAME_GRANT:
		return QSB__ACCESS_READ | QSB__ACCESS_WRITE;
	case QSB__STEP_TMPFS:
	case QSB__STEP_DEV:
		return QSB__ACCESS_READ | QSB__ACCESS_WRITE | QSB__NAMES_SCRATCH;
	case QSB__STEP_BIND_RO:
		/* One that a denial of writing brought about says nothing of reading: another rule may deny that. */
		return (step->allows & QSB__ACCESS_READ) | QSB__NAMES_HOST;
	default:
		return 0;
	}
}

static void add_grant(struct qsb__names *names, const struct qsb__step *step)
{
	uint32_t at = add_path(names, QSB__NAMES_ROOT, step->path, strlen(step->path));

	names->places[at].granted |= granted_by(step);
	for (; at && !names->places[at].gives; at = names->places[at].key.parent)
		names->places[at].gives = true;
}

/* Of packages: what lies in one is no project of the user's. */
static void add_packages(struct qsb__names *names)
{
	const char *const *const lists[] = {qsb__unscanned_folders, qsb__package_folders};

	for (size_t list = 0; names->anywhere_end && list < sizeof(lists) / sizeof(lists[0]); list++)
		for (const char *const *name = lists[list]; *name; name++) {
			const struct qsb__names_key key = make_key(ANYWHERE, *name, strlen(*name), true);

			names->nodes[add_literal(names, ANYWHERE, &key)].packages = true;
		}
}

static size_t count_packages(void)
{
	const char *const *const lists[] = {qsb__unscanned_folders, qsb__package_folders};
	size_t count = 0;

	for (size_t list = 0; list < sizeof(lists) / sizeof(lists[0]); list++)
		for (const char *const *name = lists[list]; *name; name++)
			count++;
	return count;
}

/* One block for all: a start of the sandbox waits for it. */
static int make_room(struct qsb__names *names, bool (*holds)(const struct qsb__step *), struct qsb_error *err)
{
	const struct qsb__plan *plan = names->plan;
	size_t places = QSB__NAMES_ROOT + 1, nodes = ANYWHERE + 1 + count_packages(), at;

	for (size_t i = 0; i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];
		size_t parts = step->kind == QSB__STEP_NAME_RULE && holds(step) ? count_parts(step->text) : 0;

		/* Thousands of steps have the same folder. */
		if (i == 0 || step->path != plan->steps[i - 1].path)
			places += count_parts(step->path);
		if (parts && !step->builtin)
			places += parts;
		/* One for the folder where it starts, too. */
		nodes += parts ? parts + 1 : 0;
	}
	names->table_size = SMALLEST;
	while (names->table_size < (places > nodes ? places : nodes) * 2)
		names->table_size *= 2;
	at = places * sizeof(*names->places) + nodes * sizeof(*names->nodes);
	names->memory = calloc(1, at + 2UL * names->table_size * sizeof(uint32_t));
	if (!names->memory)
		return qsb__fail_memory(err, "guard");
	names->places = names->memory;
	names->nodes = (void *)(names->places + places);
	names->place_table = (void *)(names->nodes + nodes);
	names->node_table = names->place_table + names->table_size;
	names->place_count = QSB__NAMES_ROOT + 1;
	names->node_count = ANYWHERE + 1;
	return 0;
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
	code = make_room(names, holds, err);
	for (size_t i = 0; code == 0 && i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];

		if (step->kind == QSB__STEP_NAME_RULE && holds(step))
			code = add_rule(names, (uint32_t)i, err);
		else if (granted_by(step))
			add_grant(names, step);
	}
	if (code == 0) {
		add_packages(names);
		*out = names;
	} else {
		qsb__names_free(names);
	}
	return code;
}

void qsb__names_set_loose(struct qsb__names *names, const char *folder)
{
	uint32_t at = QSB__NAMES_ROOT;

	while (at && *(folder += strspn(folder, "/"))) {
		size_t length = strcspn(folder, "/");
		const struct qsb__names_key key = make_key(at, folder, length, names->fold);

		at = *qsb__names_place_slot(names, &key);
		folder += length;
	}
	names->places[at].loose = true;
}

void qsb__names_free(struct qsb__names *names)
{
	if (!names)
		return;
	for (uint32_t i = 0; names->pattern_count && i < names->node_count; i++)
		free(names->nodes[i].glob);
	free(names->memory);
	free(names);
}
