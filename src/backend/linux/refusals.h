/* Refused connects, from the threads that made them to the supervisor: bounded, never waited for. */
#ifndef QSB_LINUX_REFUSALS_H
#define QSB_LINUX_REFUSALS_H

#include <stdbool.h>

#include "backend/denial.h"

/* The list belongs to the program, not to a sandbox: a thread in a connect may outlive the sandbox it served. */
void qsb__refusal_add(const struct qsb__denial *denial);
bool qsb__refusal_next(struct qsb__denial *denial);

#endif
