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

/* What an address is, from what anybody may mean to what hardly anybody does. */
enum qsb__address_class {
	QSB__ADDRESS_PUBLIC,
	QSB__ADDRESS_PRIVATE,  /* RFC 1918, 100.64.0.0/10, fc00::/7, a local translator's 64:ff9b:1::/48 */
	QSB__ADDRESS_RESERVED, /* for benchmarks, for protocols, or not given out */
	QSB__ADDRESS_MULTICAST,
	QSB__ADDRESS_UNSPECIFIED, /* 0.0.0.0/8 and "::", which lead to this machine */
	QSB__ADDRESS_LINK_LOCAL,
	QSB__ADDRESS_LOOPBACK,
	QSB__ADDRESS_METADATA /* where a cloud hands out a machine's credentials */
};

/* Of the address and of what is inside it, the larger. */
enum qsb__address_class qsb__address_class(const struct qsb__address *address);
const char *qsb__address_class_name(enum qsb__address_class class); /* "metadata address" */

/*
 * The IPv4 addresses that an IPv6 address carries: NAT64, 6to4, Teredo, mapped, translated and compatible ones. Where
 * the form does not say where its prefix ends (64:ff9b:1::/48), each place where one may stand. `same`: a packet to
 * the outer one goes to the inner one and nowhere else. Returns how many.
 */
enum { QSB__ADDRESS_INNER_MAX = 4 };
size_t qsb__address_inner(const struct qsb__address *address, struct qsb__address out[QSB__ADDRESS_INNER_MAX],
			  bool *same);

/* RFC 5952. `out` holds QSB__ADDRESS_TEXT bytes. */
void qsb__address_format(const struct qsb__address *address, char *out);

#endif
