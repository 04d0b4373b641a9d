/*
 * How git's settings come to stand in a repository that was made in this run. Git writes `config.lock` and renames it.
 * Whoever wrote that file may hold it open still; so its text is read once, judged, and written anew into a file that
 * nobody but the guard ever had open. Every other guarded call waits meanwhile.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "guard/git.h"

enum { ATTEMPTS = 100, NAME_BYTES = 64 };

bool qsb__git_is_config(const struct qsb__git_move *move)
{
	size_t length = strlen(move->to_name);

	return (strcmp(move->to_name, "config") == 0 || strcmp(move->to_name, "config.worktree") == 0) &&
	       strncmp(move->from_name, move->to_name, length) == 0 && strcmp(move->from_name + length, ".lock") == 0 &&
	       move->flags == 0 && qsb__resolve_is_same(move->from, move->to);
}

int qsb__git_read_text(int folder, const char *name, char **text, size_t *length, struct stat *status)
{
	QSB_CLEANUP_FD int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	QSB_CLEANUP_FREE char *buffer = NULL;
	size_t used = 0;
	ssize_t got;

	if (fd < 0 || fstat(fd, status) != 0)
		return -errno;
	if (!S_ISREG(status->st_mode))
		return -EINVAL;
	buffer = malloc(QSB__GIT_CONFIG_MAX + 1);
	if (!buffer)
		return -ENOMEM;
	while ((got = read(fd, buffer + used, QSB__GIT_CONFIG_MAX + 1 - used)) > 0)
		used += (size_t)got;
	if (got < 0)
		return -errno;
	if (used > QSB__GIT_CONFIG_MAX)
		return -EFBIG;
	*text = QSB_TAKE(buffer);
	*length = used;
	return 0;
}

static bool fill(int fd, const char *text, size_t length, const struct stat *like)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, like->st_mtim};
	struct stat own;
	ssize_t put;

	while (length > 0 && (put = write(fd, text, length)) > 0) {
		text += put;
		length -= (size_t)put;
	}
	if (length > 0 || fstat(fd, &own) != 0)
		return false;
	/* A group that we are not in cannot be given: the folder's own stays then. */
	if (own.st_gid != like->st_gid && fchown(fd, (uid_t)-1, like->st_gid) != 0)
		errno = 0;
	return fchmod(fd, like->st_mode & 0777) == 0 && futimens(fd, times) == 0;
}

/* A file of ours with this text, under a name of ours (NAME_BYTES). 0 or -errno. */
static int write_anew(int folder, const char *text, size_t length, const struct stat *like, char *name)
{
	QSB_CLEANUP_FD int fd = -1;
	int error;

	for (unsigned i = 0; fd < 0 && i < ATTEMPTS; i++) {
		snprintf(name, NAME_BYTES, ".config-%d-%u", (int)getpid(), i);
		fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	if (fd < 0)
		return -EEXIST;
	if (fill(fd, text, length, like))
		return 0;
	error = errno ? errno : EIO;
	unlinkat(folder, name, 0);
	return -error;
}

/* Its name is taken over first, so that the lock goes as git expects it, and comes back when the last step fails. */
static int put_in_place(const struct qsb__git_move *move, const char *name)
{
	int error;

	if (renameat(move->to, name, move->to, move->from_name) == 0)
		return renameat(move->to, move->from_name, move->to, move->to_name) == 0 ? 0 : -errno;
	error = errno;
	unlinkat(move->to, name, 0);
	return -error;
}

static int refuse(struct qsb__stop *stop, const struct qsb__git_move *move, const char *detail)
{
	qsb__guard_deny_part(stop, "write", move->place, detail);
	return -EACCES;
}

/* Settings of a repository that was there before: what would have changed is what one wants to know. */
static int refuse_change(struct qsb__stop *stop, const struct qsb__git_move *move, const char *text, size_t length)
{
	QSB_CLEANUP_FREE char *before = NULL;
	char keys[160] = "";
	size_t before_length = 0;
	struct stat status;
	int code = qsb__git_read_text(move->to, move->to_name, &before, &before_length, &status);

	/* `git init` in a repository that is there sets what is set. That the lock goes is all that would happen. */
	if (code == 0 && length == before_length && memcmp(before, text, length) == 0)
		return unlinkat(move->from, move->from_name, 0) == 0 ? 0 : -errno;
	if (code == 0 || code == -ENOENT)
		qsb__git_config_difference(&(struct qsb__git_text){before ? before : "", before_length},
					   &(struct qsb__git_text){text, length}, keys, sizeof(keys));
	return refuse(stop, move, keys);
}

static void folder_of(const struct qsb__place *place, char *folder)
{
	const char *slash = strrchr(place->path, '/');

	snprintf(folder, PATH_MAX, "%.*s", (int)(slash - place->path), place->path);
}

int qsb__git_put_config(struct qsb__stop *stop, const struct qsb__git_move *move)
{
	QSB_CLEANUP_FREE char *text = NULL;
	struct qsb__git_verdict verdict;
	char detail[160], folder[PATH_MAX], name[NAME_BYTES];
	size_t length = 0;
	struct stat status;
	int code = qsb__git_read_text(move->from, move->from_name, &text, &length, &status);

	if (code != 0)
		return refuse(stop, move,
			      code == -EFBIG    ? "the file is too long for git's settings"
			      : code == -EINVAL ? "it is not a plain file"
						: "it cannot be read");
	if (!qsb__git_lets(stop, QSB__GIT_SET, move->to, move->to_name, move->place))
		return refuse_change(stop, move, text, length);
	folder_of(move->place, folder);
	qsb__git_config_judge(text, length, folder, &verdict);
	if (!verdict.harmless) {
		snprintf(detail, sizeof(detail), "%s", verdict.keys);
		return refuse(stop, move, detail);
	}
	code = qsb__judge_fence(stop, move->to, move->place, NULL);
	if (code != 0)
		return code;
	if (!qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	code = write_anew(move->to, text, length, &status, name);
	return code == 0 ? put_in_place(move, name) : code;
}
