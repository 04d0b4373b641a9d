/* The one rule set that a sandbox's network has: every TCP connection to an address that is not loopback goes to one
 * transparent listener. Written as netlink messages by ourselves: it must work where no nft program is. */
#ifndef QSB_LINUX_NFTABLES_H
#define QSB_LINUX_NFTABLES_H

#include "os/linux/netlink.h"

enum { QSB__NFTABLES_BYTES = 2048 };

/* Writes the whole transaction. IPv6 is left out where the kernel has none. */
void qsb__nftables_write(struct qsb__netlink *to, uint16_t port, bool six);

/* Gives it to the kernel, for the network namespace of this process. 0, or a negative errno: nothing was changed. */
int qsb__nftables_catch(uint16_t port, bool six);

#endif
