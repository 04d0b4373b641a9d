/* Connections through the broker: allowed and refused ones, of every way, and peers that break them. */
#include "played_broker.h"

static void test_allowed(struct world *world)
{
	struct qsb__broker_event event;
	int client = ask_for(world, "localhost", world->server_port), peer = answer_call(world->server, PATIENCE_MS);
	char text[300];

	hear(client, text, sizeof(text), "\r\n\r\n");
	tap_is_text(text, "HTTP/1.1 200 Connection established\r\n\r\n", "an allowed name is connected to");
	say(client, "\1question", 9);
	hear(peer, text, sizeof(text), "question");
	tap_is_text(text, "\1question", "what the client says arrives");
	say_text(peer, "the answer");
	shutdown(peer, SHUT_WR);
	hear(client, text, sizeof(text), NULL);
	tap_is_text(text, "the answer", "and what the server says, and its end");
	shutdown(client, SHUT_WR);
	tap_is_number(recv(peer, text, sizeof(text), 0), 0, "the client's end arrives as well");
	close(client);
	close(peer);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.kind == QSB__BROKER_CONNECTION && event.allowed &&
		       !event.failed && event.way == QSB__WAY_CONNECT && event.port == world->server_port &&
		       strcmp(event.host, "localhost") == 0 && strcmp(event.address, "127.0.0.1") == 0,
	       "it is told");
	tap_ok(event.sent == 9 && event.received == 10, "with the bytes both ways");
	tap_ok(!next_event(world, QUIET_MS, &event), "once");
}

static void test_denied(struct world *world)
{
	static const char *const hosts[] = {"no.allowed.test", "other.test", "127.0.0.2", "198.18.0.99"};
	struct qsb__broker_event event;
	char text[1000];

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		int client = ask_for(world, hosts[i], world->server_port);

		hear(client, text, sizeof(text), NULL);
		tap_ok(strncmp(text, "HTTP/1.1 403 ", 13) == 0 && strstr(text, hosts[i]), "%s is refused in words",
		       hosts[i]);
		close(client);
		tap_ok(next_event(world, PATIENCE_MS, &event) && !event.allowed && strcmp(event.host, hosts[i]) == 0 &&
			       event.rule[0] && !event.sent && !event.received,
		       "that is told with its rule: %s", event.rule);
	}
	tap_ok(!next_event(world, QUIET_MS, &event), "each once");
	tap_ok(answer_call(world->server, 0) < 0, "and nobody was called");
}

static void test_nobody_there(struct world *world)
{
	struct qsb__broker_event event;
	unsigned port;
	char text[1000];
	int gone = make_socket(SOCK_STREAM, &port), client;

	close(gone);
	client = ask_for(world, "localhost", port);
	hear(client, text, sizeof(text), NULL);
	tap_ok(strncmp(text, "HTTP/1.1 502 ", 13) == 0, "a server that is not there is said to be so");
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.allowed && event.failed && event.reason[0],
	       "that is told as a failure: %s", event.reason);
}

static void test_one_request(struct world *world)
{
	struct qsb__broker_event event;
	char request[400], text[600];
	int client = call(world->ports[HTTP_PROXY], SOCK_STREAM), peer;

	snprintf(request, sizeof(request),
		 "POST http://localhost:%u/one HTTP/1.1\r\nHost: localhost:%u\r\nContent-Length: 4\r\n\r\nbodyGET /two "
		 "HTTP/1.1\r\nHost: other.test\r\n\r\n",
		 world->server_port, world->server_port);
	say_text(client, request);
	peer = answer_call(world->server, PATIENCE_MS);
	hear(peer, text, sizeof(text), "body");
	tap_ok(strncmp(text, "POST /one HTTP/1.1\r\n", 20) == 0 && strstr(text, "Connection: close") &&
		       strcmp(text + strlen(text) - 4, "body") == 0,
	       "one request goes on, in the server's own form");
	tap_ok(is_quiet(peer), "and not a byte more");
	say_text(peer, "HTTP/1.1 204 No Content\r\n\r\n");
	close(peer);
	hear(client, text, sizeof(text), NULL);
	tap_is_text(text, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", "its answer comes");
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.allowed && event.received == 46 &&
		       strstr(event.reason, "one request"),
	       "that more was said is told: %s", event.reason);
}

static void test_other_request_inside(struct world *world)
{
	struct qsb__broker_event event;
	char text[600];
	int client = ask_for(world, "localhost", world->server_port), peer = answer_call(world->server, PATIENCE_MS);

	hear(client, text, sizeof(text), "\r\n\r\n");
	say_text(client, "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
	hear(client, text, sizeof(text), NULL);
	tap_ok(strncmp(text, "HTTP/1.1 421 ", 13) == 0, "a request for another host inside a tunnel is refused");
	tap_is_number(recv(peer, text, sizeof(text), 0), 0, "the server hears nothing of it");
	close(peer);
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && !event.allowed && !event.sent, "it is told");
}

