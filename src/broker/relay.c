/*
 * Bytes both ways. What the server says goes on as it comes. What the client says goes through a gate first: until its
 * first bytes are known nothing of it reaches the server, and of HTTP one request goes on, rewritten, and no byte more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "broker/internal.h"
#include "broker/tls_hello.h"
#include "core/cleanup.h"

enum { ROUNDS = 16, PIECES = 64, BODY_BYTES = 64 * 1024, HALF_CLOSED_MS = 600000 };

static enum qsb__need broken(struct qsb__connection *connection, const char *why)
{
	if (!connection->reason) {
		connection->reason = why;
		connection->failed = true;
	}
	qsb__connection_reset(connection);
	return QSB__NEED_END;
}

static bool would_block(ssize_t result)
{
	return result == -EAGAIN || result == -EINTR;
}

/* A buffer of ours to a socket. */
static enum qsb__need send_bytes(struct qsb__flow *flow, int to, const void *bytes, size_t length, size_t *sent)
{
	while (*sent < length) {
		ssize_t given = send(to, (const char *)bytes + *sent, length - *sent, MSG_NOSIGNAL);

		if (given < 0)
			return errno == EAGAIN || errno == EINTR ? QSB__NEED_WRITE : QSB__NEED_END;
		*sent += (size_t)given;
		flow->bytes += (size_t)given;
	}
	return QSB__NEED_GO_ON;
}

static enum qsb__need move(struct qsb__connection *connection, struct qsb__flow *flow, int from, int to)
{
	struct qsb__movers *movers = connection->run->movers;

	for (int round = 0; round < ROUNDS; round++) {
		ssize_t moved;

		while (flow->mover.held > 0) {
			moved = qsb__mover_drain(movers, &flow->mover, to);
			if (would_block(moved))
				return QSB__NEED_WRITE;
			if (moved <= 0)
				return QSB__NEED_END;
			flow->bytes += (size_t)moved;
		}
		if (flow->ended)
			return QSB__NEED_NONE;
		moved = qsb__mover_fill(movers, &flow->mover, from, UINT64_MAX);
		if (would_block(moved))
			return QSB__NEED_READ;
		if (moved < 0)
			return QSB__NEED_GONE;
		flow->ended = moved == 0;
	}
	return flow->mover.held > 0 ? QSB__NEED_WRITE : QSB__NEED_READ;
}

/* ---- from the client to the server ---- */

/* What is to be sent first is in `first`; it is the head's own buffer where nothing was rewritten. */
static enum qsb__need send_first(struct qsb__connection *connection)
{
	enum qsb__need need;

	if (!connection->first)
		return QSB__NEED_GO_ON;
	need = send_bytes(&connection->up, connection->server, connection->first, connection->first_length,
			  &connection->first_sent);
	if (need == QSB__NEED_GO_ON)
		qsb__connection_free_first(connection);
	/* What waits for long takes room once. */
	else if (connection->head_length == 0)
		qsb__connection_free_head(connection);
	return need;
}

static bool copy_to_first(struct qsb__connection *connection, size_t length)
{
	if (!qsb__connection_new_first(connection, length))
		return false;
	memcpy(connection->first, connection->head, length);
	qsb__connection_drop_head(connection, length);
	return true;
}

/* The client's own bytes of a request: exactly as many as it said. */
static enum qsb__need take_body(struct qsb__connection *connection)
{
	size_t taken;
	int read = 0;

	if (!connection->body.done && connection->head_length == 0) {
		read = qsb__connection_read_head(connection, BODY_BYTES);
		if (read < 0)
			return broken(connection, "the client ended in the middle of its request");
	}
	taken = qsb__http_body_take(&connection->body, (char *)connection->head, connection->head_length);
	if (connection->body.bad)
		return broken(connection, "the request's body is not framed as HTTP says");
	if (taken > 0 && !copy_to_first(connection, taken))
		return broken(connection, "no memory");
	if (connection->body.done)
		connection->gate = QSB__GATE_DONE;
	return taken > 0 || connection->body.done ? QSB__NEED_GO_ON : QSB__NEED_READ;
}

/* Nothing more of the client's goes on; but its end does. */
static enum qsb__need after_request(struct qsb__connection *connection)
{
	char ignored[512];
	ssize_t length = 1;

	if (connection->switching)
		return QSB__NEED_NONE;
	if (connection->head_length > 0 || (length = recv(connection->client, ignored, sizeof(ignored), 0)) > 0) {
		connection->head_length = 0;
		if (!connection->reason)
			connection->reason = "bytes after the request were not passed on: one request a connection";
		return QSB__NEED_READ;
	}
	if (length < 0)
		return errno == EAGAIN || errno == EINTR ? QSB__NEED_READ : QSB__NEED_GONE;
	connection->up.ended = true;
	return QSB__NEED_NONE;
}

