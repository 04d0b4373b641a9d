/* Opening, by far the most frequent call: each name on the way is judged, a link is followed by hand for that. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "guard/git.h"

/* The C library hides this flag where it changes nothing; the kernel sets it for every open of a 64-bit program, and
 * F_GETFL shows it. */
#if defined(__aarch64__)
#define LARGE_FILE 0400000
#else
#define LARGE_FILE 0100000
#endif
#define NAMELESS (O_TMPFILE & ~O_DIRECTORY)

enum {
	LINKS_MAX = 40,
	AGAIN = -20000, /* the path is another one now */
	KNOWN = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC | O_ASYNC |
		O_DIRECT | LARGE_FILE | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | NAMELESS,
	LATER = O_APPEND | O_DIRECT | O_NOATIME | O_ASYNC /* what F_SETFL keeps */
};

struct opening {
	struct qsb__stop *stop;
	int flags;
	mode_t mode;
	char path[PATH_MAX + 2], name[NAME_MAX + 1];
	int start, folder;
	const char *last;
	unsigned links;
	bool made;
	struct qsb__place place;
};

static bool changes(int flags)
{
	return (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) != O_RDONLY;
}

static bool is_special(const struct stat *status)
{
	return !S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode) && !S_ISLNK(status->st_mode);
}

