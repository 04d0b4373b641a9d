/* The descriptors a program is started with: what it must not lose, keep or pass on. */
#ifndef QSB_OS_DESCRIPTORS_H
#define QSB_OS_DESCRIPTORS_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <qiming/sandbox.h>

/* Opens the null device where 0, 1 or 2 is closed, so that no file opened later lands there. */
int qsb__standard_streams_open(struct qsb_error *err);

/*
 * May the command have this descriptor? Not a folder and not a descriptor that only names a place (O_PATH): relative
 * to it the command could reach the host's own tree, past every mount of the sandbox.
 *   QSB_E_INVALID  closed   QSB_E_DENIED  such a descriptor
 */
int qsb__descriptor_check(int fd, struct qsb_error *err);

/*
 * Closes every descriptor above 2 that is not among the `count` of `keep` (which is put in order), and makes those
 * that are close-on-exec.
 */
int qsb__descriptors_keep_only(int *keep, size_t count, struct qsb_error *err);

/*
 * Bytes from a unix socket, and the descriptors that came with them, which are the caller's: `*count` of the `*count`
 * that `fds` has room for; fewer when this process may have no more. `flags` of recvmsg(2). Bytes, 0 at the end, or a
 * negative errno.
 */
ssize_t qsb__descriptors_receive(int from, const struct iovec *data, int *fds, size_t *count, int flags);

/* The other way: bytes, and copies of `count` descriptors with them, at most 128. Bytes, or a negative errno. Only
 * sendmsg(2): async-signal-safe. */
ssize_t qsb__descriptors_send(int to, const struct iovec *data, const int *fds, size_t count);

/* Writes everything. 0 or QSB_E_OS. */
int qsb__descriptor_write(int fd, const char *data, size_t length, struct qsb_error *err);

#endif
