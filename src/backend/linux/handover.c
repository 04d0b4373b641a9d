/* The broker gets the sandbox's listeners before there is a command, so nothing inside can be quicker. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "backend/linux/sandbox.h"
#include "broker/broker.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "os/descriptors.h"

enum { PATIENCE_S = 10 };

static const char no_service[] = "the broker could not serve the sandbox's network";

/* Those from `first` on; returns how many went, or a negative errno. */
static int send_packet(int fd, const struct qsb__listeners *listeners, size_t first)
{
	struct qsb__handover packet;
	const struct iovec data = {.iov_base = &packet, .iov_len = sizeof(packet)};
	const size_t left = listeners->count - first, count = left < QSB__HANDOVER_MAX ? left : QSB__HANDOVER_MAX;
	ssize_t length;

	memset(&packet, 0, sizeof(packet));
	packet.count = (uint32_t)count;
	packet.last = count == left;
	memcpy(packet.kinds, listeners->kinds + first, count * sizeof(packet.kinds[0]));
	memcpy(packet.ports, listeners->ports + first, count * sizeof(packet.ports[0]));
	length = qsb__descriptors_send(fd, &data, listeners->fds + first, count);
	return length < 0 ? (int)length : (int)count;
}

int qsb__handover_send(int broker_fd, struct qsb__network *network, struct qsb_error *err)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct qsb__listeners *listeners = &network->listeners;
	size_t sent = 0;

	if (listeners->count == 0)
		return 0;
	/* A filtered network without its broker would be one that is off, and nobody told. */
	if (broker_fd < 0)
		return qsb__fail(err, QSB_E_OS, "network", "%s: there is none", no_service);
	setsockopt(broker_fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	while (sent < listeners->count) {
		int count = send_packet(broker_fd, listeners, sent);

		if (count < 0 && count != -EINTR)
			return qsb__fail_os(err, -count, "network", "%s", no_service);
		sent += count > 0 ? (size_t)count : 0;
	}
	/* From here on the broker's alone: no process inside ever has one. */
	for (size_t i = 0; i < listeners->count; i++)
		close(qsb__take_fd(&listeners->fds[i]));
	return 0;
}

int qsb__handover_wait(int broker_fd, struct qsb_error *err)
{
	QSB_CLEANUP_FD int fd = broker_fd;
	struct pollfd answer = {.fd = fd, .events = POLLIN};
	char served = 0;
	int ready;

	if (fd < 0)
		return 0;
	do
		ready = poll(&answer, 1, PATIENCE_S * 1000);
	while (ready < 0 && errno == EINTR);
	if (ready == 0)
		return qsb__fail(err, QSB_E_OS, "network", "%s: no answer in %d seconds", no_service, (int)PATIENCE_S);
	if (ready < 0 || recv(fd, &served, 1, MSG_DONTWAIT) != 1 || served != 1)
		return qsb__fail(err, QSB_E_OS, "network", "%s", no_service);
	return 0;
}
