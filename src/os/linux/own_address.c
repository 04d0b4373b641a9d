#include "os/own_address.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "os/linux/netlink.h"

int qsb__own_address_open(void)
{
	return qsb__netlink_open(NETLINK_ROUTE);
}

static int ask(int fd, const struct qsb__address *address, uint32_t number)
{
	uint8_t bytes[128] __attribute__((aligned(4)));
	struct qsb__netlink message = {.bytes = bytes, .size = sizeof(bytes), .sequence = number - 1};
	const unsigned bits = address->family == 4 ? 32 : 128;
	const struct rtmsg head = {.rtm_family = address->family == 4 ? AF_INET : AF_INET6,
				   .rtm_dst_len = (unsigned char)bits};

	qsb__netlink_begin(&message, RTM_GETROUTE, 0, &head, sizeof(head));
	qsb__netlink_put(&message, RTA_DST, address->bytes, bits / 8);
	return qsb__netlink_send(fd, &message);
}

static int judge_route(const struct rtmsg *route)
{
	return route->rtm_type == RTN_LOCAL || route->rtm_type == RTN_BROADCAST || route->rtm_type == RTN_ANYCAST ||
	       route->rtm_type == RTN_MULTICAST;
}

/* No way there is a plain answer. */
static int judge_error(int code)
{
	return code == -ENETUNREACH || code == -EHOSTUNREACH ? 0 : code < 0 ? code : -EPROTO;
}

int qsb__own_address_is(int fd, const struct qsb__address *address)
{
	static uint32_t number;
	union {
		struct nlmsghdr header;
		uint8_t bytes[4096];
	} buffer;
	int code = ask(fd, address, ++number == 0 ? ++number : number);

	if (code != 0)
		return code;
	for (;;) {
		const uint8_t *data = buffer.bytes + NLMSG_HDRLEN;
		ssize_t length = recv(fd, &buffer, sizeof(buffer), 0);

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return -errno;
		/* A late answer to a question that was given up. */
		if ((size_t)length < NLMSG_LENGTH(sizeof(struct rtmsg)) || buffer.header.nlmsg_seq != number)
			continue;
		if (buffer.header.nlmsg_type == RTM_NEWROUTE) {
			struct rtmsg route;

			memcpy(&route, data, sizeof(route));
			return judge_route(&route);
		}
		if (buffer.header.nlmsg_type == NLMSG_ERROR) {
			memcpy(&code, data, sizeof(code));
			return judge_error(code);
		}
	}
}
