/* The thread: waits for orders and for the descriptors of all processes. */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "addon.h"

enum { MOST_READY = 64 };

void watch_set(struct watch *watch, uint32_t what, bool on)
{
	struct epoll_event wanted = {.events = what, .data = {.ptr = watch}};
	int epoll = watch->process->environment->epoll;

	if (watch->fd < 0 || watch->waiting == on)
		return;
	/* Taken out, not masked: the end of a pipe that is not read would be told for ever. */
	if (epoll_ctl(epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, watch->fd, &wanted) == 0)
		watch->waiting = on;
}

void watch_close(struct watch *watch)
{
	if (watch->fd < 0)
		return;
	watch_set(watch, 0, false);
	close(watch->fd);
	watch->fd = -1;
}

static void obey_all(struct environment *environment)
{
	struct order *order = queue_take_orders(environment);

	while (order) {
		struct order *next = order->next;

		order->next = NULL;
		if (order->kind == ORDER_START) {
			launches_add(environment, order);
		} else {
			/* An order to one that waits: it is needed now. */
			launches_through(environment, order->id);
			process_obey(environment, order);
		}
		order = next;
	}
}

/* Somebody waits for a number. */
static void start_wanted(struct environment *environment)
{
	uint32_t wanted;

	pthread_mutex_lock(&environment->lock);
	wanted = environment->wanted_through;
	pthread_mutex_unlock(&environment->lock);
	if (wanted)
		launches_through(environment, wanted);
}

static bool is_closing(struct environment *environment)
{
	bool closing;

	pthread_mutex_lock(&environment->lock);
	closing = environment->closing;
	pthread_mutex_unlock(&environment->lock);
	return closing;
}

/* A watch that was closed by an earlier one of the same round has nothing to say. */
static void serve(const struct epoll_event *ready, int count)
{
	for (int i = 0; i < count; i++) {
		struct watch *watch = ready[i].data.ptr;

		if (watch && watch->fd >= 0 && watch->waiting)
			watch->ready(watch);
	}
}

void *thread_run(void *data)
{
	struct environment *environment = data;
	struct epoll_event ready[MOST_READY];
	uint64_t count;
	int patience = -1;

	while (!is_closing(environment)) {
		int found = epoll_wait(environment->epoll, ready, MOST_READY, patience);

		if (found < 0 && errno != EINTR)
			break;
		serve(ready, found);
		if (read(environment->orders_fd, &count, sizeof(count)) > 0)
			obey_all(environment);
		start_wanted(environment);
		patience = launches_go_on(environment);
		processes_sweep(environment);
	}
	processes_end(environment);
	return NULL;
}
