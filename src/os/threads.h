/* A thread that nobody waits for. */
#ifndef QSB_OS_THREADS_H
#define QSB_OS_THREADS_H

#include <stddef.h>

/*
 * Runs run(argument) on a detached thread with a stack of `stack_bytes`. It takes no signal: those of the process stay
 * its main thread's, SIGXFSZ and SIGPIPE become errors of the calls. 0, or an errno: nothing runs then.
 */
int qsb__thread_start(void *(*run)(void *argument), void *argument, size_t stack_bytes);

#endif
