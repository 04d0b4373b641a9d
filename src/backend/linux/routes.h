/* "Local default" routes: in a network namespace that has nothing but loopback, every address becomes the namespace's
 * own, so that a connection to any of them finds a listener, or is refused, there. */
#ifndef QSB_LINUX_ROUTES_H
#define QSB_LINUX_ROUTES_H

#include <stdbool.h>

/* For the network namespace of this process, whose loopback must be up. *six = also for IPv6, where the kernel has it:
 * goes in as "try", comes out as "there is". 0 or a negative errno. */
int qsb__routes_make_local(bool *six);

#endif
