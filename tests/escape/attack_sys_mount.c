/* Mounts: what a command could do to its own view of the file system if it got a mount namespace or kept a right. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MS_REC
#define MS_REC     16384
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
	/* Ids that may not be mapped stay without a name: the capabilities in the new namespace are there anyway. */
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
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

static void uncover(const char *path)
{
	struct mount_attr change = {.attr_clr = MOUNT_ATTR_RDONLY};

	for (int layers = 0; layers < 3; layers++)
		syscall(SYS_umount2, path, layers ? 2 : 0);
	syscall(SYS_mount, NULL, path, NULL, 0x20UL | 0x1000UL, NULL);
	syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &change, sizeof(change));
	syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &change, sizeof(change));
}

static bool opens(int folder, const char *path, int flags)
{
	int fd = openat(folder, path + (folder == AT_FDCWD ? 0 : 1), flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		printf("opened: %s\n", path);
	close(fd);
	return fd >= 0;
}

/* undo KEY FILE FOLDER: takes off whatever keeps KEY from being read, FILE and FOLDER from being written: all mounts
 * over them, their read-only marks, and by looking at a copy of the tree that leaves the mounts out. */
static int undo(int argc, char **argv)
{
	bool done = false;
	int trees[3] = {AT_FDCWD, -1, -1};

	if (argc < 4)
		return attack_broken("undo KEY FILE FOLDER");
	printf("mounts of its own: %s\n", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0UL, NULL) ? "no" : "yes");
	syscall(SYS_mount, "/", "/tmp", NULL, 0x1000UL, NULL);
	trees[1] = (int)syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	for (int i = 1; i < 4; i++) {
		char folder[4096];

		snprintf(folder, sizeof(folder), "%s", argv[i]);
		uncover(folder);
		for (char *slash; (slash = strrchr(folder, '/')) && slash != folder;) {
			*slash = 0;
			uncover(folder);
		}
	}
	uncover("/");
	trees[2] = (int)syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
		if (trees[i] < 0 && trees[i] != AT_FDCWD)
			continue;
		done |= opens(trees[i], argv[1], O_RDONLY);
		done |= opens(trees[i], argv[2], O_WRONLY);
		done |= opens(trees[i], argv[3], O_WRONLY | O_TMPFILE);
	}
	errno = EACCES;
	return attack_verdict("undo", done ? 0 : -1);
}

const struct attack attacks_sys_mount[] = {
	{"own-namespaces", from_own_namespaces},
	{"new-mount", new_mount},
	{"tree-mount", tree_mount},
	{"make-writable", make_writable},
	{"unmount", unmount},
	{"pivot", pivot},
	{"undo", undo},
	{NULL, NULL},
};
