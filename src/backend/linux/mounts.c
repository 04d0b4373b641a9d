/*
 * Arranges what the sandbox can see. Runs in the child, in its own mount namespace, with its own capabilities there.
 *
 * The order matters:
 *   1. clone what must stay writable, and the device nodes, from the host's tree as it is;
 *   2. make the whole tree read-only, without device nodes and setuid, and private (a mount that the host makes later
 *      must not appear in here);
 *   3. clone what will be out of sight later: these clones are read-only already;
 *   4. put everything on top, parents first.
 * The host's own mounts are locked below (another user namespace made them), so nothing inside can take a layer away.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "core/error.h"

/* The state of one arrangement. */
struct work {
	const struct qsb__mounts *mounts;
	struct qsb__mounted *mounted;
	struct qsb__devices devices;
	int root;     /* the root that everything is mounted below */
	int *sources; /* by mount: the early clone, or -1 */
	int mask_file, mask_dir;
	struct qsb__mask_mount *masks; /* those that tell */
};

static int clone_source(const struct qsb__mount *mount, int *out)
{
	QSB_CLEANUP_FD int found = -1;
	int code = qsb__tree_find(mount->path, &found);

	if (code == 0)
		code = qsb__tree_clone(found, "", true, out);
	return code;
}

/* Early clones: with `writable` those that must be made before the tree becomes read-only, else the others. */
static int clone_early(struct work *work, bool writable, struct qsb_error *err)
{
	for (size_t i = 0; i < work->mounts->count; i++) {
		const struct qsb__mount *mount = &work->mounts->list[i];
		int code;

		if (!mount->early || mount->writable != writable)
			continue;
		code = clone_source(mount, &work->sources[i]);
		if (code == 0 && writable)
			code = qsb__tree_attributes(work->sources[i], MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, true);
		if (code != 0)
			return qsb__fail_os(err, -code, "mounts", "cannot use %s", mount->path);
	}
	return 0;
}

static int close_host_tree(const struct work *work, struct qsb_error *err)
{
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    (work->mounts->root_writable ? 0U : (unsigned)MOUNT_ATTR_RDONLY),
		.propagation = MS_PRIVATE,
	};

	if (qsb__mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr) == 0)
		return 0;
	if (errno == EINVAL)
		return qsb__fail(err, QSB_E_UNSUPPORTED, "mounts",
				 "the root folder is not a mount of its own (a chroot): start from outside the chroot");
	return qsb__fail_os(err, errno, "mounts", "cannot make the host's files read-only");
}

/*
 * One tmpfs serves everything that is the sandbox's own, so that one size bounds it all. It is first attached at /dev,
 * which the new /dev covers later: kernels before 6.15 clone no part of a file system that is not attached anywhere.
 */
static int make_scratch(struct work *work, struct qsb_error *err)
{
	const char *const options[][2] = {
		{"mode", "0755"}, {"size", work->mounts->size}, {"nr_inodes", work->mounts->inodes}, {NULL, NULL}};
	struct stat status;
	int fd = -1;
	int file;
	int code = qsb__tree_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &fd);

	work->mounted->scratch_fd = fd;
	if (code == 0 && qsb__move_mount(fd, AT_FDCWD, "/dev", 0) != 0)
		code = -errno;
	if (code != 0 || fstat(fd, &status) != 0)
		return qsb__fail_os(err, code ? -code : errno, "mounts", "cannot make the private scratch space");
	work->mounted->scratch_device = status.st_dev;
	if (mkdirat(fd, "masks", 0700) != 0 || mkdirat(fd, "masks/dir", 0) != 0 || mkdirat(fd, "dev", 0755) != 0 ||
	    mkdirat(fd, "shm", 0) != 0 || fchmodat(fd, "shm", 01777, 0) != 0)
		return qsb__fail_os(err, errno, "mounts", "cannot fill the private scratch space");
	file = openat(fd, "masks/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0);
	if (file < 0)
		return qsb__fail_os(err, errno, "mounts", "cannot fill the private scratch space");
	close(file);
	return 0;
}

/*
 * The masks belong to the caller's own user, who could change their mode: so they are shown through a read-only mount,
 * whose clones are read-only too.
 */
