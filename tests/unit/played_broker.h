/*
 * A broker without a sandbox: its listeners are on this machine's loopback, and so is what they lead to. "localhost"
 * needs no name server; all other allowed names go to a proxy that the test plays.
 */
#ifndef QSB_TESTS_PLAYED_BROKER_H
#define QSB_TESTS_PLAYED_BROKER_H

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

static inline int make_socket(int type, unsigned *port)
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

static inline int call(unsigned port, int type)
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
static inline int answer_call(int listener, int patience_ms)
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

static inline bool say(int fd, const void *bytes, size_t length)
{
	return send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static inline bool say_text(int fd, const char *text)
{
	return say(fd, text, strlen(text));
}

/* What comes until `end` is in it, or the end. Returns how much. */
static inline size_t hear(int fd, char *out, size_t size, const char *end)
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

static inline bool is_quiet(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	return poll(&ready, 1, QUIET_MS) == 0;
}

/* ---- the broker ---- */

static inline bool hand_over(struct world *world)
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

static inline bool begin(struct world *world, bool ask)
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
static inline bool next_event(struct world *world, int patience_ms, struct qsb__broker_event *event)
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
static inline unsigned long ticks(const struct world *world)
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

static inline bool is_idle(const struct world *world)
{
	unsigned long before = ticks(world);

	poll(NULL, 0, 500);
	return ticks(world) - before < (unsigned long)sysconf(_SC_CLK_TCK) / 5;
}

static inline void end(struct world *world)
{
	pid_t pid = world->broker.pid;

	qsb__broker_free(&world->broker);
	tap_ok(pid > 0 && kill(pid, 0) != 0 && errno == ESRCH, "it leaves no process");
	close(world->server);
	close(world->proxy);
}

static inline int ask_for(const struct world *world, const char *host, unsigned port)
{
	char request[200];
	int fd = call(world->ports[HTTP_PROXY], SOCK_STREAM);

	snprintf(request, sizeof(request), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", host, port, host, port);
	return say_text(fd, request) ? fd : -1;
}

#endif
