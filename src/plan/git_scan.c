#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "plan/name_scan.h"

/* Submodules lie at `modules/NAME`, where NAME may have slashes; their own submodules in their `modules`. */
enum { MOST_MODULES = 256 };

struct git_scan {
	struct qsb__name_scan *shared;
	char *queue[MOST_MODULES];
	size_t first, last;
	const char *folder; /* the one that is listed now */
	bool worktrees;
	int result;
};

static enum qsb__file_kind kind_in(const struct git_scan *scan, const char *folder, const char *name, char *path)
{
	const struct qsb__host *host = scan->shared->build->host;

	return qsb__path_join(path, folder, name) ? host->ops->kind(host->context, path) : QSB__FILE_MISSING;
}

static int protect_in(struct git_scan *scan, const char *folder, const char *name, const char *reason)
{
	char path[QSB__PATH_MAX];
	enum qsb__file_kind kind = kind_in(scan, folder, name, path);

	return qsb__name_scan_protect(scan->shared, path, reason, kind);
}

static void enqueue(struct git_scan *scan, const char *folder)
{
	char *copy = scan->last < MOST_MODULES ? qsb__arena_text(scan->shared->build->arena, folder) : NULL;

	if (copy)
		scan->queue[scan->last++] = copy;
	else
		scan->shared->complete = false;
}

static int check_worktree(struct git_scan *scan, const char *folder)
{
	static const char *const names[] = {"commondir", "gitdir", "config.worktree"};
	int result = qsb__name_scan_pin(scan->shared, folder, "it says where git finds its settings and hooks");

	for (size_t i = 0; !result && i < sizeof(names) / sizeof(names[0]); i++)
		result = protect_in(scan, folder, names[i], "it says where git finds its settings and hooks");
	return result;
}

static int check_module(struct git_scan *scan, const char *folder)
{
	char path[QSB__PATH_MAX];
	int result;

	if (kind_in(scan, folder, "HEAD", path) == QSB__FILE_MISSING) {
		enqueue(scan, folder); /* the first part of a name with slashes */
		return qsb__name_scan_pin(scan->shared, folder, "git runs what lies in its hooks");
	}
	result = qsb__name_scan_pin(scan->shared, folder, "git runs what lies in its hooks");
	if (!result)
		result = protect_in(scan, folder, "hooks", "git runs what lies in it");
	if (!result)
		result = protect_in(scan, folder, "config", "git runs programs that it names");
	if (result || kind_in(scan, folder, "modules", path) != QSB__FILE_DIR)
		return result;
	enqueue(scan, path);
	return qsb__name_scan_pin(scan->shared, path, "git runs what lies in the hooks there");
}

static int visit(void *to, const char *name, enum qsb__file_kind kind)
{
	struct git_scan *scan = to;
	char path[QSB__PATH_MAX];

	if (++scan->shared->entries > QSB__SCAN_ENTRIES) {
		scan->shared->complete = false;
		return 1;
	}
	if (kind != QSB__FILE_DIR || !qsb__path_join(path, scan->folder, name))
		return 0;
	scan->result = scan->worktrees ? check_worktree(scan, path) : check_module(scan, path);
	return scan->result;
}

static int look_into(struct git_scan *scan, const char *folder)
{
	const struct qsb__host *host = scan->shared->build->host;

	scan->folder = folder;
	host->ops->list(host->context, folder, visit, scan);
	return scan->result;
}

int qsb__name_scan_git(struct qsb__name_scan *shared, const char *git_folder)
{
	struct git_scan scan = {.shared = shared};
	char path[QSB__PATH_MAX];
	int result = 0;

	if (kind_in(&scan, git_folder, "modules", path) == QSB__FILE_DIR) {
		result = qsb__name_scan_pin(shared, path, "git runs what lies in the hooks there");
		enqueue(&scan, path);
	}
	while (!result && scan.first < scan.last)
		result = look_into(&scan, scan.queue[scan.first++]);
	if (result || kind_in(&scan, git_folder, "worktrees", path) != QSB__FILE_DIR)
		return result;
	scan.worktrees = true;
	result = qsb__name_scan_pin(shared, path, "it says where git finds its settings and hooks");
	return result ? result : look_into(&scan, path);
}
