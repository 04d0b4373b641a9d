/* The listening sockets come from the sandbox's first process, and clients from them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/internal.h"
#include "core/cleanup.h"
#include "core/error.h"

enum { ACCEPTED_AT_ONCE = 64, PAUSE_MS = 100 };

static void pause_over(uv_timer_t *timer)
{
	struct qsb__broker_run *run = timer->data;

	qsb__entrances_poll(run, true);
}

/* No descriptor is left: whoever waits stays in the queue until others have ended. */
static void pause_accepting(struct qsb__broker_run *run)
{
	qsb__entrances_poll(run, false);
	uv_timer_start(&run->pause, pause_over, PAUSE_MS, 0);
}

int qsb__entrances_accept(struct qsb__broker_run *run, int listener)
{
	int fd = run->accepting ? accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;

	if (fd < 0 && run->accepting && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
		pause_accepting(run);
	return fd;
}

static void entrance_ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__entrance *entrance = handle->data;
	struct qsb__broker_run *run = entrance->run;

	if (entrance->kind == QSB__LISTENER_DNS_UDP) {
		/* An error stops the poll. */
		if (qsb__dns_serve_udp(entrance) && status != 0)
			uv_poll_start(&entrance->poll, UV_READABLE, entrance_ready);
		return;
	}
	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		int fd = qsb__entrances_accept(run, entrance->fd);

		if (fd < 0)
			return;
		qsb__connection_accept(entrance, fd);
	}
}

void qsb__entrances_poll(struct qsb__broker_run *run, bool accepting)
{
	if (run->finishing)
		accepting = false;
	run->accepting = accepting;
	for (size_t i = 0; i < run->entrance_count; i++) {
		struct qsb__entrance *entrance = run->entrances[i];

		if (accepting || entrance->kind == QSB__LISTENER_DNS_UDP)
			uv_poll_start(&entrance->poll, UV_READABLE, entrance_ready);
		else
			uv_poll_stop(&entrance->poll);
	}
	if (run->publisher)
		qsb__publisher_poll(run->publisher, accepting);
}

static int add(struct qsb__broker_run *run, unsigned kind, unsigned port, int fd, struct qsb_error *err)
{
	struct qsb__entrance *entrance;

	if (kind == QSB__LISTENER_NAMESPACE) {
		QSB_CLEANUP_FD int namespace_fd = fd;

		return run->publisher ? qsb__publisher_serve(run->publisher, run, namespace_fd, err) : 0;
	}
	entrance = run->entrance_count < sizeof(run->entrances) / sizeof(run->entrances[0])
			   ? calloc(1, sizeof(*entrance))
			   : NULL;
	if (!entrance || uv_poll_init(&run->loop, &entrance->poll, fd) != 0) {
		free(entrance);
		close(fd);
		return qsb__fail_memory(err, "network");
	}
	entrance->run = run;
	entrance->kind = (enum qsb__listener)kind;
	entrance->port = port;
	entrance->fd = fd;
	entrance->poll.data = entrance;
	run->entrances[run->entrance_count++] = entrance;
	return 0;
}

/* One packet. Bytes, 0 at the end, or a negative errno; `fds` holds what came with it. */
static ssize_t receive(int from, struct qsb__handover *packet, int *fds, size_t *count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * QSB__HANDOVER_MAX)];
	} control;
	struct iovec data = {.iov_base = packet, .iov_len = sizeof(*packet)};
	struct msghdr header = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t length = recvmsg(from, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	*count = 0;
	if (length < 0)
		return -errno;
	for (struct cmsghdr *at = CMSG_FIRSTHDR(&header); at; at = CMSG_NXTHDR(&header, at)) {
		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		*count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(at), *count * sizeof(int));
	}
	return length;
}

static int take(struct qsb__broker_run *run, const struct qsb__handover *packet, int *fds, size_t count,
		struct qsb_error *err)
{
	int code = packet->count == count
			   ? 0
			   : qsb__fail(err, QSB_E_OS, "network", "not all of the sandbox's listening sockets arrived");

	for (size_t i = 0; i < count; i++) {
		if (code == 0)
			code = add(run, packet->kinds[i], packet->ports[i], fds[i], err);
		else
			close(fds[i]);
	}
	return code;
}

/* The sandbox's first process waits for this byte; its end is none of our business. */
static void say_ready(struct qsb__broker_run *run)
{
	const char ready = 1;

	qsb__entrances_poll(run, true);
	if (send(run->launch_fd, &ready, 1, MSG_NOSIGNAL) < 0)
		qsb__broker_run_finish(run);
	uv_close((uv_handle_t *)&run->launch, NULL);
	close(qsb__take_fd(&run->launch_fd));
}

static void launch_ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__broker_run *run = handle->data;
	struct qsb__handover packet;
	struct qsb_error err;
	int fds[QSB__HANDOVER_MAX];
	size_t count;
	ssize_t length = receive(run->launch_fd, &packet, fds, &count);

	if (length == -EAGAIN || length == -EINTR)
		return;
	/* The sandbox could not be made: the supervisor knows. */
	if (length < (ssize_t)sizeof(packet)) {
		uv_poll_stop(handle);
		return;
	}
	if (take(run, &packet, fds, count, &err) != 0)
		qsb__broker_run_fail(run, &err);
	if (packet.last)
		say_ready(run);
}

int qsb__handover_begin(struct qsb__broker_run *run, struct qsb_error *err)
{
	run->launch.data = run->pause.data = run;
	uv_timer_init(&run->loop, &run->pause);
	if (uv_poll_init(&run->loop, &run->launch, run->launch_fd) != 0 ||
	    uv_poll_start(&run->launch, UV_READABLE, launch_ready) != 0)
		return qsb__fail(err, QSB_E_OS, "network", "cannot wait for the sandbox's listening sockets");
	return 0;
}
