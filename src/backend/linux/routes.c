#include "backend/linux/routes.h"

#include <unistd.h>
#include <sys/socket.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "os/linux/netlink.h"

/* A new namespace's loopback always has it. */
enum { LOOPBACK_INDEX = 1 };

static void put_route(struct qsb__netlink *to, unsigned char family)
{
	const struct rtmsg head = {
		.rtm_family = family,
		.rtm_table = RT_TABLE_LOCAL,
		.rtm_protocol = RTPROT_BOOT,
		.rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
		.rtm_type = RTN_LOCAL,
	};
	const int index = LOOPBACK_INDEX;

	qsb__netlink_begin(to, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &head, sizeof(head));
	qsb__netlink_put(to, RTA_OIF, &index, sizeof(index));
}

int qsb__routes_make_local(bool *six)
{
	uint8_t bytes[256] __attribute__((aligned(4)));
	struct qsb__netlink messages = {.bytes = bytes, .size = sizeof(bytes)};
	const bool both = *six;
	uint32_t sequence;
	int code, fd = qsb__netlink_open(NETLINK_ROUTE);

	if (fd < 0)
		return fd;
	put_route(&messages, AF_INET);
	if (both)
		put_route(&messages, AF_INET6);
	code = qsb__netlink_send(fd, &messages);
	if (code == 0)
		code = qsb__netlink_answer(fd, &sequence);
	/* Without the route nothing of IPv6 is reachable: less than was asked for, never more. */
	*six = code == 0 && both && qsb__netlink_answer(fd, &sequence) == 0;
	close(fd);
	return code;
}
