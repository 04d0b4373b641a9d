#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/glob.h"
#include "plan/build.h"

enum { RW = QSB__ACCESS_READ | QSB__ACCESS_WRITE };

int qsb__build_grow(void *array, size_t count, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *old, *larger;

	if (count < *capacity)
		return 0;
	memcpy(&old, array, sizeof(old));
	larger = reallocarray(old, wanted, size);
	if (!larger)
		return QSB_E_MEMORY;
	memcpy(array, &larger, sizeof(larger));
	*capacity = wanted;
	return 0;
}

int qsb__build_add(struct qsb__build *build, const struct qsb__rule *rule)
{
	struct qsb__rules *rules = &build->rules;

	if (!rule->path || qsb__build_grow(&rules->items, rules->count, &rules->capacity, sizeof(*rule)))
		return qsb__fail_memory(build->err, "plan");
	rules->items[rules->count] = *rule;
	rules->items[rules->count].order = (unsigned)rules->count;
	rules->count++;
	return 0;
}

unsigned qsb__build_access(const struct qsb__build *build, const char *path, bool *explicit_deny)
{
	unsigned access = build->root_empty ? 0 : QSB__ACCESS_READ;
	size_t deepest[2] = {0, 0};
	bool denied = false;

	for (size_t i = 0; i < build->rules.count; i++) {
		const struct qsb__rule *rule = &build->rules.items[i];
		size_t length = strlen(rule->path);

		if (rule->pin || rule->special != QSB__STEP_BIND_RO || !qsb__path_inside(path, rule->path, build->fold))
			continue;
		for (unsigned bit = 0; bit < 2; bit++) {
			unsigned mask = 1U << bit;

			if (length < deepest[bit] || !((rule->allow | rule->deny) & mask))
				continue;
			if (length == deepest[bit] && !(rule->deny & mask) && !(access & mask))
				continue; /* a tie, and denied already */
			deepest[bit] = length;
			access = rule->deny & mask ? access & ~mask : access | mask;
			denied = denied || (rule->deny & mask);
		}
	}
	if (explicit_deny)
		*explicit_deny = denied;
	return access;
}

const char *qsb__build_rule_text(struct qsb__build *build, const struct qsb__rule *rule)
{
	char text[256];

	if (rule->name)
		return rule->name;
	if (!rule->item)
		return "built-in";
	/* A glob's thousands of matches share one entry, and so one text. */
	if (rule->item != build->last_item || !build->last_text) {
		qsb__item_origin(rule->row, rule->item, text, sizeof(text));
		build->last_item = rule->item;
		build->last_text = qsb__arena_text(build->arena, text);
	}
	return build->last_text;
}

static int by_path(const struct qsb__rule *a, const struct qsb__rule *b, bool fold)
{
	int order = qsb__path_compare(a->path, b->path, fold);

	return order ? order : a->order < b->order ? -1 : 1;
}

static int by_exact_path(const void *left, const void *right)
{
	return by_path(left, right, false);
}

static int by_folded_path(const void *left, const void *right)
{
	return by_path(left, right, true);
}

void qsb__build_sort(struct qsb__rules *rules, bool fold)
{
	size_t i = 1;

	/* Long lists are mostly written in order, and sorted more than once on the way. */
	while (i < rules->count && by_path(&rules->items[i - 1], &rules->items[i], fold) < 0)
		i++;
	if (i < rules->count)
		qsort(rules->items, rules->count, sizeof(rules->items[0]), fold ? by_folded_path : by_exact_path);
}

struct list_of_rules {
	const char *pointer;
	const struct qsb__list *list;
	const struct qsb__row *row;
	unsigned allow, deny;
};

/* Fills in err->where with the entry that is at fault. */
static int fault(struct qsb__build *build, const struct list_of_rules *of, const struct qsb__item *item, int code)
{
	if (build->err)
		snprintf(build->err->where, sizeof(build->err->where), "%s/%u", of->pointer, item->index);
	return code;
}

