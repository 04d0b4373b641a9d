/* Which git folders were made in this run, and what git may do in them. */
#include "guard/git.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/error.h"

/* The guard's own work must not run out of descriptors, of which it takes all that it may have. */
static size_t most_folders(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 0;
	return limit.rlim_max / 4 < QSB__GIT_FOLDERS ? (size_t)limit.rlim_max / 4 : QSB__GIT_FOLDERS;
}

int qsb__git_new(struct qsb__guard *guard, struct qsb_error *err)
{
	struct qsb__git_folders *git;

	if (!guard->plan->protect_names)
		return 0;
	git = calloc(1, sizeof(*git));
	if (!git)
		return qsb__fail_memory(err, "guard");
	pthread_mutex_init(&git->lock, NULL);
	git->mounts_fd = -1;
	git->most = most_folders();
	clock_gettime(CLOCK_REALTIME_COARSE, &git->start);
	guard->git = git;
	return 0;
}

void qsb__git_free(struct qsb__guard *guard)
{
	struct qsb__git_folders *git = guard->git;

	if (!git)
		return;
	for (size_t i = 0; i < git->count; i++)
		close(git->items[i].fd);
	if (git->mounts_fd >= 0)
		close(git->mounts_fd);
	pthread_mutex_destroy(&git->lock);
	free(git->items);
	free(git->findings);
	free(git);
	guard->git = NULL;
}

static struct qsb__git_folder *find(struct qsb__git_folders *git, const struct stat *status)
{
	for (size_t i = 0; i < git->count; i++)
		if (git->items[i].inode == status->st_ino && git->items[i].device == status->st_dev)
			return &git->items[i];
	return NULL;
}

/* What was removed since holds nothing, and what lacks a part is remembered anew when it gets that. */
static void forget_some(struct qsb__git_folders *git)
{
	size_t left = 0;
	struct stat status;

	for (size_t i = 0; i < git->count; i++) {
		const struct qsb__git_folder *folder = &git->items[i];

		if ((fstat(folder->fd, &status) == 0 && status.st_nlink == 0) ||
		    (folder->kinds == QSB__GIT_PARTS && !qsb__git_is_folder(folder->fd)))
			close(folder->fd);
		else
			git->items[left++] = *folder;
	}
	git->count = left;
}

static bool make_room(struct qsb__git_folders *git)
{
	struct qsb__git_folder *items;

	if (git->count >= git->most)
		return false;
	if (git->count < git->room)
		return true;
	items = realloc(git->items, (git->room * 2 + 16) * sizeof(*items));
	if (!items)
		return false;
	git->items = items;
	git->room = git->room * 2 + 16;
	return true;
}

/* Takes over the descriptor. */
static void remember(struct qsb__stop *stop, int fd, enum qsb__git_kind kind)
{
	struct qsb__git_folders *git = stop->guard->git;
	struct qsb__git_folder *known;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0) {
		pthread_mutex_lock(&git->lock);
		git->left_out++;
		pthread_mutex_unlock(&git->lock);
		if (fd >= 0)
			close(fd);
		return;
	}
	pthread_mutex_lock(&git->lock);
	known = find(git, &status);
	if (git->mounts_fd < 0) {
		int mounts = qsb__stop_open(stop, "ns/mnt", O_RDONLY);

		git->mounts_fd = mounts < 0 ? -1 : fcntl(mounts, F_DUPFD_CLOEXEC, 0);
	}
	if (known) {
		known->kinds |= kind;
	} else if (make_room(git)) {
		git->items[git->count++] = (struct qsb__git_folder){fd, status.st_dev, status.st_ino, kind};
		fd = -1;
	} else {
		git->left_out++;
	}
	pthread_mutex_unlock(&git->lock);
	if (fd >= 0)
		close(fd);
}

static bool matters(const struct qsb__stop *stop, const struct qsb__place *place)
{
	return stop->guard->git && place->named && place->state.writable && !place->state.scratch;
}

