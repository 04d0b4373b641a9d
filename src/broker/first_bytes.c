/*
 * What a client says first names the server it means: a TLS hello, or an HTTP request. It has to be the host that the
 * rules were asked about; else an allowed name would be the door to every other one on the same machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/internal.h"
#include "broker/tls_hello.h"
#include "core/cleanup.h"

enum {
	PATIENCE_MS = 300000, /* for a client that must speak first */
	HTTP_PORT = 80,
	REWRITTEN_ROOM = 2048 /* what a rewritten head may be longer */
};

/* Is the name that the client gave one it may have? The host it connected to, or any that is not denied where the
 * address itself was allowed. */
static bool fits(struct qsb__connection *connection, const char *name)
{
	struct qsb__host_judgement verdict;

	if (!name[0] || strcmp(name, connection->host) == 0)
		return true;
	if (connection->host_is_name)
		return false;
	qsb__hosts_judge_name(connection->run->hosts, name, connection->port, &verdict);
	return verdict.answer != QSB__HOST_DENIED;
}

/* An address under no rule, and a name with it: then the name is what is asked for, and the address is looked up
 * anew. */
static void take_name(struct qsb__connection *connection, const char *name)
{
	struct qsb__host_judgement verdict;
	struct qsb__address address;

	if (connection->host_is_name || connection->judged || qsb__address_parse(name, strlen(name), &address))
		return;
	if (!name[0]) {
		qsb__target_take_own_name(connection);
		return;
	}
	qsb__target_judge_address(connection, &connection->address, NULL, &verdict);
	if (verdict.answer != QSB__HOST_UNKNOWN)
		return;
	connection->host_is_name = true;
	snprintf(connection->host, sizeof(connection->host), "%s", name);
}

static int refuse(struct qsb__connection *connection, int status, const char *why)
{
	qsb__refuse_bad(connection, status, why);
	return -1;
}

static int look_at_hello(struct qsb__connection *connection)
{
	struct qsb__tls_hello hello;
	enum qsb__parse parsed = qsb__tls_hello_parse(connection->head, connection->head_length, &hello);

	if (parsed == QSB__PARSE_MORE)
		return 0;
	if (parsed == QSB__PARSE_BAD)
		return refuse(connection, 0, hello.why);
	take_name(connection, hello.name);
	if (!fits(connection, hello.name))
		return refuse(connection, 0, "the TLS hello names another server than the one connected to");
	connection->gate = QSB__GATE_OPEN;
	return 1;
}

/* The head in the form in which it goes on. */
static bool rewrite(struct qsb__connection *connection, const struct qsb__http_head *head)
{
	const struct qsb__upstream *upstream = &connection->run->upstream;
	size_t room = head->size + REWRITTEN_ROOM;
	const struct qsb__http_onward onward = {
		.host = connection->host,
		.port = connection->port,
		.authorization = upstream->authorization[0] ? upstream->authorization : NULL,
	};

	if (!qsb__connection_new_first(connection, room))
		return false;
	connection->first_length = qsb__http_head_write(
		(char *)connection->head, head, connection->absolute ? &onward : NULL, (char *)connection->first, room);
	qsb__connection_drop_head(connection, head->size);
	return connection->first_length > 0;
}

/* A whole URL for it, in place of a tunnel. Where the request names another host than was connected to, both would not
 * fit into one. */
static bool goes_to_a_proxy(const struct qsb__connection *connection, const struct qsb__http_head *head)
{
	const struct qsb__upstream *upstream = &connection->run->upstream;

	return !connection->judged && !connection->tunnel && upstream->kind == QSB__UPSTREAM_HTTP &&
	       upstream->resolves && (!head->host[0] || strcmp(head->host, connection->host) == 0) &&
	       !qsb__upstream_bypasses(upstream, connection->host, connection->port);
}