/* Where the entry is a link, or lies behind one: whoever may write there could put something else in its place. */
static int add_link(struct qsb__build *build, const struct qsb__rule *rule)
{
	const struct qsb__host *host = build->host;
	struct qsb__rule place = *rule;
	char target[QSB__PATH_MAX];

	if (!build->link[0])
		return 0;
	place.path = qsb__arena_text(build->arena, build->link);
	if (place.deny) {
		place.file = QSB__FILE_LINK;
	} else if (build->root_empty && host->ops->resolve(host->context, build->link, target, sizeof(target)) == 0) {
		/* Where it leads itself, which is a folder above the entry when the entry lies behind it. */
		place.special = QSB__STEP_LINK;
		place.text = qsb__arena_text(build->arena, target);
	} else {
		return 0;
	}
	return qsb__build_add(build, &place);
}

/* Is a denial of a path that does not exist of any use? Only where the command could make it. */
bool qsb__build_could_be_made(const struct qsb__build *build, const char *path)
{
	if (build->writable_count > 64)
		return true;
	for (size_t i = 0; i < build->writable_count; i++)
		if (qsb__path_inside(path, build->rules.items[i].path, build->fold))
			return true;
	return false;
}

bool qsb__build_find_link(struct qsb__build *build, const char *path, const char *real, const char **link)
{
	char plain[QSB__PATH_MAX];

	snprintf(plain, sizeof(plain), "%s", path);
	qsb__path_fold_dots(plain);
	*link = NULL;
	if (qsb__path_compare(plain, real, build->fold) == 0)
		return true;
	*link = qsb__arena_text(build->arena, build->link[0] ? build->link : plain);
	return *link != NULL;
}

int qsb__build_add_path(struct qsb__build *build, struct qsb__rule *rule, const char *absolute)
{
	char real[QSB__PATH_MAX];
	int result = qsb__build_resolve(build, absolute, real, &rule->file);

	if (result)
		return result;
	if (rule->file == QSB__FILE_MISSING && !rule->allow && !build->link[0] &&
	    !qsb__build_could_be_made(build, real))
		return 0;
	rule->path = qsb__arena_text(build->arena, real);
	if (!rule->path || (rule->item && rule->allow && !qsb__build_find_link(build, absolute, real, &rule->link)))
		return qsb__fail_memory(build->err, "plan");
	rule->by_link = rule->link != NULL;
	if (rule->file == QSB__FILE_LINK) /* changed under our hands */
		rule->file = QSB__FILE_MISSING;
	result = qsb__build_add(build, rule);
	return result ? result : add_link(build, rule);
}

static int add_token(struct qsb__build *build, const struct list_of_rules *of, const struct qsb__item *item)
{
	bool secrets = strcmp(item->text, "@secrets") == 0;
	struct qsb__rule rule = {.name = secrets ? "built-in: secrets" : "built-in: system",
				 .allow = of->allow,
				 .deny = of->deny,
				 .special = QSB__STEP_BIND_RO,
				 .builtin_list = true,
				 .pin_all = of->deny};

	if (!secrets && strcmp(item->text, "@system") != 0)
		return qsb__fail(build->err, QSB_E_UNKNOWN, "",
				 "%s: the built-in lists are @secrets and @system; a file of that "
				 "name is written ./%s",
				 item->text, item->text);
	if (secrets)
		return qsb__build_add_builtin(build, qsb__secret_paths, qsb__secret_path_count, &rule);
	return qsb__build_add_builtin(build, qsb__system_paths, qsb__system_path_count, &rule);
}

