/* What the rules say of a resolved place, by the name that the kernel has for it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/cleanup.h"
#include "guard/internal.h"

enum { LOOK_AT_MOST = 50000, DEEPEST = 128 };

static const char removed[] = " (deleted)";
/* What getcwd(2) puts before the name of a folder in other mounts than ours. */
static const char elsewhere[] = "(unreachable)";

/* Without what stands before every path of the sandbox. The new length. */
static ssize_t cut_root(const struct qsb__guard *guard, char *path, ssize_t length)
{
	if (guard->root_length && strncmp(path, guard->root, guard->root_length) == 0 &&
	    (path[guard->root_length] == '/' || path[guard->root_length] == '\0')) {
		length -= (ssize_t)guard->root_length;
		memmove(path, path + guard->root_length, (size_t)length + 1);
	}
	if (length == 0)
		path[length++] = '/', path[length] = '\0';
	return length;
}

ssize_t qsb__judge_real_name(const struct qsb__guard *guard, int fd, char *path)
{
	char number[16];
	ssize_t length;

	snprintf(number, sizeof(number), "%d", fd);
	length = readlinkat(guard->proc_self_fd, number, path, PATH_MAX);
	if (length < 0)
		return -errno;
	if (length == PATH_MAX)
		return -ENAMETOOLONG; /* nobody can say what it is called: refused */
	path[length] = '\0';
	return cut_root(guard, path, length);
}

/*
 * The same for a folder, in a third of the time: this thread goes there, since its working folder is its own, and asks
 * the kernel where it is. -ENOENT: it was removed. What cannot be said like this is asked for in the other way.
 */
static ssize_t folder_name(struct qsb__stop *stop, int fd, char *path)
{
	size_t skip = sizeof(elsewhere) - 1;
	long size;

	if (fd != stop->tasks->at) {
		stop->tasks->at = -1;
		if (fchdir(fd) != 0)
			return qsb__judge_real_name(stop->guard, fd, path);
	}
	size = syscall(SYS_getcwd, path, PATH_MAX);
	if (size <= 0)
		return errno == ENOENT ? -ENOENT : qsb__judge_real_name(stop->guard, fd, path);
	if (strncmp(path, elsewhere, skip) == 0) {
		size -= (long)skip;
		memmove(path, path + skip, (size_t)size);
	}
	return path[0] == '/' ? cut_root(stop->guard, path, size - 1) : qsb__judge_real_name(stop->guard, fd, path);
}

bool qsb__judge_is_still(struct qsb__stop *stop, int folder, const struct qsb__place *judged)
{
	const char *slash = strrchr(judged->path, '/');
	char path[QSB__GUARD_PATH];
	ssize_t length = folder_name(stop, folder, path);
	size_t size = slash && slash > judged->path ? (size_t)(slash - judged->path) : 1;

	return length >= 0 && (size_t)length == size && memcmp(path, judged->path, size) == 0;
}

bool qsb__judge_is_removed(int fd, const char *path, size_t length)
{
	size_t tail = sizeof(removed) - 1;
	struct stat status;

	return length > tail && memcmp(path + length - tail, removed, tail) == 0 && fstat(fd, &status) == 0 &&
	       status.st_nlink == 0;
}

/* No rule reaches it, nor anything below it. */
static int leave_unnamed(struct qsb__place *place)
{
	memset(&place->state, 0, sizeof(place->state));
	return 0;
}

int qsb__judge_place(struct qsb__stop *stop, int fd, const char *last, struct qsb__place *place)
{
	struct qsb__guard *guard = stop->guard;
	const struct qsb__names *names = qsb__guard_names(guard);
	ssize_t length = last ? folder_name(stop, fd, place->path) : qsb__judge_real_name(guard, fd, place->path);

	place->named = false;
	place->denied = NULL;
	if (last && length == -ENOENT)
		return leave_unnamed(place);
	if (length < 0 || guard->rootless || !names)
		return length < 0 ? (int)length : -EACCES;
	/* A pipe, a socket, a memory file, what was removed: the rules are about names. */
	if (place->path[0] != '/' || qsb__judge_is_removed(fd, place->path, (size_t)length))
		return leave_unnamed(place);
	if (last && !qsb__resolve_is_dots(last)) {
		size_t size = strcspn(last, "/");

		/* Nearly everywhere no such name exists: the call fails by itself, in the kernel's order of complaints.
		 * Where one could be made it is refused, since it cannot be judged. */
		if (size > NAME_MAX)
			return qsb__resolve_overlong(fd) == ENOENT ? -ENAMETOOLONG : leave_unnamed(place);
		if (length > 1)
			place->path[length++] = '/';
		memcpy(place->path + length, last, size);
		place->path[(size_t)length + size] = '\0';
	}
	place->named = true;
	memcpy(stop->seen[stop->seen_count++ & 1], place->path, strlen(place->path) + 1);
	place->denied = qsb__names_judge(names, place->path, QSB__ACCESS_WRITE, &place->state);
	return 0;
}

