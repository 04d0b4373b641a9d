/* Addresses as the kernel's calls have them, and as ours. */
#ifndef QSB_BROKER_SOCKET_ADDRESS_H
#define QSB_BROKER_SOCKET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "core/address.h"

/* An IPv4 address inside IPv6 comes out as family 4. false = of another family. */
bool qsb__socket_address_read(const struct sockaddr *name, struct qsb__address *out, unsigned *port);

/* Returns its size. */
socklen_t qsb__socket_address_write(const struct qsb__address *address, unsigned port, struct sockaddr_storage *out);

#endif
