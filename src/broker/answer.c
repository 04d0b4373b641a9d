/*
 * What a server answers to the one request of a connection. A client that is not told that the connection ends with it
 * sends its next request into it, and not every server says so though it was asked to: we do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "broker/internal.h"

enum { READ_BYTES = 4096, SWITCHING = 101, FINAL = 200 };

static const char closes[] = "Connection: close\r\n";

/* From here on bytes go on as they come. */
static void end(struct qsb__connection *connection)
{
	connection->answering = connection->switching = false;
}

/* Behind the status line: the first header of a name is the one that all clients look at. */
static bool say_that_it_closes(struct qsb__connection *connection)
{
	const size_t more = sizeof(closes) - 1;
	size_t length = connection->early_length;
	uint8_t *line;

	if (!qsb__connection_keep_early(connection, closes, more))
		return false;
	line = (uint8_t *)memchr(connection->early, '\n', length) + 1;
	memmove(line + more, line, length - (size_t)(line - connection->early));
	memcpy(line, closes, more);
	return true;
}

static enum qsb__need take_head(struct qsb__connection *connection, unsigned status, size_t size)
{
	/* HTTP/1.0 has no such thing. */
	if (status == SWITCHING && connection->switching && connection->early[7] == '1') {
		connection->gate = QSB__GATE_OPEN;
		end(connection);
	} else if (status < FINAL && status != SWITCHING) {
		/* "100 Continue": the answer is still to come. */
		connection->early_ready = size;
	} else {
		end(connection);
		if (!say_that_it_closes(connection))
			return QSB__NEED_END;
	}
	return QSB__NEED_GO_ON;
}

enum qsb__need qsb__answer_read(struct qsb__connection *connection)
{
	for (;;) {
		char bytes[READ_BYTES];
		unsigned status = 0;
		size_t size = 0;
		ssize_t length;
		enum qsb__parse parsed = qsb__http_status_parse((const char *)connection->early,
								connection->early_length, &status, &size);

		if (parsed == QSB__PARSE_DONE)
			return take_head(connection, status, size);
		length = parsed == QSB__PARSE_MORE ? recv(connection->server, bytes, sizeof(bytes), 0) : 0;
		if (length < 0)
			return errno == EAGAIN || errno == EINTR ? QSB__NEED_READ : QSB__NEED_GONE;
		/* The end, or not HTTP at all: the client makes of it what it can. */
		if (length == 0) {
			end(connection);
			return QSB__NEED_GO_ON;
		}
		if (!qsb__connection_keep_early(connection, bytes, (size_t)length))
			return QSB__NEED_END;
	}
}
