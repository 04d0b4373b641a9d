/*
 * Paths, resolved as the caller would: from its own root and folders, in its own mounts. One openat2 does it where it
 * can. It cannot from outside for "..", which must stop at the caller's root, for absolute links below a relative path,
 * for /proc/self, which would be this process, and for the magic links of /proc: those are walked step by step.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <linux/magic.h>

#include "core/cleanup.h"
#include "guard/internal.h"

enum { LINKS_MAX = 40, PROC_ROOT_INODE = 1 };

struct walk {
	struct qsb__stop *stop;
	int root, at; /* `at` is the walk's own */
	unsigned links;
	char rest[2 * PATH_MAX + 2]; /* still to go */
	char name[NAME_MAX + 1];     /* the component on hand */
	bool more, slash;            /* after it */
};

/* The same for all processes of the sandbox: none may change it. So the first caller's is kept. */
int qsb__resolve_root(struct qsb__stop *stop)
{
	int *root = &stop->guard->root_fd;
	int none = -1, fd = __atomic_load_n(root, __ATOMIC_ACQUIRE);

	if (fd >= 0)
		return fd;
	fd = qsb__stop_open(stop, "root", O_PATH | O_DIRECTORY);
	if (fd < 0 || !qsb__stop_waits(stop))
		return fd < 0 ? fd : -ESRCH;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0 && !__atomic_compare_exchange_n(root, &none, fd, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		close(fd);
		return none;
	}
	return fd < 0 ? -errno : fd;
}

/* Where a relative path starts: a descriptor, or a negative errno. An absolute one needs none: AT_FDCWD then. */
int qsb__resolve_start(struct qsb__stop *stop, int folder, const char *path)
{
	int start = AT_FDCWD;

	if (path[0] != '/')
		start = folder == AT_FDCWD ? qsb__stop_cwd(stop) : qsb__stop_descriptor(stop, folder);
	memcpy(stop->asked, path, strlen(path) + 1);
	stop->asked_start = start;
	return start;
}

bool qsb__resolve_is_proc(int fd)
{
	struct statfs status;

	return fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

int qsb__resolve_open(int folder, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .mode = mode, .resolve = resolve};

	return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

bool qsb__resolve_is_same(int a, int b)
{
	struct statx x, y;

	return statx(a, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &x) == 0 &&
	       statx(b, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &y) == 0 && x.stx_ino == y.stx_ino &&
	       x.stx_mnt_id == y.stx_mnt_id;
}

bool qsb__resolve_share_mount(int a, int b)
{
	struct statx x, y;

	return statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) != 0 ||
	       statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &y) != 0 || x.stx_mnt_id == y.stx_mnt_id;
}

