/* The messages that we write to the kernel, byte by byte, and what it says of addresses. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "backend/linux/nftables.h"
#include "backend/linux/routes.h"
#include "os/linux/netlink.h"
#include "os/own_address.h"
#include "tap.h"

enum { LITTLE_ENDIAN_HERE = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

static void test_bytes(void)
{
	static const uint8_t wanted[] = {
		52, 0, 0, 0,   24, 0, 5, 0, 1, 0, 0, 0, 0,   0,   0, 0, /* length, type, flags, number, no port */
		1,  2, 3, 4,                                            /* the head */
		6,  0, 7, 0,   9,  8, 0, 0,                             /* two bytes, padded */
		20, 0, 3, 128,                                          /* a nest */
		8,  0, 1, 0,   0,  0, 1, 2, 7, 0, 2, 0, 'a', 'b', 0, 0, /* a number, a text */
		4,  0, 9, 0,                                            /* nothing in it */
	};
	uint8_t bytes[64] __attribute__((aligned(4)));
	struct qsb__netlink to = {.bytes = bytes, .size = sizeof(bytes)};
	const uint8_t head[] = {1, 2, 3, 4}, two[] = {9, 8};
	size_t nest;

	qsb__netlink_begin(&to, 24, NLM_F_ACK, head, sizeof(head));
	qsb__netlink_put(&to, 7, two, sizeof(two));
	nest = qsb__netlink_nest(&to, 3);
	qsb__netlink_put_be32(&to, 1, 258);
	qsb__netlink_put(&to, 2, "ab", 3);
	qsb__netlink_unnest(&to, nest);
	qsb__netlink_put(&to, 9, "", 0);
	tap_ok(!to.full && to.length == sizeof(wanted), "a message has the length that it should have");
	tap_ok(!LITTLE_ENDIAN_HERE || memcmp(bytes, wanted, sizeof(wanted)) == 0, "a message has its bytes");
}

static void test_bounds(void)
{
	uint8_t bytes[QSB__NFTABLES_BYTES + 8] __attribute__((aligned(4)));
	struct qsb__netlink whole = {.bytes = bytes, .size = QSB__NFTABLES_BYTES};
	size_t overrun = 0, taken = 0;

	qsb__nftables_write(&whole, 1023, true);
	tap_ok(!whole.full, "the rule set fits its buffer");
	for (size_t size = 0; size < whole.length; size++) {
		struct qsb__netlink part = {.bytes = bytes, .size = size};

		memset(bytes, 0xAA, sizeof(bytes));
		qsb__nftables_write(&part, 1023, true);
		taken += !part.full || qsb__netlink_send(-1, &part) != -EMSGSIZE;
		for (size_t i = size; i < sizeof(bytes); i++)
			overrun += bytes[i] != 0xAA;
	}
	tap_is_number((long long)overrun, 0, "nothing is written beyond a buffer of any smaller size");
	tap_is_number((long long)taken, 0, "what did not fit whole is never sent");
}

/* Attributes fill their room exactly, at every depth. */
static bool is_well_formed(const uint8_t *at, size_t length)
{
	while (length > 0) {
		struct nlattr header;
		size_t padded;

		if (length < sizeof(header))
			return false;
		memcpy(&header, at, sizeof(header));
		padded = NLA_ALIGN((size_t)header.nla_len);
		if (header.nla_len < sizeof(header) || padded > length)
			return false;
		if ((header.nla_type & NLA_F_NESTED) &&
		    !is_well_formed(at + sizeof(header), header.nla_len - sizeof(header)))
			return false;
		at += padded;
		length -= padded;
	}
	return true;
}

