/*
 * The broker without a sandbox: its listeners are on this machine's loopback, and so is what they lead to. Names that
 * end in "localhost" need no name server; all other allowed ones go to a proxy that this test plays.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "broker/broker.h"
#include "tap.h"

enum { PATIENCE_MS = 5000, QUIET_MS = 150 };
enum { HTTP_PROXY, SOCKS, DNS_UDP, DNS_TCP, REACH, LISTENERS };

struct world {
	struct qsb__plan plan;
	struct qsb__broker broker;
	unsigned ports[LISTENERS];
	int server; /* listens: what clients want to reach */
	unsigned server_port;
	int proxy; /* listens: the proxy behind the broker */
	char localhost[16], below[24], loopback[16], no[24], proxy_url[64];
	char *allowed[4], *denied[2], *bypass[3];
};

/* ---- sockets ---- */

static int make_socket(int type, unsigned *port)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(name);
	const int on = 1;
	int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (bind(fd, (struct sockaddr *)&name, size) != 0 || getsockname(fd, (struct sockaddr *)&name, &size) != 0)
		exit(1);
	if (type == SOCK_STREAM && listen(fd, 64) != 0)
		exit(1);
	if (type == SOCK_DGRAM)
		setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
	*port = ntohs(name.sin_port);
	return fd;
}

static int call(unsigned port, int type)
{
	const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&name, sizeof(name)) != 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return fd;
}

/* -1 = nobody came in time. */
static int answer_call(int listener, int patience_ms)
{
	const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	struct pollfd ready = {.fd = listener, .events = POLLIN};
	int fd;

	if (poll(&ready, 1, patience_ms) != 1)
		return -1;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static bool say(int fd, const void *bytes, size_t length)
{
	return send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static bool say_text(int fd, const char *text)
{
	return say(fd, text, strlen(text));
}

/* What comes until `end` is in it, or the end. Returns how much. */
static size_t hear(int fd, char *out, size_t size, const char *end)
{
	size_t used = 0;
	ssize_t length = 1;

	out[0] = '\0';
	while (length > 0 && used + 1 < size && (!end || !strstr(out, end))) {
		length = recv(fd, out + used, size - 1 - used, 0);
		if (length > 0)
			used += (size_t)length;
		out[used] = '\0';
	}
	return used;
}

static bool is_quiet(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	return poll(&ready, 1, QUIET_MS) == 0;
}

/* ---- the broker ---- */

static bool hand_over(struct world *world)
{
	static const uint8_t kinds[LISTENERS] = {QSB__LISTENER_HTTP_PROXY, QSB__LISTENER_SOCKS, QSB__LISTENER_DNS_UDP,
						 QSB__LISTENER_DNS_TCP, QSB__LISTENER_REACH};
	struct qsb__handover packet = {.count = LISTENERS, .last = true};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * LISTENERS)];
	} control;
	struct iovec data = {.iov_base = &packet, .iov_len = sizeof(packet)};
	struct msghdr header = {.msg_iov = &data,
				.msg_iovlen = 1,
				.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	struct pollfd ready = {.fd = world->broker.launch_fd, .events = POLLIN};
	int fds[LISTENERS];
	bool served;
	char byte = 0;

	memset(&control, 0, sizeof(control));
	for (int i = 0; i < LISTENERS; i++) {
		fds[i] = make_socket(i == DNS_UDP ? SOCK_DGRAM : SOCK_STREAM, &world->ports[i]);
		packet.kinds[i] = kinds[i];
	}
	packet.ports[REACH] = (uint16_t)world->server_port;
	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.align), fds, sizeof(fds));
	served = sendmsg(world->broker.launch_fd, &header, MSG_NOSIGNAL) == (ssize_t)sizeof(packet) &&
		 poll(&ready, 1, PATIENCE_MS) == 1 && recv(world->broker.launch_fd, &byte, 1, 0) == 1 && byte == 1;
	for (int i = 0; i < LISTENERS; i++)
		close(fds[i]);
	qsb__broker_launched(&world->broker);
	return served;
}

