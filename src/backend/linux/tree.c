/* Small steps on mounts, by descriptors only: nothing is looked up twice by name. */
#include <errno.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"

#ifndef FSOPEN_CLOEXEC
#define FSOPEN_CLOEXEC 1
#endif

int qsb__tree_find(const char *path, int *out)
{
	/* The plan holds real paths. A symlink on the way was put there since: following it would mount over, or
	 * show, something that no rule speaks of. */
	int fd = qsb__openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);

	if (fd < 0)
		return -errno;
	*out = fd;
	return 0;
}

int qsb__tree_clone(int at, const char *name, bool recursive, int *out)
{
	unsigned flags = OPEN_TREE_CLONE | AT_SYMLINK_NOFOLLOW;
	int fd;

	if (recursive)
		flags |= AT_RECURSIVE;
	if (!*name)
		flags |= AT_EMPTY_PATH;
	fd = qsb__open_tree(at, name, flags);
	if (fd < 0)
		return -errno;
	*out = fd;
	return 0;
}

int qsb__tree_new(const char *type, const char *const options[][2], unsigned attributes, int *out)
{
	QSB_CLEANUP_FD int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int fd;

	if (context < 0)
		return -errno;
	for (size_t i = 0; options[i][0]; i++)
		if (options[i][1][0] &&
		    syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, options[i][0], options[i][1], 0) != 0)
			return -errno;
	if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return -errno;
	fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes);
	if (fd < 0)
		return -errno;
	*out = fd;
	return 0;
}

int qsb__tree_attributes(int tree, unsigned set, bool recursive)
{
	const struct mount_attr attr = {.attr_set = set};

	return qsb__mount_setattr(tree, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U), &attr) == 0 ? 0 : -errno;
}