/* Each call under way may need a place. */
int qsb__git_judge_room(struct qsb__stop *stop, const char *last, const struct qsb__place *place)
{
	struct qsb__git_folders *git = stop->guard->git;
	char name[NAME_MAX + 1];
	size_t spare;
	bool full;

	qsb__resolve_bare(last, name);
	if ((!qsb__git_is_part(name) && strcmp(name, ".git") != 0) || !matters(stop, place))
		return 0;
	pthread_mutex_lock(&git->lock);
	spare = git->most / 2 < QSB__GUARD_THREADS ? git->most / 2 : QSB__GUARD_THREADS;
	full = git->count + spare >= git->most;
	if (full)
		forget_some(git);
	full = git->count + spare >= git->most;
	pthread_mutex_unlock(&git->lock);
	if (!full)
		return 0;
	qsb__guard_deny_part(stop, "create", place, "more git folders than can be looked at after the run");
	return -EACCES;
}

/* Can a submodule or a worktree lie there? Not among what each of them holds. */
static bool is_below(const char *path, const char *folder)
{
	static const char *const parts[] = {"objects", "refs", "logs", "hooks", "info", "rebase-merge", NULL};
	const char *at = strstr(path, folder);

	if (!at)
		return false;
	for (at += strlen(folder); *at; at += strspn(at, "/")) {
		size_t length = strcspn(at, "/");

		for (size_t i = 0; parts[i]; i++)
			if (strlen(parts[i]) == length && memcmp(parts[i], at, length) == 0)
				return false;
		at += length;
	}
	return true;
}

void qsb__git_made_folder(struct qsb__stop *stop, int folder, const char *last, const struct qsb__place *place)
{
	char name[NAME_MAX + 1];

	if (!matters(stop, place))
		return;
	qsb__resolve_bare(last, name);
	if (strcmp(name, ".git") == 0 || is_below(place->path, "/.git/modules/") ||
	    is_below(place->path, "/.git/worktrees/"))
		remember(stop, openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), QSB__GIT_MADE);
	qsb__git_made_entry(stop, folder, name, place);
}

void qsb__git_made_entry(struct qsb__stop *stop, int folder, const char *name, const struct qsb__place *place)
{
	if (qsb__git_is_part(name) && matters(stop, place))
		remember(stop, openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), QSB__GIT_PARTS);
}

/* Length of the path of the folder whose settings or hooks these would be; 0 = of none. */
static size_t length_of_owner(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (length == 0)
		return 0;
	if (strcasecmp(slash + 1, "config") == 0 || strcasecmp(slash + 1, "config.worktree") == 0 ||
	    strcasecmp(slash + 1, "hooks") == 0)
		return length;
	return length > 6 && strncasecmp(slash - 6, "/hooks", 6) == 0 ? length - 6 : 0;
}

