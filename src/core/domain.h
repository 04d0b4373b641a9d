/* Patterns of the network rules as they are written: what is one, and what is not. */
#ifndef QSB_CORE_DOMAIN_H
#define QSB_CORE_DOMAIN_H

#include <stddef.h>

/*
 * "example.com", "*.example.com" (its subdomains only), "*", each with an optional ":port"; an address ("192.0.2.1",
 * "2001:db8::1", "[2001:db8::1]:443") or a range ("192.0.2.0/24"). 0, or QSB_E_INVALID with the right spelling in `why`.
 */
int qsb__domain_check(const char *text, char *why, size_t why_size);

#endif