int qsb__judge_refuse(struct qsb__stop *stop, const char *operation, const struct qsb__place *place)
{
	qsb__guard_deny(stop, operation, place->path, place->denied);
	return -EACCES;
}

/* A link may not stand where a denied path begins: what lies below it would have another real name. Where the kernel
 * would fail anyway, its own errno says more: mkdir -p counts on it. */
int qsb__judge_creation(struct qsb__stop *stop, int folder, const char *last, bool is_link,
			const struct qsb__place *place)
{
	char name[NAME_MAX + 1];
	struct stat status;

	if (!place->named || qsb__resolve_is_dots(last))
		return 0;
	if (place->denied || (is_link && place->state.begins)) {
		if (fstatat(folder, qsb__resolve_bare(last, name), &status, AT_SYMLINK_NOFOLLOW) == 0)
			return -EEXIST;
		return qsb__judge_refuse(stop, "create", place);
	}
	return qsb__judge_fence(stop, folder, place, NULL);
}

int qsb__judge_new(struct qsb__stop *stop, int folder, const char *last, bool is_link, struct qsb__place *place)
{
	int code = qsb__judge_place(stop, folder, last, place);

	return code != 0 ? code : qsb__judge_creation(stop, folder, last, is_link, place);
}

int qsb__judge_object(struct qsb__stop *stop, int object, const char *operation, struct qsb__place *place)
{
	int code = qsb__judge_place(stop, object, NULL, place);

	return code == 0 && place->denied ? qsb__judge_refuse(stop, operation, place) : code;
}

int qsb__judge_reading(struct qsb__stop *stop, const struct qsb__place *place)
{
	const struct qsb__guard *guard = stop->guard;
	struct qsb__name_state state;
	const struct qsb__step *step;

	/* Whatever denies reading denies writing. */
	if (!guard->stops_reading || !place->named || !place->denied)
		return 0;
	step = qsb__names_judge(qsb__guard_names(stop->guard), place->path, QSB__ACCESS_READ, &state);
	if (!step)
		return 0;
	qsb__guard_deny(stop, "read", place->path, step);
	return -EACCES;
}

bool qsb__judge_is_stream(const struct qsb__guard *guard, const struct stat *status)
{
	for (size_t i = 0; i < guard->stream_count; i++)
		if (guard->streams[i].device == status->st_dev && guard->streams[i].inode == status->st_ino)
			return true;
	return false;
}

bool qsb__judge_is_read_only(int fd)
{
	struct statvfs mount;

	return fstatvfs(fd, &mount) == 0 && (mount.f_flag & ST_RDONLY);
}

/* Does it lie in the same mount as the nearest folder above it that can be reached? The numbers of mounts are unique
 * on the host: what was handed in has one that is nowhere in the sandbox. */
static bool shares_mount(int root, int object, const char *path)
{
	char above[QSB__GUARD_PATH];
	char *slash;

	snprintf(above, sizeof(above), "%s", path);
	while ((slash = strrchr(above, '/')) && slash > above) {
		QSB_CLEANUP_FD int fd = -1;
		struct statx a, b;

		*slash = '\0';
		fd = qsb__resolve_open(root, above, O_PATH | O_NOFOLLOW, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
		if (fd >= 0)
			return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &a) == 0 &&
			       statx(object, "", AT_EMPTY_PATH, STATX_MNT_ID, &b) == 0 &&
			       (a.stx_mask & b.stx_mask & STATX_MNT_ID) && a.stx_mnt_id == b.stx_mnt_id;
		if (errno != EACCES && errno != ENOENT)
			return false;
	}
	return false;
}

