/* One client's connection: its sockets, its time limits, its end. What it does in between is in the other files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <netinet/tcp.h>

#include "broker/internal.h"
#include "broker/socket_address.h"
#include "core/cleanup.h"

/* How much of a head is taken at a time. */
enum { READ_BYTES = 4096, DNS_PORT = 53 };

static void ready(uv_poll_t *handle, int status, int events);

struct qsb__connection *qsb__connection_new(struct qsb__broker_run *run, enum qsb__listener kind, int client)
{
	struct qsb__connection *connection = calloc(1, sizeof(*connection));
	const int on = 1;
	uv_timeval64_t now;

	if (!connection) {
		close(client);
		return NULL;
	}
	connection->run = run;
	connection->kind = kind;
	connection->client = client;
	connection->server = -1;
	qsb__mover_init(&connection->up.mover);
	qsb__mover_init(&connection->down.mover);
	connection->client_poll.data = connection->server_poll.data = connection->timer.data = connection;
	if (uv_poll_init(&run->loop, &connection->client_poll, client) != 0) {
		close(client);
		free(connection);
		return NULL;
	}
	uv_timer_init(&run->loop, &connection->timer);
	connection->handles = 2;
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	uv_gettimeofday(&now);
	connection->began_ms = (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_usec / 1000U;
	connection->began_ns = uv_hrtime();
	connection->next = run->connections;
	connection->at = &run->connections;
	if (connection->next)
		connection->next->at = &connection->next;
	run->connections = connection;
	if (++run->connection_count >= run->connections_max)
		qsb__entrances_poll(run, false);
	return connection;
}

static void let_go(uv_handle_t *handle)
{
	struct qsb__connection *connection = handle->data;

	if (--connection->handles > 0)
		return;
	if (connection->client >= 0)
		close(connection->client);
	if (connection->server >= 0)
		close(connection->server);
	free(connection);
}

void qsb__connection_close(struct qsb__connection *connection)
{
	struct qsb__broker_run *run = connection->run;

	if (connection->closing)
		return;
	connection->closing = true;
	qsb__report_connection(connection);
	qsb__approvals_forget(connection);
	qsb__dial_cancel(connection);
	qsb__relay_clear(connection);
	qsb__connection_free_head(connection);
	free(QSB_TAKE(connection->verdict));
	qsb__connection_free_first(connection);
	qsb__connection_drop_early(connection, connection->early_length);
	*connection->at = connection->next;
	if (connection->next)
		connection->next->at = connection->at;
	if (run->connection_count-- == run->connections_max && !run->finishing)
		qsb__entrances_poll(run, true);
	uv_close((uv_handle_t *)&connection->client_poll, let_go);
	uv_close((uv_handle_t *)&connection->timer, let_go);
	if (connection->server >= 0)
		uv_close((uv_handle_t *)&connection->server_poll, let_go);
}

void qsb__connection_reset(struct qsb__connection *connection)
{
	const struct linger at_once = {.l_onoff = 1};

	setsockopt(connection->client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	qsb__connection_close(connection);
}

void qsb__connection_close_all(struct qsb__broker_run *run)
{
	while (run->connections)
		qsb__connection_reset(run->connections);
}

/*
 * The command is over, but what its processes said before their end would still go out without us: a message that was
 * sent, a log line. What they wanted to hear, nobody hears any more.
 */
static bool has_to_give(struct qsb__connection *connection)
{
	int waiting = 0;

	if (!connection->allowed || connection->failed)
		return false;
	if (connection->relaying)
		qsb__relay_run(connection, QSB__RELAY_UP);
	if (connection->closing || connection->up.shut)
		return false;
	return connection->up.mover.held > 0 || connection->first || connection->head_length > 0 ||
	       (ioctl(connection->client, FIONREAD, &waiting) == 0 && waiting > 0);
}

void qsb__connection_close_done(struct qsb__broker_run *run)
{
	struct qsb__connection *next;

	for (struct qsb__connection *connection = run->connections; connection; connection = next) {
		next = connection->next;
		if (!has_to_give(connection))
			qsb__connection_reset(connection);
	}
}

static void failed(struct qsb__connection *connection)
{
	if (!connection->reason && connection->allowed) {
		connection->failed = true;
		connection->reason = "the connection was broken off";
	}
	qsb__connection_reset(connection);
}

/* Which direction of the relay waited for this. */
static unsigned directions(const struct qsb__connection *connection, const uv_poll_t *handle, int events)
{
	bool client = handle == &connection->client_poll;

	return (events & UV_READABLE ? (client ? QSB__RELAY_UP : QSB__RELAY_DOWN) : 0U) |
	       (events & UV_WRITABLE ? (client ? QSB__RELAY_DOWN : QSB__RELAY_UP) : 0U);
}

static void ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__connection *connection = handle->data;

	if (connection->closing)
		return;
	/* An error stops the poll. */
	if (status != 0)
		*(handle == &connection->client_poll ? &connection->client_events : &connection->server_events) = 0;
	if (connection->relaying && status != 0) {
		qsb__relay_fail(connection, handle == &connection->server_poll);
	} else if (connection->relaying) {
		qsb__relay_run(connection, directions(connection, handle, events));
	} else if (status != 0 || !connection->client_ready) {
		failed(connection);
	} else {
		connection->client_ready(connection);
	}
}

void qsb__connection_poll(struct qsb__connection *connection, int client_events, int server_events)
{
	if (connection->closing)
		return;
	if (client_events != connection->client_events) {
		connection->client_events = client_events;
		if (client_events)
			uv_poll_start(&connection->client_poll, client_events, ready);
		else
			uv_poll_stop(&connection->client_poll);
	}
	if (connection->server >= 0 && server_events != connection->server_events) {
		connection->server_events = server_events;
		if (server_events)
			uv_poll_start(&connection->server_poll, server_events, ready);
		else
			uv_poll_stop(&connection->server_poll);
	}
}

bool qsb__connection_attach(struct qsb__connection *connection, int server)
{
	const int on = 1;

	if (uv_poll_init(&connection->run->loop, &connection->server_poll, server) != 0) {
		close(server);
		return false;
	}
	setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	connection->server = server;
	connection->handles++;
	return true;
}

void qsb__connection_timer(uv_timer_t *timer)
{
	struct qsb__connection *connection = timer->data;

	if (connection->closing)
		return;
	if (connection->timed_out)
		connection->timed_out(connection);
	else
		failed(connection);
}

void qsb__connection_expect(struct qsb__connection *connection, qsb__step step, uint64_t after_ms, qsb__step timed_out)
{
	if (connection->closing)
		return;
	connection->client_ready = step;
	connection->timed_out = timed_out;
	if (after_ms)
		uv_timer_start(&connection->timer, qsb__connection_timer, after_ms, 0);
	else
		uv_timer_stop(&connection->timer);
	qsb__connection_poll(connection, step ? UV_READABLE : 0, 0);
}

/* ---- the first bytes of both sides ---- */

/* They may wait for long, and for many connections at once: what they take in all has a limit. */
static void *make_room(struct qsb__connection *connection, void *block, size_t has, size_t wanted)
{
	struct qsb__broker_run *run = connection->run;
	void *grown = NULL;

	if (run->heads_bytes + wanted - has <= QSB__HEADS_BYTES_MAX)
		grown = realloc(block, wanted);
	if (grown)
		run->heads_bytes += wanted - has;
	return grown;
}

int qsb__connection_read_head(struct qsb__connection *connection, size_t most)
{
	ssize_t length;

	if (connection->head_length >= most)
		return 0;
	if (connection->head_length == connection->head_room) {
		size_t room = connection->head_room ? connection->head_room * 2 : READ_BYTES;
		uint8_t *head;

		if (room > most)
			room = most;
		head = make_room(connection, connection->head, connection->head_room, room);
		if (!head)
			return -2;
		connection->head = head;
		connection->head_room = room;
	}
	length = recv(connection->client, connection->head + connection->head_length,
		      connection->head_room - connection->head_length, 0);
	if (length < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -2;
	connection->head_length += (size_t)length;
	return length > 0 ? 1 : -1;
}

void qsb__connection_drop_head(struct qsb__connection *connection, size_t bytes)
{
	connection->head_length -= bytes;
	memmove(connection->head, connection->head + bytes, connection->head_length);
	/* Most connections need no more of it; a body takes the same room piece by piece. */
	if (connection->head_length == 0 && connection->gate != QSB__GATE_HTTP)
		qsb__connection_free_head(connection);
}

void qsb__connection_free_head(struct qsb__connection *connection)
{
	connection->run->heads_bytes -= connection->head_room;
	free(QSB_TAKE(connection->head));
	connection->head_length = connection->head_room = 0;
}

bool qsb__connection_keep_early(struct qsb__connection *connection, const void *bytes, size_t length)
{
	uint8_t *early =
		make_room(connection, connection->early, connection->early_length, connection->early_length + length);

	if (!early)
		return false;
	memcpy(early + connection->early_length, bytes, length);
	connection->early = early;
	connection->early_length += length;
	return true;
}

void qsb__connection_drop_early(struct qsb__connection *connection, size_t bytes)
{
	connection->run->heads_bytes -= bytes;
	connection->early_length -= bytes;
	if (connection->early_length == 0)
		free(QSB_TAKE(connection->early));
	else
		memmove(connection->early, connection->early + bytes, connection->early_length);
}

bool qsb__connection_new_first(struct qsb__connection *connection, size_t length)
{
	connection->first = make_room(connection, NULL, 0, length);
	if (!connection->first)
		return false;
	connection->first_length = connection->first_room = length;
	connection->first_sent = 0;
	return true;
}

void qsb__connection_free_first(struct qsb__connection *connection)
{
	connection->run->heads_bytes -= connection->first_room;
	free(QSB_TAKE(connection->first));
	connection->first_length = connection->first_room = connection->first_sent = 0;
}

/* ---- where it begins ---- */

/* The address that the client connected to is the name of the socket it got. */
static void accept_transparent(struct qsb__entrance *entrance, int fd)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);
	struct qsb__connection *connection;
	struct qsb__address address;
	unsigned port = 0;