static bool copy_from_head(struct qsb__connection *connection, size_t from)
{
	if (!qsb__connection_new_first(connection, connection->head_length - from))
		return false;
	memcpy(connection->first, connection->head + from, connection->first_length);
	return true;
}

/*
 * "ping", and then nothing: a client that waits for an answer. Servers that take every method would take it for the
 * beginning of one, so it goes on, but what follows may not make a request of it.
 */
static enum qsb__need pass_word(struct qsb__connection *connection)
{
	int read = qsb__connection_read_head(connection, QSB__HTTP_HEAD_MAX);
	int is_request = qsb__http_is_request((char *)connection->head, connection->head_length);

	if (read < -1)
		return broken(connection, "the client's first bytes could not be read");
	if (is_request > 0)
		return broken(connection, "the first line of the request came in pieces");
	if (connection->word_sent < connection->head_length && !copy_from_head(connection, connection->word_sent))
		return broken(connection, "no memory");
	connection->word_sent = connection->head_length;
	if (is_request == 0 || read < 0) {
		connection->gate = QSB__GATE_OPEN;
		qsb__connection_drop_head(connection, connection->head_length);
		return QSB__NEED_GO_ON;
	}
	return connection->first ? QSB__NEED_GO_ON : QSB__NEED_READ;
}

static void word_rested(struct qsb__connection *connection)
{
	if (connection->gate == QSB__GATE_SHUT && qsb__first_bytes_are_a_word(connection)) {
		connection->gate = QSB__GATE_WORD;
		qsb__relay_run(connection, QSB__RELAY_UP);
	}
}

/* The client ended: what it said is no request, unless a port or a hello says that it should have become one. */
static enum qsb__need look_at_end(struct qsb__connection *connection)
{
	size_t length = connection->head_length;

	/* There are servers that take the end for the empty line of a head. */
	if (length > 0 && (connection->port == 80 || qsb__tls_is_record(connection->head, length) != 0 ||
			   qsb__http_is_request((const char *)connection->head, length) > 0)) {
		qsb__refuse_bad(connection, 400, "the client ended before it said whom it means");
		return QSB__NEED_END;
	}
	connection->gate = QSB__GATE_OPEN;
	return QSB__NEED_GO_ON;
}

static enum qsb__need look(struct qsb__connection *connection)
{
	int read = qsb__connection_read_head(connection, QSB__HTTP_HEAD_MAX), known;

	if (read < -1) {
		qsb__refuse_bad(connection, 503, "the client's first bytes could not be read");
		return QSB__NEED_END;
	}
	if (read < 0 && connection->head_length == 0)
		return look_at_end(connection);
	known = qsb__first_bytes_look(connection);
	/* The server spoke before it was asked, and its words still wait: they are no answer, and come first. */
	if (known > 0 && connection->down.mover.held > 0)
		connection->answering = connection->switching = false;
	if (known != 0)
		return known < 0 ? QSB__NEED_END : QSB__NEED_GO_ON;
	if (read < 0)
		return look_at_end(connection);
	if (qsb__first_bytes_are_a_word(connection)) {
		connection->timed_out = word_rested;
		uv_timer_start(&connection->timer, qsb__connection_timer, QSB__SILENCE_MS, 0);
	}
	return QSB__NEED_READ;
}

static enum qsb__need move_up(struct qsb__connection *connection)
{
	for (int piece = 0; piece < PIECES; piece++) {
		enum qsb__need need = send_first(connection);

		if (need != QSB__NEED_GO_ON)
			return need;
		if (connection->gate == QSB__GATE_SHUT)
			need = look(connection);
		else if (connection->gate == QSB__GATE_WORD)
			need = pass_word(connection);
		else if (connection->gate == QSB__GATE_HTTP)
			need = take_body(connection);
		else if (connection->gate == QSB__GATE_DONE)
			return after_request(connection);
		else if (connection->head_length == 0)
			return move(connection, &connection->up, connection->client, connection->server);
		else if (!copy_to_first(connection, connection->head_length))
			return broken(connection, "no memory");
		if (need != QSB__NEED_GO_ON)
			return need;
	}
	/* Others have their turn. The server took all so far, so this comes back at once. */
	return QSB__NEED_WRITE;
}

/* ---- from the server to the client ---- */

/* What was read of the server's words before the relay took over, as far as it may go on. */
static enum qsb__need send_early(struct qsb__connection *connection)
{
	size_t ready = connection->answering ? connection->early_ready : connection->early_length;
	enum qsb__need need;

	if (ready == 0)
		return QSB__NEED_GO_ON;
	need = send_bytes(&connection->down, connection->client, connection->early, ready, &connection->early_sent);
	if (need != QSB__NEED_GO_ON)
		return need;
	qsb__connection_drop_early(connection, ready);
	connection->early_ready = connection->early_sent = 0;
	return QSB__NEED_GO_ON;
}