void qsb__git_written(struct qsb__stop *stop, const struct qsb__place *place)
{
	size_t length = matters(stop, place) ? length_of_owner(place->path) : 0;
	char path[PATH_MAX];
	int fd, root;

	if (length == 0 || length >= sizeof(path))
		return;
	memcpy(path, place->path, length);
	path[length] = '\0';
	root = qsb__resolve_root(stop);
	fd = root < 0 ? -1
		      : qsb__resolve_open(root, path, O_PATH | O_DIRECTORY, 0,
					  RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return;
	/* One that is on its way to be a git folder is remembered when it gets its parts. Old hooks in a folder that
	 * was put there are new ones. */
	if (fd < 0 || qsb__git_is_folder(fd))
		remember(stop, fd, strcasecmp(place->path + length, "/hooks") == 0 ? QSB__GIT_PARTS : QSB__GIT_CHANGED);
	else
		close(fd);
}

static bool is_known(struct qsb__guard *guard, int folder, enum qsb__git_kind kind)
{
	struct qsb__git_folder *known;
	struct stat status;
	bool found;

	if (!guard->git || fstat(folder, &status) != 0)
		return false;
	pthread_mutex_lock(&guard->git->lock);
	known = find(guard->git, &status);
	found = known && (known->kinds & kind);
	pthread_mutex_unlock(&guard->git->lock);
	return found;
}

bool qsb__git_is_made(struct qsb__guard *guard, int folder)
{
	return is_known(guard, folder, QSB__GIT_MADE);
}

static bool is_config(const char *name)
{
	return strcmp(name, "config") == 0 || strcmp(name, "config.worktree") == 0;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t tail = strlen(end);

	return length >= tail && memcmp(text + length - tail, end, tail) == 0;
}

/* `folder` is the `hooks` of a git folder made in this run. */
static bool is_hooks(struct qsb__guard *guard, int folder, const char *path)
{
	const char *slash = strrchr(path, '/');
	int above;
	bool made;

	if (!slash || !ends_with(path, (size_t)(slash - path), "/hooks"))
		return false;
	above = openat(folder, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	made = above >= 0 && qsb__git_is_made(guard, above);
	if (above >= 0)
		close(above);
	return made;
}

/* Is the git folder of the files in `folder` of this run? It may lie elsewhere: a submodule's, a worktree's. */
static bool is_of_made(struct qsb__stop *stop, int folder)
{
	static const char leads[] = "gitdir: ";
	int fd = openat(folder, ".git", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char *text = NULL;
	struct stat status;
	size_t length;
	bool made;

	if (qsb__stop_keep(stop, fd) < 0 || fstat(fd, &status) != 0)
		return false;
	if (!S_ISREG(status.st_mode) || status.st_size >= PATH_MAX)
		return qsb__git_is_made(stop->guard, fd);
	if (qsb__git_read_text(folder, ".git", &text, &length, &status) != 0)
		return false;
	text[length < PATH_MAX ? length : PATH_MAX - 1] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	fd = strncmp(text, leads, sizeof(leads) - 1) == 0
		     ? qsb__resolve(stop, folder, text + sizeof(leads) - 1, true, true)
		     : -1;
	made = fd >= 0 && qsb__git_is_made(stop->guard, fd);
	free(text);
	return made;
}

/* What the caller of the sandbox denies stays denied. */
static bool is_builtin(const struct qsb__place *place)
{
	return place->denied && place->denied->builtin && !place->state.asked && !place->state.full;
}

/* Until it is removed, though the git folder may have gone before. */
static bool lets_list(struct qsb__stop *stop, enum qsb__git_act act, int folder, const struct qsb__place *place)
{
	if (act == QSB__GIT_MAKE || act == QSB__GIT_EMPTY || !is_builtin(place))
		return false;
	if (is_known(stop->guard, folder, QSB__GIT_LISTS))
		return true;
	if (!is_of_made(stop, folder))
		return false;
	remember(stop, openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), QSB__GIT_LISTS);
	return true;
}

bool qsb__git_lets(struct qsb__stop *stop, enum qsb__git_act act, int folder, const char *last,
		   const struct qsb__place *place)
{
	struct qsb__guard *guard = stop->guard;
	char name[NAME_MAX + 1];
	bool own, hooks;

	if (!guard->git || !place->denied || !matters(stop, place))
		return false;
	qsb__resolve_bare(last, name);
	if (strcmp(name, ".gitmodules") == 0)
		return lets_list(stop, act, folder, place);
	own = qsb__git_is_made(guard, folder);
	hooks = !own && is_hooks(guard, folder, place->path);
	if ((!own && !hooks) || !is_builtin(place))
		return false;
	switch (act) {
	case QSB__GIT_MAKE:
		return own && strcmp(name, "hooks") == 0;
	case QSB__GIT_CREATE:
		return hooks && ends_with(name, strlen(name), ".sample");
	case QSB__GIT_LIST:
		return false;
	case QSB__GIT_EMPTY:
		return own && strcmp(name, "config") == 0;
	case QSB__GIT_SET:
		return own && is_config(name);
	case QSB__GIT_CHANGE:
		return hooks ? ends_with(name, strlen(name), ".sample") : is_config(name) || strcmp(name, "hooks") == 0;
	case QSB__GIT_REMOVE:
		return hooks || is_config(name) || strcmp(name, "hooks") == 0;
	}
	return false;
}