bool qsb__judge_is_inside(struct qsb__stop *stop, int object, const char *path)
{
	int root = qsb__resolve_root(stop);
	QSB_CLEANUP_FD int fd = -1;

	if (root < 0)
		return false;
	fd = qsb__resolve_open(root, path, O_PATH | O_NOFOLLOW, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (fd >= 0)
		return qsb__resolve_is_same(fd, object);
	/* A folder that was closed since, a name that is gone while another one is left: who holds the file may open it
	 * again, without the way there. */
	return (errno == EACCES || errno == ENOENT) && shares_mount(root, object, path);
}

static bool is_foreign(struct qsb__stop *stop, int fd)
{
	char path[QSB__GUARD_PATH];

	return stop->guard->passed &&
	       (qsb__judge_real_name(stop->guard, fd, path) < 0 || !qsb__judge_is_inside(stop, fd, path));
}

int qsb__judge_fence(struct qsb__stop *stop, int fd, const struct qsb__place *place, const struct stat *special)
{
	struct stat status;

	if (!place->named || (place->state.writable && !is_foreign(stop, fd)))
		return 0;
	/* A read-only mount answers by itself, in its own words. Another one was handed in from outside. */
	if (!special && qsb__judge_is_read_only(fd))
		return 0;
	if (special ? qsb__judge_is_stream(stop->guard, special)
		    : fstat(fd, &status) == 0 && qsb__judge_is_stream(stop->guard, &status))
		return 0;
	return -EACCES;
}

int qsb__judge_mount(int folder, const char *name)
{
	struct statx status;

	/* Where that is not to be known, the folder is shut, or somebody else's file system is in the way. */
	if (statx(folder, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &status) != 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ? 0
		       : errno == EACCES                                            ? -EACCES
										    : -EBUSY;
	return !(status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) || (status.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		       ? -EBUSY
		       : 0;
}

/* Landlock tells kinds of files apart, which mounts cannot. What a read-only mount or a name that is there already
 * stops gets its answer from the kernel. */
int qsb__judge_kind(int folder, const char *last, mode_t mode, const struct qsb__place *place)
{
	char name[NAME_MAX + 1];
	struct stat status;
	bool device = S_ISCHR(mode) || S_ISBLK(mode);

	if ((!device && !S_ISFIFO(mode)) || (!device && place->state.scratch) || strchr(last, '/') ||
	    strlen(last) > NAME_MAX || qsb__judge_is_read_only(folder) || qsb__resolve_is_proc(folder))
		return 0;
	if (fstatat(folder, qsb__resolve_bare(last, name), &status, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return errno == ENOENT ? -EACCES : 0;
}

struct search {
	const struct qsb__names *names;
	unsigned left, depth; /* entries to look at; folders above the present one */
};

static bool holds(struct search *search, int folder, const struct qsb__name_state *state);

/* Would the entry be denied, or does it hold one that would? */
static bool holds_entry(struct search *search, int folder, const struct dirent *entry,
			const struct qsb__name_state *above)
{
	const struct qsb__names *names = search->names;
	struct qsb__name_state state = *above;
	QSB_CLEANUP_FD int fd = -1;

	if (search->left == 0 || search->depth == DEEPEST)
		return true;
	search->left--;
	qsb__names_enter(names, &state, entry->d_name, strlen(entry->d_name));
	if (qsb__names_denied(names, &state))
		return true;
	if (!qsb__names_hold_below(names, &state) || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
		return false;
	fd = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOTDIR && errno != ELOOP && errno != ENOENT;
	return holds(search, fd, &state);
}

static bool holds(struct search *search, int folder, const struct qsb__name_state *state)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool found = false;

	if (!list) {
		if (fd >= 0)
			close(fd);
		return true; /* nobody can look: refused */
	}
	search->depth++;
	while (!found && (entry = readdir(list)))
		found = !qsb__resolve_is_dots(entry->d_name) && holds_entry(search, fd, entry, state);
	search->depth--;
	closedir(list);
	return found;
}

/*
 * Does the folder hold a name that is denied once it stands at `now`, and was not at `before`? Only the difference of
 * the two is looked for: what a rule for any depth denies is denied before and after. For ordinary folders the
 * difference is empty, and nothing is read.
 */
bool qsb__judge_holds(struct qsb__guard *guard, int folder, const struct qsb__name_state *now,
		      const struct qsb__name_state *before)
{
	const struct qsb__names *names = qsb__guard_names(guard);
	struct search search = {.names = names, .left = LOOK_AT_MOST};
	struct qsb__name_state difference;

	return qsb__names_difference(names, now, before, &difference) && holds(&search, folder, &difference);
}