int qsb__first_bytes_take_request(struct qsb__connection *connection, const struct qsb__http_head *head)
{
	take_name(connection, head->host);
	if (head->form == QSB__HTTP_AUTHORITY)
		return refuse(connection, 405, "CONNECT goes to a proxy, and this is no proxy's port");
	if (!fits(connection, head->host) || (head->port && head->port != connection->port))
		return refuse(connection, 421, "the request names another host than the one connected to");
	connection->way = QSB__WAY_HTTP;
	connection->absolute = goes_to_a_proxy(connection, head);
	if (!rewrite(connection, head))
		return refuse(connection, 431, "the request's head is too large");
	qsb__http_body_init(&connection->body, head);
	connection->switching = head->upgrade;
	connection->answering = true;
	connection->gate = QSB__GATE_HTTP;
	return 1;
}

static int look_at_request(struct qsb__connection *connection)
{
	struct qsb__http_head head;
	enum qsb__parse parsed = qsb__http_head_parse((char *)connection->head, connection->head_length, &head);

	if (parsed == QSB__PARSE_MORE)
		return 0;
	connection->way = QSB__WAY_HTTP;
	if (parsed == QSB__PARSE_BAD)
		return refuse(connection, head.status, head.why);
	return qsb__first_bytes_take_request(connection, &head);
}

int qsb__first_bytes_look(struct qsb__connection *connection)
{
	int is_tls = qsb__tls_is_record(connection->head, connection->head_length), is_request;

	if (is_tls < 0)
		return 0;
	if (is_tls > 0)
		return look_at_hello(connection);
	is_request = qsb__http_is_request((char *)connection->head, connection->head_length);
	if (is_request < 0)
		return 0;
	if (is_request > 0)
		return look_at_request(connection);
	/* Lenient servers take as HTTP what we do not. */
	if (connection->port == HTTP_PORT)
		return refuse(connection, 400, "this is no HTTP request, and port 80 takes nothing else");
	take_name(connection, "");
	connection->gate = QSB__GATE_OPEN;
	return 1;
}

bool qsb__first_bytes_are_a_word(const struct qsb__connection *connection)
{
	const char *head = (const char *)connection->head;

	return connection->port != HTTP_PORT && connection->head_length > 0 &&
	       qsb__tls_is_record(connection->head, connection->head_length) == 0 &&
	       qsb__http_is_request(head, connection->head_length) < 0 &&
	       !qsb__http_may_become_method(head, connection->head_length);
}

static void client_spoke(struct qsb__connection *connection)
{
	int read = qsb__connection_read_head(connection, QSB__HTTP_HEAD_MAX), known;

	if (read < 0) {
		connection->reported = read == -1 && !connection->head_length;
		connection->reason = read == -1 ? "the client ended before it said whom it means"
						: "the client's first bytes could not be read";
		qsb__connection_reset(connection);
		return;
	}
	known = qsb__first_bytes_look(connection);
	if (known > 0)
		qsb__target_judge(connection);
	/* Bytes came, and not enough: it speaks first, however slowly. */
	else if (known == 0 && connection->head_length > 0 && !qsb__first_bytes_are_a_word(connection))
		qsb__connection_expect(connection, client_spoke, PATIENCE_MS, NULL);
}

/* An address under no rule is only worth something with a name, and that is in what the client says. */
static void is_silent(struct qsb__connection *connection)
{
	struct qsb__host_judgement verdict;

	if (!connection->host_is_name) {
		qsb__target_take_own_name(connection);
		qsb__target_judge_address(connection, &connection->address, NULL, &verdict);
	}
	if (connection->host_is_name || verdict.answer == QSB__HOST_ALLOWED)
		qsb__target_judge(connection);
	else
		qsb__connection_expect(connection, client_spoke, PATIENCE_MS, NULL);
}

void qsb__first_bytes_await(struct qsb__connection *connection)
{
	if (connection->port != HTTP_PORT)
		qsb__connection_expect(connection, client_spoke, QSB__SILENCE_MS, is_silent);
	else
		qsb__connection_expect(connection, client_spoke, PATIENCE_MS, NULL);
	/* It may have spoken before we got to know of it. */
	client_spoke(connection);
}