	/* The sandbox's own loopback is no way out: a client that found our port there gets what no port gives. */
	if (getsockname(fd, (struct sockaddr *)&name, &size) != 0 ||
	    !qsb__socket_address_read((const struct sockaddr *)&name, &address, &port) ||
	    qsb__address_class(&address) == QSB__ADDRESS_LOOPBACK) {
		close(fd);
		return;
	}
	if (port == DNS_PORT) {
		qsb__dns_accept(entrance->run, fd);
		return;
	}
	connection = qsb__connection_new(entrance->run, entrance->kind, fd);
	if (connection)
		qsb__target_address(connection, &address, port);
}

void qsb__connection_to_loopback(struct qsb__broker_run *run, enum qsb__broker_way way, unsigned port, int fd)
{
	struct qsb__connection *connection = qsb__connection_new(run, QSB__LISTENER_REACH, fd);

	if (!connection)
		return;
	connection->way = way;
	connection->port = port;
	memcpy(connection->host, "localhost", sizeof("localhost"));
	connection->judged = connection->allowed = true;
	qsb__dial_begin(connection);
}

static void accept_proxied(struct qsb__entrance *entrance, int fd)
{
	struct qsb__connection *connection = qsb__connection_new(entrance->run, entrance->kind, fd);

	if (!connection)
		return;
	if (entrance->kind == QSB__LISTENER_HTTP_PROXY) {
		connection->way = QSB__WAY_HTTP;
		qsb__proxy_http_begin(connection);
	} else {
		connection->way = QSB__WAY_SOCKS;
		qsb__proxy_socks_begin(connection);
	}
}

void qsb__connection_accept(struct qsb__entrance *entrance, int fd)
{
	switch (entrance->kind) {
	case QSB__LISTENER_HTTP_PROXY:
	case QSB__LISTENER_SOCKS:
		accept_proxied(entrance, fd);
		break;
	case QSB__LISTENER_DNS_TCP:
		qsb__dns_accept(entrance->run, fd);
		break;
	case QSB__LISTENER_REACH:
		qsb__connection_to_loopback(entrance->run, QSB__WAY_REACH, entrance->port, fd);
		break;
	default:
		accept_transparent(entrance, fd);
		break;
	}
}
