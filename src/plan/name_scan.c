#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "plan/build.h"
#include "plan/name_scan.h"

/* Names are looked up by their first byte. */
struct scan {
	struct qsb__name_scan shared;
	char *queue[QSB__SCAN_FOLDERS];
	size_t first, last;          /* of the queue: breadth first, the shallow ones matter most */
	bool top;                    /* a writable root itself: looked at to the end */
	unsigned short by_byte[256]; /* 1 + index of the first protected name with that first byte */
	char path[QSB__PATH_MAX];
	size_t length;
	char pinned[QSB__PATH_MAX]; /* the last folder that got a pin */
	int result;
};

static char lower_first(const struct scan *scan, const char *name)
{
	return scan->shared.build->fold && name[0] >= 'A' && name[0] <= 'Z' ? (char)(name[0] + 32) : name[0];
}

static void index_names(struct scan *scan)
{
	for (size_t i = qsb__protected_name_count; i-- > 0;)
		scan->by_byte[(unsigned char)lower_first(scan, qsb__protected_names[i].name)] = (unsigned short)(i + 1);
}

static bool same_name(const struct scan *scan, const char *a, const char *b)
{
	return qsb__path_compare(a, b, scan->shared.build->fold) == 0;
}

static bool is_unscanned(const struct scan *scan, const char *name)
{
	for (const char *const *at = qsb__unscanned_folders; *at; at++)
		if (same_name(scan, name, *at))
			return true;
	return false;
}

int qsb__name_scan_protect(struct qsb__name_scan *scan, const char *path, const char *reason, enum qsb__file_kind kind)
{
	struct qsb__rule rule = {.deny = QSB__ACCESS_WRITE,
				 .special = QSB__STEP_BIND_RO,
				 .name = "built-in: protected names",
				 .reason = reason,
				 .builtin_list = true,
				 .quiet = true,
				 .file = kind};

	if (kind == QSB__FILE_MISSING)
		return 0;
	if (kind == QSB__FILE_LINK)
		return qsb__build_add_path(scan->build, &rule, path);
	rule.path = qsb__arena_text(scan->build->arena, path);
	return qsb__build_add(scan->build, &rule);
}

/* `.git` of `.git/hooks`: renamed away, it could be built anew with other hooks. */
int qsb__name_scan_pin(struct qsb__name_scan *scan, const char *path, const char *reason)
{
	struct qsb__rule rule = {.pin = true,
				 .special = QSB__STEP_BIND_RO,
				 .name = "built-in: protected names",
				 .reason = reason,
				 .file = QSB__FILE_DIR};

	rule.path = qsb__arena_text(scan->build->arena, path);
	return qsb__build_add(scan->build, &rule);
}

/* Pins the folders of `below`, and protects what it names when it is there. `path` is the folder of `name`. */
static int protect_below(struct scan *scan, const char *path, const struct qsb__protected_name *name)
{
	const struct qsb__host *host = scan->shared.build->host;
	char inner[QSB__PATH_MAX];
	enum qsb__file_kind kind;
	char *slash;

	if (strchr(name->below, '*') || !qsb__path_join(inner, path, name->below))
		return 0;
	kind = host->ops->kind(host->context, inner);
	if (kind == QSB__FILE_MISSING)
		return 0;
	if (qsb__name_scan_protect(&scan->shared, inner, name->reason, kind))
		return QSB_E_MEMORY;
	while ((slash = strrchr(inner, '/')) && (size_t)(slash - inner) > strlen(path)) {
		*slash = '\0';
		if (qsb__name_scan_pin(&scan->shared, inner, name->reason))
			return QSB_E_MEMORY;
	}
	return 0;
}

/* `folder` is where the thing really is, its path but for a link. */
static int check_row(struct scan *scan, const struct qsb__protected_name *row, const char *folder,
		     enum qsb__file_kind kind, bool is_folder)
{
	if (row->plain_only && is_folder)
		return 0;
	if (!row->below)
		return qsb__name_scan_protect(&scan->shared, scan->path, row->reason, kind);
	if (!is_folder)
		return 0;
	if (strcmp(scan->pinned, folder) != 0) {
		memcpy(scan->pinned, folder, strlen(folder) + 1);
		if (qsb__name_scan_pin(&scan->shared, folder, row->reason))
			return QSB_E_MEMORY;
		if (same_name(scan, row->name, ".git") && qsb__name_scan_git(&scan->shared, folder))
			return QSB_E_MEMORY;
	}
	return protect_below(scan, folder, row);
}

