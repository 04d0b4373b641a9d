/* IP addresses as text, in the one form that means the same to every program. */
#ifndef QSB_CORE_ADDRESS_H
#define QSB_CORE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QSB__ADDRESS_TEXT = 46 };

struct qsb__address {
	int family;        /* 4 or 6 */
	uint8_t bytes[16]; /* the first 4 of a family 4 address */
};

/* "192.0.2.1" with four decimal parts and no leading zeros; "2001:db8::1" also with an IPv4 tail. No zone, no brackets.
 * An IPv4 address mapped into IPv6 ("::ffff:192.0.2.1") comes out as family 4, which it is on the wire. */
bool qsb__address_parse(const char *text, size_t length, struct qsb__address *out);

/* What inet_aton and browsers also take for an IPv4 address: "127.1", "2130706433", "0x7f.1", "0177.0.0.1". */
bool qsb__address_parse_loose(const char *text, size_t length, struct qsb__address *out);

/* Clears all bits beyond the first `bits`. */
void qsb__address_mask(struct qsb__address *address, unsigned bits);

/* Both of one family, and the same in the first `bits`. */
bool qsb__address_in_range(const struct qsb__address *address, const struct qsb__address *range, unsigned bits);

/* This machine, a private or link-local network, or no single host: what "every host" does not mean. */
bool qsb__address_is_special(const struct qsb__address *address);

/* RFC 5952. `out` holds QSB__ADDRESS_TEXT bytes. */
void qsb__address_format(const struct qsb__address *address, char *out);

#endif
