#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "plan/build.h"

/*
 * A mount holds one name of a file. Where it has others (hard links), one of them may lie where the command may read
 * or write, and nothing cheap finds out where: so that there are others is told. What lies deeper than directly inside
 * a folder that is held, and more than these many, is not looked at.
 */
enum { MOST_IN_A_FOLDER = 64, MOST_IN_ALL = 256 };

struct search {
	struct qsb__build *build;
	const char *folder, *rule;
	size_t in_folder, in_all;
	int result;
};

static int check_file(struct search *search, const char *path, const char *rule)
{
	struct qsb__build *build = search->build;
	unsigned names = build->host->ops->links(build->host->context, path);
	char what[QSB__PATH_MAX + 120];

	if (names < 2)
		return 0;
	snprintf(what, sizeof(what), "%s has %u other name%s (hard link%s): it can be reached under %s", path,
		 names - 1, names == 2 ? "" : "s", names == 2 ? "" : "s", names == 2 ? "that" : "those");
	return qsb__build_gap(build, what, rule, false);
}

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), size = strlen(end);

	return length >= size && strcmp(name + length - size, end) == 0;
}

static int visit(void *to, const char *name, enum qsb__file_kind kind)
{
	struct search *search = to;
	char path[QSB__PATH_MAX];

	if (search->in_folder == MOST_IN_A_FOLDER || search->in_all == MOST_IN_ALL)
		return 1;
	/* git's own examples of hooks, a dozen in each repository, are never run. */
	if (kind != QSB__FILE_PLAIN || ends_with(name, ".sample") || !qsb__path_join(path, search->folder, name))
		return 0;
	search->in_folder++;
	search->in_all++;
	search->result = check_file(search, path, search->rule);
	return search->result;
}

static int check_step(struct search *search, const struct qsb__step *step)
{
	const struct qsb__host *host = search->build->host;
	bool mount = step->kind == QSB__STEP_BIND_RO || step->kind == QSB__STEP_MASK_FILE ||
		     step->kind == QSB__STEP_MASK_DIR;

	if (!mount || step->sealed || !step->denies || search->in_all == MOST_IN_ALL)
		return 0;
	if (!step->is_dir) {
		search->in_all++;
		return check_file(search, step->path, step->rule);
	}
	search->folder = step->path;
	search->rule = step->rule;
	search->in_folder = 0;
	host->ops->list(host->context, step->path, visit, search);
	return search->result;
}

/* What runs at the user's next step outside. The home folder is not writable, so nothing else holds these; a name of
 * theirs in the workspace would be written through. */
static int check_home(struct search *search)
{
	static const char *const names[] = {".bashrc", ".bash_profile", ".bash_login", ".profile",
					    ".zshrc",  ".zshenv",       ".gitconfig"};
	const struct qsb__build *build = search->build;
	char path[QSB__PATH_MAX];
	int result = 0;

	if (!build->host->home || !build->policy->filesystem.protect_names ||
	    (qsb__build_access(build, build->host->home, NULL) & QSB__ACCESS_WRITE))
		return 0;
	for (size_t i = 0; !result && i < sizeof(names) / sizeof(names[0]); i++)
		if (qsb__path_join(path, build->host->home, names[i]) && !qsb__build_absent(build, path))
			result = check_file(search, path, "built-in: protected names");
	return result;
}

int qsb__build_hard_links(struct qsb__build *build)
{
	struct search search = {.build = build};
	int result = check_home(&search);

	for (size_t i = 0; !result && i < build->step_count; i++)
		result = check_step(&search, &build->steps[i]);
	return result;
}
