/* A refusal in the words of the client's own protocol, with the reason where the protocol has room for one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "broker/internal.h"
#include "broker/tls_hello.h"

enum { ACCESS_DENIED = 49, INTERNAL_ERROR = 80, LEAVE_MS = 2000, PAGE_MAX = 2048, SWALLOWED_AT_ONCE = 16 };

static const char *phrase(int status)
{
	static const struct {
		int status;
		const char *phrase;
	} phrases[] = {
		{400, "Bad Request"},
		{403, "Forbidden"},
		{405, "Method Not Allowed"},
		{414, "URI Too Long"},
		{421, "Misdirected Request"},
		{431, "Request Header Fields Too Large"},
		{501, "Not Implemented"},
		{502, "Bad Gateway"},
		{503, "Service Unavailable"},
		{504, "Gateway Timeout"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "Refused";
}

static void swallow(struct qsb__connection *connection)
{
	char ignored[4096];
	ssize_t length = 1;

	/* A client that never stops must not keep us from the others, nor from our own patience's end. */
	for (int i = 0; length > 0 && i < SWALLOWED_AT_ONCE; i++)
		length = recv(connection->client, ignored, sizeof(ignored), 0);
	if (length > 0)
		return;
	if (length == 0 || (errno != EAGAIN && errno != EINTR))
		qsb__connection_close(connection);
}

/* A close while bytes of the client's lie unread would reset the connection, and take our words away with it. */
static void leave(struct qsb__connection *connection)
{
	shutdown(connection->client, SHUT_WR);
	qsb__relay_clear(connection);
	connection->relaying = false;
	qsb__connection_expect(connection, swallow, LEAVE_MS, qsb__connection_close);
}

static void say(struct qsb__connection *connection, const void *bytes, size_t length)
{
	/* It is short, and nothing was sent before it: there is room. Who is gone does not hear it. */
	if (send(connection->client, bytes, length, MSG_NOSIGNAL) < 0)
		qsb__connection_reset(connection);
	else
		leave(connection);
}

/* Many clients show the status line and nothing else, so that it says why. */
static void say_http(struct qsb__connection *connection, int status, const char *text, const char *hint)
{
	char page[PAGE_MAX], answer[PAGE_MAX + 1024];
	int length =
		snprintf(page, sizeof(page), "qiming-sandbox: %s%s%s\n", text, hint[0] ? "; to allow it: " : "", hint);

	if (length < 0 || (size_t)length >= sizeof(page))
		length = (int)strlen(page);
	length = snprintf(answer, sizeof(answer),
			  "HTTP/1.1 %d %s by qiming-sandbox: %.700s\r\nContent-Type: text/plain; "
			  "charset=utf-8\r\nContent-Length: %d\r\n"
			  "X-Qiming-Sandbox: refused\r\nConnection: close\r\n\r\n%s",
			  status, phrase(status), text, length, page);
	say(connection, answer, (size_t)length);
}

static void say_socks(struct qsb__connection *connection, int reply)
{
	uint8_t answer[10];

	say(connection, answer, qsb__socks_reply_write(&connection->socks, reply, answer));
}

static bool speaks_tls(const struct qsb__connection *connection)
{
	return qsb__tls_is_record(connection->head, connection->head_length) > 0;
}

static void say_tls(struct qsb__connection *connection, uint8_t description)
{
	uint8_t alert[16];

	say(connection, alert, qsb__tls_alert_write(description, alert, sizeof(alert)));
}

/* Who asked by SOCKS or CONNECT and was not answered yet is told in those words; who was, in the inner ones. */
static void answer(struct qsb__connection *connection, int status, int reply, uint8_t alert)
{
	const char *hint = connection->verdict && !connection->allowed ? connection->verdict->fix : "";
	const bool brackets = strchr(connection->host, ':') != NULL;
	char text[1024];

	if (connection->way == QSB__WAY_SOCKS && !connection->tunnel) {
		say_socks(connection, reply);
		return;
	}
	if (speaks_tls(connection)) {
		say_tls(connection, alert);
		return;
	}
	if (connection->way != QSB__WAY_HTTP && (connection->way != QSB__WAY_CONNECT || connection->tunnel)) {
		qsb__connection_reset(connection);
		return;
	}
	if (connection->reason)
		snprintf(text, sizeof(text), "%s%s%.300s", connection->reason, connection->host[0] ? ": " : "",
			 connection->host);
	else
		snprintf(text, sizeof(text), "%s%.300s%s:%u is refused by %.400s", brackets ? "[" : "",
			 connection->host, brackets ? "]" : "", connection->port, connection->verdict->rule);
	say_http(connection, status, text, hint);
}

void qsb__refuse_by_rule(struct qsb__connection *connection)
{
	connection->allowed = false;
	qsb__report_connection(connection);
	answer(connection, 403, QSB__SOCKS_DENIED, ACCESS_DENIED);
}

void qsb__refuse_bad(struct qsb__connection *connection, int status, const char *why)
{
	connection->reason = why;
	connection->allowed = false;
	qsb__report_connection(connection);
	/* The server may have spoken already: then no word of ours fits. */
	if (connection->down.bytes > 0 || connection->up.bytes > 0)
		qsb__connection_reset(connection);
	else
		answer(connection, status ? status : 403,
		       connection->socks.reply > 0 ? connection->socks.reply : QSB__SOCKS_FAILED, ACCESS_DENIED);
}

void qsb__refuse_unreachable(struct qsb__connection *connection, const char *why, bool timed_out)
{
	connection->reason = why;
	connection->failed = true;
	qsb__report_connection(connection);
	answer(connection, timed_out ? 504 : 502, QSB__SOCKS_UNREACHABLE, INTERNAL_ERROR);
}
