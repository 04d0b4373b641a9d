/*
 * Makes the masks' file system, gives it to the supervisor, and asks it for all its names at once: mounting them then
 * asks nothing. To wake the supervisor takes longer than all that is to be said, so it happens once.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "os/descriptors.h"

enum { NAMES_BYTES = 16 * 1024 };

void qsb__mask_mount_begin(struct qsb__mask_mount *mount, const struct qsb__mask_list *masks, int server)
{
	memset(mount, 0, sizeof(*mount));
	mount->masks = masks;
	mount->server = server;
	mount->device = mount->tree = -1;
	if (server < 0)
		return;
	/* By a process of this user namespace, or the kernel does not take it. */
	mount->device = open("/dev/fuse", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (mount->device < 0)
		qsb__mask_mount_abandon(mount, QSB__MASK_STEP_DEVICE, -errno);
}

void qsb__mask_mount_make(struct qsb__mask_mount *mount)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	char options[128];
	int code;

	if (mount->device < 0)
		return;
	/* For the caller's own user alone, who is the only one in the sandbox. The guard is that user, too: it must see
	 * what kind of file a mask is and that it is a mount, or it would act on what lies below. */
	snprintf(options, sizeof(options), "fd=%d,rootmode=40700,user_id=%u,group_id=%u", mount->device,
		 mount->masks->user, mount->masks->group);
	if (syscall(SYS_mount, "qiming-sandbox", "/dev", "fuse", flags, options) == 0)
		mount->tree = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* The mount alone: a file system that is read-only as a whole answers before permissions do. */
	code = mount->tree < 0 ? -errno : qsb__tree_attributes(mount->tree, MOUNT_ATTR_RDONLY, false);
	if (code != 0)
		qsb__mask_mount_abandon(mount, QSB__MASK_STEP_MOUNT, code);
}

/*
 * The kernel takes long to end a file system of this kind, and who let go of it last waits for that. So the last hold
 * on it is one that nobody has: a message in a socket that is itself only in that message. When the supervisor closes
 * the socket, the kernel finds out in its own time. -1 = not here; then the sandbox's end takes longer.
 */
static int make_keeper(const struct qsb__mask_mount *mount)
{
	char nothing = 0;
	const struct iovec data = {.iov_base = &nothing, .iov_len = sizeof(nothing)};
	int ends[2], held[2];
	ssize_t length;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0)
		return -1;
	held[0] = ends[0];
	held[1] = mount->tree;
	length = qsb__descriptors_send(ends[1], &data, held, 2);
	close(ends[1]);
	if (length < 0)
		close(qsb__take_fd(&ends[0]));
	return ends[0];
}

/* The supervisor's alone from here on: its death ends every question that waits. */
static int hand_over(struct qsb__mask_mount *mount, int proc)
{
	char nothing = 0;
	const struct iovec data = {.iov_base = &nothing, .iov_len = sizeof(nothing)};
	QSB_CLEANUP_FD int keeper = make_keeper(mount);
	int fds[QSB__MASK_FD_COUNT] = {[QSB__MASK_FD_DEVICE] = mount->device,
				       [QSB__MASK_FD_PROC] = proc < 0 ? mount->server : proc,
				       [QSB__MASK_FD_KEEPER] = keeper < 0 ? mount->server : keeper};
	ssize_t length = qsb__descriptors_send(mount->server, &data, fds, QSB__MASK_FD_COUNT);

	close(qsb__take_fd(&mount->device));
	return length < 0 ? (int)length : 0;
}

/* The position after the last of the entries, which is its number. */
static size_t last_of(const char *entries, long length)
{
	size_t last = 0;

	for (long at = 0; at < length;) {
		const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);

		last = (size_t)entry->d_off;
		at += entry->d_reclen;
	}
	return last;
}

static int ask_names(const struct qsb__mask_mount *mount)
{
	static _Alignas(struct dirent64) char names[NAMES_BYTES];
	QSB_CLEANUP_FD int folder = openat(mount->tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return -errno;
	for (size_t seen = 0; seen < mount->masks->count;) {
		long length = syscall(SYS_getdents64, folder, names, sizeof(names));

		if (length <= 0)
			return length < 0 ? -errno : -EPROTO;
		seen = last_of(names, length);
	}
	return 0;
}

void qsb__mask_mount_finish(struct qsb__mask_mount *mount, int proc)
{
	int code;

	if (mount->tree < 0)
		return;
	code = hand_over(mount, proc);
	if (code == 0)
		code = ask_names(mount);
	if (code != 0)
		qsb__mask_mount_abandon(mount, QSB__MASK_STEP_ANSWER, code);
}

void qsb__mask_mount_abandon(struct qsb__mask_mount *mount, enum qsb__mask_step step, int code)
{
	mount->step = step;
	mount->code = code;
	if (mount->device >= 0)
		close(qsb__take_fd(&mount->device));
	if (mount->tree >= 0)
		close(qsb__take_fd(&mount->tree));
}
