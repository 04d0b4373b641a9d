/* What the supervisor hears of the connections. It may be slow, and is never waited for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "broker/internal.h"
#include "broker/socket_address.h"

enum { QUEUE_MAX = 1024 };

struct queued {
	struct queued *next;
	struct qsb__broker_event event;
};

struct qsb__reporter {
	struct qsb__broker_run *run;
	uv_poll_t poll;
	struct queued *first, **last;
	size_t count;
	uint64_t left_out;
	char denied[QSB__HOST_MAX]; /* the last name that the resolver refused */
};

static void ready(uv_poll_t *handle, int status, int events);

struct qsb__reporter *qsb__reporter_new(struct qsb__broker_run *run)
{
	struct qsb__reporter *reporter = calloc(1, sizeof(*reporter));

	if (!reporter)
		return NULL;
	reporter->run = run;
	reporter->last = &reporter->first;
	reporter->poll.data = reporter;
	if (uv_poll_init(&run->loop, &reporter->poll, run->events_fd) != 0) {
		free(reporter);
		return NULL;
	}
	uv_poll_start(&reporter->poll, UV_READABLE, ready);
	return reporter;
}

void qsb__reporter_flush(struct qsb__reporter *reporter)
{
	int fd = reporter->run->events_fd;

	while (reporter->first) {
		struct queued *queued = reporter->first;

		if (send(fd, &queued->event, sizeof(queued->event), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EAGAIN)
			break;
		reporter->first = queued->next;
		if (!reporter->first)
			reporter->last = &reporter->first;
		reporter->count--;
		free(queued);
	}
	/* The end that tells us to finish stays readable for ever. */
	uv_poll_start(&reporter->poll,
		      (reporter->run->finishing ? 0 : UV_READABLE) | (reporter->first ? UV_WRITABLE : 0), ready);
}

bool qsb__reporter_is_idle(const struct qsb__reporter *reporter)
{
	return !reporter->first;
}

/* Orders come the same way: answers to questions, and in the end that the command is over. */
static void read_orders(struct qsb__reporter *reporter)
{
	struct qsb__broker_order order;
	ssize_t length;

	while ((length = recv(reporter->run->events_fd, &order, sizeof(order), MSG_DONTWAIT)) == sizeof(order))
		qsb__approvals_answer(reporter->run->approvals, order.id,
				      order.answer <= QSB__ANSWER_RUN ? (enum qsb__broker_answer)order.answer
								      : QSB__ANSWER_DENY);
	if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR))
		qsb__broker_run_finish(reporter->run);
}

static void ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__reporter *reporter = handle->data;

	if (status != 0 || (events & UV_READABLE))
		read_orders(reporter);
	if (events & UV_WRITABLE)
		qsb__reporter_flush(reporter);
}

static bool send_event(struct qsb__reporter *reporter, struct qsb__broker_event *event)
{
	struct queued *queued;

	event->left_out = reporter->left_out;
	if (!reporter->first &&
	    send(reporter->run->events_fd, event, sizeof(*event), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*event)) {
		reporter->left_out = 0;
		return true;
	}
	queued = reporter->count < QUEUE_MAX ? malloc(sizeof(*queued)) : NULL;
	if (!queued) {
		reporter->left_out++;
		return false;
	}
	queued->event = *event;
	queued->next = NULL;
	*reporter->last = queued;
	reporter->last = &queued->next;
	reporter->count++;
	reporter->left_out = 0;
	qsb__reporter_flush(reporter);
	return true;
}

static uint16_t port_of_peer(int fd)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);
	struct qsb__address address;
	unsigned port = 0;

	if (fd < 0 || getpeername(fd, (struct sockaddr *)&name, &size) != 0 ||
	    !qsb__socket_address_read((const struct sockaddr *)&name, &address, &port))
		return 0;
	return (uint16_t)port;
}

static void fill_in_connection(const struct qsb__connection *connection, struct qsb__broker_event *event)
{
	event->way = connection->way;
	event->allowed = connection->allowed;
	event->failed = connection->failed;
	event->port = (uint16_t)connection->port;
	event->client_port = port_of_peer(connection->client);
	event->time_ms = connection->began_ms;
	event->duration_ms = (uv_hrtime() - connection->began_ns) / 1000000U;
	event->sent = connection->up.bytes;
	event->received = connection->down.bytes;
	snprintf(event->host, sizeof(event->host), "%s", connection->host);
	snprintf(event->address, sizeof(event->address), "%s", connection->dialled);
	if (connection->reason)
		snprintf(event->reason, sizeof(event->reason), "%s", connection->reason);
	if (connection->verdict) {
		snprintf(event->rule, sizeof(event->rule), "%s", connection->verdict->rule);
		if (!connection->allowed)
			snprintf(event->suggestion, sizeof(event->suggestion), "%s", connection->verdict->fix);
	} else if (!connection->allowed && connection->reason) {
		snprintf(event->rule, sizeof(event->rule), "built-in: %s", connection->reason);
	} else if (connection->way == QSB__WAY_REACH) {
		snprintf(event->rule, sizeof(event->rule), "/network/reachPorts: %u", connection->port);
	} else if (connection->way == QSB__WAY_PUBLISH) {
		snprintf(event->rule, sizeof(event->rule), "/network/publishPorts: %u", connection->port);
	}
}

void qsb__report_connection(struct qsb__connection *connection)
{
	struct qsb__broker_event event;

	if (connection->reported)
		return;
	connection->reported = true;
	/* It ended before it asked for anything: nothing was refused. */
	if (!connection->judged && !connection->reason)
		return;
	if (connection->allowed && !connection->run->options.report_all)
		return;
	memset(&event, 0, sizeof(event));
	event.kind = QSB__BROKER_CONNECTION;
	fill_in_connection(connection, &event);
	send_event(connection->run->reporter, &event);
}

bool qsb__report_request(struct qsb__connection *connection, uint32_t id)
{
	struct qsb__broker_event event;

	memset(&event, 0, sizeof(event));
	event.kind = QSB__BROKER_REQUEST;
	event.id = id;
	fill_in_connection(connection, &event);
	return send_event(connection->run->reporter, &event);
}

/* A resolver that was told no asks on with the host's search domains behind the name: nobody wants to hear of those. */
static bool is_search_for(const char *name, const char *denied)
{
	size_t length = strlen(denied);

	return length > 0 && strncmp(name, denied, length) == 0 && name[length] == '.';
}

void qsb__report_lookup(struct qsb__broker_run *run, const char *name, const struct qsb__host_judgement *verdict,
			unsigned client_port)
{
	struct qsb__broker_event event;
	uv_timeval64_t now;

	if (is_search_for(name, run->reporter->denied))
		return;
	memset(&event, 0, sizeof(event));
	uv_gettimeofday(&now);
	event.kind = QSB__BROKER_LOOKUP;
	event.way = QSB__WAY_DNS;
	event.client_port = (uint16_t)client_port;
	event.time_ms = (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_usec / 1000U;
	snprintf(event.host, sizeof(event.host), "%s", name);
	snprintf(event.rule, sizeof(event.rule), "%s", verdict->rule);
	snprintf(event.suggestion, sizeof(event.suggestion), "%s", verdict->fix);
	snprintf(run->reporter->denied, sizeof(run->reporter->denied), "%s", name);
	send_event(run->reporter, &event);
}
