#include "os/linux/netlink.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/netlink.h>

/* Room for `size` bytes, padded with zeroes to the next multiple of 4; NULL = there is none. */
static uint8_t *take(struct qsb__netlink *to, size_t size)
{
	size_t padded = NLMSG_ALIGN(size);
	uint8_t *at = to->bytes + to->length;

	if (to->full || padded < size || padded > to->size - to->length) {
		to->full = true;
		return NULL;
	}
	memset(at, 0, padded);
	to->length += padded;
	return at;
}

static void set_length(struct qsb__netlink *to)
{
	uint32_t length = (uint32_t)(to->length - to->message);

	if (!to->full)
		memcpy(to->bytes + to->message + offsetof(struct nlmsghdr, nlmsg_len), &length, sizeof(length));
}

void qsb__netlink_begin(struct qsb__netlink *to, unsigned type, unsigned flags, const void *head, size_t size)
{
	const struct nlmsghdr header = {
		.nlmsg_type = (uint16_t)type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = to->sequence + 1,
	};
	uint8_t *at;

	to->message = to->length;
	to->sequence++;
	at = take(to, sizeof(header) + size);
	if (!at)
		return;
	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), head, size);
	set_length(to);
}

void qsb__netlink_put(struct qsb__netlink *to, unsigned type, const void *data, size_t size)
{
	const struct nlattr header = {.nla_len = (uint16_t)(sizeof(header) + size), .nla_type = (uint16_t)type};
	uint8_t *at = take(to, sizeof(header) + size);

	if (!at)
		return;
	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), data, size);
	set_length(to);
}

void qsb__netlink_put_be32(struct qsb__netlink *to, unsigned type, uint32_t value)
{
	uint32_t wire = htonl(value);

	qsb__netlink_put(to, type, &wire, sizeof(wire));
}

size_t qsb__netlink_nest(struct qsb__netlink *to, unsigned type)
{
	size_t nest = to->length;

	qsb__netlink_put(to, NLA_F_NESTED | type, "", 0);
	return nest;
}

void qsb__netlink_unnest(struct qsb__netlink *to, size_t nest)
{
	uint16_t length = (uint16_t)(to->length - nest);

	if (!to->full)
		memcpy(to->bytes + nest + offsetof(struct nlattr, nla_len), &length, sizeof(length));
}

int qsb__netlink_open(int protocol)
{
	const struct timeval patience = {.tv_sec = 1};
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return -errno;
	/* Connected: nobody but the kernel can send to it. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
	    connect(fd, (const struct sockaddr *)&kernel, sizeof(kernel)) != 0) {
		int code = -errno;

		close(fd);
		return code;
	}
	return fd;
}

int qsb__netlink_send(int fd, const struct qsb__netlink *messages)
{
	if (messages->full)
		return -EMSGSIZE;
	return send(fd, messages->bytes, messages->length, 0) == (ssize_t)messages->length ? 0 : -errno;
}

int qsb__netlink_answer(int fd, uint32_t *sequence)
{
	union {
		struct nlmsghdr header;
		uint8_t bytes[1024];
	} buffer;
	struct nlmsgerr answer;
	ssize_t length;

	*sequence = 0;
	do {
		length = recv(fd, &buffer, sizeof(buffer), 0);
		if (length < 0 && errno != EINTR)
			return -errno;
	} while (length < (ssize_t)NLMSG_LENGTH(sizeof(answer)) || buffer.header.nlmsg_type != NLMSG_ERROR);
	memcpy(&answer, buffer.bytes + NLMSG_HDRLEN, sizeof(answer));
	*sequence = answer.msg.nlmsg_seq;
	return answer.error;
}
