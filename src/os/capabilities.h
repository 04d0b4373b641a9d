/* Linux capabilities. */
#ifndef QSB_OS_CAPABILITIES_H
#define QSB_OS_CAPABILITIES_H

#include <stdbool.h>

/* This thread has none from now on. One system call, so that a child may make it after fork. false: errno. */
bool qsb__capabilities_drop(void);

#endif