static enum qsb__need move_down(struct qsb__connection *connection)
{
	enum qsb__need need = send_early(connection);

	for (int piece = 0; need == QSB__NEED_GO_ON && connection->answering; piece++) {
		/* A server may say "100 Continue" for ever: others have their turn. The client took all so far. */
		if (piece == PIECES)
			return QSB__NEED_WRITE;
		need = qsb__answer_read(connection);
		if (need == QSB__NEED_GO_ON)
			need = send_early(connection);
	}
	return need == QSB__NEED_GO_ON ? move(connection, &connection->down, connection->server, connection->client)
				       : need;
}

/* ---- both ---- */

static void no_end_came(struct qsb__connection *connection);

static bool pass_end_on(struct qsb__flow *flow, int to)
{
	if (!flow->ended || flow->shut || flow->mover.held > 0)
		return false;
	flow->shut = true;
	shutdown(to, SHUT_WR);
	return true;
}

/* A client that said its last word may be gone altogether, which shows only when something is sent to it. A server
 * that says nothing for so long is not worth keeping it. */
static void expect_end(struct qsb__connection *connection)
{
	connection->client_ready = NULL;
	connection->timed_out = no_end_came;
	connection->bytes_then = connection->down.bytes;
	uv_timer_start(&connection->timer, qsb__connection_timer, HALF_CLOSED_MS, 0);
}

static void no_end_came(struct qsb__connection *connection)
{
	if (connection->down.bytes == connection->bytes_then)
		broken(connection, "the server was silent after the client had ended");
	else
		expect_end(connection);
}

/* The server takes no more, but what it said before may still come. The client is not listened to any more. */
static void give_up_sending(struct qsb__connection *connection)
{
	struct qsb__flow *up = &connection->up;

	up->need = QSB__NEED_NONE;
	up->ended = up->shut = true;
	qsb__mover_clear(connection->run->movers, &up->mover);
	expect_end(connection);
}

static void run_up(struct qsb__connection *connection)
{
	struct qsb__flow *up = &connection->up;

	up->need = up->shut ? QSB__NEED_NONE : move_up(connection);
	if (connection->closing || !connection->relaying)
		return;
	if (up->need == QSB__NEED_GONE)
		broken(connection, "the connection was broken off");
	else if (up->need == QSB__NEED_END)
		give_up_sending(connection);
}

static void run_down(struct qsb__connection *connection)
{
	struct qsb__flow *down = &connection->down;
	bool switching = connection->switching;

	down->need = down->shut ? QSB__NEED_NONE : move_down(connection);
	if (down->need == QSB__NEED_END || down->need == QSB__NEED_GONE)
		broken(connection, "the connection was broken off");
	/* The client may speak now, or is known to have said all. */
	else if (switching && !connection->switching)
		run_up(connection);
}

void qsb__relay_run(struct qsb__connection *connection, unsigned directions)
{
	struct qsb__flow *up = &connection->up, *down = &connection->down;

	if (directions & QSB__RELAY_UP)
		run_up(connection);
	if (!connection->closing && connection->relaying && (directions & QSB__RELAY_DOWN))
		run_down(connection);
	if (connection->closing || !connection->relaying)
		return;
	if (pass_end_on(up, connection->server))
		expect_end(connection);
	pass_end_on(down, connection->client);
	if (up->shut && down->shut) {
		qsb__connection_close(connection);
		return;
	}
	qsb__connection_poll(
		connection,
		(up->need == QSB__NEED_READ ? UV_READABLE : 0) | (down->need == QSB__NEED_WRITE ? UV_WRITABLE : 0),
		(down->need == QSB__NEED_READ ? UV_READABLE : 0) | (up->need == QSB__NEED_WRITE ? UV_WRITABLE : 0));
}

void qsb__relay_fail(struct qsb__connection *connection, bool server)
{
	qsb__relay_run(connection, QSB__RELAY_UP | QSB__RELAY_DOWN);
	if (connection->closing || !connection->relaying)
		return;
	/* What the server said before its end waits for a client that is slow. */
	if (server && connection->down.need == QSB__NEED_WRITE) {
		if (!connection->up.shut)
			give_up_sending(connection);
		qsb__relay_run(connection, 0);
		return;
	}
	broken(connection, "the connection was broken off");
}

void qsb__relay_begin(struct qsb__connection *connection)
{
	connection->relaying = true;
	uv_timer_stop(&connection->timer);
	qsb__relay_run(connection, QSB__RELAY_UP | QSB__RELAY_DOWN);
}

void qsb__relay_clear(struct qsb__connection *connection)
{
	qsb__mover_clear(connection->run->movers, &connection->up.mover);
	qsb__mover_clear(connection->run->movers, &connection->down.mover);
}
