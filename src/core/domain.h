/* Patterns of the network rules as they are written: what is one, and what is not. */
#ifndef QSB_CORE_DOMAIN_H
#define QSB_CORE_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * "example.com", "*.example.com" (its subdomains only), "*", each with an optional ":port"; an address ("192.0.2.1",
 * "2001:db8::1", "[2001:db8::1]:443") or a range ("192.0.2.0/24", "192.0.2.0/24:443", "[2001:db8::/32]:443").
 * 0, or QSB_E_INVALID with the right spelling in `why`.
 */
int qsb__domain_check(const char *text, char *why, size_t why_size);

enum { QSB__DOMAIN_MAX = 320 }; /* bytes of a canonical pattern, with the NUL */

/* The one spelling of a pattern: lower case, no trailing dot, addresses in their shortest form, ranges without bits
 * beyond their length, IPv6 in brackets only before a port. `out` holds QSB__DOMAIN_MAX bytes. Errors as above. */
int qsb__domain_canonical(const char *text, char *out, char *why, size_t why_size);

/* Of an allowed canonical pattern: what its author may not have thought of, to be said behind it; NULL = nothing. */
const char *qsb__domain_caution(const char *canonical);

/* The length of a canonical pattern's host, with its brackets if it has some; *port = 0: any. */
size_t qsb__domain_split(const char *canonical, unsigned *port);

#endif
