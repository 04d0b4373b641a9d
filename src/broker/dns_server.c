/*
 * The resolver of the sandbox: answers every name server's address. A name under the rules gets an address that stands
 * for it; for any other the answer is that it does not exist, and nothing about it leaves this machine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/dns_message.h"
#include "broker/host_name.h"
#include "broker/internal.h"
#include "broker/socket_address.h"
#include "core/cleanup.h"

enum { ASKED_MAX = 512, BATCH = 32, STREAMS_MAX = 64, STREAM_BYTES = 1024, STREAM_IDLE_MS = 30000 };

/* A client that asks by TCP: one question at a time. */
struct stream {
	struct qsb__broker_run *run;
	int fd;
	uv_poll_t poll;
	uv_timer_t timer;
	unsigned handles;
	bool closing, waiting, asking;
	bool ended; /* the client says no more, and waits for its last answer */
	uint8_t bytes[STREAM_BYTES];
	size_t length;
};

/* One question on its way. */
struct asked {
	struct qsb__broker_run *run;
	struct qsb__lookup *lookup;
	struct stream *stream; /* NULL = by UDP */
	int fd;
	struct sockaddr_storage peer;
	socklen_t peer_size;
	_Alignas(struct cmsghdr) uint8_t control[128];
	size_t control_size;
	struct qsb__dns_query query;
	uint8_t message[QSB__DNS_PLAIN_MAX]; /* its header and question */
};

static unsigned asked_count, stream_count;

static void stream_answered(struct stream *stream, const uint8_t *bytes, size_t length);
static void stream_ready(uv_poll_t *handle, int status, int events);

