/* Making and removing names: mkdir, mknod, symlink, link, unlink, rmdir. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "guard/git.h"

/* Reads the path and finds the folder of its last component. `path` holds PATH_MAX bytes. */
static int find_folder(struct qsb__stop *stop, int folder, uint64_t from, char *path, const char **last)
{
	int code = qsb__stop_path(stop, from, path, false);

	*last = path;
	return code != 0 ? code : qsb__resolve_folder(stop, folder, path, last);
}

static long outcome(int result)
{
	return result < 0 ? -errno : 0;
}

/* Some ways to make a repository make its `hooks`, with nothing in it that git would run. */
static int judge_new_folder(struct qsb__stop *stop, int at, const char *last, struct qsb__place *place)
{
	int code = qsb__judge_place(stop, at, last, place);

	if (code != 0 || qsb__resolve_is_dots(last) || !qsb__git_lets(stop, QSB__GIT_MAKE, at, last, place))
		return code != 0 ? code : qsb__judge_creation(stop, at, last, false, place);
	return qsb__judge_fence(stop, at, place, NULL);
}

long qsb__call_make_dir(struct qsb__stop *stop, int folder, uint64_t path, mode_t mode)
{
	struct qsb__place place;
	long result;
	char text[PATH_MAX];
	const char *last;
	int at = find_folder(stop, folder, path, text, &last);
	int code;

	if (at < 0)
		return at;
	code = judge_new_folder(stop, at, last, &place);
	if (code == 0)
		code = qsb__git_judge_room(stop, last, &place);
	if (code != 0)
		return code;
	if (!qsb__stop_take_umask(stop) || !qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	result = outcome(mkdirat(at, last, mode));
	if (result == 0)
		result = qsb__again(stop, &(struct qsb__act){at, last, "create", false, AT_REMOVEDIR}, &place);
	if (result == 0)
		qsb__git_made_folder(stop, at, last, &place);
	return qsb__guard_touched(stop, QSB__TOUCH_CREATE, &place, result);
}

/* A new entry: looked at again, and remembered where it may make a git folder. */
static long settle(struct qsb__stop *stop, const struct qsb__act *act, const struct qsb__place *place, long result)
{
	if (result == 0)
		result = qsb__again(stop, act, place);
	if (result == 0)
		qsb__git_made_entry(stop, act->folder, act->last, place);
	return result;
}

/* What the kernel says of the type before it looks at the path. */
static int judge_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case 0:
	case S_IFREG:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return 0;
	default:
		return S_ISDIR(mode) ? -EPERM : -EINVAL;
	}
}

long qsb__call_make_node(struct qsb__stop *stop, int folder, uint64_t path, mode_t mode, dev_t device)
{
	struct qsb__place place;
	char text[PATH_MAX];
	const char *last;
	long result;
	int at, code;

	code = judge_type(mode);
	if (code != 0)
		return code;
	mode &= S_IFMT | 07777;
	at = find_folder(stop, folder, path, text, &last);
	if (at < 0)
		return at;
	code = qsb__judge_new(stop, at, last, false, &place);
	if (code == 0)
		code = qsb__judge_kind(at, last, mode, &place);
	if (code == 0)
		code = qsb__git_judge_room(stop, last, &place);
	if (code != 0)
		return code;
	if (!qsb__stop_take_umask(stop) || !qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	result = outcome(mknodat(at, last, mode, device));
	result = settle(stop, &(struct qsb__act){at, last, "create", false, 0}, &place, result);
	return qsb__guard_touched(stop, QSB__TOUCH_CREATE, &place, result);
}

long qsb__call_symlink(struct qsb__stop *stop, uint64_t target, int folder, uint64_t path)
{
	struct qsb__place place;
	long result;
	char text[PATH_MAX], link[PATH_MAX];
	const char *last;
	int at, code = qsb__stop_path(stop, target, link, false);

	if (code != 0)
		return code;
	at = find_folder(stop, folder, path, text, &last);
	if (at < 0)
		return at;
	code = qsb__judge_new(stop, at, last, true, &place);
	if (code == 0)
		code = qsb__git_judge_room(stop, last, &place);
	if (code != 0)
		return code;
	if (!qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	result = outcome(symlinkat(link, at, last));
	result = settle(stop, &(struct qsb__act){at, last, "create", true, 0}, &place, result);
	return qsb__guard_touched(stop, QSB__TOUCH_CREATE, &place, result);
}

/* A second name would be a way around the first; one that may not be read is not copied that way either. */
long qsb__call_link(struct qsb__stop *stop, const struct qsb__two_paths *call)
{
	long result;
	int object, at, code;
	struct qsb__place place, from;
	char text[PATH_MAX], path[64];
	const char *last;
	struct stat status;

	if (call->flags & ~(unsigned)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	object = qsb__resolve_object(stop, call->from_folder, call->from, call->flags & AT_SYMLINK_FOLLOW,
				     call->flags & AT_EMPTY_PATH);
	if (object < 0)
		return object;
	at = find_folder(stop, call->to_folder, call->to, text, &last);
	if (at < 0)
		return at;
	if (fstat(object, &status) != 0)
		return -errno;
	code = qsb__judge_new(stop, at, last, S_ISLNK(status.st_mode), &place);
	/* From another mount the kernel links nothing, and says so before anything else. */
	if (code == 0 && qsb__resolve_share_mount(object, at))
		code = qsb__judge_kind(at, last, status.st_mode, &place);
	if (code == 0)
		code = qsb__judge_object(stop, object, "link", &from);
	if (code == 0)
		code = qsb__git_judge_room(stop, last, &place);
	if (code != 0)
		return code;
	if (!qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", object);
	result = outcome(linkat(AT_FDCWD, path, at, last, AT_SYMLINK_FOLLOW));
	result = settle(stop, &(struct qsb__act){at, last, "create", S_ISLNK(status.st_mode), 0}, &place, result);
	return qsb__guard_touched(stop, QSB__TOUCH_REPLACE, &place, result);
}

long qsb__call_remove(struct qsb__stop *stop, int folder, uint64_t path, int flags)
{
	struct qsb__place place;
	char text[PATH_MAX], name[NAME_MAX + 1];
	struct stat status;
	const char *last;
	int at, code;

	if (flags & ~AT_REMOVEDIR)
		return -EINVAL;
	at = find_folder(stop, folder, path, text, &last);
	if (at < 0)
		return at;
	if (flags && text[strspn(text, "/")] == '\0')
		return -EBUSY;
	code = qsb__judge_place(stop, at, last, &place);
	if (code != 0)
		return code;
	if (place.denied && !qsb__resolve_is_dots(last) && !qsb__git_lets(stop, QSB__GIT_REMOVE, at, last, &place)) {
		if (fstatat(at, qsb__resolve_bare(last, name), &status, AT_SYMLINK_NOFOLLOW) != 0)
			return -errno;
		return qsb__judge_refuse(stop, "remove", &place);
	}
	code = qsb__judge_fence(stop, at, &place, NULL);
	if (code == 0 && !qsb__resolve_is_dots(last) && !qsb__judge_is_read_only(at))
		code = qsb__judge_mount(at, qsb__resolve_bare(last, name));
	if (code != 0)
		return code;
	if (!qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	return qsb__guard_touched(stop, QSB__TOUCH_REMOVE, &place, outcome(unlinkat(at, last, flags)));
}
