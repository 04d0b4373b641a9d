#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "plan/build.h"
#include "plan/name_scan.h"

/* What one folder may take of the scan before the others had their turn; the rest comes after them. */
enum { SHARE_ENTRIES = 400, SHARE_FOLDERS = 24 };

/* A folder that took its share, and how many of its entries were looked at. */
struct cut {
	const char *folder;
	size_t seen;
};

/* Names are looked up by their first byte. */
struct scan {
	struct qsb__name_scan shared;
	char *queue[QSB__SCAN_FOLDERS];
	size_t first, last; /* of the queue: breadth first, the shallow ones matter most */
	struct cut cuts[QSB__SCAN_FOLDERS];
	size_t first_cut, last_cut;
	/* Of the folder that is looked into: entries, those seen before, folders queued. */
	size_t seen, skipped, entered;
	bool rest;                   /* it had its share before: now it may have what is left */
	bool top;                    /* a writable root itself: looked at to the end */
	unsigned short by_byte[256]; /* 1 + index of the first protected name with that first byte */
	char path[QSB__PATH_MAX];
	size_t length;
	char pinned[QSB__PATH_MAX]; /* the last folder that got a pin */
	unsigned git_parts;         /* of a git folder, seen in the folder that is looked into */
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
				 .pin_all = true, /* one pin a folder, and the folders looked into are few */
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
	scan->entered++;
	scan->queue[scan->last] = qsb__arena_text(scan->shared.build->arena, scan->path);
	scan->last += scan->queue[scan->last] ? 1 : 0;
}

/* A folder with HEAD, objects and refs is a git folder, whatever its name. */
static unsigned git_part(const struct scan *scan, const char *name, enum qsb__file_kind kind)
{
	static const char *const parts[] = {"HEAD", "objects", "refs"};

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if ((i == 0) == (kind == QSB__FILE_PLAIN) && same_name(scan, name, parts[i]))
			return 1U << i;
	return 0;
}

static int visit(void *to, const char *name, enum qsb__file_kind kind)
{
	struct scan *scan = to;
	size_t size = strlen(name), base = scan->length == 1 && scan->path[0] == '/' ? 0 : scan->length;

	if (++scan->seen <= scan->skipped)
		return 0;
	if (!scan->top && !scan->rest && (scan->seen > SHARE_ENTRIES || scan->entered == SHARE_FOLDERS))
		return 1;
	if (++scan->shared.entries > QSB__SCAN_ENTRIES && !scan->top) {
		scan->shared.complete = false;
		return 1;
	}
	if (kind == QSB__FILE_PLAIN || kind == QSB__FILE_DIR)
		scan->git_parts |= git_part(scan, name, kind);
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

/* git runs the hooks of a bare repository, and what its settings name, as it does in `.git`. */
static int protect_git_folder(struct scan *scan, const char *folder)
{
	const struct qsb__host *host = scan->shared.build->host;
	int result = 0;

	for (size_t i = 0; !result && i < qsb__protected_name_count; i++) {
		const struct qsb__protected_name *row = &qsb__protected_names[i];
		char path[QSB__PATH_MAX];

		const struct qsb__rule rule = {.name = "built-in: protected names", .reason = row->reason};

		if (strcmp(row->name, ".git") != 0 || !row->below)
			continue;
		if (!strchr(row->below, '*') && qsb__path_join(path, folder, row->below))
			result = qsb__name_scan_protect(&scan->shared, path, row->reason,
							host->ops->kind(host->context, path));
		if (!result)
			result = qsb__build_name_rule(scan->shared.build, folder, row->below, &rule, QSB__ACCESS_WRITE);
	}
	return result ? result : qsb__name_scan_git(&scan->shared, folder);
}

static int look_into(struct scan *scan, const char *folder, bool top)
{
	const struct qsb__host *host = scan->shared.build->host;
	size_t queued = scan->last;

	scan->top = top;
	scan->seen = scan->entered = 0;
	scan->git_parts = 0;
	scan->length = strlen(folder);
	memcpy(scan->path, folder, scan->length + 1);
	/* visit stops a listing with 1 when it took its share; with the scan's end, nothing more comes anyway. */
	if (host->ops->list(host->context, folder, visit, scan) == 1 && !scan->rest &&
	    scan->last_cut < QSB__SCAN_FOLDERS)
		scan->cuts[scan->last_cut++] = (struct cut){.folder = folder, .seen = scan->seen - 1};
	if (scan->result || scan->git_parts != 7)
		return scan->result;
	scan->last = queued; /* its objects are no place for a project's files */
	return protect_git_folder(scan, folder);
}

static void put(char **at, const char *text)
{
	size_t length = strlen(text);

	memcpy(*at, text, length + 1);
	*at += length;
}

/* "**" and a row's names, one text for all roots: what is made of it is made once. */
static char *glob_of(struct qsb__build *build, size_t row)
{
	const struct qsb__protected_name *name = &qsb__protected_names[row];
	char glob[200], *at = glob;

	if (!build->protected_globs)
		build->protected_globs = qsb__arena_alloc(build->arena, qsb__protected_name_count * sizeof(char *));
	if (!build->protected_globs)
		return NULL;
	if (!build->protected_globs[row]) {
		put(&at, "**/");
		put(&at, name->name);
		if (name->below) {
			put(&at, "/");
			put(&at, name->below);
		}
		build->protected_globs[row] = qsb__arena_text(build->arena, glob);
	}
	return build->protected_globs[row];
}

/* One rule by name for each entry of the table, in each writable root. */
static int add_name_rules(struct qsb__build *build, const char *root)
{
	for (size_t i = 0; i < qsb__protected_name_count; i++) {
		const struct qsb__protected_name *name = &qsb__protected_names[i];
		const struct qsb__rule rule = {.name = "built-in: protected names",
					       .reason = name->reason,
					       .project = name->project,
					       .glob = name->plain_only ? NULL : glob_of(build, i)};

		if (name->plain_only)
			continue; /* a `.git` may be made as a folder; as a file it is protected once it is there */
		if (!rule.glob || qsb__build_name_rule(build, root, rule.glob, &rule, QSB__ACCESS_WRITE))
			return QSB_E_MEMORY;
	}
	return 0;
}

static int look_into_root(struct scan *scan, const struct qsb__rule *root)
{
	/* git.c has protected what is in it. */
	if (root->name && strstr(root->name, "git worktree"))
		return qsb__name_scan_git(&scan->shared, root->path);
	if (same_name(scan, qsb__path_name(root->path), ".git"))
		return protect_git_folder(scan, root->path);
	return look_into(scan, root->path, true);
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
		result = look_into_root(scan, &rule);
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
	while (!result && (scan.first < scan.last || scan.first_cut < scan.last_cut)) {
		scan.rest = scan.first == scan.last;
		scan.skipped = scan.rest ? scan.cuts[scan.first_cut].seen : 0;
		result = look_into(&scan, scan.rest ? scan.cuts[scan.first_cut++].folder : scan.queue[scan.first++],
				   false);
	}
	build->plan->scan_complete = scan.shared.complete;
	return result;
}
