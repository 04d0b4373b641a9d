/* The sandbox's own /dev: a handful of nodes, a devpts of its own, shared memory from the scratch space. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "core/error.h"

static const char *const nodes[] = {"null", "zero", "full", "random", "urandom"};

static const struct {
	const char *name, *target;
} links[] = {
	{"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
	{"stderr", "/proc/self/fd/2"}, {"core", "/proc/kcore"},      {"ptmx", "pts/ptmx"},
};

static int clone_one(struct qsb__devices *devices, int dev, const char *name, struct qsb_error *err)
{
	struct stat status;
	int code = qsb__tree_clone(dev, name, true, &devices->fd[devices->count]);

	if (code == 0 && fstat(devices->fd[devices->count], &status) != 0)
		code = -errno;
	if (code != 0)
		return qsb__fail_os(err, -code, "mounts", "cannot use /dev/%s", name);
	/* A plain file where a device should be would be a writable file of the host. */
	if (!S_ISCHR(status.st_mode) && !S_ISDIR(status.st_mode))
		return qsb__fail(err, QSB_E_UNSUPPORTED, "mounts", "/dev/%s is not a device on this host", name);
	/* It is the host's own inode: uid 0 could change its mode for everybody. A device is written all the same. */
	code = qsb__tree_attributes(devices->fd[devices->count],
				    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, true);
	if (code != 0)
		return qsb__fail_os(err, -code, "mounts", "cannot make /dev/%s read-only", name);
	devices->name[devices->count] = name;
	devices->is_dir[devices->count++] = S_ISDIR(status.st_mode);
	return 0;
}

int qsb__devices_clone(struct qsb__devices *devices, const struct qsb__mounts *mounts, bool tty, struct qsb_error *err)
{
	int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int code = 0;

	devices->count = 0;
	if (dev < 0)
		return qsb__fail_os(err, errno, "mounts", "cannot open /dev");
	for (size_t i = 0; code == 0 && i < sizeof(nodes) / sizeof(nodes[0]); i++)
		code = clone_one(devices, dev, nodes[i], err);
	/* Only with a terminal of its own: else the caller's terminal would answer. */
	if (code == 0 && tty)
		code = clone_one(devices, dev, "tty", err);
	for (size_t i = 0; code == 0 && i < mounts->device_count; i++)
		code = clone_one(devices, dev, mounts->devices[i] + strlen("/dev/"), err);
	close(dev);
	return code;
}

static int place_node(const struct qsb__devices *devices, size_t i, int dev, struct qsb_error *err)
{
	const char *name = devices->name[i];

	if (devices->is_dir[i]) {
		if (mkdirat(dev, name, 0755) != 0 && errno != EEXIST)
			return qsb__fail_os(err, errno, "mounts", "cannot make /dev/%s", name);
	} else {
		int fd = openat(dev, name, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0444);

		if (fd < 0)
			return qsb__fail_os(err, errno, "mounts", "cannot make /dev/%s", name);
		close(fd);
	}
	if (qsb__move_mount(devices->fd[i], dev, name, 0) != 0)
		return qsb__fail_os(err, errno, "mounts", "cannot mount /dev/%s", name);
	close(devices->fd[i]);
	return 0;
}

static int place_filesystems(struct qsb__mounted *mounted, int dev, struct qsb_error *err)
{
	static const char *const pts_options[][2] = {{"mode", "0620"}, {"ptmxmode", "0666"}, {NULL, NULL}};
	int shm = -1;
	int code;

	if (mkdirat(dev, "pts", 0755) != 0 || mkdirat(dev, "shm", 0755) != 0)
		return qsb__fail_os(err, errno, "mounts", "cannot fill /dev");
	code = qsb__tree_new("devpts", pts_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &mounted->pts_fd);
	if (code == 0 && qsb__move_mount(mounted->pts_fd, dev, "pts", 0) != 0)
		code = -errno;
	if (code != 0)
		return qsb__fail_os(err, -code, "mounts", "cannot mount /dev/pts");
	code = qsb__tree_clone(mounted->scratch_fd, "shm", false, &shm);
	if (code == 0 && qsb__move_mount(shm, dev, "shm", 0) != 0)
		code = -errno;
	if (shm >= 0)
		close(shm);
	return code == 0 ? 0 : qsb__fail_os(err, -code, "mounts", "cannot mount /dev/shm");
}

int qsb__devices_attach(const struct qsb__devices *devices, struct qsb__mounted *mounted, int target,
			struct qsb_error *err)
{
	int dev = -1;
	int code = qsb__tree_clone(mounted->scratch_fd, "dev", false, &dev);

	if (code == 0 && qsb__move_mount(dev, target, "", MOVE_MOUNT_T_EMPTY_PATH) != 0)
		code = -errno;
	if (code != 0) {
		if (dev >= 0)
			close(dev);
		return qsb__fail_os(err, -code, "mounts", "cannot mount /dev");
	}
	for (size_t i = 0; code == 0 && i < devices->count; i++)
		code = place_node(devices, i, dev, err);
	for (size_t i = 0; code == 0 && i < sizeof(links) / sizeof(links[0]); i++)
		if (symlinkat(links[i].target, dev, links[i].name) != 0)
			code = qsb__fail_os(err, errno, "mounts", "cannot make /dev/%s", links[i].name);
	if (code == 0)
		code = place_filesystems(mounted, dev, err);
	if (code == 0) {
		code = qsb__tree_attributes(dev, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, false);
		if (code != 0)
			code = qsb__fail_os(err, -code, "mounts", "cannot make /dev read-only");
	}
	close(dev);
	return code;
}
