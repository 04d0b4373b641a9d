/*
 * A socket's name is the text that it was bound by: getsockname and its peers show it, and programs hand it on. So an
 * address with folders in it is bound by its own text, where that text means the same as to the caller: in a process of
 * a moment that stands in the sandbox's mounts, at the caller's root and folder. It holds the guard's copy of the text,
 * no right over the sandbox, and every other guarded call waits: what was judged is what is made.
 */
#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "core/cleanup.h"
#include "guard/internal.h"
#include "os/capabilities.h"

static int enter(const int *namespaces, int root, int folder)
{
	/* The user namespace gives the right to enter the mounts, and to take the root; both go again. */
	if (setns(namespaces[0], CLONE_NEWUSER) != 0 || setns(namespaces[1], CLONE_NEWNS) != 0 || fchdir(root) != 0 ||
	    chroot(".") != 0 || (folder != AT_FDCWD && fchdir(folder) != 0) || !qsb__capabilities_drop())
		return -EACCES;
	return 0;
}

/* Its result comes by a pipe: the caller of the sandbox may have left SIGCHLD ignored, and no status is kept then. */
static long run(const int *namespaces, int root, const struct qsb__bind *call)
{
	QSB_CLEANUP_FD int from = -1;
	QSB_CLEANUP_FD int to = -1;
	int ends[2], result = -EAGAIN;
	ssize_t length;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	child = fork();
	if (child == 0) {
		result = enter(namespaces, root, call->start);
		if (result == 0 && bind(call->socket, call->address, call->length) != 0)
			result = -errno;
		_exit(write(to, &result, sizeof(result)) != sizeof(result));
	}
	if (child < 0)
		return -errno;
	close(qsb__take_fd(&to));
	do
		length = read(from, &result, sizeof(result));
	while (length < 0 && errno == EINTR);
	if (length != sizeof(result))
		result = -EACCES;
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return result;
}

long qsb__bind_inside(struct qsb__stop *stop, const struct qsb__bind *call)
{
	const int namespaces[] = {qsb__stop_open(stop, "ns/user", O_RDONLY), qsb__stop_open(stop, "ns/mnt", O_RDONLY)};
	int root = qsb__resolve_root(stop);

	if (namespaces[0] < 0 || namespaces[1] < 0 || root < 0)
		return -EACCES;
	return qsb__stop_waits(stop) ? run(namespaces, root, call) : QSB__STOP_GONE;
}
