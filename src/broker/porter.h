/*
 * The porter: a small process that stands in the sandbox's network and hands sockets out of it, so that the broker,
 * which stays in the host's, can connect to published ports inside. It can do nothing else: no files, no privileges,
 * five system calls. Started before the broker confines itself, and only where ports are published; it ends with the
 * broker.
 */
#ifndef QSB_BROKER_PORTER_H
#define QSB_BROKER_PORTER_H

#include <stddef.h>
#include <sys/types.h>

#include <qiming/sandbox.h>

enum { QSB__PORTER_MAX = 16 }; /* sockets at once */

struct qsb__porter {
	pid_t pid; /* 0 = not started */
	int fd;    /* to talk to it; sendmsg and recvmsg only */
};

/* Forks, so from a process with one thread. */
int qsb__porter_start(struct qsb__porter *porter, struct qsb_error *err);

/* Sends it into the network that `namespace_fd` stands for (QSB__LISTENER_NAMESPACE); once. The descriptor stays the
 * caller's. */
int qsb__porter_enter(struct qsb__porter *porter, int namespace_fd, struct qsb_error *err);

/* `count` fresh, non-blocking TCP sockets of family 4 or 6, made in that network, up to QSB__PORTER_MAX. 0, and `fds`
 * are the caller's; or a negative errno, and there are none. */
int qsb__porter_sockets(struct qsb__porter *porter, int family, int *fds, size_t count);

/* Ends and reaps it; close and waitpid are all that this needs. Also good for zeroes. */
void qsb__porter_free(struct qsb__porter *porter);

#endif
