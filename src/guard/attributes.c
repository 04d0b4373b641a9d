/* Changes of what exists: mode, owner, times, size, extended attributes. Arguments in memory come before the path,
 * since that is the order in which the kernel complains. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "core/cleanup.h"
#include "guard/git.h"

enum { XATTR_NAME = 255, XATTR_SIZE = 65536, nr_fchmodat2 = 452 };

struct values {
	struct timespec times[2];
	char name[XATTR_NAME + 1];
	void *value;
};

static void free_value(const struct values *values)
{
	free(values->value);
}

static int read_times(struct qsb__stop *stop, const struct qsb__change *change, struct timespec *times)
{
	int64_t raw[4] = {0};
	int code = qsb__stop_copy(stop, change->x, raw, change->form == QSB__TIMES_BUF ? 16 : 32);

	if (code != 0)
		return code;
	if (change->form == QSB__TIMES_BUF) {
		times[0] = (struct timespec){.tv_sec = raw[0]};
		times[1] = (struct timespec){.tv_sec = raw[1]};
		return 0;
	}
	if (change->form == QSB__TIMES_VAL) {
		if (raw[1] < 0 || raw[1] >= 1000000 || raw[3] < 0 || raw[3] >= 1000000)
			return -EINVAL;
		raw[1] *= 1000;
		raw[3] *= 1000;
	}
	times[0] = (struct timespec){.tv_sec = raw[0], .tv_nsec = raw[1]};
	times[1] = (struct timespec){.tv_sec = raw[2], .tv_nsec = raw[3]};
	return 0;
}

/* Attributes that the kernel itself trusts: we own the sandbox's own file systems and could set them, the command not.
 */
static bool is_for_users(const char *name)
{
	return strncmp(name, "user.", 5) == 0 || strncmp(name, "system.posix_acl_", 17) == 0;
}

static int read_attribute(struct qsb__stop *stop, const struct qsb__change *change, struct values *values)
{
	int code;

	if (change->what == QSB__CHANGE_SET && (change->flags & ~(XATTR_CREATE | XATTR_REPLACE)))
		return -EINVAL;
	code = qsb__stop_text(stop, change->x, values->name, sizeof(values->name), ERANGE);
	if (code != 0)
		return code;
	if (values->name[0] == '\0')
		return -ERANGE;
	if (change->what == QSB__CHANGE_UNSET || change->z == 0)
		return 0;
	if (change->z > XATTR_SIZE)
		return -E2BIG;
	values->value = malloc(change->z);
	return values->value ? qsb__stop_copy(stop, change->y, values->value, change->z) : -ENOMEM;
}

static int read_values(struct qsb__stop *stop, const struct qsb__change *change, struct values *values)
{
	if (change->what == QSB__CHANGE_TIMES && change->x)
		return read_times(stop, change, values->times);
	if (change->what == QSB__CHANGE_SIZE && (off_t)change->x < 0)
		return -EINVAL;
	if (change->what == QSB__CHANGE_SET || change->what == QSB__CHANGE_UNSET)
		return read_attribute(stop, change, values);
	return 0;
}

/* Another id does not exist in there. */
static int judge_owner(int object, const struct qsb__change *change)
{
	struct statvfs mount;
	uid_t user = (uid_t)change->x;
	gid_t group = (gid_t)change->y;

	if ((user == (uid_t)-1 || user == geteuid()) && (group == (gid_t)-1 || group == getegid()))
		return 0;
	return fstatvfs(object, &mount) == 0 && (mount.f_flag & ST_RDONLY) ? -EROFS : -EINVAL;
}

/* The limit is the caller's, and so is the signal. */
static bool over_limit(struct qsb__stop *stop, int object, off_t size)
{
	struct rlimit limit;
	struct stat status;

	if (prlimit((pid_t)stop->call.pid, RLIMIT_FSIZE, NULL, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	    (rlim_t)size <= limit.rlim_cur || fstat(object, &status) != 0 || !S_ISREG(status.st_mode) ||
	    size <= status.st_size)
		return false;
	qsb__pidfd_send_signal(qsb__stop_pidfd(stop, false), SIGXFSZ);
	return true;
}

static long set_size(struct qsb__stop *stop, int object, const char *path, off_t size)
{
	int fd;

	if (access(path, W_OK) == 0 && over_limit(stop, object, size))
		return -EFBIG;
	/* Somebody holds a lease: the kernel would wait for them. */
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == EWOULDBLOCK)
		return qsb__slow_truncate(stop, object, size);
	if (fd >= 0)
		close(fd);
	return truncate(path, size) < 0 ? -errno : 0;
}

