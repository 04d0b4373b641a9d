/* Output that is kept: the head and the tail of it, within a limit. */
#ifndef QSB_SUPERVISOR_CAPTURE_H
#define QSB_SUPERVISOR_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/run.h"

struct qsb__keeper {
	char *head;
	size_t head_length, head_room;
	char *tail; /* a ring of tail_limit bytes */
	size_t head_limit, tail_limit, tail_at;
	uint64_t total; /* bytes seen */
	bool failed;    /* out of memory: what came after is counted, not kept */
};

/* `limit` in bytes, 0 = everything is kept. With `tail_only` nothing of the beginning is. */
void qsb__keeper_init(struct qsb__keeper *keeper, uint64_t limit, bool tail_only);
void qsb__keeper_add(struct qsb__keeper *keeper, const char *data, size_t length);
bool qsb__keeper_is_over(const struct qsb__keeper *keeper);

/* What was kept, with a line in the gap that says how much is missing. The keeper is empty afterwards. */
void qsb__keeper_take(struct qsb__keeper *keeper, struct qsb__capture *out);

#endif
