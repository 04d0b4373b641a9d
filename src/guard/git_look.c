/*
 * What a run left in the git folders that it made. Nobody of the sandbox lives any more; still no link is followed, and
 * everything is reached from the folders' own descriptors. A hook is called by its name, so names are tried: a folder
 * that cannot be listed hides nothing.
 *
 * `info/attributes` is not looked at: like a `.gitattributes` among the project's own files it only chooses among the
 * programs that settings name, and these are judged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/path.h"
#include "guard/git.h"

/* Seconds, at the most, for a person who waits: thousands of folders can have one long file under as many names. */
enum { READ_IN_ALL = 16 * 1024 * 1024 };

/* Those of githooks(5), and of git-p4. */
static const char *const hook_names[] = {
	"applypatch-msg",     "pre-applypatch",
	"post-applypatch",    "pre-commit",
	"pre-merge-commit",   "prepare-commit-msg",
	"commit-msg",         "post-commit",
	"pre-rebase",         "post-checkout",
	"post-merge",         "pre-push",
	"pre-receive",        "update",
	"proc-receive",       "post-receive",
	"post-update",        "reference-transaction",
	"push-to-checkout",   "pre-auto-gc",
	"post-rewrite",       "sendemail-validate",
	"fsmonitor-watchman", "post-index-change",
	"p4-changelist",      "p4-prepare-changelist",
	"p4-post-changelist", "p4-pre-submit",
};

struct look {
	struct qsb__guard *guard;
	bool made;               /* the folder on hand: all in it is of this run */
	bool was_git;            /* it was a git folder before: only what is new in it matters */
	char path[PATH_MAX + 1]; /* of it */
};

static bool is_older(const struct qsb__git_folders *git, const struct stat *status)
{
	return status->st_ctim.tv_sec < git->start.tv_sec ||
	       (status->st_ctim.tv_sec == git->start.tv_sec && status->st_ctim.tv_nsec < git->start.tv_nsec);
}

static struct qsb__finding *add(struct look *look, const char *kind, const char *name, const char *what)
{
	struct qsb__git_folders *git = look->guard->git;
	struct qsb__finding *more, *finding;

	if (git->finding_count == QSB__GIT_FINDINGS) {
		git->findings_left_out++;
		return NULL;
	}
	more = realloc(git->findings, (git->finding_count + 1) * sizeof(*more));
	if (!more) {
		git->findings_left_out++;
		return NULL;
	}
	git->findings = more;
	finding = &more[git->finding_count++];
	memset(finding, 0, sizeof(*finding));
	snprintf(finding->kind, sizeof(finding->kind), "%s", kind);
	snprintf(finding->path, sizeof(finding->path), "%.400s/%.100s", look->path, name);
	snprintf(finding->what, sizeof(finding->what), "%.*s", (int)sizeof(finding->what) - 1, what);
	return finding;
}

static bool set_mode(int folder, mode_t mode)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", folder);
	return chmod(path, mode & 07777) == 0;
}

/* What its owner has shut is not shut for root's git, nor for long: it is opened for the look. 0, or the mode before.
 */
static mode_t open_up(int folder)
{
	struct stat status;

	if (fstat(folder, &status) != 0 || (status.st_mode & S_IRWXU) == S_IRWXU ||
	    !set_mode(folder, status.st_mode | S_IRWXU))
		return 0;
	return status.st_mode;
}

/* One entry of a git folder, or of its `hooks`. */
struct entry {
	const char *kind;
	int folder;
	const char *below, *name; /* "hooks/" and "pre-commit"; "" and "config" */
	struct stat status;
};

static void move_found(const struct entry *entry, struct qsb__finding *finding)
{
	char to[NAME_MAX + 1], *slash;
	int error = qsb__move_aside(entry->folder, entry->name, to);

	if (error != 0) {
		snprintf(finding->os_error, sizeof(finding->os_error), "%s", strerror(error));
		return;
	}
	snprintf(finding->moved_to, sizeof(finding->moved_to), "%.400s", finding->path);
	slash = strrchr(finding->moved_to, '/');
	if (!slash)
		return;
	snprintf(slash + 1, sizeof(finding->moved_to) - (size_t)(slash + 1 - finding->moved_to), "%.100s", to);
}