static void send_answer(struct asked *asked, const uint8_t *bytes, size_t length)
{
	struct iovec data = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
	struct msghdr header = {
		.msg_name = &asked->peer,
		.msg_namelen = asked->peer_size,
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = asked->control,
		.msg_controllen = asked->control_size,
	};

	if (asked->stream)
		stream_answered(asked->stream, bytes, length);
	else if (length > 0)
		sendmsg(asked->fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void answer(struct asked *asked, const struct qsb__dns_answer *answer)
{
	uint8_t bytes[QSB__DNS_ANSWER_MAX];
	size_t most = asked->stream ? sizeof(bytes) : asked->query.answer_max;

	send_answer(asked, bytes, qsb__dns_answer_write(asked->message, &asked->query, answer, bytes, most));
	asked_count--;
	free(asked);
}

static void answer_code(struct asked *asked, int code, const char *why)
{
	answer(asked, &(const struct qsb__dns_answer){.code = code, .why = why});
}

static void answer_address(struct asked *asked, const struct qsb__address *address)
{
	struct qsb__dns_answer result = {.ttl = QSB__STAND_IN_TTL};

	result.has_address = true;
	memcpy(result.address, address->bytes, sizeof(result.address));
	answer(asked, &result);
}

/* ---- what is answered ---- */

static void answer_stand_in(struct asked *asked)
{
	unsigned number = qsb__stand_ins_number(asked->run->stand_ins, asked->query.name, uv_hrtime() / 1000000000U);
	struct qsb__address address;

	if (number == 0) {
		answer_code(asked, QSB__DNS_SERVER_FAILURE, "too many names at one time");
		return;
	}
	qsb__stand_ins_address(number, asked->query.type == QSB__DNS_A ? 4 : 6, &address);
	answer_address(asked, &address);
}

static void found(void *data, const struct qsb__found *found)
{
	struct asked *asked = data;

	if (found->code == 1)
		answer_code(asked, QSB__DNS_NO_NAME, NULL);
	else if (found->code != 0)
		answer_code(asked, QSB__DNS_SERVER_FAILURE, "no name server of the host answered");
	else if (found->count == 0)
		answer_code(asked, QSB__DNS_OK, NULL);
	else
		answer_stand_in(asked);
}

static void answer_pointer(struct asked *asked)
{
	struct qsb__dns_answer result = {.code = QSB__DNS_NO_NAME, .ttl = QSB__STAND_IN_TTL};
	struct qsb__address address = {0};

	if (qsb__dns_reverse_name(asked->query.name, &address.family, address.bytes))
		result.pointer = qsb__stand_ins_find(asked->run->stand_ins, &address, uv_hrtime() / 1000000000U);
	if (result.pointer)
		result.code = QSB__DNS_OK;
	answer(asked, &result);
}

/* It is always the loopback, here the sandbox's own. */
static void answer_localhost(struct asked *asked)
{
	struct qsb__address address;

	if (asked->query.type == QSB__DNS_A)
		qsb__address_parse("127.0.0.1", 9, &address);
	else
		qsb__address_parse("::1", 3, &address);
	answer_address(asked, &address);
}

static unsigned client_port(const struct asked *asked)
{
	struct sockaddr_storage name = asked->peer;
	socklen_t size = sizeof(name);
	struct qsb__address address;
	unsigned port = 0;

	if (asked->stream && getpeername(asked->stream->fd, (struct sockaddr *)&name, &size) != 0)
		return 0;
	return qsb__socket_address_read((const struct sockaddr *)&name, &address, &port) ? port : 0;
}

static void answer_name(struct asked *asked)
{
	struct qsb__broker_run *run = asked->run;
	bool wants_address = asked->query.type == QSB__DNS_A || asked->query.type == QSB__DNS_AAAA;
	struct qsb__host_judgement verdict;

	qsb__hosts_judge_name(run->hosts, asked->query.name, 0, &verdict);
	if (verdict.answer == QSB__HOST_DENIED || (verdict.answer == QSB__HOST_UNKNOWN && !run->options.ask)) {
		qsb__report_lookup(run, asked->query.name, &verdict, client_port(asked));
		answer_code(asked, QSB__DNS_NO_NAME, verdict.rule);
	} else if (!wants_address) {
		answer_code(asked, QSB__DNS_OK, NULL);
	} else if (verdict.answer == QSB__HOST_UNKNOWN ||
		   (run->upstream.kind != QSB__UPSTREAM_NONE && run->upstream.resolves &&
		    !qsb__upstream_bypasses(&run->upstream, asked->query.name, 0))) {
		/* Nobody was asked yet, or the proxy knows the names, not we. */
		answer_stand_in(asked);
	} else {
		qsb__resolver_ask(run->resolver, asked->query.name, found, asked, &asked->lookup);
	}
}

static void answer_question(struct asked *asked)
{
	char canonical[QSB__HOST_MAX];
	const char *name = asked->query.name;
	bool wants_address = asked->query.type == QSB__DNS_A || asked->query.type == QSB__DNS_AAAA;

	if (asked->query.type == QSB__DNS_PTR)
		answer_pointer(asked);
	else if (qsb__host_is_localhost(name) && wants_address)
		answer_localhost(asked);
	else if (asked->query.class != QSB__DNS_IN || !qsb__host_name_canonical(name, strlen(name), canonical) ||
		 strcmp(canonical, name) != 0)
		answer_code(asked, QSB__DNS_NO_NAME, NULL);
	else
		answer_name(asked);
}

/* Takes a message over from `asked`'s sender. */
static void take_message(const struct asked *from, const uint8_t *bytes, size_t length)
{
	struct asked *asked;
	uint8_t error[QSB__DNS_PLAIN_MAX];
	int code;

	asked = asked_count < ASKED_MAX ? malloc(sizeof(*asked)) : NULL;
	if (!asked) {
		if (from->stream)
			stream_answered(from->stream, NULL, 0);
		return;
	}
	*asked = *from;
	code = qsb__dns_query_parse(bytes, length, &asked->query);
	if (code == 0 && asked->query.question_size <= sizeof(asked->message)) {
		memcpy(asked->message, bytes, asked->query.question_size);
		asked_count++;
		answer_question(asked);
		return;
	}
	if (code >= 0)
		send_answer(asked, error, qsb__dns_error_write(bytes, code, error, sizeof(error)));
	else if (asked->stream)
		stream_answered(asked->stream, NULL, 0);
	free(asked);
}

/* ---- UDP ---- */

/* The answer leaves from the address that was asked; the interface is the kernel's choice. */
static void turn_round(struct msghdr *header)
{
	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
		if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo *info = (struct in6_pktinfo *)CMSG_DATA(at);

			info->ipi6_ifindex = 0;
		} else if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo *info = (struct in_pktinfo *)CMSG_DATA(at);

			info->ipi_ifindex = 0;
			info->ipi_spec_dst = info->ipi_addr;
		}
	}
}

