#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/internal.h"
#include "core/cleanup.h"
#include "core/error.h"

enum { BACKLOG = 512, READY = 4, ACCEPTED_AT_ONCE = 32 };

struct door {
	struct qsb__broker_run *run;
	unsigned port;
	int fd;
	uv_poll_t poll;
};

struct qsb__publisher {
	struct qsb__porter porter;
	struct door *doors;
	size_t count;
	int ready[2][READY]; /* sockets made in the sandbox's network: IPv4, IPv6 */
	size_t ready_count[2];
};

/* 0, or a negative errno. */
static int open_door(struct door *door, int family, unsigned port)
{
	struct sockaddr_in inet = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 inet6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	QSB_CLEANUP_FD int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;
	int code;

	inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	code = family == AF_INET ? bind(fd, (struct sockaddr *)&inet, sizeof(inet))
				 : bind(fd, (struct sockaddr *)&inet6, sizeof(inet6));
	if (code != 0 || listen(fd, BACKLOG) != 0)
		return -errno;
	door->port = port;
	door->fd = qsb__take_fd(&fd);
	return 0;
}

static int refuse(unsigned port, int code, struct qsb_error *err)
{
	if (code == -EADDRINUSE)
		return qsb__fail_os(err, EADDRINUSE, "/network/publishPorts",
				    "port %u of this machine's loopback is taken: stop who listens there, or publish "
				    "another port",
				    port);
	if (code == -EACCES || code == -EPERM)
		return qsb__fail_os(err, -code, "/network/publishPorts",
				    "port %u may only be opened by root: publish one from 1024 on", port);
	return qsb__fail_os(err, -code, "/network/publishPorts", "cannot open port %u of this machine's loopback",
			    port);
}

/* A host without IPv6 has no ::1 to publish on. */
static bool has_no_such_address(int code)
{
	return code == -EAFNOSUPPORT || code == -EADDRNOTAVAIL;
}

static int open_doors(struct qsb__publisher *publisher, const struct qsb__plan *plan, struct qsb_error *err)
{
	for (const uint16_t *port = plan->publish_ports; *port; port++)
		for (int i = 0; i < 2; i++) {
			int code = open_door(&publisher->doors[publisher->count], i == 0 ? AF_INET : AF_INET6, *port);

			if (code == 0)
				publisher->count++;
			else if (i == 0 || !has_no_such_address(code))
				return refuse(*port, code, err);
		}
	return 0;
}

struct qsb__publisher *qsb__publisher_new(const struct qsb__plan *plan, struct qsb_error *err)
{
	struct qsb__publisher *publisher = calloc(1, sizeof(*publisher));
	size_t ports = 0;

	while (plan->publish_ports[ports])
		ports++;
	if (publisher) {
		publisher->porter.fd = -1;
		publisher->doors = calloc(ports * 2, sizeof(*publisher->doors));
	}
	if (!publisher || !publisher->doors) {
		qsb__fail_memory(err, "network");
		free(publisher);
		return NULL;
	}
	if (open_doors(publisher, plan, err) != 0) {
		qsb__publisher_free(publisher);
		return NULL;
	}
	return publisher;
}

void qsb__publisher_free(struct qsb__publisher *publisher)
{
	if (!publisher)
		return;
	for (size_t i = 0; i < publisher->count; i++)
		close(publisher->doors[i].fd);
	qsb__porter_free(&publisher->porter);
	free(publisher->doors);
	free(publisher);
}

int qsb__publisher_start_porter(struct qsb__publisher *publisher, struct qsb_error *err)
{
	return qsb__porter_start(&publisher->porter, err);
}

size_t qsb__publisher_fds(const struct qsb__publisher *publisher, int *out, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < publisher->count && count < most; i++)
		out[count++] = publisher->doors[i].fd;
	if (publisher->porter.fd >= 0 && count < most)
		out[count++] = publisher->porter.fd;
	return count;
}

static void door_ready(uv_poll_t *handle, int status, int events)
{
	struct door *door = handle->data;

	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		int fd = qsb__entrances_accept(door->run, door->fd);

		if (fd < 0)
			return;
		qsb__connection_to_loopback(door->run, QSB__WAY_PUBLISH, door->port, fd);
	}
}

int qsb__publisher_serve(struct qsb__publisher *publisher, struct qsb__broker_run *run, int namespace_fd,
			 struct qsb_error *err)
{
	int code = qsb__porter_enter(&publisher->porter, namespace_fd, err);

	for (size_t i = 0; code == 0 && i < publisher->count; i++) {
		struct door *door = &publisher->doors[i];

		door->run = run;
		door->poll.data = door;
		if (uv_poll_init(&run->loop, &door->poll, door->fd) != 0)
			code = qsb__fail_memory(err, "network");
	}
	return code;
}

/* Who may not be taken must not be asked about: the kernel would tell of them over and over. */
void qsb__publisher_poll(struct qsb__publisher *publisher, bool accepting)
{
	for (size_t i = 0; i < publisher->count; i++) {
		struct door *door = &publisher->doors[i];

		if (door->run && accepting)
			uv_poll_start(&door->poll, UV_READABLE, door_ready);
		else if (door->run)
			uv_poll_stop(&door->poll);
	}
}

int qsb__publisher_socket(struct qsb__publisher *publisher, int family)
{
	int kind = family == 4 ? 0 : 1;

	if (publisher->ready_count[kind] == 0) {
		int code = qsb__porter_sockets(&publisher->porter, family, publisher->ready[kind], READY);

		if (code != 0) {
			errno = -code;
			return -1;
		}
		publisher->ready_count[kind] = READY;
	}
	return publisher->ready[kind][--publisher->ready_count[kind]];
}
