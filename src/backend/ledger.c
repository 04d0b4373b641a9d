#include "backend/ledger.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/hash.h"

void qsb__ledger_init(struct qsb__ledger *ledger)
{
	pthread_mutex_init(&ledger->lock, NULL);
}

void qsb__ledger_clear(struct qsb__ledger *ledger)
{
	pthread_mutex_destroy(&ledger->lock);
}

static bool is_same(const struct qsb__denial *a, const struct qsb__denial *b)
{
	return strcmp(a->target, b->target) == 0 && strcmp(a->operation, b->operation) == 0 &&
	       strcmp(a->kind, b->kind) == 0 && strcmp(a->detail, b->detail) == 0;
}

/* Where the entry's number stands, or would. Half of the slots stay free. */
static unsigned short *slot(struct qsb__ledger *ledger, const struct qsb__denial *key)
{
	uint32_t at =
		(qsb__hash_text(key->kind) * 31 + qsb__hash_text(key->operation)) * 31 + qsb__hash_text(key->target);

	for (at ^= at >> 15;; at++) {
		unsigned short *found = &ledger->slots[at % QSB__LEDGER_SLOTS];

		if (*found == 0 || is_same(&ledger->entries[*found - 1], key))
			return found;
	}
}

static void count_one(struct qsb__ledger *ledger, unsigned short number)
{
	struct qsb__denial *entry = &ledger->entries[number];

	if (entry->count == 0)
		ledger->waiting[(ledger->first + ledger->waiting_count++) % QSB__LEDGER_ENTRIES] = number;
	if (entry->count < UINT32_MAX)
		entry->count++;
}

bool qsb__ledger_count(struct qsb__ledger *ledger, const struct qsb__denial *key)
{
	bool known;
	unsigned short number;

	pthread_mutex_lock(&ledger->lock);
	number = *slot(ledger, key);
	if (number > 0)
		count_one(ledger, (unsigned short)(number - 1));
	known = number > 0;
	pthread_mutex_unlock(&ledger->lock);
	return known;
}

bool qsb__ledger_add(struct qsb__ledger *ledger, const struct qsb__denial *denial)
{
	unsigned short *at;
	bool wake = false;

	pthread_mutex_lock(&ledger->lock);
	at = slot(ledger, denial);
	if (*at == 0 && ledger->used < QSB__LEDGER_ENTRIES) {
		ledger->entries[ledger->used] = *denial;
		ledger->entries[ledger->used++].count = 0;
		*at = (unsigned short)ledger->used;
	}
	if (*at > 0) {
		count_one(ledger, (unsigned short)(*at - 1));
		wake = !ledger->woken;
		ledger->woken = true;
	} else {
		ledger->left_out++;
	}
	pthread_mutex_unlock(&ledger->lock);
	return wake;
}

bool qsb__ledger_next(struct qsb__ledger *ledger, struct qsb__denial *denial)
{
	bool found;

	pthread_mutex_lock(&ledger->lock);
	found = ledger->waiting_count > 0;
	ledger->woken = found;
	if (found) {
		struct qsb__denial *entry = &ledger->entries[ledger->waiting[ledger->first]];

		*denial = *entry;
		entry->count = 0;
		ledger->first = (ledger->first + 1) % QSB__LEDGER_ENTRIES;
		ledger->waiting_count--;
	}
	pthread_mutex_unlock(&ledger->lock);
	return found;
}

size_t qsb__ledger_left_out(struct qsb__ledger *ledger)
{
	size_t count;

	pthread_mutex_lock(&ledger->lock);
	count = ledger->left_out;
	pthread_mutex_unlock(&ledger->lock);
	return count;
}

static size_t folder_length(const char *target)
{
	const char *slash = strrchr(target, '/');

	return slash ? (size_t)(slash - target) : 0;
}

size_t qsb__ledger_beside(struct qsb__ledger *ledger, const struct qsb__denial *denial)
{
	size_t length = folder_length(denial->target), count = 0;

	pthread_mutex_lock(&ledger->lock);
	for (size_t i = 0; i < ledger->used; i++) {
		const struct qsb__denial *entry = &ledger->entries[i];

		count += folder_length(entry->target) == length && memcmp(entry->target, denial->target, length) == 0 &&
			 strcmp(entry->operation, denial->operation) == 0 && strcmp(entry->kind, denial->kind) == 0;
	}
	pthread_mutex_unlock(&ledger->lock);
	return count;
}