/* Out of git's reach with it, where that is wanted and it is not the host's own file. */
static void found(struct look *look, const struct entry *entry, const char *what, const char *reason)
{
	bool own = look->made || !is_older(look->guard->git, &entry->status);
	char name[NAME_MAX + 16];
	struct qsb__finding *finding, unlisted;

	snprintf(name, sizeof(name), "%s%s", entry->below, entry->name);
	finding = add(look, entry->kind, name, what);
	/* However many there are: what is not listed is counted, and moved all the same. */
	if (!finding)
		finding = memset(&unlisted, 0, sizeof(unlisted));
	snprintf(finding->reason, sizeof(finding->reason), "%s", reason);
	if (own && look->guard->plan->git_findings == QSB__FINDINGS_QUARANTINE)
		move_found(entry, finding);
}

/* Did the caller of the sandbox allow it by name, as `--write .git/hooks` does? To allow the folder of a repository, or
 * one around it, speaks of no hook. */
static bool was_granted(const struct look *look, const char *path)
{
	const struct qsb__plan *plan = look->guard->plan;

	for (size_t i = 0; i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];

		if ((step->kind == QSB__STEP_BIND_RW || step->kind == QSB__STEP_NAME_GRANT) &&
		    qsb__path_inside(path, step->path, false) && qsb__path_inside(step->path, look->path, false) &&
		    strcmp(step->path, look->path) != 0)
			return true;
	}
	return false;
}

/* Is it the caller's wish, or the host's, and kept from the run by a rule, or not touched by it? Then it is nothing
 * that the run left. */
static bool was_held(const struct look *look, const struct entry *entry)
{
	char path[QSB__GUARD_PATH];
	struct qsb__name_state state;

	snprintf(path, sizeof(path), "%.*s/%s%s", PATH_MAX - 1, look->path, entry->below, entry->name);
	if (was_granted(look, path))
		return true;
	if (look->made)
		return false;
	/* By its time alone it cannot be told from what the run made: file systems count in ticks of a clock, and the
	 * host may have written it in the very one in which the run began. */
	if (qsb__names_judge(look->guard->names, path, QSB__ACCESS_WRITE, &state))
		return true;
	return look->was_git && is_older(look->guard->git, &entry->status);
}

/* ---- settings ---- */

struct leading {
	int folder;
	bool through_link;
};

/* Where core.worktree stays in the workspace by its text, a link on the way must not lead out of it. */
static int follow_worktree(void *context, const struct qsb__git_setting *setting)
{
	struct leading *leading = context;
	int fd;

	if (strcmp(setting->name, "core.worktree") != 0 || !setting->value)
		return 0;
	fd = qsb__resolve_open(leading->folder, setting->value, O_PATH, 0, RESOLVE_NO_SYMLINKS);
	leading->through_link |= fd < 0 && errno == ELOOP;
	if (fd >= 0)
		close(fd);
	return 0;
}

static void look_at_text(struct look *look, const struct entry *entry, const char *text, size_t length)
{
	struct leading leading = {.folder = entry->folder};
	struct qsb__git_verdict verdict;

	qsb__git_config_judge(text, length, look->path, &verdict);
	if (verdict.harmless)
		qsb__git_config_read(text, length, follow_worktree, &leading, NULL);
	if (leading.through_link)
		found(look, entry, "core.worktree", "it leads through a link");
	else if (!verdict.harmless)
		found(look, entry, verdict.keys, verdict.reason);
}

static void look_at_config(struct look *look, int folder, const char *name)
{
	struct entry entry = {.kind = "gitConfig", .folder = folder, .below = "", .name = name};
	QSB_CLEANUP_FREE char *text = NULL;
	struct stat status;
	size_t length;
	int code;

	if (fstatat(folder, name, &entry.status, AT_SYMLINK_NOFOLLOW) != 0 || was_held(look, &entry))
		return;
	if (look->guard->git->read > READ_IN_ALL) {
		found(look, &entry, name, "there are more settings than can be looked at");
		return;
	}
	code = qsb__git_read_text(folder, name, &text, &length, &status);
	look->guard->git->read += code == 0 ? length : 0;
	if (code == 0)
		look_at_text(look, &entry, text, length);
	else if (code != -ENOENT)
		found(look, &entry, name,
		      code == -ELOOP   ? "git follows the link to its settings"
		      : code == -EFBIG ? "it is too long to be looked at"
				       : "it cannot be looked at");
}

/* ---- hooks ---- */

