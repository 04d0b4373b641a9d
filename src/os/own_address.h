/* Is an address this machine's own, as the system that routes says? It knows what no list of interfaces shows: ranges
 * routed to the machine itself, broadcast and anycast addresses. */
#ifndef QSB_OS_OWN_ADDRESS_H
#define QSB_OS_OWN_ADDRESS_H

#include "core/address.h"

/* A descriptor to ask with: opened before a process confines itself, it goes on working. Negative errno = none. */
int qsb__own_address_open(void);

/* 1 = it would be delivered to this machine (or to several: broadcast, multicast), 0 = not, negative errno = the system
 * does not say: to be treated as its own. One thread at a time. */
int qsb__own_address_is(int fd, const struct qsb__address *address);

#endif