static bool begin(struct world *world, bool ask)
{
	const struct qsb__broker_options options = {
		.plan = &world->plan, .ask = ask, .report_all = true, .ask_ms = PATIENCE_MS};
	struct qsb_error err = {.code = 0};
	unsigned port;

	memset(world, 0, sizeof(*world));
	world->server = make_socket(SOCK_STREAM, &world->server_port);
	world->proxy = make_socket(SOCK_STREAM, &port);
	snprintf(world->proxy_url, sizeof(world->proxy_url), "http://user:word@127.0.0.1:%u", port);
	snprintf(world->localhost, sizeof(world->localhost), "localhost");
	snprintf(world->below, sizeof(world->below), "*.allowed.test");
	snprintf(world->loopback, sizeof(world->loopback), "127.0.0.1");
	snprintf(world->no, sizeof(world->no), "no.allowed.test");
	world->allowed[0] = world->localhost;
	world->allowed[1] = world->below;
	world->allowed[2] = world->loopback;
	world->denied[0] = world->no;
	world->bypass[0] = world->localhost;
	world->bypass[1] = world->loopback;
	world->plan.network = QSB__NETWORK_FILTERED;
	world->plan.allowed_domains = world->allowed;
	world->plan.denied_domains = world->denied;
	world->plan.upstream_proxy = world->proxy_url;
	world->plan.upstream_bypass = world->bypass;
	world->plan.upstream_resolves = true;
	return tap_ok(qsb__broker_start(&world->broker, &options, &err) == 0 && hand_over(world),
		      "the broker serves %s", err.message);
}

/* The next event but one of a lookup. false = none in time. */
static bool next_event(struct world *world, int patience_ms, struct qsb__broker_event *event)
{
	struct pollfd ready = {.fd = world->broker.events_fd, .events = POLLIN};

	while (poll(&ready, 1, patience_ms) == 1) {
		int code = qsb__broker_read(&world->broker, event);

		if (code < 0)
			return false;
		if (code > 0 && event->kind != QSB__BROKER_LOOKUP)
			return true;
	}
	return false;
}

/* Clock ticks that the broker has used. */
static unsigned long ticks(const struct world *world)
{
	char path[64], text[1024] = "";
	unsigned long user = 0, kernel = 0;
	const char *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)world->broker.pid);
	file = fopen(path, "re");
	if (file && fgets(text, sizeof(text), file) && (at = strrchr(text, ')')))
		sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel);
	if (file)
		fclose(file);
	return user + kernel;
}

static bool is_idle(const struct world *world)
{
	unsigned long before = ticks(world);

	poll(NULL, 0, 500);
	return ticks(world) - before < (unsigned long)sysconf(_SC_CLK_TCK) / 5;
}

static void end(struct world *world)
{
	pid_t pid = world->broker.pid;

	qsb__broker_free(&world->broker);
	tap_ok(pid > 0 && kill(pid, 0) != 0 && errno == ESRCH, "it leaves no process");
	close(world->server);
	close(world->proxy);
}

static int ask_for(const struct world *world, const char *host, unsigned port)
{
	char request[200];
	int fd = call(world->ports[HTTP_PROXY], SOCK_STREAM);

	snprintf(request, sizeof(request), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", host, port, host, port);
	return say_text(fd, request) ? fd : -1;
}

/* ---- connections ---- */

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
	tap_is_text(text, "HTTP/1.1 204 No Content\r\n\r\n", "its answer comes");
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.allowed && event.received == 27 &&
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
	tap_is_text(text, "HTTP/1.1 413 Too Large\r\n\r\n", "an answer before the upload's end arrives");
	close(client);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.received == 26, "and is counted");
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

/* ---- names ---- */

static size_t write_question(uint8_t *out, uint16_t id, const char *name, uint16_t type)
{
	const uint8_t head[12] = {(uint8_t)(id >> 8), (uint8_t)id, 1, 0, 0, 1};
	const uint8_t tail[5] = {0, (uint8_t)(type >> 8), (uint8_t)type, 0, 1};
	size_t used = sizeof(head);

	memcpy(out, head, sizeof(head));
	while (*name) {
		size_t label = strcspn(name, ".");

		out[used++] = (uint8_t)label;
		memcpy(out + used, name, label);
		used += label;
		name += label + (name[label] == '.');
	}
	memcpy(out + used, tail, sizeof(tail));
	return used + sizeof(tail);
}

/* The code of the answer, -1 = none came. `address`: the last four bytes. */
static int ask_name(const struct world *world, const char *name, uint16_t type, uint8_t *address)
{
	uint8_t message[600];
	size_t size = write_question(message, 77, name, type);
	int fd = call(world->ports[DNS_UDP], SOCK_DGRAM);
	ssize_t length = say(fd, message, size) ? recv(fd, message, sizeof(message), 0) : -1;

	close(fd);
	if (length < 12 || message[1] != 77 || !(message[2] & 0x80))
		return -1;
	memcpy(address, message + length - 4, 4);
	return message[3] & 15;
}

