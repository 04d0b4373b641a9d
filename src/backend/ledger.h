/*
 * What was refused, between the threads that refuse and the supervisor that tells: bounded, and never waited for. One
 * entry a kind, operation, target and detail; a refusal that is known is only counted, which costs no more than finding
 * it. What comes when the list is full is counted as left out.
 */
#ifndef QSB_BACKEND_LEDGER_H
#define QSB_BACKEND_LEDGER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/denial.h"

enum { QSB__LEDGER_ENTRIES = 256, QSB__LEDGER_SLOTS = 2 * QSB__LEDGER_ENTRIES };

struct qsb__ledger {
	pthread_mutex_t lock;
	struct qsb__denial entries[QSB__LEDGER_ENTRIES]; /* `count` is what was not taken yet */
	size_t used;
	unsigned short slots[QSB__LEDGER_SLOTS];     /* 1 + an entry, by the hash of its key; 0 = free */
	unsigned short waiting[QSB__LEDGER_ENTRIES]; /* entries with something to take, in the order in which it came */
	size_t first, waiting_count;
	bool woken; /* whoever takes them was told, and has not seen the end yet */
	size_t left_out;
};

/* A ledger that is all zeros needs no init; clear only ends its lock. */
void qsb__ledger_init(struct qsb__ledger *ledger);
void qsb__ledger_clear(struct qsb__ledger *ledger);

/* Counts one more of a denial that is known. False = it is new: to be added. */
bool qsb__ledger_count(struct qsb__ledger *ledger, const struct qsb__denial *key);
/* Without room it is only counted. True = whoever takes them is to be woken. A count alone wakes nobody. */
bool qsb__ledger_add(struct qsb__ledger *ledger, const struct qsb__denial *denial);
/* `count` says how many there were since it was taken last. */
bool qsb__ledger_next(struct qsb__ledger *ledger, struct qsb__denial *denial);
/* How many found no room so far. */
size_t qsb__ledger_left_out(struct qsb__ledger *ledger);

/* How many of its kind and operation there are already in the folder of this target. */
size_t qsb__ledger_beside(struct qsb__ledger *ledger, const struct qsb__denial *denial);

#endif
