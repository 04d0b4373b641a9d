/* Waiting for somebody else's descriptor without touching it. */
#ifndef QSB_OS_READINESS_H
#define QSB_OS_READINESS_H

#include <stdbool.h>

/*
 * A new descriptor that becomes readable when `fd` is ready to be read (or, with `writable`, written). Event loops put
 * what they watch into non-blocking mode, which for the caller's streams would change them under every other process
 * that shares them; this one may be changed freely. -EPERM: a plain file, which is always ready.
 */
int qsb__readiness_open(int fd, bool writable);

#endif
