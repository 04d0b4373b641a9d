/* Moves bytes from one socket to another without looking at them, by whatever the system has for it. */
#ifndef QSB_OS_MOVER_H
#define QSB_OS_MOVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct qsb__movers; /* what is shared by all of them: kernel buffers that are used again */

struct qsb__mover {
	int pipe[2];
	size_t held; /* bytes taken and not given yet */
};

struct qsb__movers *qsb__movers_new(void);
void qsb__movers_free(struct qsb__movers *movers);

void qsb__mover_init(struct qsb__mover *mover);
void qsb__mover_clear(struct qsb__movers *movers, struct qsb__mover *mover);

/* Takes what non-blocking `from` has, at most `limit`. Bytes, 0 at its end, or a negative errno (-EAGAIN: nothing
 * now). */
ssize_t qsb__mover_fill(struct qsb__movers *movers, struct qsb__mover *mover, int from, uint64_t limit);
/* Gives what is held to `to`, as far as it takes it. Bytes, or a negative errno. */
ssize_t qsb__mover_drain(struct qsb__movers *movers, struct qsb__mover *mover, int to);

#endif
