/* Addresses that stand for names inside the sandbox: 198.18.0.0/15 (RFC 2544, on no network) and an IPv6 twin. */
#ifndef QSB_BROKER_STAND_INS_H
#define QSB_BROKER_STAND_INS_H

#include "core/address.h"

struct qsb__stand_ins;

struct qsb__stand_ins *qsb__stand_ins_new(void);
void qsb__stand_ins_free(struct qsb__stand_ins *stand_ins);

/* The stand-in of a canonical name, made when there is none. `now` in seconds. 0 = no room: every one was given out
 * lately. */
unsigned qsb__stand_ins_number(struct qsb__stand_ins *stand_ins, const char *name, uint64_t now);

/* Its address of family 4 or 6. */
void qsb__stand_ins_address(unsigned number, int family, struct qsb__address *out);

/* The name behind an address, NULL = it stands for none. Borrowed until the next qsb__stand_ins_number. */
const char *qsb__stand_ins_find(struct qsb__stand_ins *stand_ins, const struct qsb__address *address, uint64_t now);

/* Is it one of the addresses kept for names, given out or not? */
bool qsb__stand_ins_have(const struct qsb__address *address);

#endif
