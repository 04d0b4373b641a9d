/* Addresses that stand for names inside the sandbox: 198.18.0.0/15 (RFC 2544, on no network) and an IPv6 twin. */
#ifndef QSB_BROKER_NAMES_H
#define QSB_BROKER_NAMES_H

#include "core/address.h"

struct qsb__names;

struct qsb__names *qsb__names_new(void);
void qsb__names_free(struct qsb__names *names);

/* The stand-in of a canonical name, made when there is none. `now` in seconds. 0 = no room: every one was given out
 * lately. */
unsigned qsb__names_number(struct qsb__names *names, const char *name, uint64_t now);

/* Its address of family 4 or 6. */
void qsb__names_address(unsigned number, int family, struct qsb__address *out);

/* The name behind an address, NULL = it stands for none. Borrowed until the next qsb__names_number. */
const char *qsb__names_find(struct qsb__names *names, const struct qsb__address *address, uint64_t now);

/* Is it one of the addresses kept for names, given out or not? */
bool qsb__names_is_stand_in(const struct qsb__address *address);

#endif
