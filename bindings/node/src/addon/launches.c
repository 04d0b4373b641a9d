/*
 * When the next program is started. A sandbox costs a few milliseconds of processor time, and a host that asks for 64
 * of them at once would have 64 of them compete with its own threads for the processors, which makes none of them
 * faster. So as many begin together as there are processors; the next one when one of these has ended, or is a while
 * under way.
 */
#include <sched.h>
#include <time.h>

#include "addon.h"

enum { WHILE_US = 8000 };

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static size_t processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0 ? (size_t)CPU_COUNT(&set) : 1;
}

/* Those that begin now; *next: when the first of them is a while under way. */
static size_t beginning(const struct environment *environment, uint64_t now, uint64_t *next)
{
	size_t count = 0;

	*next = UINT64_MAX;
	for (const struct process *process = environment->processes; process; process = process->next) {
		uint64_t until = process->started_at + WHILE_US;

		if (process->ended || until <= now)
			continue;
		count++;
		*next = until < *next ? until : *next;
	}
	return count;
}

static void start_first(struct environment *environment, uint64_t now)
{
	struct order *order = environment->waiting;

	environment->waiting = order->next;
	if (!environment->waiting)
		environment->last_waiting = NULL;
	order->next = NULL;
	process_start(environment, order, now);
}

void launches_add(struct environment *environment, struct order *order)
{
	order->next = NULL;
	if (environment->last_waiting)
		environment->last_waiting->next = order;
	else
		environment->waiting = order;
	environment->last_waiting = order;
}

void launches_through(struct environment *environment, uint32_t id)
{
	/* The difference, since numbers begin anew one day. */
	while (environment->waiting && (int32_t)(environment->waiting->id - id) <= 0)
		start_first(environment, now_us());
}

int launches_go_on(struct environment *environment)
{
	uint64_t now, next;

	for (;;) {
		if (!environment->waiting)
			return -1;
		now = now_us();
		if (beginning(environment, now, &next) >= processors())
			break;
		start_first(environment, now);
	}
	return (int)((next - now) / 1000) + 1;
}
