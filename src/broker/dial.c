/*
 * From a judged host to a connected socket. A name is looked up here and now, each of its addresses is judged, and one
 * of the judged is dialled: nobody asks for it again in between.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/internal.h"
#include "broker/socket_address.h"
#include "core/cleanup.h"

enum {
	STAGGER_MS = 300, /* RFC 8305: after that the next address is tried beside the present one */
	ALL_MS = 60000,   /* for all of them */
	CONNECTED = -1    /* no errno */
};

struct attempt {
	struct qsb__dial *dial;
	int fd; /* -1 = it is over */
	bool polled;
	uv_poll_t poll;
};

struct qsb__dial {
	struct qsb__connection *connection; /* NULL = it is over */
	struct qsb__lookup *lookup;
	struct qsb__address candidates[QSB__ADDRESSES_MAX];
	size_t count, next;
	unsigned port, handles;
	bool by_proxy;
	char target[QSB__HOST_MAX]; /* what the proxy is asked for */
	int error;                  /* of the last attempt */
	uint64_t until_ms;
	struct attempt attempts[QSB__ADDRESSES_MAX];
};

static void let_go(struct qsb__dial *dial)
{
	if (!dial->connection && dial->handles == 0)
		free(dial);
}

static void poll_closed(uv_handle_t *handle)
{
	struct attempt *attempt = handle->data;

	attempt->dial->handles--;
	let_go(attempt->dial);
}

static void stop(struct attempt *attempt, bool keep_fd)
{
	if (attempt->fd < 0)
		return;
	if (attempt->polled)
		uv_close((uv_handle_t *)&attempt->poll, poll_closed);
	if (!keep_fd)
		close(attempt->fd);
	attempt->fd = -1;
}

static void end(struct qsb__dial *dial)
{
	struct qsb__connection *connection = dial->connection;

	if (!connection)
		return;
	if (dial->lookup)
		qsb__lookup_cancel(QSB_TAKE(dial->lookup));
	for (size_t i = 0; i < dial->next; i++)
		stop(&dial->attempts[i], false);
	uv_timer_stop(&connection->timer);
	connection->dial = NULL;
	dial->connection = NULL;
	let_go(dial);
}

void qsb__dial_cancel(struct qsb__connection *connection)
{
	if (connection->dial)
		end(connection->dial);
}

static void unreachable(struct qsb__dial *dial, const char *why)
{
	struct qsb__connection *connection = dial->connection;
	bool timed_out = dial->error == ETIMEDOUT;

	/* Whoever reads the log wants to know who was tried. */
	if (dial->next > 0)
		qsb__address_format(&dial->candidates[dial->next - 1], connection->dialled);
	end(dial);
	qsb__refuse_unreachable(connection, why, timed_out);
}

static const char *describe(int error, bool by_proxy)
{
	if (by_proxy)
		return "the upstream proxy cannot be reached";
	switch (error) {
	case ECONNREFUSED:
		return "the server refused the connection";
	case ETIMEDOUT:
		return "the server did not answer in time";
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "there is no way to the server's network";
	default:
		return "the server cannot be reached";
	}
}

/* ---- connecting ---- */

static void try_next(struct qsb__dial *dial);

static void connected(struct attempt *attempt)
{
	struct qsb__dial *dial = attempt->dial;
	struct qsb__connection *connection = dial->connection;
	size_t index = (size_t)(attempt - dial->attempts);
	int fd = attempt->fd;
	char target[QSB__HOST_MAX];
	bool by_proxy = dial->by_proxy;

	qsb__address_format(&dial->candidates[index], connection->dialled);
	memcpy(target, dial->target, sizeof(target));
	stop(attempt, true);
	end(dial);
	if (!qsb__connection_attach(connection, fd)) {
		qsb__refuse_unreachable(connection, "no more connections can be watched", false);
		return;
	}
	if (by_proxy && !connection->absolute)
		qsb__upstream_begin(connection, target);
	else
		qsb__dial_done(connection);
}

