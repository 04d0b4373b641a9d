/* Mounts: what a command could do to its own view of the file system if it got a mount namespace or kept a right. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MS_REC
#define MS_REC 16384
#define MS_PRIVATE (1 << 18)
#endif

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int result = fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;

	if (fd >= 0)
		close(fd);
	return result;
}

/* The host must not see the mounts of a control that runs outside: they go into a namespace of their own. Where the
 * system allows none, the attack goes on in the one it is in. */
static int enter_namespaces(void)
{
	char map[64];
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS))
		return 0;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (write_file("/proc/self/setgroups", "deny") || write_file("/proc/self/uid_map", map))
		return -1;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	if (write_file("/proc/self/gid_map", map))
		return -1;
	return (int)syscall(SYS_mount, NULL, "/", NULL, (unsigned long)(MS_REC | MS_PRIVATE), NULL);
}

/* own-namespaces ATTACK ARGS…: another attack of this group, from namespaces of our own where that is possible. */
static int from_own_namespaces(int argc, char **argv)
{
	const struct attack *const groups[] = {attacks_sys, attacks_sys_mount, attacks_fs};

	if (enter_namespaces())
		return attack_broken("namespaces");
	for (size_t group = 0; argc > 1 && group < sizeof(groups) / sizeof(*groups); group++) {
		for (const struct attack *attack = groups[group]; attack->name; attack++) {
			if (strcmp(attack->name, argv[1]) == 0)
				return attack->run(argc - 1, argv + 1);
		}
	}
	errno = EINVAL;
	return attack_broken("own-namespaces ATTACK");
}

static int attach(int tree, const char *path)
{
	return attack_verdict("move_mount", syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH));
}

/* new-mount TYPE PATH: a file system by the calls that replace mount(2). */
static int new_mount(int argc, char **argv)
{
	int context = (int)syscall(SYS_fsopen, argc > 1 ? argv[1] : "tmpfs", FSOPEN_CLOEXEC), tree;

	if (context < 0)
		return attack_verdict("fsopen", -1);
	if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return attack_verdict("fsconfig", -1);
	tree = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	return tree < 0 ? attack_verdict("fsmount", -1) : attach(tree, argc > 2 ? argv[2] : "");
}

/* tree-mount SOURCE PATH: a copy of a part of the tree, without read-only and without what was mounted over it. */
static int tree_mount(int argc, char **argv)
{
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, argc > 2 ? argv[1] : "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	return tree < 0 ? attack_verdict("open_tree", -1) : attach(tree, argv[2]);
}

/* make-writable PATH: takes the read-only mark off a mount. */
static int make_writable(int argc, char **argv)
{
	struct mount_attr change = {.attr_clr = MOUNT_ATTR_RDONLY};

	return attack_verdict("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, argc > 1 ? argv[1] : "", 0, &change,
	                                               sizeof(change)));
}

/* unmount PATH: takes off what lies over PATH; outside, first lays something over it. */
static int unmount(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "";

	syscall(SYS_mount, "none", path, "tmpfs", 0UL, NULL);
	return attack_verdict("umount2", syscall(SYS_umount2, path, 2));
}

/* pivot PATH: another root folder. */
static int pivot(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "";

	syscall(SYS_mount, "none", path, "tmpfs", 0UL, NULL);
	if (chdir(path))
		return attack_broken("chdir");
	return attack_verdict("pivot_root", syscall(SYS_pivot_root, ".", "."));
}

const struct attack attacks_sys_mount[] = {
	{"own-namespaces", from_own_namespaces},
	{"new-mount", new_mount},
	{"tree-mount", tree_mount},
	{"make-writable", make_writable},
	{"unmount", unmount},
	{"pivot", pivot},
	{NULL, NULL},
};
