/* What is said to a proxy before the client's own bytes may follow. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "broker/internal.h"
#include "core/cleanup.h"

enum { ANSWER_MS = 60000, ANSWER_MAX = 65536 };

static void refuse(struct qsb__connection *connection, const char *why)
{
	qsb__connection_drop_early(connection, connection->early_length);
	qsb__refuse_unreachable(connection, why, false);
}

static void silent(struct qsb__connection *connection)
{
	refuse(connection, "the upstream proxy did not answer in time");
}

/* Reads what is there behind what came before. false = the proxy is gone, and all is done. */
static bool read_answer(struct qsb__connection *connection)
{
	char bytes[4096];
	ssize_t length = recv(connection->server, bytes, sizeof(bytes), 0);

	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (length > 0 && connection->early_length < ANSWER_MAX &&
	    qsb__connection_keep_early(connection, bytes, (size_t)length))
		return true;
	refuse(connection, "the upstream proxy ended the connection");
	return false;
}

static bool say(struct qsb__connection *connection, const void *bytes, size_t length)
{
	if (length > 0 && send(connection->server, bytes, length, MSG_NOSIGNAL) == (ssize_t)length)
		return true;
	refuse(connection, "the upstream proxy cannot be asked");
	return false;
}

static void await(struct qsb__connection *connection, qsb__step step)
{
	qsb__connection_expect(connection, step, ANSWER_MS, silent);
	qsb__connection_poll(connection, 0, UV_READABLE);
}

static void read_http(struct qsb__connection *connection)
{
	unsigned status = 0;
	size_t size = 0;
	enum qsb__parse parsed;

	if (!read_answer(connection))
		return;
	parsed = qsb__http_status_parse((char *)connection->early, connection->early_length, &status, &size);
	if (parsed == QSB__PARSE_BAD)
		refuse(connection, "the upstream proxy does not speak HTTP");
	if (parsed != QSB__PARSE_DONE)
		return;
	if (status == 407) {
		refuse(connection, "the upstream proxy wants a user and a password, or others than it got");
	} else if (status < 200 || status > 299) {
		refuse(connection,
		       status == 403 ? "the upstream proxy does not allow it" : "the upstream proxy could not connect");
	} else {
		qsb__connection_drop_early(connection, size);
		qsb__dial_done(connection);
	}
}

static bool send_socks(struct qsb__connection *connection)
{
	const struct qsb__upstream_target target = {connection->upstream_target, connection->port};
	uint8_t bytes[600];

	return say(connection, bytes,
		   qsb__upstream_socks_write(&connection->run->upstream, connection->upstream_step, &target, bytes,
					     sizeof(bytes)));
}

static void read_socks(struct qsb__connection *connection)
{
	struct qsb__upstream_answer answer;
	enum qsb__parse parsed;

	if (!read_answer(connection))
		return;
	parsed = qsb__upstream_socks_read(connection->upstream_step, connection->early, connection->early_length,
					  &answer);
	if (parsed == QSB__PARSE_BAD)
		refuse(connection, answer.why);
	if (parsed != QSB__PARSE_DONE)
		return;
	qsb__connection_drop_early(connection, answer.size);
	connection->upstream_step = answer.next;
	if (answer.next == QSB__UPSTREAM_CONNECTED)
		qsb__dial_done(connection);
	else if (send_socks(connection))
		await(connection, read_socks);
}

void qsb__upstream_begin(struct qsb__connection *connection, const char *target)
{
	const struct qsb__upstream *upstream = &connection->run->upstream;
	char request[1600];

	connection->upstream_step = QSB__UPSTREAM_GREETING;
	snprintf(connection->upstream_target, sizeof(connection->upstream_target), "%s", target);
	if (upstream->kind == QSB__UPSTREAM_SOCKS5) {
		if (send_socks(connection))
			await(connection, read_socks);
		return;
	}
	if (say(connection, request,
		qsb__upstream_connect_write(upstream, target, connection->port, request, sizeof(request))))
		await(connection, read_http);
}
