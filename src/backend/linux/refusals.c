#include "backend/linux/refusals.h"

#include <pthread.h>
#include <stddef.h>

enum { KEPT = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct qsb__denial kept[KEPT];
static size_t first, count;

void qsb__refusal_add(const struct qsb__denial *denial)
{
	pthread_mutex_lock(&lock);
	/* A flood loses its newest: the first ones tell what the matter is. */
	if (count < KEPT)
		kept[(first + count++) % KEPT] = *denial;
	pthread_mutex_unlock(&lock);
}

bool qsb__refusal_next(struct qsb__denial *denial)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = count > 0;
	if (found) {
		*denial = kept[first];
		first = (first + 1) % KEPT;
		count--;
	}
	pthread_mutex_unlock(&lock);
	return found;
}
