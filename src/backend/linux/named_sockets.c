/*
 * The host's sockets that the policy names. The name alone is not enough: in a folder that the command may write to, it
 * could rename another socket of the host to it. There the socket is the one that was there at the start; elsewhere it
 * is whatever has the name now, as a service that starts anew makes a new one.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "core/error.h"

struct qsb__named_socket {
	bool in_writable;
	dev_t device;
	ino_t number; /* at the start; 0 = there was none */
};

/* The plan has the real path: a link on it by now was planted to name another socket. */
static bool look(const char *path, struct stat *status)
{
	QSB_CLEANUP_FD int place = qsb__openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);

	return place >= 0 && fstat(place, status) == 0;
}

static bool lies_in_writable(const struct qsb__mounts *mounts, const char *path)
{
	for (size_t i = 0; i < mounts->count; i++) {
		size_t length = strlen(mounts->list[i].path);

		if (mounts->list[i].source == QSB__SOURCE_HOST && mounts->list[i].writable &&
		    strncmp(path, mounts->list[i].path, length) == 0 && path[length] == '/')
			return true;
	}
	return mounts->root_writable;
}

int qsb__named_sockets_prepare(struct qsb__sandbox *sandbox, struct qsb_error *err)
{
	char **paths = sandbox->plan->unix_sockets;
	size_t count = 0;

	while (paths && paths[count])
		count++;
	if (count == 0)
		return 0;
	sandbox->named_sockets = calloc(count, sizeof(*sandbox->named_sockets));
	if (!sandbox->named_sockets)
		return qsb__fail_memory(err, "network");
	for (size_t i = 0; i < count; i++) {
		struct qsb__named_socket *named = &sandbox->named_sockets[i];
		struct stat status;

		named->in_writable = lies_in_writable(&sandbox->mounts, paths[i]);
		if (look(paths[i], &status)) {
			named->device = status.st_dev;
			named->number = status.st_ino;
		}
	}
	return 0;
}

bool qsb__named_sockets_have(const struct qsb__sandbox *sandbox, const struct stat *status)
{
	char **paths = sandbox->plan->unix_sockets;

	for (size_t i = 0; paths && paths[i]; i++) {
		const struct qsb__named_socket *named = &sandbox->named_sockets[i];
		struct stat now;

		if (named->in_writable
			    ? status->st_dev == named->device && status->st_ino == named->number
			    : look(paths[i], &now) && status->st_dev == now.st_dev && status->st_ino == now.st_ino)
			return true;
	}
	return false;
}