static int make_masks(struct work *work, struct qsb_error *err)
{
	QSB_CLEANUP_FD int masks = -1;
	int code = qsb__tree_clone(work->mounted->scratch_fd, "masks", false, &masks);

	if (code == 0)
		code = qsb__tree_attributes(
			masks, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, false);
	if (code == 0 && qsb__move_mount(masks, AT_FDCWD, "/dev", 0) != 0)
		code = -errno;
	if (code != 0)
		return qsb__fail_os(err, -code, "mounts", "cannot make the masks");
	work->mask_file = openat(masks, "file", O_PATH | O_CLOEXEC);
	work->mask_dir = openat(masks, "dir", O_PATH | O_CLOEXEC);
	if (work->mask_file < 0 || work->mask_dir < 0)
		return qsb__fail_os(err, errno, "mounts", "cannot open the masks");
	return 0;
}

/* The folder becomes the root of everything: the host's tree is then not there at all. */
static int make_empty_root(struct work *work, struct qsb_error *err)
{
	int scratch = work->mounted->scratch_fd;
	int code;

	if (mkdirat(scratch, "root", 0755) != 0)
		return qsb__fail_os(err, errno, "mounts", "cannot make the empty root");
	close(work->root);
	work->root = -1;
	code = qsb__tree_clone(scratch, "root", false, &work->root);
	if (code == 0 && qsb__move_mount(work->root, AT_FDCWD, "/dev", 0) != 0)
		code = -errno;
	if (code != 0)
		return qsb__fail_os(err, -code, "mounts", "cannot attach the empty root");
	return 0;
}

