#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/glob.h"
#include "plan/build.h"

/* A walk that looks at more than this is a mistake in the policy, and would take minutes. */
enum { MOST_ENTRIES = 4000000 };

/* Where the pattern itself is held while the command runs, its matches need no mount each: those that are found quickly
 * get one as a second fence, and the start costs the same however many there are. */
enum { FENCED_MATCHES = 16, FENCED_ENTRIES = 2000 };

struct walk {
	struct qsb__build *build;
	struct qsb__glob_entry *entry;
	char path[QSB__PATH_MAX];
	size_t length; /* of the folder in `path` */
	size_t below;  /* where the part below the entry's folder begins */
	size_t seen, matches;
	bool enough;    /* the rest is left to the name rule */
	char **folders; /* still to be entered */
	size_t folder_count, folder_capacity;
	int result;
};

/* Where nobody can look, nothing needs to be found: the folder is masked, and nothing below it is opened again. */
static bool is_sealed(const struct qsb__build *build, const char *path)
{
	size_t low = 0, high = build->sorted_count;
	bool denied = false;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (qsb__path_compare(build->rules.items[middle].path, path, build->fold) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < build->sorted_count && qsb__path_inside(build->rules.items[low].path, path, build->fold); low++) {
		const struct qsb__rule *rule = &build->rules.items[low];

		if (rule->special == QSB__STEP_PROC || rule->special == QSB__STEP_DEV ||
		    rule->special == QSB__STEP_TMPFS)
			denied = denied || qsb__path_compare(rule->path, path, build->fold) == 0;
		else if (rule->allow)
			return false;
		else if ((rule->deny & QSB__ACCESS_READ) && qsb__path_compare(rule->path, path, build->fold) == 0)
			denied = true;
	}
	return denied;
}

/* The kernel's own trees hold no files of the user's. */
static bool is_kernel_tree(const struct qsb__build *build, const char *path)
{
	return build->host->os == QSB__OS_LINUX &&
	       (strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0 || strcmp(path, "/dev") == 0);
}

static int add_match(struct walk *walk, enum qsb__file_kind kind)
{
	struct qsb__glob_entry *entry = walk->entry;
	struct qsb__rule rule = {.item = entry->item,
				 .row = entry->row,
				 .allow = entry->allow,
				 .deny = entry->deny,
				 .special = QSB__STEP_BIND_RO,
				 .file = kind,
				 .quiet = true};

	entry->found = true;
	/* A link that matches: what it leads to is held. Its own name is the glob's name rule's affair. */
	if (kind == QSB__FILE_LINK)
		return qsb__build_add_path(walk->build, &rule, walk->path);
	rule.path = qsb__arena_text(walk->build->arena, walk->path);
	return qsb__build_add(walk->build, &rule);
}

static int visit(void *to, const char *name, enum qsb__file_kind kind)
{
	struct walk *walk = to;
	size_t size = strlen(name), base = walk->length == 1 && walk->path[0] == '/' ? 0 : walk->length;

	if (walk->entry->deny && walk->build->host->os == QSB__OS_LINUX &&
	    (walk->seen == FENCED_ENTRIES || walk->matches == FENCED_MATCHES))
		return walk->enough = true;
	if (++walk->seen > MOST_ENTRIES)
		return walk->result = qsb__fail(walk->build->err, QSB_E_RANGE, "",
						"%.60s: more than %d files would have to be "
						"looked at; start the pattern further down",
						walk->entry->item->text, MOST_ENTRIES);
	if (base + size + 2 > QSB__PATH_MAX)
		return walk->result = qsb__fail(walk->build->err, QSB_E_RANGE, "",
						"%.60s: a path below %.80s is too long to be held",
						walk->entry->item->text, walk->entry->folder);
	walk->path[base] = '/';
	memcpy(walk->path + base + 1, name, size + 1);
	if (qsb__glob_match(walk->entry->pattern, walk->path + walk->below, walk->build->fold)) {
		walk->result = add_match(walk, kind);
		walk->matches++;
		if (walk->entry->deny & QSB__ACCESS_READ)
			kind = QSB__FILE_PLAIN; /* masked as a whole: nothing to look for in it */
	}
	if (!walk->result && kind == QSB__FILE_DIR && !is_kernel_tree(walk->build, walk->path) &&
	    qsb__glob_may_hold(walk->entry->pattern, walk->path + walk->below, walk->build->fold) &&
	    !is_sealed(walk->build, walk->path)) {
		char *copy = strdup(walk->path);

		if (!copy ||
		    qsb__build_grow(&walk->folders, walk->folder_count, &walk->folder_capacity, sizeof(char *))) {
			free(copy);
			return walk->result = qsb__fail_memory(walk->build->err, "plan");
		}
		walk->folders[walk->folder_count++] = copy;
	}
	walk->path[walk->length] = '\0';
	return walk->result;
}

static int walk_entry(struct qsb__build *build, struct qsb__glob_entry *entry)
{
	struct walk walk = {.build = build, .entry = entry};
	const struct qsb__host *host = build->host;

	walk.below = strcmp(entry->folder, "/") == 0 ? 1 : strlen(entry->folder) + 1;
	walk.length = strlen(entry->folder);
	memcpy(walk.path, entry->folder, walk.length + 1);
	if (!is_kernel_tree(build, entry->folder) && !is_sealed(build, entry->folder))
		host->ops->list(host->context, entry->folder, visit, &walk);
	while (walk.folder_count) {
		char *folder = walk.folders[--walk.folder_count];

		walk.length = strlen(folder);
		memcpy(walk.path, folder, walk.length + 1);
		if (!walk.result && !walk.enough)
			host->ops->list(host->context, folder, visit, &walk);
		free(folder);
	}
	free(walk.folders);
	entry->partly = walk.enough;
	return walk.result;
}

static int finish_entry(struct qsb__build *build, const struct qsb__glob_entry *entry)
{
	const struct qsb__rule rule = {.item = entry->item, .row = entry->row};
	char text[QSB__PATH_MAX + 200];

	if (entry->deny && entry->partly && (entry->deny & QSB__ACCESS_READ) &&
	    qsb__build_gap(build, "program files that match, beyond the first few, can be run (not read)",
			   qsb__build_rule_text(build, &rule), false))
		return QSB_E_MEMORY;
	if (entry->deny)
		return qsb__build_name_rule(build, entry->folder, entry->pattern, &rule, entry->deny);
	if (entry->found)
		return 0;
	snprintf(text, sizeof(text), "nothing matches %s yet, so %s allows nothing", entry->item->text,
		 qsb__build_rule_text(build, &rule));
	return qsb__build_note(build, text);
}

int qsb__build_globs(struct qsb__build *build)
{
	int result = 0;

	for (size_t i = 0; !result && i < build->glob_count; i++) {
		result = walk_entry(build, &build->globs[i]);
		if (!result)
			result = finish_entry(build, &build->globs[i]);
		if (result && build->err)
			snprintf(build->err->where, sizeof(build->err->where), "%s/%u", build->globs[i].row->pointer,
				 build->globs[i].item->index);
	}
	return result;
}
