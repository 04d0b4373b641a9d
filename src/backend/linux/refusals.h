/* Refused connects and calls, from the threads that answer them to the supervisor: bounded, never waited for. */
#ifndef QSB_LINUX_REFUSALS_H
#define QSB_LINUX_REFUSALS_H

#include "backend/ledger.h"

/* The list belongs to the program, not to a sandbox: a thread in a connect may outlive the sandbox it served. */
void qsb__refusal_add(const struct qsb__denial *denial);
bool qsb__refusal_is_told(const struct qsb__denial *key); /* then it is counted, and that is all */
bool qsb__refusal_next(struct qsb__denial *denial);
size_t qsb__refusals_left_out(void);

/* An eventfd to be made readable when there is something to take, -1 = none. Borrowed. */
void qsb__refusals_wake(int fd);

#endif
