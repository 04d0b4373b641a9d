#include "backend/linux/refusals.h"

#include <stdint.h>
#include <unistd.h>

static struct qsb__ledger ledger = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t wake_lock = PTHREAD_MUTEX_INITIALIZER;
static int wake_fd = -1;

void qsb__refusal_add(const struct qsb__denial *denial)
{
	uint64_t one = 1;

	if (!qsb__ledger_add(&ledger, denial))
		return;
	pthread_mutex_lock(&wake_lock);
	if (wake_fd >= 0 && write(wake_fd, &one, sizeof(one)) < 0)
		wake_fd = -1; /* they are taken at the end then */
	pthread_mutex_unlock(&wake_lock);
}

bool qsb__refusal_is_told(const struct qsb__denial *key)
{
	return qsb__ledger_count(&ledger, key);
}

bool qsb__refusal_next(struct qsb__denial *denial)
{
	return qsb__ledger_next(&ledger, denial);
}

size_t qsb__refusals_left_out(void)
{
	return qsb__ledger_left_out(&ledger);
}

void qsb__refusals_wake(int fd)
{
	pthread_mutex_lock(&wake_lock);
	wake_fd = fd;
	pthread_mutex_unlock(&wake_lock);
}