/* An entry with wildcards: the folder that it starts from is resolved now, what matches is looked up later. */
static int add_glob(struct qsb__build *build, const struct list_of_rules *of, const struct qsb__item *item)
{
	struct qsb__glob_entry entry = {.item = item, .row = of->row, .allow = of->allow, .deny = of->deny};
	char start[QSB__PATH_MAX], absolute[QSB__PATH_MAX], real[QSB__PATH_MAX], why[200];
	size_t prefix = qsb__glob_literal_prefix(item->text);
	const char *rest = item->text + prefix;
	enum qsb__file_kind kind;
	int result;

	if (strlen(item->text) >= QSB__PATH_MAX || qsb__glob_check(item->text, why, sizeof(why)))
		return qsb__fail(build->err, QSB_E_INVALID, "", "%.60s: %s", item->text,
				 strlen(item->text) >= QSB__PATH_MAX ? "too long" : why);
	if (qsb__path_has_dots(rest))
		return qsb__fail(build->err, QSB_E_INVALID, "", "%s: \"..\" after a wildcard has no clear meaning",
				 item->text);
	snprintf(start, sizeof(start), "%.*s", (int)prefix, prefix ? item->text : ".");
	result = qsb__path_absolute(absolute, prefix ? start : ".", &build->base, build->err);
	if (!result)
		result = qsb__build_resolve(build, absolute, real, &kind);
	if (result)
		return result;
	if (!qsb__build_find_link(build, absolute, real, &entry.link))
		return qsb__fail_memory(build->err, "plan");
	rest += strspn(rest, "/");
	entry.folder = qsb__arena_text(build->arena, real);
	entry.pattern = strchr(item->text, '/') ? qsb__arena_text(build->arena, rest)
						: qsb__arena_format(build->arena, "**/%s", rest);
	if (!entry.folder || !entry.pattern ||
	    qsb__build_grow(&build->globs, build->glob_count, &build->glob_capacity, sizeof(entry)))
		return qsb__fail_memory(build->err, "plan");
	build->globs[build->glob_count++] = entry;
	return 0;
}

/* A file whose name is the pattern's own text: "[a-z]" does not match it, and who writes that name may mean it. The
 * other wildcards match themselves. */
static int add_literal(struct qsb__build *build, struct qsb__rule *rule)
{
	char absolute[QSB__PATH_MAX], real[QSB__PATH_MAX];
	enum qsb__file_kind kind;

	if (!strchr(rule->item->text, '[') || qsb__path_absolute(absolute, rule->item->text, &build->base, NULL) ||
	    qsb__build_resolve(build, absolute, real, &kind) || kind == QSB__FILE_MISSING)
		return 0;
	return qsb__build_add_path(build, rule, absolute);
}

static int add_entry(struct qsb__build *build, const struct list_of_rules *of, const struct qsb__item *item)
{
	struct qsb__rule rule = {.item = item,
				 .row = of->row,
				 .allow = of->allow,
				 .deny = of->deny,
				 .special = QSB__STEP_BIND_RO,
				 .pin_all = of->deny};
	char absolute[QSB__PATH_MAX];
	int result;

	if (item->text[0] == '@')
		return add_token(build, of, item);
	if (qsb__glob_is_pattern(item->text)) {
		result = add_glob(build, of, item);
		return result ? result : add_literal(build, &rule);
	}
	result = qsb__path_absolute(absolute, item->text, &build->base, build->err);
	return result ? result : qsb__build_add_path(build, &rule, absolute);
}

static int add_list(struct qsb__build *build, struct list_of_rules of)
{
	of.row = qsb__row_by_pointer(of.pointer);
	for (size_t i = 0; i < of.list->count; i++) {
		int result = add_entry(build, &of, &of.list->items[i]);

		if (result)
			return fault(build, &of, &of.list->items[i], result);
	}
	return 0;
}

/* Does one of the entries name the root of everything? */
static bool names_root(const struct qsb__build *build, const struct qsb__list *list)
{
	char absolute[QSB__PATH_MAX];

	for (size_t i = 0; i < list->count; i++) {
		const char *text = list->items[i].text;

		if (text[strspn(text, "/.")] || qsb__path_absolute(absolute, text, &build->base, NULL))
			continue;
		qsb__path_fold_dots(absolute);
		if (strcmp(absolute, "/") == 0)
			return true;
	}
	return false;
}

