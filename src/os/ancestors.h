/* What the programs that called us hold. */
#ifndef QSB_OS_ANCESTORS_H
#define QSB_OS_ANCESTORS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether our descriptor `fd` is a pipe that one of the processes above us has as its standard input, too. Whoever has
 * the pipe can open it anew for writing, through /proc/self/fd, and so write what that process reads. *pid and `name`
 * tell which one it is.
 */
bool qsb__pipe_is_read_above(int fd, int *pid, char *name, size_t size);

#endif
