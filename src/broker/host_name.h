/* A host as protocols write it, in its one spelling. */
#ifndef QSB_BROKER_HOST_NAME_H
#define QSB_BROKER_HOST_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Lower case, no trailing dot; an address in any form that programs take for one ("127.1", "0x7f000001", "::1",
 * "::ffff:127.0.0.1") in its shortest form as core/address writes it. Letters beyond ASCII (UTF-8) become A-labels.
 * False: no host (empty, an empty label, too long, a byte that no name has, a '%', a bracket, a zone).
 * `out` holds QSB__HOST_MAX bytes.
 */
bool qsb__host_name_canonical(const char *text, size_t length, char *out);

/* "localhost", or a name below it: always the loopback (RFC 6761). */
bool qsb__host_is_localhost(const char *name);

#endif
