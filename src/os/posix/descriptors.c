#include "os/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.h"

int qsb__standard_streams_open(struct qsb_error *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free number is taken, which is `fd`: those below it are open. */
		if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
			return qsb__fail_os(err, errno, "descriptors",
					    "cannot open /dev/null for the closed descriptor %d", fd);
	}
	return 0;
}

int qsb__descriptor_check(int fd, struct qsb_error *err)
{
	struct stat status;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fstat(fd, &status) < 0)
		return qsb__fail(err, QSB_E_INVALID, "descriptors", "descriptor %d is not open", fd);
#ifdef O_PATH
	if (flags & O_PATH)
		return qsb__fail(
			err, QSB_E_DENIED, "descriptors",
			"descriptor %d is an O_PATH descriptor: through it the command could reach the host's files; "
			"close it",
			fd);
#endif
	if (S_ISDIR(status.st_mode))
		return qsb__fail(
			err, QSB_E_DENIED, "descriptors",
			"descriptor %d is a folder: through it the command could reach the host's files; close it, or "
			"allow the folder with --read or --write",
			fd);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	int left = *(const int *)a, right = *(const int *)b;

	return (left > right) - (left < right);
}

static bool is_kept(const int *keep, size_t count, int fd)
{
	return bsearch(&fd, keep, count, sizeof(*keep), by_number) != NULL;
}

/* Where the kernel has no close_range: every open descriptor is listed in /proc. */
static int close_listed(const int *keep, size_t count, struct qsb_error *err)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!folder)
		return qsb__fail_os(err, errno, "descriptors", "cannot list the open descriptors in /proc/self/fd");
	while ((entry = readdir(folder))) {
		int fd = atoi(entry->d_name);

		if (fd > 2 && fd != dirfd(folder) && !is_kept(keep, count, fd))
			close(fd);
	}
	closedir(folder);
	return 0;
}

static long close_between(unsigned from, unsigned to)
{
#ifdef SYS_close_range
	return from > to ? 0 : syscall(SYS_close_range, from, to, 0);
#else
	errno = ENOSYS;
	return -1;
#endif
}

int qsb__descriptors_keep_only(int *keep, size_t count, struct qsb_error *err)
{
	unsigned from = 3;

	qsort(keep, count, sizeof(*keep), by_number);
	for (size_t i = 0; i < count; i++)
		if (fcntl(keep[i], F_GETFD) < 0 || (keep[i] > 2 && fcntl(keep[i], F_SETFD, FD_CLOEXEC) < 0))
			return qsb__fail(err, QSB_E_INVALID, "descriptors", "descriptor %d is not open", keep[i]);
	for (size_t i = 0; i <= count; i++) {
		unsigned to = i < count ? (unsigned)keep[i] : UINT_MAX;

		if (i < count && to < from)
			continue;
		if (close_between(from, i < count ? to - 1 : to) < 0) {
			if (errno == ENOSYS)
				return close_listed(keep, count, err);
			return qsb__fail_os(err, errno, "descriptors", "cannot close inherited descriptors");
		}
		from = to + 1;
	}
	return 0;
}

int qsb__descriptor_write(int fd, const char *data, size_t length, struct qsb_error *err)
{
	while (length > 0) {
		ssize_t written = write(fd, data, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return qsb__fail_os(err, errno, "result", "cannot write to descriptor %d", fd);
		data += written;
		length -= (size_t)written;
	}
	return 0;
}

enum { PASSED_MAX = 128 };

static void take_rights(const struct msghdr *header, int *fds, size_t *count)
{
	size_t room = *count;

	*count = 0;
	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR((struct msghdr *)(uintptr_t)header, at)) {
		size_t here = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < here; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(at) + i * sizeof(int), sizeof(int));
			/* The buffer is rounded up: one more may fit than was asked for. */
			if (*count < room)
				fds[(*count)++] = fd;
			else
				close(fd);
		}
	}
}

ssize_t qsb__descriptors_receive(int from, const struct iovec *data, int *fds, size_t *count, int flags)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * PASSED_MAX)];
	} control;
	struct iovec copy = *data;
	struct msghdr header = {
		.msg_iov = &copy,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(sizeof(int) * (*count < PASSED_MAX ? *count : PASSED_MAX)),
	};
	ssize_t length = recvmsg(from, &header, MSG_CMSG_CLOEXEC | flags);

	if (length < 0) {
		*count = 0;
		return -errno;
	}
	take_rights(&header, fds, count);
	return length;
}

ssize_t qsb__descriptors_send(int to, const struct iovec *data, const int *fds, size_t count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * PASSED_MAX)];
	} control;
	struct iovec copy = *data;
	struct msghdr header = {.msg_iov = &copy, .msg_iovlen = 1};
	ssize_t length;

	if (count > PASSED_MAX)
		return -EINVAL;
	if (count > 0) {
		struct cmsghdr *rights;

		memset(&control, 0, sizeof(control));
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(rights), fds, sizeof(int) * count);
	}
	length = sendmsg(to, &header, MSG_NOSIGNAL);
	return length < 0 ? -errno : length;
}
