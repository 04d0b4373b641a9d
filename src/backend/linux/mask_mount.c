/*
 * Makes the masks' file system, gives it to the supervisor, and asks it for all its names at once: mounting them then
 * asks nothing. An answer takes far longer than what is to be said, so nobody waits for the first one, and the other
 * is asked for by whoever has nothing else to do: the process that makes the network namespace when it is through with
 * that before the mounts are, else who makes the mounts, who would wait for the other one anyway.
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
	atomic_init(&mount->turn, QSB__MASK_TURN_NONE);
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

static int send_fds(const struct qsb__mask_mount *mount, const int *fds, size_t count)
{
	char nothing = 0;
	const struct iovec data = {.iov_base = &nothing, .iov_len = sizeof(nothing)};
	ssize_t length = qsb__descriptors_send(mount->server, &data, fds, count);

	return length < 0 ? (int)length : 0;
}

void qsb__mask_mount_offer(struct qsb__mask_mount *mount)
{
	int code;

	if (mount->tree < 0)
		return;
	code = send_fds(mount, &mount->device, 1);
	if (code != 0) {
		qsb__mask_mount_abandon(mount, QSB__MASK_STEP_ANSWER, code);
		return;
	}
	/* The supervisor's alone from here on: its death ends every question that waits. */
	close(qsb__take_fd(&mount->device));
	mount->answer = -ECHILD;
	atomic_store(&mount->turn, QSB__MASK_TURN_FREE);
}

/* The server takes them when it first has somebody to name; that is later, since no mask can be seen before. */
static int send_rest(const struct qsb__mask_mount *mount, int proc)
{
	QSB_CLEANUP_FD int keeper = make_keeper(mount);
	const int fds[QSB__MASK_FD_COUNT] = {[QSB__MASK_FD_PROC] = proc < 0 ? mount->server : proc,
					     [QSB__MASK_FD_KEEPER] = keeper < 0 ? mount->server : keeper};

	return send_fds(mount, fds, QSB__MASK_FD_COUNT);
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

bool qsb__mask_mount_ask(struct qsb__mask_mount *mount)
{
	int free_turn = QSB__MASK_TURN_FREE;

	if (!atomic_compare_exchange_strong(&mount->turn, &free_turn, QSB__MASK_TURN_TAKEN))
		return false;
	mount->answer = ask_names(mount);
	return true;
}

void qsb__mask_mount_finish(struct qsb__mask_mount *mount, struct qsb__network *network, int proc)
{
	int code;

	if (mount->tree < 0)
		return;
	code = send_rest(mount, proc);
	/* When the turn is taken, then by that process. */
	if (!qsb__mask_mount_ask(mount))
		qsb__network_wait(network);
	if (code == 0)
		code = mount->answer;
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