/* As many bytes as a head may have, that could still become one: no more are read, so there must be an answer. */
static void test_endless_head(struct world *world)
{
	enum { SIZE = 65536 };
	struct qsb__broker_event event;
	char *head = malloc(SIZE), text[600];
	int client = ask_for(world, "localhost", world->server_port), peer = answer_call(world->server, PATIENCE_MS);

	memset(head, 'a', SIZE);
	memcpy(head, "WORD http://", 12);
	hear(client, text, sizeof(text), "\r\n\r\n");
	say(client, head, SIZE);
	hear(client, text, sizeof(text), NULL);
	tap_ok(strncmp(text, "HTTP/1.1 4", 10) == 0, "64 KiB that are no head yet are refused");
	tap_ok(is_idle(world), "and nobody waits for them in a hurry");
	close(client);
	close(peer);
	tap_ok(next_event(world, PATIENCE_MS, &event) && !event.allowed, "it is told");
	free(head);
}

static void test_never_reads(struct world *world)
{
	struct qsb__broker_event event;
	static char bytes[65536];
	char text[300];
	int client = ask_for(world, "localhost", world->server_port), peer = answer_call(world->server, PATIENCE_MS);
	struct pollfd ready = {.fd = peer, .events = POLLOUT};
	uint64_t sent = 0, got = 0;
	ssize_t length;

	hear(client, text, sizeof(text), "\r\n\r\n");
	while (poll(&ready, 1, 300) == 1 && sent < (256 << 20)) {
		length = send(peer, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
		sent += length > 0 ? (uint64_t)length : 0;
	}
	tap_ok(sent < (128 << 20), "a client that never reads holds its server up, after %llu bytes",
	       (unsigned long long)sent);
	tap_ok(is_idle(world), "while the broker rests");
	close(peer);
	while ((length = recv(client, bytes, sizeof(bytes), 0)) > 0)
		got += (uint64_t)length;
	tap_ok(length == 0 && got == sent, "when it reads all comes, and the end");
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.received == sent, "and is counted");
}

/* A server that speaks before it is asked, to a client that reads late and asks meanwhile: the order stays. */
static void test_early_server(struct world *world)
{
	struct qsb__broker_event event;
	static uint32_t numbers[16384];
	static uint8_t bytes[65536];
	char text[300], request[200];
	int client = ask_for(world, "localhost", world->server_port), peer = answer_call(world->server, PATIENCE_MS);
	struct pollfd ready = {.fd = peer, .events = POLLOUT};
	uint64_t sent = 0, got = 0, wrong = 0;
	ssize_t length;

	hear(client, text, sizeof(text), "\r\n\r\n");
	while (poll(&ready, 1, 300) == 1) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			numbers[i] = (uint32_t)(sent / sizeof(numbers[0]) + i);
		/* What is left of the last number comes first. */
		length = send(peer, (uint8_t *)numbers + sent % sizeof(numbers[0]),
			      sizeof(numbers) - sent % sizeof(numbers[0]), MSG_NOSIGNAL | MSG_DONTWAIT);
		sent += length > 0 ? (uint64_t)length : 0;
	}
	snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", world->server_port);
	say_text(client, request);
	tap_ok(hear(peer, text, sizeof(text), "\r\n\r\n") > 0, "a client asks while the server's words wait");
	close(peer);
	while ((length = recv(client, bytes, sizeof(bytes), 0)) > 0)
		for (ssize_t i = 0; i < length; i++, got++) {
			const uint32_t number = (uint32_t)(got / sizeof(number));

			wrong += bytes[i] != ((const uint8_t *)&number)[got % sizeof(number)];
		}
	tap_ok(got == sent && wrong == 0, "all of them come, in their order: %llu of %llu, %llu wrong",
	       (unsigned long long)got, (unsigned long long)sent, (unsigned long long)wrong);
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.received == sent, "and are counted");
}

/* The upload is cut off by a server that answered: its words still arrive. */
static void test_early_answer(struct world *world)
{
	struct qsb__broker_event event;
	static char bytes[65536];
	char request[300], text[300];
	int client = call(world->ports[HTTP_PROXY], SOCK_STREAM), peer;

	snprintf(request, sizeof(request),
		 "PUT http://localhost:%u/ HTTP/1.1\r\nHost: localhost:%u\r\nContent-Length: 100000000\r\n\r\n",
		 world->server_port, world->server_port);
	say_text(client, request);
	peer = answer_call(world->server, PATIENCE_MS);
	hear(peer, text, sizeof(text), "\r\n\r\n");
	say_text(peer, "HTTP/1.1 413 Too Large\r\n\r\n");
	for (int i = 0; i < 16; i++)
		send(client, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
	poll(NULL, 0, QUIET_MS);
	close(peer);
	hear(client, text, sizeof(text), "\r\n\r\n");
	tap_is_text(text, "HTTP/1.1 413 Too Large\r\nConnection: close\r\n\r\n",
		    "an answer before the upload's end arrives");
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.received == 45, "and is counted");
	tap_ok(is_idle(world), "nothing is left to do");
}

