/* Messages to the kernel over netlink: a builder that never writes beyond its buffer, and the reading of answers. Both
 * allocate nothing. */
#ifndef QSB_LINUX_NETLINK_H
#define QSB_LINUX_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qsb__netlink {
	uint8_t *bytes; /* of the caller, aligned to 4 */
	size_t size, length;
	size_t message;    /* where the one that is being written begins */
	uint32_t sequence; /* its number: the first one after zeroes has 1 */
	bool full;         /* something did not fit: nothing is sent */
};

/* A message begins with a head of its family's (rtmsg, nfgenmsg), and ends at the next one or at _send. */
void qsb__netlink_begin(struct qsb__netlink *to, unsigned type, unsigned flags, const void *head, size_t size);
void qsb__netlink_put(struct qsb__netlink *to, unsigned type, const void *data, size_t size);
void qsb__netlink_put_be32(struct qsb__netlink *to, unsigned type, uint32_t value);
/* What is put in between belongs to the attribute `type`. */
size_t qsb__netlink_nest(struct qsb__netlink *to, unsigned type);
void qsb__netlink_unnest(struct qsb__netlink *to, size_t nest);

/* A socket whose answers are waited for a second at most. A descriptor, or a negative errno. */
int qsb__netlink_open(int protocol);
/* All messages at once. 0, or a negative errno. */
int qsb__netlink_send(int fd, const struct qsb__netlink *messages);
/* The next answer to a message that asked for one: 0, or a negative errno; *sequence = which message it was, 0 = none
 * came. */
int qsb__netlink_answer(int fd, uint32_t *sequence);

#endif