static void attempt_ready(uv_poll_t *handle, int status, int events)
{
	struct attempt *attempt = handle->data;
	struct qsb__dial *dial = attempt->dial;
	int error = 0;
	socklen_t size = sizeof(error);

	if (attempt->fd < 0 || !dial->connection)
		return;
	if (getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error == 0 && status == 0) {
		connected(attempt);
		return;
	}
	dial->error = error ? error : ECONNREFUSED;
	stop(attempt, false);
	try_next(dial);
}

static int new_socket(const struct qsb__connection *connection, int family)
{
	if (connection->way == QSB__WAY_PUBLISH)
		return qsb__publisher_socket(connection->run->publisher, family);
	return socket(family == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* A near server answers before the call returns. */
static bool is_connected(int fd)
{
	struct pollfd state = {.fd = fd, .events = POLLOUT};
	int error = 0;
	socklen_t size = sizeof(error);

	return poll(&state, 1, 0) == 1 && state.revents == POLLOUT &&
	       getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

/* Starts with one address. 0, or an errno, or CONNECTED. */
static int start(struct qsb__dial *dial, struct attempt *attempt, const struct qsb__address *address)
{
	struct qsb__connection *connection = dial->connection;
	QSB_CLEANUP_FD int fd = new_socket(connection, address->family);
	struct sockaddr_storage name;
	socklen_t size = qsb__socket_address_write(address, dial->port, &name);

	attempt->dial = dial;
	attempt->fd = -1;
	attempt->poll.data = attempt;
	if (fd < 0)
		return errno ? errno : EMFILE;
	if (connect(fd, (const struct sockaddr *)&name, size) != 0 && errno != EINPROGRESS)
		return errno;
	if (is_connected(fd)) {
		attempt->fd = qsb__take_fd(&fd);
		return CONNECTED;
	}
	if (uv_poll_init(&connection->run->loop, &attempt->poll, fd) != 0)
		return ENOMEM;
	attempt->fd = qsb__take_fd(&fd);
	attempt->polled = true;
	dial->handles++;
	return uv_poll_start(&attempt->poll, UV_WRITABLE, attempt_ready) == 0 ? 0 : ENOMEM;
}

static bool any_running(const struct qsb__dial *dial)
{
	for (size_t i = 0; i < dial->next; i++)
		if (dial->attempts[i].fd >= 0)
			return true;
	return false;
}

static void stagger_over(struct qsb__connection *connection)
{
	struct qsb__dial *dial = connection->dial;

	if (uv_now(&connection->run->loop) >= dial->until_ms) {
		dial->error = ETIMEDOUT;
		unreachable(dial, describe(ETIMEDOUT, dial->by_proxy));
		return;
	}
	try_next(dial);
}

/* Starts with the next address that can be started with, or waits for those on their way. */
static void try_next(struct qsb__dial *dial)
{
	struct qsb__connection *connection = dial->connection;
	bool started = false;

	while (!started && dial->next < dial->count) {
		size_t index = dial->next++;
		int error = start(dial, &dial->attempts[index], &dial->candidates[index]);

		if (error == CONNECTED) {
			connected(&dial->attempts[index]);
			return;
		}
		started = error == 0;
		if (error)
			dial->error = error;
	}
	if (!started && !any_running(dial)) {
		unreachable(dial, describe(dial->error, dial->by_proxy));
		return;
	}
	qsb__connection_expect(connection, NULL, dial->next < dial->count ? STAGGER_MS : ALL_MS, stagger_over);
}

static void dial_all(struct qsb__dial *dial)
{
	dial->until_ms = uv_now(&dial->connection->run->loop) + ALL_MS;
	try_next(dial);
}

/* ---- which addresses ---- */

static void add_loopback(struct qsb__dial *dial)
{
	qsb__address_parse("127.0.0.1", 9, &dial->candidates[0]);
	qsb__address_parse("::1", 3, &dial->candidates[1]);
	dial->count = 2;
}

static void proxy_found(void *data, const struct qsb__found *found)
{
	struct qsb__dial *dial = data;

	dial->lookup = NULL;
	if (found->count == 0) {
		unreachable(dial, "the upstream proxy's name leads to no address");
		return;
	}
	memcpy(dial->candidates, found->addresses, found->count * sizeof(found->addresses[0]));
	dial->count = found->count;
	dial_all(dial);
}

/* To the proxy, which the policy names: its own address is not judged. */
static void dial_proxy(struct qsb__dial *dial, const char *target)
{
	struct qsb__broker_run *run = dial->connection->run;
	const struct qsb__upstream *upstream = &run->upstream;

	dial->by_proxy = true;
	dial->port = upstream->port;
	snprintf(dial->target, sizeof(dial->target), "%s", target);
	if (qsb__address_parse(upstream->host, strlen(upstream->host), &dial->candidates[0])) {
		dial->count = 1;
		dial_all(dial);
		return;
	}
	qsb__resolver_ask(run->resolver, upstream->host, proxy_found, dial, &dial->lookup);
}

static bool uses_proxy(const struct qsb__connection *connection)
{
	const struct qsb__upstream *upstream = &connection->run->upstream;

	return upstream->kind != QSB__UPSTREAM_NONE &&
	       !qsb__upstream_bypasses(upstream, connection->host, connection->port);
}

/* Keeps the addresses that the rules allow; `verdict` becomes the first refusal when none is left. */
static void judge_all(struct qsb__dial *dial, const struct qsb__found *found)
{
	struct qsb__connection *connection = dial->connection;
	struct qsb__host_judgement verdict, refusal = {.answer = QSB__HOST_ALLOWED};

	dial->count = 0;
	for (size_t i = 0; i < found->count; i++) {
		qsb__target_judge_address(connection, &found->addresses[i], connection->verdict, &verdict);
		if (verdict.answer == QSB__HOST_ALLOWED)
			dial->candidates[dial->count++] = found->addresses[i];
		else if (refusal.answer == QSB__HOST_ALLOWED)
			refusal = verdict;
	}
	if (dial->count == 0 && found->count > 0)
		*connection->verdict = refusal;
}

static void host_found(void *data, const struct qsb__found *found)
{
	struct qsb__dial *dial = data;
	struct qsb__connection *connection = dial->connection;
	char target[QSB__ADDRESS_TEXT];

	dial->lookup = NULL;
	if (found->count == 0) {
		unreachable(dial, found->code == 2 ? "no name server answered" : "there is no such name");
		return;
	}
	judge_all(dial, found);
	if (dial->count == 0) {
		end(dial);
		qsb__refuse_by_rule(connection);
		return;
	}
	if (!uses_proxy(connection)) {
		dial_all(dial);
		return;
	}
	qsb__address_format(&dial->candidates[0], target);
	dial_proxy(dial, target);
}

static void dial_host(struct qsb__dial *dial)
{
	struct qsb__connection *connection = dial->connection;
	/* A request that was written for the proxy carries its password: it goes there, whatever the name is by now. */
	bool proxy = connection->absolute || uses_proxy(connection);

	if (proxy && (!connection->host_is_name || connection->run->upstream.resolves || connection->absolute)) {
		dial_proxy(dial, connection->host);
	} else if (connection->host_is_name) {
		qsb__resolver_ask(connection->run->resolver, connection->host, host_found, dial, &dial->lookup);
	} else {
		dial->candidates[0] = connection->address;
		dial->count = 1;
		dial_all(dial);
	}
}

void qsb__dial_begin(struct qsb__connection *connection)
{
	struct qsb__dial *dial = calloc(1, sizeof(*dial));

	if (!dial) {
		qsb__connection_reset(connection);
		return;
	}
	connection->dial = dial;
	dial->connection = connection;
	dial->port = connection->port;
	qsb__connection_expect(connection, NULL, 0, NULL);
	if (connection->way == QSB__WAY_REACH || connection->way == QSB__WAY_PUBLISH) {
		add_loopback(dial);
		dial_all(dial);
	} else {
		dial_host(dial);
	}
}

void qsb__dial_done(struct qsb__connection *connection)
{
	/* Our own ports lead where the policy says, whatever is spoken there. */
	if (connection->way == QSB__WAY_REACH || connection->way == QSB__WAY_PUBLISH)
		connection->gate = QSB__GATE_OPEN;
	if (!qsb__proxy_say_connected(connection)) {
		qsb__connection_reset(connection);
		return;
	}
	qsb__relay_begin(connection);
}