static void test_client_dies(struct world *world)
{
	const struct linger at_once = {.l_onoff = 1};
	struct qsb__broker_event event;
	char text[300];
	int client = ask_for(world, "localhost", world->server_port), peer = answer_call(world->server, PATIENCE_MS);

	hear(client, text, sizeof(text), "\r\n\r\n");
	say(client, "\1x", 2);
	hear(peer, text, sizeof(text), "x");
	setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(client);
	tap_ok(recv(peer, text, sizeof(text), 0) <= 0, "a client that dies is gone for the server, too");
	close(peer);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.sent == 2, "it is told");
}

static void test_socks(struct world *world)
{
	struct qsb__broker_event event;
	char text[300];
	uint8_t request[32] = {5, 1, 0, 3, 9};
	int client = call(world->ports[SOCKS], SOCK_STREAM), peer;

	memcpy(request + 5, "localhost", 9);
	request[14] = (uint8_t)(world->server_port >> 8);
	request[15] = (uint8_t)world->server_port;
	say(client, "\5\1\0", 3);
	tap_ok(recv(client, text, sizeof(text), 0) == 2 && memcmp(text, "\5\0", 2) == 0, "SOCKS is spoken");
	say(client, request, 16);
	peer = answer_call(world->server, PATIENCE_MS);
	tap_ok(recv(client, text, sizeof(text), 0) == 10 && memcmp(text, "\5\0\0\1", 4) == 0, "and connects");
	say_text(peer, "first");
	hear(client, text, sizeof(text), "first");
	tap_is_text(text, "first", "a server may speak first");
	close(peer);
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.way == QSB__WAY_SOCKS && event.received == 5,
	       "it is told");
}

static void test_reach(struct world *world)
{
	struct qsb__broker_event event;
	char text[300];
	int client = call(world->ports[REACH], SOCK_STREAM), peer = answer_call(world->server, PATIENCE_MS);

	say_text(client, "GET / HTTP/1.1\r\nHost: whatever\r\n\r\n");
	hear(peer, text, sizeof(text), "\r\n\r\n");
	tap_is_text(text, "GET / HTTP/1.1\r\nHost: whatever\r\n\r\n", "a port of this machine is reached as it is");
	close(peer);
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.way == QSB__WAY_REACH && event.allowed, "it is told");
}

static void test_upstream(struct world *world)
{
	struct qsb__broker_event event;
	char text[600];
	int client = ask_for(world, "www.allowed.test", 443), proxy = answer_call(world->proxy, PATIENCE_MS);

	hear(proxy, text, sizeof(text), "\r\n\r\n");
	tap_is_text(text,
		    "CONNECT www.allowed.test:443 HTTP/1.1\r\nHost: www.allowed.test:443\r\n"
		    "Proxy-Authorization: Basic dXNlcjp3b3Jk\r\n\r\n",
		    "other names are asked of the proxy behind us");
	say_text(proxy, "HTTP/1.1 200 OK\r\nVia: x\r\n\r\nhello");
	hear(client, text, sizeof(text), "hello");
	tap_is_text(text, "HTTP/1.1 200 Connection established\r\n\r\nhello", "its tunnel is the client's");
	close(proxy);
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.received == 5, "the server's bytes alone are counted");
	client = ask_for(world, "www.allowed.test", 443);
	proxy = answer_call(world->proxy, PATIENCE_MS);
	say_text(proxy, "HTTP/1.1 407 No\r\n\r\n");
	hear(client, text, sizeof(text), NULL);
	tap_ok(strncmp(text, "HTTP/1.1 502 ", 13) == 0 && strstr(text, "password"), "a proxy that refuses is named");
	close(proxy);
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.failed, "it is told");
}

int main(void)
{
	struct world world;

	signal(SIGPIPE, SIG_IGN);
	if (!begin(&world, false))
		return tap_done();
	test_allowed(&world);
	test_denied(&world);
	test_nobody_there(&world);
	test_one_request(&world);
	test_other_request_inside(&world);
	test_endless_head(&world);
	test_never_reads(&world);
	test_early_server(&world);
	test_early_answer(&world);
	test_client_dies(&world);
	test_socks(&world);
	test_reach(&world);
	test_upstream(&world);
	tap_ok(is_idle(&world), "in the end it has nothing to do");
	end(&world);
	return tap_done();
}