bool qsb__dns_serve_udp(struct qsb__entrance *entrance)
{
	for (int i = 0; i < BATCH; i++) {
		struct asked from = {.run = entrance->run, .fd = entrance->fd};
		uint8_t bytes[QSB__DNS_ANSWER_MAX];
		struct iovec data = {.iov_base = bytes, .iov_len = sizeof(bytes)};
		struct msghdr header = {
			.msg_name = &from.peer,
			.msg_namelen = sizeof(from.peer),
			.msg_iov = &data,
			.msg_iovlen = 1,
			.msg_control = from.control,
			.msg_controllen = sizeof(from.control),
		};
		ssize_t length = recvmsg(entrance->fd, &header, MSG_DONTWAIT);

		if (length < 0)
			return errno == EAGAIN || errno == EINTR;
		from.peer_size = header.msg_namelen;
		from.control_size = header.msg_controllen;
		turn_round(&header);
		if (!(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
			take_message(&from, bytes, (size_t)length);
	}
	return true;
}

/* ---- TCP ---- */

static void stream_gone(uv_handle_t *handle)
{
	struct stream *stream = handle->data;

	if (--stream->handles > 0)
		return;
	close(stream->fd);
	free(stream);
}

static void close_handles(struct stream *stream)
{
	uv_close((uv_handle_t *)&stream->poll, stream_gone);
	uv_close((uv_handle_t *)&stream->timer, stream_gone);
}

/* While a question is on its way, its answer still comes here. */
static void stream_close(struct stream *stream)
{
	if (stream->closing)
		return;
	stream->closing = true;
	stream_count--;
	uv_poll_stop(&stream->poll);
	uv_timer_stop(&stream->timer);
	if (!stream->waiting)
		close_handles(stream);
}

static void stream_idle(uv_timer_t *timer)
{
	stream_close(timer->data);
}

/* Reads on where there is room. With a full buffer and a question on its way the rest waits in the kernel. */
static void stream_watch(struct stream *stream)
{
	if (stream->closing)
		return;
	if (stream->ended && !stream->waiting)
		stream_close(stream);
	else if (stream->ended || stream->length == sizeof(stream->bytes))
		uv_poll_stop(&stream->poll);
	else
		uv_poll_start(&stream->poll, UV_READABLE, stream_ready);
}

/* Asks what lies in the buffer, when it is whole. */
static void stream_ask(struct stream *stream)
{
	stream->asking = true;
	while (!stream->closing && !stream->waiting && stream->length >= 2) {
		size_t size = (size_t)stream->bytes[0] << 8 | stream->bytes[1];
		uint8_t message[STREAM_BYTES];
		struct asked from = {.run = stream->run, .stream = stream, .fd = stream->fd};

		if (size + 2 > sizeof(stream->bytes))
			stream_close(stream);
		if (stream->closing || stream->length < size + 2)
			break;
		memcpy(message, stream->bytes + 2, size);
		stream->length -= size + 2;
		memmove(stream->bytes, stream->bytes + size + 2, stream->length);
		stream->waiting = true;
		take_message(&from, message, size);
	}
	stream->asking = false;
	stream_watch(stream);
}

static void stream_answered(struct stream *stream, const uint8_t *bytes, size_t length)
{
	uint8_t framed[QSB__DNS_ANSWER_MAX + 2];

	stream->waiting = false;
	if (stream->closing) {
		close_handles(stream);
		return;
	}
	if (length == 0) {
		stream_close(stream);
		return;
	}
	framed[0] = (uint8_t)(length >> 8);
	framed[1] = (uint8_t)length;
	memcpy(framed + 2, bytes, length);
	if (send(stream->fd, framed, length + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)length + 2) {
		stream_close(stream);
		return;
	}
	uv_timer_start(&stream->timer, stream_idle, STREAM_IDLE_MS, 0);
	if (!stream->asking)
		stream_ask(stream);
}

static void stream_ready(uv_poll_t *handle, int status, int events)
{
	struct stream *stream = handle->data;
	ssize_t length;

	length = recv(stream->fd, stream->bytes + stream->length, sizeof(stream->bytes) - stream->length, MSG_DONTWAIT);
	if (length < 0 && status == 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (length < 0 || status != 0) {
		stream_close(stream);
		return;
	}
	stream->ended = length == 0;
	stream->length += (size_t)length;
	stream_ask(stream);
}

void qsb__dns_accept(struct qsb__broker_run *run, int fd)
{
	struct stream *stream = stream_count < STREAMS_MAX ? calloc(1, sizeof(*stream)) : NULL;

	if (!stream || uv_poll_init(&run->loop, &stream->poll, fd) != 0) {
		free(stream);
		close(fd);
		return;
	}
	stream->run = run;
	stream->fd = fd;
	stream->handles = 2;
	stream->poll.data = stream->timer.data = stream;
	uv_timer_init(&run->loop, &stream->timer);
	uv_timer_start(&stream->timer, stream_idle, STREAM_IDLE_MS, 0);
	uv_poll_start(&stream->poll, UV_READABLE, stream_ready);
	stream_count++;
}