static int enter_empty_root(struct work *work, struct qsb_error *err)
{
	int code = qsb__tree_attributes(work->root, MOUNT_ATTR_RDONLY, false);

	if (code != 0)
		return qsb__fail_os(err, -code, "mounts", "cannot make the empty root read-only");
	if (fchdir(work->root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 ||
	    chdir("/") != 0)
		return qsb__fail_os(err, errno, "mounts", "cannot enter the empty root");
	return 0;
}

/* Whether this folder is of our own scratch file system. */
static bool is_ours(const struct work *work, int folder)
{
	struct stat status;

	return fstat(folder, &status) == 0 && status.st_dev == work->mounted->scratch_device;
}

/*
 * The folder that holds `path`, and the path's last name. What is missing of it is made, but only inside our own
 * scratch file system: on the host nothing is ever created, not even for a moment, so a place that vanished since the
 * plan was made is an error.
 */
static int make_parent(const struct work *work, const char *path, int *out, const char **last)
{
	QSB_CLEANUP_FD int folder = fcntl(work->root, F_DUPFD_CLOEXEC, 0);
	char name[256];

	for (*last = path + 1; folder >= 0; *last += strlen(name) + 1) {
		size_t length = strcspn(*last, "/");
		int next;

		if ((*last)[length] == '\0') {
			*out = qsb__take_fd(&folder);
			return 0;
		}
		if (length >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, *last, length);
		name[length] = '\0';
		next = qsb__openat2(folder, name, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
		if (next < 0 && errno == ENOENT && is_ours(work, folder) && mkdirat(folder, name, 0755) == 0)
			next = qsb__openat2(folder, name, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
		if (next < 0)
			return -errno;
		close(folder);
		folder = next;
	}
	return -errno;
}

static int make_target(const struct work *work, const struct qsb__mount *mount, int *out)
{
	QSB_CLEANUP_FD int folder = -1;
	const char *name;
	int code = make_parent(work, mount->path, &folder, &name);
	int fd;

	if (code != 0)
		return code;
	if (!is_ours(work, folder))
		return -ENOENT;
	if (mount->is_dir) {
		if (mkdirat(folder, name, 0755) != 0)
			return -errno;
	} else {
		fd = openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
		if (fd < 0)
			return -errno;
		close(fd);
	}
	*out = qsb__openat2(folder, name, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
	return *out < 0 ? -errno : 0;
}

static int make_link(const struct work *work, const struct qsb__mount *mount, struct qsb_error *err)
{
	QSB_CLEANUP_FD int folder = -1;
	const char *name;
	int code = make_parent(work, mount->path, &folder, &name);

	if (code == 0 && !is_ours(work, folder))
		code = -EROFS;
	if (code == 0 && symlinkat(mount->target, folder, name) != 0 && errno != EEXIST)
		code = -errno;
	return code == 0 ? 0 : qsb__fail_os(err, -code, "mounts", "cannot make the link %s", mount->path);
}

static int find_target(const struct work *work, const struct qsb__mount *mount, int *out)
{
	int fd = qsb__openat2(work->root, mount->path + 1, O_PATH | O_NOFOLLOW, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);

	if (fd >= 0) {
		*out = fd;
		return 0;
	}
	return errno == ENOENT ? make_target(work, mount, out) : -errno;
}

/* One of those that tell; where that cannot be had, for whatever reason, the plain one. */
static int take_mask(struct work *work, const struct qsb__mount *mount, int *out)
{
	char number[24];

	if (mount->mask > 0 && work->masks->tree >= 0) {
		int code;

		snprintf(number, sizeof(number), "%zu", mount->mask - 1);
		code = qsb__tree_clone(work->masks->tree, number, false, out);
		if (code == 0)
			return 0;
		qsb__mask_mount_abandon(work->masks, QSB__MASK_STEP_MOUNT, code);
	}
	return qsb__tree_clone(mount->source == QSB__SOURCE_MASK_FILE ? work->mask_file : work->mask_dir, "", false,
			       out);
}

/* The tree to put at one mount's place. */
static int take_source(struct work *work, size_t i, int *out)
{
	static const char *const no_options[][2] = {{NULL, NULL}};
	const struct qsb__mount *mount = &work->mounts->list[i];
	int scratch = work->mounted->scratch_fd;

	switch (mount->source) {
	case QSB__SOURCE_HOST:
		if (mount->early) {
			*out = work->sources[i];
			work->sources[i] = -1;
			return 0;
		}
		return clone_source(mount, out);
	case QSB__SOURCE_MASK_FILE:
	case QSB__SOURCE_MASK_DIR:
		return take_mask(work, mount, out);
	case QSB__SOURCE_SCRATCH:
		if (mkdirat(scratch, mount->scratch, 0700) != 0 ||
		    fchmodat(scratch, mount->scratch, mount->scratch_mode, 0) != 0)
			return -errno;
		return qsb__tree_clone(scratch, mount->scratch, false, out);
	case QSB__SOURCE_PROC:
		return qsb__tree_new("proc", no_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, out);
	case QSB__SOURCE_DEV:
	case QSB__SOURCE_LINK:
		break;
	}
	return -EINVAL;
}

/*
 * When the caller is root, uid 0 in here owns the files of the kernel's settings and needs no capability to write
 * them: only a read-only mount stops it.
 */
static int guard_proc(const struct work *work, int proc, struct qsb_error *err)
{
	static const char *const settings[] = {"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr"};
	/* For others the kernel's own check stands before all but one file of the first. */
	size_t count = work->mounts->guard_kernel ? sizeof(settings) / sizeof(settings[0]) : 1;

	for (size_t i = 0; i < count; i++) {
		QSB_CLEANUP_FD int tree = -1;
		int code = qsb__tree_clone(proc, settings[i], false, &tree);

		if (code == -ENOENT)
			continue;
		if (code == 0)
			code = qsb__tree_attributes(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
						    false);
		if (code == 0 && qsb__move_mount(tree, proc, settings[i], 0) != 0)
			code = -errno;
		if (code != 0)
			return qsb__fail_os(err, -code, "mounts", "cannot make /proc/%s read-only", settings[i]);
	}
	return 0;
}

/* What uid 0 may read there without a capability tells of the whole machine: its memory, its keys, its timers. */
static int mask_proc(const struct work *work, int proc, struct qsb_error *err)
{
	static const char *const files[] = {"kcore",         "keys",        "kpagecgroup", "kpagecount", "kpageflags",
					    "latency_stats", "sched_debug", "slabinfo",    "timer_list", "vmallocinfo"};

	for (size_t i = 0; work->mounts->guard_kernel && i < sizeof(files) / sizeof(files[0]); i++) {
		QSB_CLEANUP_FD int mask = -1;
		int code;

		if (faccessat(proc, files[i], F_OK, 0) != 0)
			continue;
		code = qsb__tree_clone(work->mask_file, "", false, &mask);
		if (code == 0 && qsb__move_mount(mask, proc, files[i], 0) != 0)
			code = -errno;
		if (code != 0)
			return qsb__fail_os(err, -code, "mounts", "cannot mask /proc/%s", files[i]);
	}
	return 0;
}

static int attach(struct work *work, size_t i, struct qsb_error *err)
{
	const struct qsb__mount *mount = &work->mounts->list[i];
	QSB_CLEANUP_FD int target = -1;
	QSB_CLEANUP_FD int tree = -1;
	int code;

	if (mount->source == QSB__SOURCE_LINK)
		return make_link(work, mount, err);
	code = find_target(work, mount, &target);
	if (code == 0 && mount->source == QSB__SOURCE_DEV)
		return qsb__devices_attach(&work->devices, work->mounted, target, err);
	if (code == 0)
		code = take_source(work, i, &tree);
	if (code == 0 && mount->set_read_only)
		code = qsb__tree_attributes(tree, MOUNT_ATTR_RDONLY, true);
	/* What has mounts inside is made read-only when they are there: see finish_scratch. */
	if (code == 0 && qsb__move_mount(tree, target, "", MOVE_MOUNT_T_EMPTY_PATH) != 0)
		code = -errno;
	if (code != 0)
		return qsb__fail_os(err, -code, "mounts", "cannot mount %s (%s)", mount->path, mount->rule);
	if (mount->source == QSB__SOURCE_PROC) {
		/* Opened to be listed: the supervisor watches memory through it. */
		work->mounted->proc_fd = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (work->mounted->proc_fd < 0)
			return qsb__fail_os(err, errno, "mounts", "cannot open %s", mount->path);
		code = guard_proc(work, tree, err);
		return code ? code : mask_proc(work, tree, err);
	}
	return 0;
}

/* Masked folders with something inside needed their mount points made; nothing more is to be written there. */
static int finish_scratch(const struct work *work, struct qsb_error *err)
{
	const struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

	for (size_t i = 0; i < work->mounts->count; i++) {
		const struct qsb__mount *mount = &work->mounts->list[i];
		QSB_CLEANUP_FD int found = -1;

		if (mount->source != QSB__SOURCE_SCRATCH || mount->writable)
			continue;
		found = qsb__openat2(work->root, mount->path + 1, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
		if (found < 0 || qsb__mount_setattr(found, "", AT_EMPTY_PATH, &attr) != 0)
			return qsb__fail_os(err, errno, "mounts", "cannot close %s", mount->path);
	}
	return 0;
}

/* The masks that tell come last: nothing lies in them, and their names must be known before. */
static int attach_all(struct work *work, struct qsb_error *err)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < work->mounts->count; i++)
		if (work->mounts->list[i].mask == 0)
			code = attach(work, i, err);
	if (code == 0)
		qsb__mask_mount_finish(work->masks, work->mounted->network, work->mounted->proc_fd);
	for (size_t i = 0; code == 0 && i < work->mounts->count; i++)
		if (work->mounts->list[i].mask > 0)
			code = attach(work, i, err);
	return code;
}

/* The supervisor begins to answer while the other mounts are made. */
static void make_telling_masks(struct work *work)
{
	qsb__mask_mount_make(work->masks);
	qsb__mask_mount_offer(work->masks);
}

static int arrange(struct work *work, struct qsb_error *err)
{
	int code = clone_early(work, true, err);

	if (code == 0)
		code = qsb__devices_clone(&work->devices, work->mounts, work->mounted->tty, err);
	if (code == 0)
		code = close_host_tree(work, err);
	if (code == 0)
		code = clone_early(work, false, err);
	if (code == 0)
		code = make_scratch(work, err);
	if (code == 0)
		code = make_masks(work, err);
	if (code == 0)
		make_telling_masks(work);
	if (code == 0 && work->mounts->empty_root)
		code = make_empty_root(work, err);
	if (code == 0)
		code = attach_all(work, err);
	if (code == 0)
		code = finish_scratch(work, err);
	if (code == 0 && work->mounts->empty_root)
		code = enter_empty_root(work, err);
	return code;
}

int qsb__mounts_apply(const struct qsb__mounts *mounts, struct qsb__mounted *mounted, struct qsb_error *err)
{
	struct work work = {.mounts = mounts,
			    .mounted = mounted,
			    .root = -1,
			    .mask_file = -1,
			    .mask_dir = -1,
			    .masks = mounted->masks};
	QSB_CLEANUP_FREE int *sources = malloc((mounts->count + 1) * sizeof(*sources));
	int code;

	if (!sources)
		return qsb__fail_memory(err, "mounts");
	for (size_t i = 0; i < mounts->count; i++)
		sources[i] = -1;
	work.sources = sources;
	mounted->proc_fd = mounted->pts_fd = mounted->scratch_fd = -1;
	work.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (work.root < 0)
		return qsb__fail_os(err, errno, "mounts", "cannot open /");
	code = arrange(&work, err);
	/* What stays open is closed with the child's other descriptors: see init.c. */
	close(work.root);
	return code;
}
