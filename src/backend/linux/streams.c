/*
 * A descriptor that the caller hands on belongs to the host's mounts, which are writable: through it the owner of a
 * file can change its mode, times and attributes, and open it again for writing (/proc/self/fd), although it was given
 * to be read. So in the child such a descriptor is replaced by one of the sandbox's own read-only mounts.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "core/error.h"

enum { MEMORY_DEVICES = 1, KEPT_FLAGS = O_ACCMODE | O_APPEND | O_NONBLOCK };

/* By minor number, as far as the sandbox's /dev has them. */
static const char *const devices[] = {
	[3] = "/dev/null", [5] = "/dev/zero", [7] = "/dev/full", [8] = "/dev/random", [9] = "/dev/urandom",
};

/* The same file; of a device any node will do. */
static bool is_same(const struct stat *a, const struct stat *b)
{
	if (S_ISCHR(a->st_mode) && S_ISCHR(b->st_mode))
		return a->st_rdev == b->st_rdev;
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Puts what is found at `path` in the place of `fd`. */
static int replace(int fd, const char *path, const struct stat *wanted)
{
	int flags = fcntl(fd, F_GETFL);
	QSB_CLEANUP_FD int own = open(path, (flags & KEPT_FLAGS) | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
	off_t offset = lseek(fd, 0, SEEK_CUR);
	struct stat found;

	if (own < 0 || fstat(own, &found) != 0)
		return -errno;
	if (!is_same(&found, wanted))
		return -ESTALE;
	if (S_ISREG(found.st_mode) && (offset < 0 || lseek(own, offset, SEEK_SET) != offset))
		return -EIO;
	return dup3(own, fd, O_CLOEXEC) < 0 ? -errno : 0;
}

/* What cannot be opened by its name is of no more use to the command than it was: it has the caller's rights. */
static void confine_file(int fd)
{
	char link[32], path[PATH_MAX];
	struct stat status;
	ssize_t length;

	if ((fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH)) != O_RDONLY || fstat(fd, &status) != 0 ||
	    !S_ISREG(status.st_mode))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return;
	path[length] = '\0';
	replace(fd, path, &status);
}

static int confine_device(int fd)
{
	struct stat status;
	unsigned number;

	if (fstat(fd, &status) != 0 || !S_ISCHR(status.st_mode) || major(status.st_rdev) != MEMORY_DEVICES)
		return 0;
	number = minor(status.st_rdev);
	if (number >= sizeof(devices) / sizeof(devices[0]) || !devices[number])
		return 0;
	return replace(fd, devices[number], &status);
}

void qsb__streams_confine_files(const struct qsb__launch *launch)
{
	for (int i = 0; i < 3 && !launch->tty; i++)
		confine_file(launch->stdio[i]);
	for (size_t i = 0; i < launch->pass_count; i++)
		confine_file(launch->pass_fds[i]);
}

int qsb__streams_confine_devices(const struct qsb__launch *launch, struct qsb_error *err)
{
	int code = 0;

	for (int i = 0; code == 0 && i < 3 && !launch->tty; i++)
		code = confine_device(launch->stdio[i]);
	for (size_t i = 0; code == 0 && i < launch->pass_count; i++)
		code = confine_device(launch->pass_fds[i]);
	return code == 0 ? 0 : qsb__fail_os(err, -code, "launch", "cannot open a stream's device in the sandbox");
}
