/* Clients that know of a proxy and ask it: HTTP (CONNECT, or a whole URL), SOCKS 5, 4a and 4. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "broker/internal.h"

enum { PATIENCE_MS = 300000, SOCKS_MAX = 1024 };

static void gone(struct qsb__connection *connection)
{
	connection->reported = true;
	qsb__connection_reset(connection);
}

static void take_request(struct qsb__connection *connection, const struct qsb__http_head *head)
{
	struct qsb__address address;

	if (head->form == QSB__HTTP_AUTHORITY) {
		connection->way = QSB__WAY_CONNECT;
		qsb__connection_drop_head(connection, head->size);
		qsb__target_host(connection, head->host, head->port);
		return;
	}
	if (head->form != QSB__HTTP_ABSOLUTE) {
		qsb__refuse_bad(connection, 400, "this is a proxy: it wants CONNECT, or a whole URL");
		return;
	}
	connection->port = head->port ? head->port : 80;
	connection->host_is_name = !qsb__address_parse(head->host, strlen(head->host), &address);
	memcpy(connection->host, head->host, sizeof(connection->host));
	if (!connection->host_is_name)
		qsb__target_take_host(connection, &address);
	if (qsb__first_bytes_take_request(connection, head) > 0)
		qsb__target_host(connection, head->host, connection->port);
}

static void read_request(struct qsb__connection *connection)
{
	int read = qsb__connection_read_head(connection, QSB__HTTP_HEAD_MAX);
	struct qsb__http_head head;
	enum qsb__parse parsed;

	if (read <= 0) {
		if (read < 0)
			gone(connection);
		return;
	}
	parsed = qsb__http_head_parse((char *)connection->head, connection->head_length, &head);
	if (parsed == QSB__PARSE_BAD)
		qsb__refuse_bad(connection, head.status, head.why);
	else if (parsed == QSB__PARSE_DONE)
		take_request(connection, &head);
}

void qsb__proxy_http_begin(struct qsb__connection *connection)
{
	qsb__connection_expect(connection, read_request, PATIENCE_MS, NULL);
	read_request(connection);
}

/* ---- SOCKS ---- */

static void socks_refused(struct qsb__connection *connection)
{
	if (connection->socks.reply < 0) {
		connection->reason = connection->socks.why;
		qsb__connection_reset(connection);
		return;
	}
	qsb__refuse_bad(connection, 0, connection->socks.why);
}

static void read_socks(struct qsb__connection *connection)
{
	int read = qsb__connection_read_head(connection, SOCKS_MAX);
	enum qsb__parse parsed;

	if (read < 0) {
		gone(connection);
		return;
	}
	if (connection->head_length == 0)
		return;
	parsed = connection->head[0] == 4
			 ? qsb__socks4_request_parse(connection->head, connection->head_length, &connection->socks)
			 : qsb__socks5_request_parse(connection->head, connection->head_length, &connection->socks);
	if (parsed == QSB__PARSE_BAD) {
		socks_refused(connection);
	} else if (parsed == QSB__PARSE_DONE) {
		qsb__connection_drop_head(connection, connection->socks.size);
		qsb__target_host(connection, connection->socks.host, connection->socks.port);
	}
}

static void read_offer(struct qsb__connection *connection)
{
	static const uint8_t without_login[2] = {5, 0};
	int read = qsb__connection_read_head(connection, SOCKS_MAX);
	enum qsb__parse parsed;

	if (read <= 0) {
		if (read < 0)
			gone(connection);
		return;
	}
	if (connection->head[0] == 4) {
		qsb__connection_expect(connection, read_socks, PATIENCE_MS, NULL);
		read_socks(connection);
		return;
	}
	parsed = qsb__socks5_offer_parse(connection->head, connection->head_length, &connection->socks);
	if (parsed == QSB__PARSE_BAD) {
		socks_refused(connection);
	} else if (parsed == QSB__PARSE_DONE) {
		qsb__connection_drop_head(connection, connection->socks.size);
		if (send(connection->client, without_login, sizeof(without_login), MSG_NOSIGNAL) < 0) {
			gone(connection);
			return;
		}
		qsb__connection_expect(connection, read_socks, PATIENCE_MS, NULL);
		read_socks(connection);
	}
}

void qsb__proxy_socks_begin(struct qsb__connection *connection)
{
	qsb__connection_expect(connection, read_offer, PATIENCE_MS, NULL);
	read_offer(connection);
}

/* ---- connected ---- */

bool qsb__proxy_say_connected(struct qsb__connection *connection)
{
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	uint8_t reply[10];
	ssize_t sent = 0;

	if (connection->way == QSB__WAY_CONNECT)
		sent = send(connection->client, established, sizeof(established) - 1, MSG_NOSIGNAL);
	else if (connection->way == QSB__WAY_SOCKS)
		sent = send(connection->client, reply, qsb__socks_reply_write(&connection->socks, QSB__SOCKS_OK, reply),
			    MSG_NOSIGNAL);
	else
		return true;
	connection->tunnel = true;
	return sent > 0;
}