static void look_at_hooks(struct look *look, int folder)
{
	struct entry entry = {.kind = "gitHook", .folder = folder, .below = "", .name = "hooks"};
	QSB_CLEANUP_FD int hooks = openat(folder, "hooks", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat above;
	mode_t mode;

	if (hooks < 0 || fstat(hooks, &above) != 0)
		return;
	entry.status = above;
	mode = S_ISDIR(above.st_mode) ? open_up(hooks) : 0;
	if (S_ISLNK(above.st_mode))
		found(look, &entry, "hooks", "git runs what lies where the link leads");
	else if (S_ISDIR(above.st_mode) && faccessat(hooks, ".", X_OK, AT_EACCESS) != 0)
		found(look, &entry, "hooks", "it cannot be looked into");
	if (!S_ISDIR(above.st_mode))
		return;
	entry.folder = hooks;
	entry.below = "hooks/";
	for (size_t i = 0; i < sizeof(hook_names) / sizeof(hook_names[0]); i++) {
		entry.name = hook_names[i];
		if (fstatat(hooks, entry.name, &entry.status, AT_SYMLINK_NOFOLLOW) != 0 || was_held(look, &entry))
			continue;
		/* Moved in with its folder, an old file is as good as new. */
		if (!is_older(look->guard->git, &above))
			entry.status = above;
		found(look, &entry, entry.name, "git runs it");
	}
	if (mode)
		set_mode(hooks, mode);
}

/* ---- folders ---- */

static bool has(int folder, const char *name)
{
	struct stat status;

	return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* What git takes for a git folder, or nearly: a file for HEAD can be put there at any time. */
bool qsb__git_is_folder(int folder)
{
	return (has(folder, "objects") && has(folder, "refs")) || (has(folder, "HEAD") && has(folder, "commondir"));
}

static void look_into(struct qsb__guard *guard, const struct qsb__git_folder *folder)
{
	struct look look = {.guard = guard,
			    .made = folder->kinds & QSB__GIT_MADE,
			    .was_git = !(folder->kinds & (QSB__GIT_MADE | QSB__GIT_PARTS))};
	ssize_t length = qsb__judge_real_name(guard, folder->fd, look.path);

	mode_t mode;

	/* Moved below other folders it may have a name that no call takes; git could still be led there step by step.
	 */
	if (length < 0)
		length = snprintf(look.path, sizeof(look.path), "(a path that is too long)");
	if (qsb__judge_is_removed(folder->fd, look.path, (size_t)length) ||
	    (!look.made && !qsb__git_is_folder(folder->fd)))
		return;
	mode = open_up(folder->fd);
	if (faccessat(folder->fd, ".", X_OK, AT_EACCESS) != 0)
		guard->git->findings_left_out++;
	look_at_config(&look, folder->fd, "config");
	look_at_config(&look, folder->fd, "config.worktree");
	look_at_hooks(&look, folder->fd);
	if (mode)
		set_mode(folder->fd, mode);
}

/* All rights that a root user's supervisor has are left behind, as for what the guard does during the run. */
static void *look_at_all(void *argument)
{
	struct qsb__guard *guard = argument;
	struct qsb__git_folders *git = guard->git;

	if (!qsb__guard_thread_begin()) {
		git->findings_left_out += (unsigned)git->count;
		return NULL;
	}
	for (size_t i = 0; i < git->count; i++)
		look_into(guard, &git->items[i]);
	git->findings_left_out += git->left_out;
	return NULL;
}

void qsb__git_look(struct qsb__guard *guard)
{
	struct qsb__git_folders *git = guard->git;
	pthread_t thread;

	/* One of them may be at a call still whose caller was killed. */
	qsb__guard_stop(guard);
	git->looked = true;
	if (git->count == 0)
		git->findings_left_out += git->left_out;
	else if (pthread_create(&thread, NULL, look_at_all, guard) == 0)
		pthread_join(thread, NULL);
	else
		git->findings_left_out += (unsigned)git->count + git->left_out;
}

bool qsb__guard_next_finding(struct qsb__guard *guard, struct qsb__finding *finding)
{
	struct qsb__git_folders *git = guard->git;

	if (!git)
		return false;
	if (!git->looked)
		qsb__git_look(guard);
	if (git->finding_next == git->finding_count)
		return false;
	*finding = git->findings[git->finding_next++];
	return true;
}

size_t qsb__guard_findings_left_out(const struct qsb__guard *guard)
{
	return guard->git ? guard->git->findings_left_out : 0;
}