static bool is_folder(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

int qsb__resolve_overlong(int folder)
{
	char name[NAME_MAX + 2];
	struct stat status;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? ENOENT : errno;
}

/* Takes the next component off the rest. 1, 0 at the end, or -ENAMETOOLONG. */
static int next_name(struct walk *walk)
{
	char *at = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(at, "/"), slashes = strspn(at + length, "/");

	if (length == 0)
		return 0;
	if (length > NAME_MAX) {
		int error = qsb__resolve_overlong(walk->at);

		return error == ENOENT ? -ENAMETOOLONG : -error;
	}
	memcpy(walk->name, at, length);
	walk->name[length] = '\0';
	walk->slash = slashes > 0;
	at += length + slashes;
	walk->more = *at != '\0';
	memmove(walk->rest, at, strlen(at) + 1);
	return 1;
}

/* /proc/self and /proc/thread-self speak of whoever reads them: here they must mean the caller. */
static void name_caller(struct walk *walk)
{
	bool self = strcmp(walk->name, "self") == 0;
	char text[QSB__STATUS_BYTES];
	struct stat status;

	if ((!self && strcmp(walk->name, "thread-self") != 0) || !qsb__resolve_is_proc(walk->at) ||
	    fstat(walk->at, &status) != 0 || status.st_ino != PROC_ROOT_INODE || !qsb__stop_status(walk->stop, text))
		return;
	if (self)
		snprintf(walk->name, sizeof(walk->name), "%d", qsb__status_innermost(text, "NStgid"));
	else
		snprintf(walk->name, sizeof(walk->name), "%d/task/%d", qsb__status_innermost(text, "NStgid"),
			 qsb__status_innermost(text, "NSpid"));
}

/* Is it one of the links of /proc that lead to an open file, not to a name? */
static bool is_magic(int folder, const char *name)
{
	int fd;

	if (!qsb__resolve_is_proc(folder))
		return false;
	fd = qsb__resolve_open(folder, name, O_PATH, 0, RESOLVE_NO_MAGICLINKS);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == ELOOP;
}

/* Puts what the link says before the rest of the path. */
static int take_link(struct walk *walk, int link)
{
	char text[PATH_MAX];
	ssize_t length = readlinkat(link, "", text, sizeof(text) - 1);
	size_t rest = strlen(walk->rest);
	const char *between = walk->slash ? "/" : "";

	if (length <= 0)
		return length < 0 ? -errno : -ENOENT;
	/* Two links of the greatest length fit: more is one that leads to itself with ever more behind it. */
	if ((size_t)length + rest + 2 >= sizeof(walk->rest))
		return -ELOOP;
	memmove(walk->rest + (size_t)length + strlen(between), walk->rest, rest + 1);
	memcpy(walk->rest, text, (size_t)length);
	memcpy(walk->rest + length, between, strlen(between));
	if (text[0] == '/') {
		close(walk->at);
		walk->at = fcntl(walk->root, F_DUPFD_CLOEXEC, 0);
	}
	return walk->at < 0 ? -errno : 0;
}

/*
 * One component down. A magic link is followed as the caller could: whatever it leads to is under the same rules, and
 * is judged by its real name afterwards.
 */
static int step(struct walk *walk, bool follow)
{
	QSB_CLEANUP_FD int next = -1;
	struct stat status;

	if (strcmp(walk->name, "..") == 0 && qsb__resolve_is_same(walk->at, walk->root))
		return 0;
	if (strcmp(walk->name, ".") == 0 || strcmp(walk->name, "..") == 0) {
		next = openat(walk->at, walk->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	} else {
		name_caller(walk);
		next = openat(walk->at, walk->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next >= 0 && fstat(next, &status) == 0 && S_ISLNK(status.st_mode) &&
		    (walk->more || walk->slash || follow)) {
			if (++walk->links > LINKS_MAX)
				return -ELOOP;
			if (!is_magic(walk->at, walk->name))
				return take_link(walk, next);
			close(next);
			next = openat(walk->at, walk->name, O_PATH | O_CLOEXEC);
		}
	}
	if (next < 0)
		return -errno;
	if ((walk->more || walk->slash) && !is_folder(next))
		return -ENOTDIR;
	close(walk->at);
	walk->at = qsb__take_fd(&next);
	return 0;
}

static int walk_path(struct qsb__stop *stop, int start, const char *path, bool follow, bool folder)
{
	struct walk walk = {.stop = stop, .root = qsb__resolve_root(stop)};
	int code;

	if (walk.root < 0)
		return walk.root;
	walk.at = fcntl(path[0] == '/' ? walk.root : start, F_DUPFD_CLOEXEC, 0);
	if (walk.at < 0)
		return -errno;
	memcpy(walk.rest, path, strlen(path) + 1);
	while ((code = next_name(&walk)) > 0 && (code = step(&walk, follow)) == 0)
		;
	if (code == 0 && folder && !is_folder(walk.at))
		code = -ENOTDIR;
	if (code == 0)
		return qsb__stop_keep(stop, walk.at);
	if (walk.at >= 0)
		close(walk.at);
	return code;
}

static bool goes_up(const char *path)
{
	for (; (path = strstr(path, "..")); path += 2)
		if (path[2] == '/' || path[2] == '\0')
			return true;
	return false;
}

/*
 * Is it certain that the caller would not find it either? /proc/self is a link that only its own processes can read, so
 * "no such file" says nothing after a link was followed.
 */
static bool is_missing(int from, const char *path, bool absolute, int error)
{
	int fd;

	if (error != ENOENT || !absolute)
		return error == ENOENT;
	fd = qsb__resolve_open(from, path, O_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == ENOENT;
}

int qsb__resolve(struct qsb__stop *stop, int start, const char *path, bool follow, bool folder)
{
	bool absolute = path[0] == '/';
	int from = absolute ? qsb__resolve_root(stop) : start;
	uint64_t flags = O_PATH | (follow ? 0U : (unsigned)O_NOFOLLOW) | (folder ? (unsigned)O_DIRECTORY : 0U);
	int fd, error;

	if (from < 0)
		return from;
	if (!absolute && goes_up(path))
		return walk_path(stop, start, path, follow, folder);
	fd = qsb__resolve_open(from, path, flags, 0,
			       RESOLVE_NO_MAGICLINKS | (absolute ? RESOLVE_IN_ROOT : RESOLVE_NO_SYMLINKS));
	if (fd >= 0)
		return qsb__stop_keep(stop, fd);
	error = errno;
	if (is_missing(from, path, absolute, error) ||
	    (error != ENOENT && error != ELOOP && error != EXDEV && error != EAGAIN))
		return -error;
	return walk_path(stop, start, path, follow, folder);
}

int qsb__resolve_parent(struct qsb__stop *stop, int start, char *path, const char **last)
{
	size_t end = strlen(path), begin;
	char folder[PATH_MAX];

	while (end > 0 && path[end - 1] == '/')
		end--;
	if (end == 0) {
		*last = "."; /* "/": the same answers, but for rmdir */
		return qsb__resolve_root(stop);
	}
	for (begin = end; begin > 0 && path[begin - 1] != '/'; begin--)
		;
	*last = path + begin;
	if (begin == 0)
		return start;
	memcpy(folder, path, begin);
	folder[begin] = '\0';
	return qsb__resolve(stop, start, folder, true, true);
}

int qsb__resolve_folder(struct qsb__stop *stop, int folder, char *path, const char **last)
{
	int start = qsb__resolve_start(stop, folder, path);

	if (start < 0 && start != AT_FDCWD)
		return start;
	return qsb__resolve_parent(stop, start, path, last);
}

int qsb__resolve_object(struct qsb__stop *stop, int folder, uint64_t from, bool follow, bool empty_allowed)
{
	char path[PATH_MAX];
	int code = qsb__stop_path(stop, from, path, empty_allowed);
	int start;

	if (code != 0)
		return code;
	start = qsb__resolve_start(stop, folder, path);
	if (start < 0 && start != AT_FDCWD)
		return start;
	return path[0] == '\0' ? start : qsb__resolve(stop, start, path, follow, false);
}

bool qsb__resolve_is_dots(const char *last)
{
	size_t length = strcspn(last, "/");

	return last[0] == '.' && (length == 1 || (length == 2 && last[1] == '.'));
}

const char *qsb__resolve_bare(const char *last, char *name)
{
	size_t length = strcspn(last, "/");

	if (length > NAME_MAX)
		length = NAME_MAX;
	memcpy(name, last, length);
	name[length] = '\0';
	return name;
}