/* Reading everything is the start unless no entry allows "/", or one denies it. */
static bool starts_empty(const struct qsb__build *build)
{
	const struct qsb_policy *policy = build->policy;

	if (names_root(build, &policy->filesystem.deny_read))
		return true;
	return !names_root(build, &policy->filesystem.allow_read) &&
	       !names_root(build, &policy->filesystem.allow_write);
}

static bool is_unsteady(const struct qsb__build *build, const char *link)
{
	return link && (qsb__build_access(build, link, NULL) & QSB__ACCESS_WRITE);
}

static int note_unsteady(struct qsb__build *build, const char *link, const char *rule, const char *real)
{
	char text[2 * QSB__PATH_MAX + 400];

	snprintf(text, sizeof(text),
		 "%s is a link that the command can change, or lies behind one, so %s allows nothing there: name %s "
		 "itself",
		 link, rule, real);
	return qsb__build_note(build, text);
}

/*
 * The command can make a link of what it may write, and the next run would open whatever that leads to: data -> ~ makes
 * "./data" the home. An entry behind such a link allows nothing.
 */
static int drop_sockets(struct qsb__build *build)
{
	char **sockets = build->plan->unix_sockets;
	size_t kept = 0;

	for (size_t i = 0; sockets[i]; i++) {
		const char *link = build->socket_links[i];

		if (!is_unsteady(build, link)) {
			build->socket_links[kept] = link;
			sockets[kept++] = sockets[i];
		} else if (note_unsteady(build, link, "/network/unixSockets", sockets[i])) {
			return QSB_E_MEMORY;
		}
	}
	sockets[kept] = NULL;
	return 0;
}

int qsb__build_drop_unsteady(struct qsb__build *build)
{
	for (size_t i = 0; i < build->rules.count; i++) {
		struct qsb__rule *rule = &build->rules.items[i];

		if (!rule->allow || !is_unsteady(build, rule->link))
			continue;
		rule->allow = 0;
		/* A socket's is told as the socket. */
		if (rule->item && note_unsteady(build, rule->link, qsb__build_rule_text(build, rule), rule->path))
			return QSB_E_MEMORY;
	}
	for (size_t i = 0; i < build->glob_count; i++) {
		struct qsb__glob_entry *entry = &build->globs[i];
		const struct qsb__rule rule = {.item = entry->item, .row = entry->row};

		if (!entry->allow || !is_unsteady(build, entry->link))
			continue;
		entry->allow = 0;
		if (note_unsteady(build, entry->link, qsb__build_rule_text(build, &rule), entry->folder))
			return QSB_E_MEMORY;
	}
	return drop_sockets(build);
}

/* Allowances come first: what is writable decides which missing paths matter. Writing includes reading, and what may
 * not be read may not be written either: it would be lost, or be a way in. */
int qsb__build_rules(struct qsb__build *build)
{
	const struct qsb_policy *policy = build->policy;
	int result;

	build->root_empty = starts_empty(build);
	result = add_list(build, (struct list_of_rules){.pointer = "/filesystem/allowWrite",
							.allow = RW,
							.list = &policy->filesystem.allow_write});
	build->writable_count = build->rules.count;
	if (!result)
		result = add_list(build, (struct list_of_rules){.pointer = "/filesystem/allowRead",
								.allow = QSB__ACCESS_READ,
								.list = &policy->filesystem.allow_read});
	if (!result)
		result = add_list(build, (struct list_of_rules){.pointer = "/filesystem/denyRead",
								.deny = RW,
								.list = &policy->filesystem.deny_read});
	if (!result)
		result = add_list(build, (struct list_of_rules){.pointer = "/filesystem/denyWrite",
								.deny = QSB__ACCESS_WRITE,
								.list = &policy->filesystem.deny_write});
	if (!result)
		result = qsb__build_drop_unsteady(build);
	return result ? result : qsb__build_git(build);
}