static void test_names(struct world *world)
{
	uint8_t address[4], again[4];

	tap_ok(ask_name(world, "www.allowed.test", 1, address) == 0 && address[0] == 198 && address[1] == 18,
	       "an allowed name has an address that stands for it");
	tap_ok(ask_name(world, "WWW.allowed.test", 1, again) == 0 && memcmp(address, again, 4) == 0,
	       "the same one every time");
	tap_is_number(ask_name(world, "www.allowed.test", 28, again), 0, "and one of IPv6");
	tap_is_number(ask_name(world, "other.test", 1, address), 3, "a name under no rule does not exist");
	tap_is_number(ask_name(world, "no.allowed.test", 28, address), 3, "nor one that is denied");
	tap_ok(ask_name(world, "localhost", 1, address) == 0 && address[0] == 127, "localhost is the sandbox's own");
}

/* More questions at once than the broker's buffer holds, and no word after them. */
static void test_names_by_tcp(struct world *world)
{
	enum { QUESTIONS = 60 };
	uint8_t bytes[QUESTIONS * 60];
	static uint8_t answers[QUESTIONS * 120];
	size_t used = 0, got = 0, count = 0;
	ssize_t length = 1;
	int fd = call(world->ports[DNS_TCP], SOCK_STREAM);

	for (int i = 0; i < QUESTIONS; i++) {
		char name[40];
		size_t size;

		snprintf(name, sizeof(name), "host-%d.allowed.test", i);
		size = write_question(bytes + used + 2, (uint16_t)i, name, 1);
		bytes[used] = 0;
		bytes[used + 1] = (uint8_t)size;
		used += size + 2;
	}
	say(fd, bytes, used);
	shutdown(fd, SHUT_WR);
	while (length > 0) {
		length = recv(fd, answers + got, sizeof(answers) - got, 0);
		got += length > 0 ? (size_t)length : 0;
	}
	for (size_t at = 0; at + 2 <= got; at += 2U + ((size_t)answers[at] << 8 | answers[at + 1]))
		count++;
	tap_is_number((long long)count, QUESTIONS, "all questions of one stream are answered");
	close(fd);
}

/* ---- its end, its limits, its questions ---- */

static void test_finish(void)
{
	struct qsb__broker_event event;
	struct world world;
	char text[300];
	int client, peer, silent, code;

	if (!begin(&world, false))
		return;
	silent = call(world.ports[HTTP_PROXY], SOCK_STREAM);
	client = ask_for(&world, "localhost", world.server_port);
	peer = answer_call(world.server, PATIENCE_MS);
	hear(client, text, sizeof(text), "\r\n\r\n");
	say(client, "\1x", 2);
	hear(peer, text, sizeof(text), "x");
	qsb__broker_finish(&world.broker);
	tap_ok(next_event(&world, PATIENCE_MS, &event) && event.allowed && event.sent == 2,
	       "the end of the command is told of what was open");
	tap_ok(!next_event(&world, PATIENCE_MS, &event), "a client that never asked for anything was not refused");
	code = qsb__broker_read(&world.broker, &event);
	tap_is_number(code, -1, "and then the broker is gone");
	tap_ok(recv(peer, text, sizeof(text), 0) <= 0, "the server sees the end");
	close(silent);
	close(client);
	close(peer);
	end(&world);
}

/* With few descriptors clients wait for others to end; nobody's connection breaks, and the broker rests meanwhile. */
static void test_few_descriptors(void)
{
	enum { CLIENTS = 16, FAILED = 100 };
	struct rlimit few, before;
	struct world world;
	char text[300];
	int clients[CLIENTS], client, peer, status = 0;
	bool began;

	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = few.rlim_max = 104;
	/* The limit is the child's: it is inherited. Only root could raise the hard one again. */
	if (fork() == 0) {
		int counted = tap_count;

		tap_failures = 0;
		setrlimit(RLIMIT_NOFILE, &few);
		began = begin(&world, false);
		for (int i = 0; i < CLIENTS; i++)
			clients[i] = call(world.ports[HTTP_PROXY], SOCK_STREAM);
		client = ask_for(&world, "localhost", world.server_port);
		tap_ok(began && answer_call(world.server, QUIET_MS) < 0, "a client more than there is room for waits");
		tap_ok(is_idle(&world), "without the broker turning in circles");
		for (int i = 0; i < CLIENTS; i++)
			close(clients[i]);
		peer = answer_call(world.server, PATIENCE_MS);
		hear(client, text, sizeof(text), "\r\n\r\n");
		tap_ok(peer >= 0 && strncmp(text, "HTTP/1.1 200 ", 13) == 0, "it is served when others have ended");
		end(&world);
		_exit(tap_count - counted + (tap_failures ? FAILED : 0));
	}
	wait(&status);
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 0 || WEXITSTATUS(status) >= FAILED)
		tap_failures++;
	tap_count += WIFEXITED(status) ? WEXITSTATUS(status) % FAILED : 0;
}

