#include "backend/linux/routes.h"

#include <unistd.h>
#include <sys/socket.h>
#include <linux/if_addr.h>
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

/*
 * Addresses of the range that stands for names, never given out. Without one besides the loopback's, the C library
 * takes a family for not configured (AI_ADDRCONFIG) and does not ask for its addresses.
 */
static void put_address(struct qsb__netlink *to, unsigned char family)
{
	static const uint8_t four[4] = {198, 19, 255, 254};
	static const uint8_t six[16] = {0xfd, 0x71, 0x6d, 0x69, 0x6e, 0x67, [13] = 0xff, 0xff, 0xfe};
	const bool is_4 = family == AF_INET;
	const struct ifaddrmsg head = {
		.ifa_family = family,
		.ifa_prefixlen = is_4 ? 32 : 128,
		.ifa_flags = IFA_F_PERMANENT | (is_4 ? 0 : IFA_F_NODAD),
		.ifa_index = LOOPBACK_INDEX,
	};

	qsb__netlink_begin(to, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &head, sizeof(head));
	qsb__netlink_put(to, IFA_LOCAL, is_4 ? four : six, is_4 ? sizeof(four) : sizeof(six));
	qsb__netlink_put(to, IFA_ADDRESS, is_4 ? four : six, is_4 ? sizeof(four) : sizeof(six));
}

int qsb__routes_make_local(bool *six)
{
	uint8_t bytes[512] __attribute__((aligned(4)));
	struct qsb__netlink messages = {.bytes = bytes, .size = sizeof(bytes)};
	const bool both = *six;
	uint32_t sequence;
	int code, fd = qsb__netlink_open(NETLINK_ROUTE);

	if (fd < 0)
		return fd;
	put_route(&messages, AF_INET);
	put_address(&messages, AF_INET);
	if (both) {
		put_route(&messages, AF_INET6);
		put_address(&messages, AF_INET6);
	}
	code = qsb__netlink_send(fd, &messages);
	for (int i = 0; code == 0 && i < 2; i++)
		code = qsb__netlink_answer(fd, &sequence);
	/* Without them nothing of IPv6 is reachable: less than was asked for, never more. */
	*six = code == 0 && both && qsb__netlink_answer(fd, &sequence) == 0 && qsb__netlink_answer(fd, &sequence) == 0;
	close(fd);
	return code;
}
