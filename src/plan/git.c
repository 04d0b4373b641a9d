#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "plan/build.h"

enum { SMALL_FILE = 8192 };

/* A workspace whose `.git` is a file: its real git folder lies elsewhere and has to be writable for `git commit`. */
struct worktree {
	char git_file[QSB__PATH_MAX]; /* WORKSPACE/.git */
	char git_dir[QSB__PATH_MAX];  /* what it names */
	char common[QSB__PATH_MAX];   /* the repository's folder; git_dir itself for a submodule */
};

static enum qsb__file_kind kind_of(const struct qsb__build *build, const char *folder, const char *name)
{
	char path[QSB__PATH_MAX];

	if (!qsb__path_join(path, folder, name))
		return QSB__FILE_MISSING;
	return build->host->ops->kind(build->host->context, path);
}

/* The first line of a small file, without its end. false = there is none, or too long to be a path. */
static bool read_line(const struct qsb__build *build, const char *folder, const char *name, char *out)
{
	char path[QSB__PATH_MAX];
	int got;

	if (!qsb__path_join(path, folder, name))
		return false;
	got = build->host->ops->read(build->host->context, path, out, QSB__PATH_MAX);
	if (got <= 0 || got >= QSB__PATH_MAX - 1)
		return false;
	out[strcspn(out, "\r\n")] = '\0';
	return out[0] != '\0';
}

/* The real path of `text`, which starts from `folder` where it is relative. It must exist. */
static bool real_path(struct qsb__build *build, const char *folder, const char *text, char *out)
{
	const struct qsb__path_base base = {.folder = folder, .windows = build->base.windows};
	char absolute[QSB__PATH_MAX];
	enum qsb__file_kind kind;

	if (text[0] == '~' || qsb__path_absolute(absolute, text, &base, NULL))
		return false;
	return qsb__build_resolve(build, absolute, out, &kind) == 0 && kind != QSB__FILE_MISSING;
}

static bool same(const struct qsb__build *build, const char *a, const char *b)
{
	return qsb__path_compare(a, b, build->fold) == 0;
}

/* `<git_dir>/gitdir` is written by `git worktree add`, outside the workspace, and leads back to exactly one file. */
static bool worktree_leads_back(struct qsb__build *build, struct worktree *tree)
{
	char line[QSB__PATH_MAX], back[QSB__PATH_MAX], expected[QSB__PATH_MAX];

	if (!read_line(build, tree->git_dir, "gitdir", line) || !real_path(build, tree->git_dir, line, back) ||
	    !same(build, back, tree->git_file))
		return false;
	if (!read_line(build, tree->git_dir, "commondir", line) || !real_path(build, tree->git_dir, line, tree->common))
		return false;
	/* git puts it at <common>/worktrees/<name> and nowhere else. */
	return qsb__path_join(expected, tree->common, "worktrees") &&
	       qsb__path_inside(tree->git_dir, expected, build->fold) && !same(build, tree->git_dir, expected);
}

/* A submodule's folder has no such file; its config names the worktree. */
static bool submodule_leads_back(struct qsb__build *build, struct worktree *tree)
{
	char path[QSB__PATH_MAX], config[SMALL_FILE], back[QSB__PATH_MAX];
	char *line, *rest = config;

	if (!qsb__path_join(path, tree->git_dir, "config") ||
	    build->host->ops->read(build->host->context, path, config, sizeof(config)) <= 0)
		return false;
	memcpy(tree->common, tree->git_dir, sizeof(tree->common));
	while ((line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t");
		if (strncmp(line, "worktree", 8) != 0)
			continue;
		line += 8;
		line += strspn(line, " \t");
		if (*line != '=')
			continue;
		line += 1 + strspn(line + 1, " \t");
		line[strcspn(line, "\r")] = '\0';
		return real_path(build, tree->git_dir, line, back) && same(build, back, build->plan->workspace);
	}
	return false;
}

static bool is_repository(const struct qsb__build *build, const char *folder)
{
	return kind_of(build, folder, "HEAD") == QSB__FILE_PLAIN &&
	       kind_of(build, folder, "objects") == QSB__FILE_DIR && kind_of(build, folder, "refs") == QSB__FILE_DIR;
}

/* The workspace is the command's to write: its `.git` file alone proves nothing, the other side must agree. */
static bool is_genuine(struct qsb__build *build, struct worktree *tree)
{
	bool worktree = kind_of(build, tree->git_dir, "gitdir") == QSB__FILE_PLAIN;

	if (!(worktree ? worktree_leads_back(build, tree) : submodule_leads_back(build, tree)))
		return false;
	return is_repository(build, tree->common);
}

static int protect(struct qsb__build *build, const char *folder, const char *name)
{
	struct qsb__rule rule = {.deny = QSB__ACCESS_WRITE,
				 .special = QSB__STEP_BIND_RO,
				 .pin_all = true,
				 .name = "built-in: git worktree",
				 .reason = "git runs programs that it names"};
	char path[QSB__PATH_MAX];

	return qsb__path_join(path, folder, name) ? qsb__build_add_path(build, &rule, path) : 0;
}

static int open_repository(struct qsb__build *build, const struct worktree *tree)
{
	static const char *const common[] = {"hooks", "config", "info/attributes"};
	static const char *const own[] = {"gitdir", "commondir", "config.worktree", "hooks", "config"};
	struct qsb__rule rule = {.allow = QSB__ACCESS_READ | QSB__ACCESS_WRITE,
				 .special = QSB__STEP_BIND_RO,
				 .name = "built-in: git worktree",
				 .reason = "the repository of this workspace",
				 .file = QSB__FILE_DIR};
	int result;

	rule.path = qsb__arena_text(build->arena, tree->common);
	result = qsb__build_add(build, &rule);
	build->writable_count = build->rules.count;
	for (size_t i = 0; !result && i < sizeof(common) / sizeof(common[0]); i++)
		result = protect(build, tree->common, common[i]);
	for (size_t i = 0; !result && i < sizeof(own) / sizeof(own[0]) && !same(build, tree->git_dir, tree->common);
	     i++)
		result = protect(build, tree->git_dir, own[i]);
	return result;
}

int qsb__build_git(struct qsb__build *build)
{
	struct worktree *tree;
	char line[QSB__PATH_MAX], text[2 * QSB__PATH_MAX + 100];
	bool denied;
	int result = 0;

	if (kind_of(build, build->plan->workspace, ".git") != QSB__FILE_PLAIN ||
	    !read_line(build, build->plan->workspace, ".git", line) || strncmp(line, "gitdir: ", 8) != 0)
		return 0;
	if (!(qsb__build_access(build, build->plan->workspace, NULL) & QSB__ACCESS_WRITE))
		return 0;
	tree = qsb__arena_alloc(build->arena, sizeof(*tree));
	if (!tree || !qsb__path_join(tree->git_file, build->plan->workspace, ".git"))
		return 0;
	if (!real_path(build, build->plan->workspace, line + 8, tree->git_dir) || !is_genuine(build, tree)) {
		snprintf(text, sizeof(text),
			 "%s names a git folder that does not name this workspace in return: it stays as it is",
			 tree->git_file);
		return qsb__build_note(build, text);
	}
	/* What somebody forbade stays forbidden. */
	if (!(qsb__build_access(build, tree->common, &denied) & QSB__ACCESS_WRITE) && !denied)
		result = open_repository(build, tree);
	return result;
}