static void test_rules(bool six)
{
	const unsigned own = NFNL_SUBSYS_NFTABLES << 8;
	const unsigned wanted[] = {NFNL_MSG_BATCH_BEGIN,  own | NFT_MSG_NEWTABLE, own | NFT_MSG_NEWCHAIN,
				   own | NFT_MSG_NEWRULE, own | NFT_MSG_NEWRULE,  NFNL_MSG_BATCH_END};
	uint8_t bytes[QSB__NFTABLES_BYTES] __attribute__((aligned(4)));
	struct qsb__netlink messages = {.bytes = bytes, .size = sizeof(bytes)};
	size_t at = 0, number = 0, bad = 0;

	qsb__nftables_write(&messages, 1023, six);
	while (at < messages.length) {
		const size_t heads = NLMSG_HDRLEN + sizeof(struct nfgenmsg);
		struct nlmsghdr header;

		memcpy(&header, bytes + at, sizeof(header));
		/* Without IPv6 there is one rule fewer. */
		bad += header.nlmsg_type != wanted[number + (!six && number > 3)] || header.nlmsg_seq != number + 1 ||
		       header.nlmsg_len < heads || header.nlmsg_len > messages.length - at ||
		       !is_well_formed(bytes + at + heads, header.nlmsg_len - heads);
		if (bad)
			break;
		at += NLMSG_ALIGN(header.nlmsg_len);
		number++;
	}
	tap_ok(bad == 0 && number == 5 + (size_t)six, "the rule set is %s", six ? "whole" : "whole without IPv6");
}

/* ---- what the kernel says, in a network of our own ---- */

static bool enter_network(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd, raised;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	raised = ioctl(fd, SIOCSIFFLAGS, &request);
	close(fd);
	return raised == 0;
}

static int judge(int fd, const char *text)
{
	struct qsb__address address = {.family = 0};

	return qsb__address_parse(text, strlen(text), &address) ? qsb__own_address_is(fd, &address) : -EINVAL;
}

static void test_own_addresses(void)
{
	static const struct {
		const char *text;
		int before, after; /* the local default routes */
	} cases[] = {
		{"127.0.0.1", 1, 1},        {"127.255.3.4", 1, 1}, {"::1", 1, 1},
		{"127.255.255.255", 1, 1},  {"203.0.113.7", 0, 1}, {"2001:db8::1", 0, 1},
		{"::ffff:127.0.0.1", 1, 1},
	};
	const size_t count = sizeof(cases) / sizeof(cases[0]);
	int fd = qsb__own_address_open();
	bool six = true;

	tap_ok(fd >= 0, "the kernel's routes can be asked");
	for (size_t i = 0; i < count; i++)
		tap_ok(judge(fd, cases[i].text) == cases[i].before, "%s is %s", cases[i].text,
		       cases[i].before ? "this machine's own" : "nobody's of here");
	tap_ok(qsb__routes_make_local(&six) == 0 && six, "local default routes are made for both versions of IP");
	for (size_t i = 0; i < count; i++)
		tap_ok(judge(fd, cases[i].text) == cases[i].after, "%s is own behind a local route", cases[i].text);
	close(fd);
	tap_ok(judge(fd, "203.0.113.7") < 0, "without an answer it is not known");
}

/* Someone asked before and did not wait. */
static void test_late_answer(void)
{
	uint8_t bytes[64] __attribute__((aligned(4)));
	struct qsb__netlink message = {.bytes = bytes, .size = sizeof(bytes), .sequence = 0x40000000};
	const struct rtmsg head = {.rtm_family = AF_INET, .rtm_dst_len = 32};
	const uint8_t loopback[] = {127, 0, 0, 1};
	int fd = qsb__own_address_open();

	qsb__netlink_begin(&message, RTM_GETROUTE, 0, &head, sizeof(head));
	qsb__netlink_put(&message, RTA_DST, loopback, sizeof(loopback));
	tap_is_number(qsb__netlink_send(fd, &message), 0, "a question is asked, and its answer left lying");
	tap_is_number(judge(fd, "198.18.0.1"), 0, "the next question gets its own answer");
	close(fd);
}

int main(void)
{
	test_bytes();
	test_bounds();
	test_rules(true);
	test_rules(false);
	if (tap_ok(enter_network(), "a network of our own")) {
		test_late_answer();
		test_own_addresses();
	}
	return tap_done();
}
