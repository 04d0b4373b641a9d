/* The two lists between JavaScript's thread and ours. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "addon.h"

struct order *order_new(enum order_kind kind, uint32_t id, const void *data, size_t length)
{
	struct order *order = malloc(sizeof(*order) + length);

	if (!order)
		return NULL;
	memset(order, 0, sizeof(*order));
	order->kind = kind;
	order->id = id;
	order->length = length;
	if (length > 0)
		memcpy(order->data, data, length);
	return order;
}

void order_free(struct order *order)
{
	if (!order)
		return;
	launch_free(order->launch);
	free(order);
}

void orders_free(struct order *first)
{
	while (first) {
		struct order *next = first->next;

		order_free(first);
		first = next;
	}
}

void queue_wake(struct environment *environment)
{
	static const uint64_t one = 1;

	while (write(environment->orders_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
}

void queue_order(struct environment *environment, struct order *order)
{
	bool first;

	pthread_mutex_lock(&environment->lock);
	first = environment->orders == NULL;
	if (first)
		environment->orders = order;
	else
		environment->last_order->next = order;
	environment->last_order = order;
	pthread_mutex_unlock(&environment->lock);
	/* The thread takes all there are: only the first one has to wake it. */
	if (first)
		queue_wake(environment);
}

struct order *queue_take_orders(struct environment *environment)
{
	struct order *first;

	pthread_mutex_lock(&environment->lock);
	first = environment->orders;
	environment->orders = environment->last_order = NULL;
	pthread_mutex_unlock(&environment->lock);
	return first;
}

struct event *event_new(const struct process *process, enum event_kind kind, const void *data, size_t length)
{
	struct event *event = malloc(sizeof(*event) + length);

	if (!event)
		return NULL;
	memset(event, 0, sizeof(*event));
	event->kind = kind;
	event->id = process->id;
	event->length = length;
	if (data && length > 0)
		memcpy(event->data, data, length);
	return event;
}

struct event *event_of_error(const struct process *process, enum event_kind kind, const struct qsb_error *err)
{
	struct event *event = event_new(process, kind, err, sizeof(*err));

	if (event)
		event->is_error = true;
	return event;
}

void events_free(struct event *first)
{
	while (first) {
		struct event *next = first->next;

		free(first);
		first = next;
	}
}

void queue_event(struct environment *environment, struct event *event)
{
	bool wake;

	if (!event)
		return;
	pthread_mutex_lock(&environment->lock);
	if (environment->events)
		environment->last_event->next = event;
	else
		environment->events = event;
	environment->last_event = event;
	wake = !environment->woken && !environment->closing;
	environment->woken = true;
	pthread_mutex_unlock(&environment->lock);
	/* Never waits: the call is made only when the one before was answered, and so finds room. One that fails has no
	 * thread to throw on: the next event tries again. */
	if (!wake || napi_call_threadsafe_function(environment->wake, NULL, napi_tsfn_nonblocking) == napi_ok)
		return;
	pthread_mutex_lock(&environment->lock);
	environment->woken = false;
	pthread_mutex_unlock(&environment->lock);
}

struct event *queue_take_events(struct environment *environment, size_t most)
{
	struct event *first, *last;
	size_t sum;

	pthread_mutex_lock(&environment->lock);
	first = last = environment->events;
	if (!first) {
		environment->woken = false;
		pthread_mutex_unlock(&environment->lock);
		return NULL;
	}
	for (sum = first->length; last->next && sum + last->next->length <= most; sum += last->length)
		last = last->next;
	environment->events = last->next;
	if (!environment->events)
		environment->last_event = NULL;
	last->next = NULL;
	pthread_mutex_unlock(&environment->lock);
	return first;
}
