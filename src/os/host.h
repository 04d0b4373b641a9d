/* The facts of this machine, for the plan. */
#ifndef QSB_OS_HOST_H
#define QSB_OS_HOST_H

#include "plan/host.h"

#include <qiming/sandbox.h>

/*
 * Fills in what is known of this machine and of the calling user. The strings belong to *host until qsb__host_clear;
 * `environment` is the caller's own `environ`.
 *   QSB_E_OS  the current folder cannot be named (it was removed, or lies behind a closed one)
 */
int qsb__host_init(struct qsb__host *host, struct qsb_error *err);
void qsb__host_clear(struct qsb__host *host);

#endif