/* O_NONBLOCK was only for our own safety. */
static long finish(int fd, int flags)
{
	if (fd >= 0 && !(flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, flags & LATER);
	return fd < 0 ? -errno : fd;
}

static bool may_block(int error, const struct stat *status, int flags)
{
	return !(flags & O_NONBLOCK) && (error == ENXIO || error == EWOULDBLOCK) &&
	       (S_ISFIFO(status->st_mode) || S_ISREG(status->st_mode));
}

static bool is_one_of(const char *name, const char *const *list)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

/*
 * A proc file trusts whoever opens it, and we own the user namespace of the sandbox: of other processes only what is
 * everybody's, and written is only what is harmless and the caller's own.
 */
static int judge_proc(struct qsb__stop *stop, const char *path, int flags)
{
	static const char *const written[] = {"comm",       "oom_score_adj", "oom_adj", "coredump_filter",
					      "clear_refs", "timerslack_ns", NULL};
	static const char *const read_of_others[] = {"stat",      "status",        "statm",     "cmdline", "comm",
						     "cgroup",    "mounts",        "mountinfo", "limits",  "io",
						     "oom_score", "oom_score_adj", "task",      NULL};
	const char *name = strrchr(path, '/') + 1;
	char status[QSB__STATUS_BYTES];
	bool own;

	if (strncmp(path, "/proc/", 6) != 0)
		return strcmp(path, "/proc") == 0 ? 0 : -EACCES;
	if (!isdigit((unsigned char)path[6]))
		return changes(flags) ? -EACCES : 0;
	own = qsb__stop_status(stop, status) && atoi(path + 6) == qsb__status_innermost(status, "NStgid");
	if (changes(flags))
		return own && is_one_of(name, written) ? 0 : -EACCES;
	return own || isdigit((unsigned char)*name) || is_one_of(name, read_of_others) ? 0 : -EACCES;
}

/* The controlling terminal is the caller's, not ours: it is found among its standard streams. */
static int find_terminal(struct qsb__stop *stop)
{
	int fd = qsb__stop_open(stop, "stat", O_RDONLY);
	char text[1024];
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *at;
	unsigned device = 0;

	text[length < 0 ? 0 : length] = '\0';
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %u", &device) != 1 || device == 0)
		return -ENXIO;
	for (int i = 0; i < 3; i++) {
		struct stat status;

		fd = qsb__stop_descriptor(stop, i);
		if (fd >= 0 && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
		    status.st_rdev == makedev(device >> 8 & 0xfff, (device & 0xff) | (device >> 12 & 0xfff00)))
			return fd;
	}
	return -ENXIO;
}

static int judge_reached(struct opening *opening, int object, const struct stat *status)
{
	struct qsb__stop *stop = opening->stop;
	struct qsb__place *place = &opening->place;
	int code = qsb__judge_place(stop, object, NULL, place);

	if (code == 0 && place->denied && changes(opening->flags))
		return qsb__judge_refuse(stop, "write", place);
	if (code == 0)
		code = qsb__judge_reading(stop, place);
	if (code == 0 && place->named && !S_ISLNK(status->st_mode) && qsb__resolve_is_proc(object))
		code = judge_proc(stop, place->path, opening->flags);
	if (code == 0 && changes(opening->flags) && !S_ISDIR(status->st_mode))
		code = qsb__judge_fence(stop, object, place, is_special(status) ? status : NULL);
	if (code == 0 && changes(opening->flags) && place->named && place->state.writable &&
	    !qsb__judge_is_stream(stop->guard, status) && !qsb__judge_is_inside(stop, object, place->path))
		code = -EACCES;
	return code;
}

/* Reached through a link of /proc, or a terminal: there is a file, and no name to create. */
static long open_object(struct opening *opening, int object)
{
	int flags = opening->flags;
	char path[64];
	struct stat status;
	int code, fd;

	if (object < 0)
		return object;
	if (fstat(object, &status) != 0)
		return -errno;
	code = judge_reached(opening, object, &status);
	if (code != 0)
		return code;
	if ((flags & O_CREAT) && S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!qsb__stop_waits(opening->stop))
		return QSB__STOP_GONE;
	if (S_ISFIFO(status.st_mode) && (flags & (O_ACCMODE | O_NONBLOCK)) == O_RDONLY)
		return qsb__slow_open(opening->stop, object, flags);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", object);
	fd = open(path, (flags & ~(O_CREAT | O_EXCL)) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && may_block(errno, &status, flags))
		return qsb__slow_open(opening->stop, object, flags);
	return finish(fd, flags);
}

/* No name yet: the linkat that may give it one is judged then. */
static long open_nameless(struct opening *opening)
{
	struct qsb__stop *stop = opening->stop;
	int folder = qsb__resolve(stop, opening->start, opening->path, !(opening->flags & O_NOFOLLOW), true);
	int code, fd;

	if (folder < 0)
		return folder;
	code = qsb__judge_object(stop, folder, "create", &opening->place);
	if (code == 0)
		code = qsb__judge_fence(stop, folder, &opening->place, NULL);
	if (code != 0)
		return code;
	if (!qsb__stop_take_umask(stop) || !qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	fd = qsb__resolve_open(folder, ".", (uint64_t)opening->flags, opening->mode, 0);
	return fd < 0 ? -errno : fd;
}

/*
 * Some ways to make a repository open a config that is not there for writing, and write nothing: they get one, and a
 * descriptor that cannot write. Others put examples among the hooks.
 */
static bool lets_git(struct opening *opening, const struct stat *status)
{
	struct qsb__stop *stop = opening->stop;
	int fd;

	if (status && !S_ISREG(status->st_mode))
		return false;
	if (qsb__git_lets(stop, QSB__GIT_CREATE, opening->folder, opening->last, &opening->place))
		return true;
	/* Whoever wants it to be new has something to write, as cp and tar have. */
	if (status || (opening->flags & O_EXCL) ||
	    !qsb__git_lets(stop, QSB__GIT_EMPTY, opening->folder, opening->last, &opening->place) ||
	    !qsb__stop_take_umask(stop) || !qsb__stop_waits(stop))
		return false;
	fd = openat(opening->folder, opening->name, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    opening->mode);
	if (fd < 0)
		return false;
	close(fd);
	opening->flags &= ~(O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND);
	return true;
}

/* A denied name: what exists may be read all the same where the rule is about writing. */
static int judge_denied(struct opening *opening, const struct stat *status)
{
	int flags = opening->flags;

	if (status && (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return -EEXIST;
	if (!status && !(flags & O_CREAT))
		return -ENOENT;
	if (status && S_ISDIR(status->st_mode))
		return qsb__judge_reading(opening->stop, &opening->place);
	if (status && (flags & (O_ACCMODE | O_TRUNC)) == O_RDONLY &&
	    (!S_ISLNK(status->st_mode) || !(flags & O_CREAT))) {
		opening->flags &= ~O_CREAT;
		return qsb__judge_reading(opening->stop, &opening->place);
	}
	if (lets_git(opening, status))
		return 0;
	return qsb__judge_refuse(opening->stop, status ? "write" : "create", &opening->place);
}

/* The files of /proc are judged apart; ordinary folders are remembered as long as nothing moves. */
static bool is_ordinary(struct opening *opening)
{
	struct qsb__tasks *tasks = opening->stop->tasks;
	const struct qsb__place *place = &opening->place;
	size_t length = strlen(place->path) - strlen(opening->name);

	if (!place->named || length >= sizeof(tasks->folder))
		return false;
	if (tasks->folder_age == opening->stop->guard->moves && strncmp(tasks->folder, place->path, length) == 0 &&
	    tasks->folder[length] == '\0')
		return true;
	if (qsb__resolve_is_proc(opening->folder))
		return false;
	memcpy(tasks->folder, place->path, length);
	tasks->folder[length] = '\0';
	tasks->folder_age = opening->stop->guard->moves;
	return true;
}

static int judge_name(struct opening *opening, const struct stat *status)
{
	const struct qsb__place *place = &opening->place;
	int code = 0;

	if (qsb__resolve_is_dots(opening->last))
		return qsb__judge_reading(opening->stop, place);
	if (place->denied)
		code = judge_denied(opening, status);
	if (code == 0 && status && !S_ISLNK(status->st_mode) && !is_ordinary(opening) &&
	    qsb__resolve_is_proc(opening->folder))
		code = judge_proc(opening->stop, place->path, opening->flags);
	if (code == 0 && changes(opening->flags) && (!status || !S_ISLNK(status->st_mode)))
		code = qsb__judge_fence(opening->stop, opening->folder, place,
					status && is_special(status) ? status : NULL);
	return code;
}

/* The link's text becomes the path, so that what it leads to is judged, too. */
static long follow(struct opening *opening, int error)
{
	char text[PATH_MAX];
	bool slash = strchr(opening->last, '/') != NULL;
	ssize_t length = readlinkat(opening->folder, opening->name, text, sizeof(text) - 2);
	int fd;

	if (length <= 0)
		return -error;
	if (++opening->links > LINKS_MAX)
		return -ELOOP;
	if (qsb__resolve_is_proc(opening->folder)) {
		fd = qsb__resolve_open(opening->folder, opening->name, O_PATH, 0, RESOLVE_NO_MAGICLINKS);
		if (fd >= 0)
			close(fd);
		else if (errno == ELOOP)
			return open_object(opening,
					   qsb__resolve(opening->stop, opening->folder, opening->name, true, false));
	}
	text[length] = '\0';
	snprintf(opening->path, sizeof(opening->path), "%s%s", text, slash ? "/" : "");
	opening->start = opening->folder;
	return AGAIN;
}

/* What openat2 could not do at once: a link, or a wait. */
static long open_otherwise(struct opening *opening, int error, const struct stat *status)
{
	int flags = opening->flags;
	bool nofollow = (flags & O_NOFOLLOW) || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);

	if ((error == ELOOP || error == ENOTDIR) && (strchr(opening->last, '/') || !nofollow) &&
	    !qsb__resolve_is_dots(opening->last))
		return follow(opening, error);
	if (status && may_block(error, status, flags)) {
		int object = openat(opening->folder, opening->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (qsb__stop_keep(opening->stop, object) >= 0)
			return qsb__slow_open(opening->stop, object, flags);
	}
	return -error;
}

/* The commonest case, a new file where it may be made: with O_EXCL nothing that is there can be opened, nor make us
 * wait. Whatever goes wrong is left to the long way. */
static int open_new(struct opening *opening)
{
	const struct qsb__place *place = &opening->place;
	int flags = opening->flags;

	if (!(flags & O_CREAT) || place->denied || !place->state.writable || opening->stop->guard->passed ||
	    qsb__resolve_is_dots(opening->last) || qsb__git_is_part(opening->name) || !is_ordinary(opening) ||
	    !qsb__stop_take_umask(opening->stop) || !qsb__stop_waits(opening->stop))
		return -1;
	return qsb__resolve_open(opening->folder, opening->last, (unsigned)(flags | O_EXCL | O_NOCTTY), opening->mode,
				 RESOLVE_NO_SYMLINKS);
}

static long open_name(struct opening *opening)
{
	struct qsb__stop *stop = opening->stop;
	struct stat status, *found = NULL;
	int code, fd, flags;
	unsigned hurry;

	opening->folder = qsb__resolve_parent(stop, opening->start, opening->path, &opening->last);
	if (opening->folder < 0)
		return opening->folder;
	code = qsb__judge_place(stop, opening->folder, opening->last, &opening->place);
	if (code != 0)
		return code;
	qsb__resolve_bare(opening->last, opening->name);
	fd = open_new(opening);
	opening->made = fd >= 0;
	if (fd >= 0)
		return fd;
	if (fstatat(opening->folder, opening->name, &status, AT_SYMLINK_NOFOLLOW) == 0)
		found = &status;
	else if (errno == ENOENT && !(opening->flags & O_CREAT) && opening->place.named)
		return -ENOENT;
	code = judge_name(opening, found);
	if (code == 0 && !found)
		code = qsb__git_judge_room(stop, opening->last, &opening->place);
	if (code != 0)
		return code;
	if (strcmp(opening->place.path, "/dev/tty") == 0)
		return open_object(opening, find_terminal(stop));
	flags = opening->flags;
	/* A plain file that is only read makes nobody wait, but for a lease of the sandbox's own. */
	hurry = found && S_ISREG(found->st_mode) && !changes(flags) ? 0 : O_NONBLOCK;
	if (((flags & O_CREAT) && !qsb__stop_take_umask(stop)) || !qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	if (found && S_ISFIFO(found->st_mode) && (flags & (O_ACCMODE | O_NONBLOCK)) == O_RDONLY)
		return open_otherwise(opening, EWOULDBLOCK, found);
	/* Not O_NOFOLLOW, which F_GETFL would show; O_NOCTTY, or a terminal would become ours. */
	fd = qsb__resolve_open(opening->folder, opening->last, (unsigned)(flags | O_NOCTTY) | hurry,
			       flags & O_CREAT ? opening->mode : 0, RESOLVE_NO_SYMLINKS);
	if (fd < 0)
		return open_otherwise(opening, errno, found);
	opening->made = !found;
	if (!found)
		qsb__git_made_entry(stop, opening->folder, opening->name, &opening->place);
	return hurry ? finish(fd, flags) : fd;
}

static enum qsb__touch_kind touch_kind(const struct opening *opening)
{
	if (opening->made)
		return QSB__TOUCH_CREATE;
	return (opening->flags & O_ACCMODE) != O_RDONLY || (opening->flags & O_TRUNC) ? QSB__TOUCH_WRITE
										      : QSB__TOUCH_READ;
}

/* A file that was there is not written under a name that it has got since; one that was made goes again. */
static long look_again(struct opening *opening, long fd)
{
	const struct qsb__act act = {opening->folder, opening->last, opening->made ? "create" : "write", false, 0};
	struct qsb__place now;
	bool good;

	if (opening->made)
		good = qsb__again(opening->stop, &act, &opening->place) == 0;
	else
		good = qsb__again_is_good(opening->stop, &act, &opening->place, &now);
	if (good)
		return fd;
	close((int)fd);
	return -EACCES;
}

/* What the kernel refuses by the flags alone. */
static bool flags_fit(int flags)
{
	if (flags & NAMELESS)
		return (flags & O_DIRECTORY) && !(flags & O_CREAT) && (flags & O_ACCMODE);
	return (flags & (O_CREAT | O_DIRECTORY)) != (O_CREAT | O_DIRECTORY);
}

long qsb__call_open(struct qsb__stop *stop, const struct qsb__open_call *call)
{
	struct opening opening = {.stop = stop, .flags = (call->flags & KNOWN) | LARGE_FILE};
	struct qsb__asked_path asked;
	long result;
	int code;

	if (!flags_fit(opening.flags))
		return -EINVAL;
	if (opening.flags & (O_CREAT | NAMELESS))
		opening.mode = call->mode & 07777;
	code = qsb__stop_path(stop, call->path, opening.path, false);
	if (code != 0)
		return code;
	qsb__guard_asked(stop, &asked, call->folder, opening.path);
	if ((opening.flags & (O_CREAT | O_TRUNC | NAMELESS)) && qsb__stop_is_out_of_descriptors(stop))
		return -EMFILE;
	opening.start = qsb__resolve_start(stop, call->folder, opening.path);
	if (opening.start < 0 && opening.start != AT_FDCWD)
		return opening.start;
	if (opening.flags & NAMELESS)
		return qsb__guard_touched(stop, QSB__TOUCH_WRITE, &opening.place, open_nameless(&opening));
	do
		result = open_name(&opening);
	while (result == AGAIN);
	if (result >= 0 && (opening.made || changes(opening.flags)))
		result = look_again(&opening, result);
	qsb__guard_touched(stop, touch_kind(&opening), &opening.place, result);
	if (asked.given)
		qsb__guard_touched_as(stop, &asked, &opening.place, result);
	/* The kernel looks for a free number before anything else. */
	return result < 0 && result > QSB__STOP_GONE && qsb__stop_is_out_of_descriptors(stop) ? -EMFILE : result;
}