static int set_attribute(const struct qsb__change *change, int object, const char *path, const struct values *values)
{
	if (!is_for_users(values->name)) {
		struct statvfs mount;

		errno = fstatvfs(object, &mount) == 0 && (mount.f_flag & ST_RDONLY) ? EROFS
			: strchr(values->name, '.') && (strncmp(values->name, "trusted.", 8) == 0 ||
							strncmp(values->name, "security.", 9) == 0)
				? EPERM
				: EOPNOTSUPP;
		return -1;
	}
	if (change->what == QSB__CHANGE_UNSET)
		return change->own ? fremovexattr(object, values->name) : removexattr(path, values->name);
	return change->own ? fsetxattr(object, values->name, values->value, change->z, change->flags)
			   : setxattr(path, values->name, values->value, change->z, change->flags);
}

static long act(struct qsb__stop *stop, const struct qsb__change *change, int object, const struct values *values)
{
	const struct timespec *times = change->x ? values->times : NULL;
	char path[64];
	long result = -1;

	/* A link of our own /proc lands on the very object, a symbolic link included. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", object);
	switch (change->what) {
	case QSB__CHANGE_MODE:
		result = change->own ? fchmod(object, (mode_t)change->x)
				     : syscall(nr_fchmodat2, object, "", (mode_t)change->x, AT_EMPTY_PATH);
		if (result < 0 && errno == ENOSYS)
			result = chmod(path, (mode_t)change->x);
		break;
	case QSB__CHANGE_OWNER:
		result = change->own ? fchown(object, (uid_t)change->x, (gid_t)change->y)
				     : fchownat(object, "", (uid_t)change->x, (gid_t)change->y, AT_EMPTY_PATH);
		break;
	case QSB__CHANGE_TIMES:
		result = change->own ? futimens(object, times)
				     : syscall(SYS_utimensat, object, "", times, AT_EMPTY_PATH);
		break;
	case QSB__CHANGE_SIZE:
		return set_size(stop, object, path, (off_t)change->x);
	case QSB__CHANGE_SET:
	case QSB__CHANGE_UNSET:
		result = set_attribute(change, object, path, values);
		break;
	}
	return result < 0 ? -errno : 0;
}

static int find_object(struct qsb__stop *stop, const struct qsb__change *change)
{
	int object;

	if (!change->own)
		return qsb__resolve_object(stop, change->folder, change->path, change->follow, change->empty);
	object = qsb__stop_descriptor(stop, change->folder);
	return object >= 0 && (fcntl(object, F_GETFL) & O_PATH) ? -EBADF : object;
}

/* git tries out whether the file system keeps an execute bit, on the settings it has just made; cp gives examples of
 * hooks the times they had. What a file says stays as it is. */
static int judge_object(struct qsb__stop *stop, const struct qsb__change *change, int object, struct qsb__place *place)
{
	int code = qsb__judge_place(stop, object, NULL, place);
	const char *slash = strrchr(place->path, '/');
	char folder[PATH_MAX];
	bool lets;
	int above;

	if (code != 0 || !place->denied)
		return code;
	if (change->what == QSB__CHANGE_SIZE || !slash || slash == place->path)
		return qsb__judge_refuse(stop, change->what == QSB__CHANGE_SIZE ? "write" : "change", place);
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - place->path), place->path);
	above = qsb__resolve(stop, AT_FDCWD, folder, true, true);
	lets = above >= 0 && qsb__judge_is_inside(stop, object, place->path) &&
	       qsb__git_lets(stop, QSB__GIT_CHANGE, above, slash + 1, place);
	return lets ? 0 : qsb__judge_refuse(stop, "change", place);
}

long qsb__call_change(struct qsb__stop *stop, struct qsb__change *change)
{
	struct values values QSB_CLEANUP(free_value) = {.value = NULL};
	struct qsb__place place;
	struct stat status;
	long result;
	int object, code = read_values(stop, change, &values);

	if (code != 0)
		return code;
	if (change->what == QSB__CHANGE_TIMES && change->x && change->form == QSB__TIMES_SPEC &&
	    values.times[0].tv_nsec == UTIME_OMIT && values.times[1].tv_nsec == UTIME_OMIT)
		return 0;
	if (change->what == QSB__CHANGE_TIMES && (change->flags & ~QSB__CHANGE_FLAGS))
		return -EINVAL;
	object = find_object(stop, change);
	if (object < 0)
		return object;
	code = change->what == QSB__CHANGE_OWNER ? judge_owner(object, change) : 0;
	if (code == 0)
		code = judge_object(stop, change, object, &place);
	if (code == 0 && change->what == QSB__CHANGE_SIZE && fstat(object, &status) == 0 && S_ISREG(status.st_mode))
		code = qsb__judge_fence(stop, object, &place, NULL);
	if (code != 0)
		return code;
	/* It may become a program now: one that nobody writes any more must not be busy because of us. */
	qsb__guard_settle(stop->guard);
	if (!qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	result = act(stop, change, object, &values);
	return change->what == QSB__CHANGE_SIZE ? qsb__guard_touched(stop, QSB__TOUCH_WRITE, &place, result)
						: qsb__guard_told_touch(stop, QSB__TOUCH_WRITE, &place, result);
}
