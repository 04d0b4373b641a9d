/* Threads for work that may have to wait, so that the caller never does. */
#ifndef QSB_OS_WORKERS_H
#define QSB_OS_WORKERS_H

#include <stdbool.h>

/*
 * Runs job(argument) at once on a thread of its own: one that has nothing to do, or a new one. No job waits behind
 * another. false = too many run already, or there is no memory: the job does not run.
 */
bool qsb__workers_run(void (*job)(void *argument), void *argument);

#endif
