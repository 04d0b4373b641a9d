/*
 * Kernel calls and constants that the C library of the oldest build host does not have. Numbers are the kernel's ABI
 * and never change; where a call is missing at run time it answers ENOSYS.
 */
#ifndef QSB_LINUX_ABI_H
#define QSB_LINUX_ABI_H

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, uint64_t) /* Linux 6.6 */
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#define QSB__LANDLOCK_FS_IOCTL_DEV        (1ULL << 15)
#define QSB__LANDLOCK_NET_BIND_TCP        (1ULL << 0)
#define QSB__LANDLOCK_SCOPE_ABSTRACT_UNIX (1ULL << 0)
#define QSB__LANDLOCK_SCOPE_SIGNAL        (1ULL << 1)

/* struct landlock_ruleset_attr as of ABI 6; older kernels take its first fields. */
struct qsb__landlock_ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

static inline int qsb__open_tree(int dir, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dir, path, flags | OPEN_TREE_CLOEXEC);
}

static inline int qsb__move_mount(int from, int to, const char *path, unsigned flags)
{
	return (int)syscall(SYS_move_mount, from, "", to, path, flags | MOVE_MOUNT_F_EMPTY_PATH);
}

static inline int qsb__mount_setattr(int dir, const char *path, unsigned flags, const struct mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, dir, path, flags, attr, sizeof(*attr));
}

static inline int qsb__openat2(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

static inline int qsb__pidfd_open(pid_t pid, unsigned flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

static inline int qsb__pidfd_getfd(int pidfd, int fd)
{
	return (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

static inline int qsb__pidfd_send_signal(int pidfd, int number)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

static inline int qsb__close_range(unsigned first, unsigned last, unsigned flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

#endif