/* The proxy behind us, which knows every name. */
static void connect_by_proxy(const struct world *world)
{
	char text[600];
	int proxy = answer_call(world->proxy, PATIENCE_MS);

	hear(proxy, text, sizeof(text), "\r\n\r\n");
	say_text(proxy, "HTTP/1.1 200 OK\r\n\r\n");
	close(proxy);
}

static void answer_request(struct world *world, enum qsb__broker_answer answer, const char *what, const char *status)
{
	struct qsb__broker_event event;
	int first = ask_for(world, "ask.test", 443), second;
	char text[600];
	bool asked = next_event(world, PATIENCE_MS, &event);

	second = ask_for(world, "ask.test", 443);
	tap_ok(asked && event.kind == QSB__BROKER_REQUEST && strcmp(event.host, "ask.test") == 0 && event.port == 443 &&
		       is_quiet(world->broker.events_fd),
	       "two clients wait for one answer");
	qsb__broker_answer(&world->broker, event.id + 1, QSB__ANSWER_RUN);
	tap_ok(is_quiet(first), "an answer to another question is none");
	qsb__broker_answer(&world->broker, event.id, answer);
	for (int i = 0; i < 2 && answer != QSB__ANSWER_DENY; i++)
		connect_by_proxy(world);
	hear(first, text, sizeof(text), "\r\n\r\n");
	tap_ok(strncmp(text, status, strlen(status)) == 0, "%s: the first hears it", what);
	hear(second, text, sizeof(text), "\r\n\r\n");
	tap_ok(strncmp(text, status, strlen(status)) == 0, "%s: so does the second", what);
	close(first);
	close(second);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.kind == QSB__BROKER_CONNECTION &&
		       event.allowed == (answer != QSB__ANSWER_DENY) && next_event(world, PATIENCE_MS, &event) &&
		       event.kind == QSB__BROKER_CONNECTION,
	       "%s: both are told", what);
}

static void test_asking(void)
{
	struct qsb__broker_event event;
	struct world world;
	char text[300];
	int client;

	if (!begin(&world, true))
		return;
	answer_request(&world, QSB__ANSWER_DENY, "no", "HTTP/1.1 403 ");
	answer_request(&world, QSB__ANSWER_ONCE, "once", "HTTP/1.1 200 ");
	answer_request(&world, QSB__ANSWER_RUN, "for this run", "HTTP/1.1 200 ");
	client = ask_for(&world, "ask.test", 443);
	connect_by_proxy(&world);
	hear(client, text, sizeof(text), "\r\n\r\n");
	tap_ok(strncmp(text, "HTTP/1.1 200 ", 13) == 0, "then nobody is asked again");
	close(client);
	tap_ok(next_event(&world, PATIENCE_MS, &event) && event.kind == QSB__BROKER_CONNECTION, "it is told");
	end(&world);
}

static void test_connections(void)
{
	struct world world;

	if (!begin(&world, false))
		return;
	test_allowed(&world);
	test_denied(&world);
	test_nobody_there(&world);
	test_one_request(&world);
	test_other_request_inside(&world);
	test_endless_head(&world);
	test_never_reads(&world);
	test_early_answer(&world);
	test_client_dies(&world);
	test_socks(&world);
	test_reach(&world);
	test_upstream(&world);
	test_names(&world);
	test_names_by_tcp(&world);
	tap_ok(is_idle(&world), "in the end it has nothing to do");
	end(&world);
}

int main(void)
{
	struct qsb__broker none = {.launch_fd = -1, .events_fd = -1};

	signal(SIGPIPE, SIG_IGN);
	test_connections();
	test_finish();
	test_asking();
	test_few_descriptors();
	qsb__broker_free(&none);
	return tap_done();
}