static int check_name(struct scan *scan, const char *name, enum qsb__file_kind kind)
{
	size_t i = scan->by_byte[(unsigned char)lower_first(scan, name)];
	enum qsb__file_kind real_kind = kind;
	char real[QSB__PATH_MAX];
	bool resolved = false;
	int result = 0;

	for (; !result && i && i <= qsb__protected_name_count; i++) {
		const struct qsb__protected_name *row = &qsb__protected_names[i - 1];

		if (lower_first(scan, row->name) != lower_first(scan, name))
			break;
		if (!same_name(scan, row->name, name))
			continue;
		if (kind == QSB__FILE_LINK && !resolved)
			result = qsb__build_resolve(scan->shared.build, scan->path, real, &real_kind);
		resolved = true;
		if (!result)
			result = check_row(scan, row, kind == QSB__FILE_LINK ? real : scan->path, kind,
					   real_kind == QSB__FILE_DIR);
	}
	return result;
}

static void enqueue(struct scan *scan)
{
	if (scan->last == QSB__SCAN_FOLDERS || scan->shared.entries > QSB__SCAN_ENTRIES) {
		scan->shared.complete = false;
		return;
	}
	scan->queue[scan->last] = qsb__arena_text(scan->shared.build->arena, scan->path);
	scan->last += scan->queue[scan->last] ? 1 : 0;
}

static int visit(void *to, const char *name, enum qsb__file_kind kind)
{
	struct scan *scan = to;
	size_t size = strlen(name), base = scan->length == 1 && scan->path[0] == '/' ? 0 : scan->length;

	if (++scan->shared.entries > QSB__SCAN_ENTRIES && !scan->top) {
		scan->shared.complete = false;
		return 1;
	}
	if (kind != QSB__FILE_DIR && !scan->by_byte[(unsigned char)lower_first(scan, name)])
		return 0;
	if (base + size + 2 > QSB__PATH_MAX) {
		scan->shared.complete = false;
		return 0;
	}
	scan->path[base] = '/';
	memcpy(scan->path + base + 1, name, size + 1);
	scan->result = check_name(scan, name, kind);
	if (!scan->result && kind == QSB__FILE_DIR && strcmp(name, ".git") != 0) {
		if (is_unscanned(scan, name))
			scan->shared.complete = false;
		else
			enqueue(scan);
	}
	scan->path[scan->length] = '\0';
	return scan->result;
}

static int look_into(struct scan *scan, const char *folder, bool top)
{
	const struct qsb__host *host = scan->shared.build->host;

	scan->top = top;
	scan->length = strlen(folder);
	memcpy(scan->path, folder, scan->length + 1);
	host->ops->list(host->context, folder, visit, scan);
	return scan->result;
}

static void put(char **at, const char *text)
{
	size_t length = strlen(text);

	memcpy(*at, text, length + 1);
	*at += length;
}

/* One rule by name for each entry of the table, in each writable root. */
static int add_name_rules(struct qsb__build *build, const char *root)
{
	for (size_t i = 0; i < qsb__protected_name_count; i++) {
		const struct qsb__protected_name *name = &qsb__protected_names[i];
		const struct qsb__rule rule = {.name = "built-in: protected names", .reason = name->reason};
		char glob[200], *at = glob;

		if (name->plain_only)
			continue; /* a `.git` may be made as a folder; as a file it is protected once it is there */
		put(&at, "**/");
		put(&at, name->name);
		if (name->below) {
			put(&at, "/");
			put(&at, name->below);
		}
		if (qsb__build_name_rule(build, root, glob, &rule, QSB__ACCESS_WRITE))
			return QSB_E_MEMORY;
	}
	return 0;
}

/* A git folder that is a writable root itself: its objects are no place for a project's files. */
static bool is_git_folder(const struct scan *scan, const struct qsb__rule *rule)
{
	return same_name(scan, qsb__path_name(rule->path), ".git") ||
	       (rule->name && strstr(rule->name, "git worktree"));
}

/* The folders that may be written and lie in no other such folder. The rules are sorted. */
static int scan_roots(struct scan *scan, size_t count)
{
	struct qsb__build *build = scan->shared.build;
	const char *above = NULL;

	for (size_t i = 0; i < count; i++) {
		struct qsb__rule rule = build->rules.items[i]; /* a copy: adding moves the array */
		int result;

		if (!(rule.allow & QSB__ACCESS_WRITE) || rule.special != QSB__STEP_BIND_RO ||
		    rule.file != QSB__FILE_DIR || (above && qsb__path_inside(rule.path, above, build->fold)))
			continue;
		above = rule.path;
		result = is_git_folder(scan, &rule) ? qsb__name_scan_git(&scan->shared, rule.path)
						    : look_into(scan, rule.path, true);
		if (!result)
			result = add_name_rules(build, rule.path);
		if (result)
			return result;
	}
	return 0;
}

int qsb__build_names(struct qsb__build *build)
{
	struct scan scan = {.shared = {.build = build, .complete = true}};
	int result = 0;

	if (!build->policy->filesystem.protect_names)
		return 0;
	index_names(&scan);
	result = scan_roots(&scan, build->sorted_count);
	while (!result && scan.first < scan.last)
		result = look_into(&scan, scan.queue[scan.first++], false);
	build->plan->scan_complete = scan.shared.complete;
	return result;
}
