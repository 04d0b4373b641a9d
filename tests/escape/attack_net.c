/* Network: reaching the host's services, or letting the host in, while the network is off. */
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

struct target {
	struct sockaddr_storage address;
	socklen_t length;
	int family;
};

static struct target parse_target(const char *host, const char *port)
{
	struct target target = {.length = sizeof(struct sockaddr_in), .family = AF_INET};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&target.address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&target.address;
	uint16_t number = htons((uint16_t)attack_number(port));

	if (host && inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = number;
		return target;
	}
	if (!host || inet_pton(AF_INET6, host, &v6->sin6_addr) != 1) {
		printf("broken: not an address: %s\n", host ? host : "(none)");
		exit(ATTACK_BROKEN);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = number;
	target.family = AF_INET6;
	target.length = sizeof(*v6);
	return target;
}

static int connected(int fd, const struct target *target)
{
	struct pollfd waiting = {.fd = fd, .events = POLLOUT};
	socklen_t length = sizeof(int);
	int error = 0;

	if (connect(fd, (const struct sockaddr *)&target->address, target->length) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -1;
	if (poll(&waiting, 1, 3000) != 1) {
		errno = ETIMEDOUT;
		return -1;
	}
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
	errno = error;
	return error ? -1 : 0;
}

/* net-connect HOW ADDRESS PORT: tcp, mptcp, sctp, fastopen; sends a word. */
static int net_connect(int argc, char **argv)
{
	struct target target = parse_target(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
	const char *how = argv[1];
	int protocol = strcmp(how, "mptcp") == 0 ? IPPROTO_MPTCP : strcmp(how, "sctp") == 0 ? IPPROTO_SCTP : 0;
	int fd = socket(target.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

	if (fd < 0)
		return attack_verdict("socket", -1);
	if (strcmp(how, "fastopen") == 0) {
		struct pollfd waiting = {.fd = fd, .events = POLLOUT};
		struct sockaddr_storage peer;
		socklen_t length = sizeof(peer);

		if (sendto(fd, "pwned", 5, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&target.address,
			   target.length) < 0 &&
		    errno != EINPROGRESS)
			return attack_verdict("sendto", -1);
		poll(&waiting, 1, 3000);
		if (getpeername(fd, (struct sockaddr *)&peer, &length) < 0)
			return attack_verdict("getpeername", -1);
		send(fd, "pwned", 5, MSG_NOSIGNAL);
		return attack_verdict("sendto", 0);
	}
	if (connected(fd, &target) < 0)
		return attack_verdict("connect", -1);
	return attack_verdict("send", send(fd, "pwned", 5, MSG_NOSIGNAL));
}

/* net-send HOW ADDRESS PORT: a datagram by sendto, sendmsg, sendmmsg or connect; "lite" for UDP-Lite. */
static int net_send(int argc, char **argv)
{
	struct target target = parse_target(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
	const char *how = argv[1];
	char word[] = "pwned";
	struct iovec data = {word, 5};
	struct mmsghdr message = {
		.msg_hdr = {
			.msg_name = &target.address, .msg_namelen = target.length, .msg_iov = &data, .msg_iovlen = 1}};
	int fd = socket(target.family, SOCK_DGRAM | SOCK_CLOEXEC, strcmp(how, "lite") == 0 ? IPPROTO_UDPLITE : 0);

	if (fd < 0)
		return attack_verdict("socket", -1);
	if (strcmp(how, "connect") == 0) {
		if (connected(fd, &target) < 0)
			return attack_verdict("connect", -1);
		return attack_verdict("send", send(fd, word, 5, 0));
	}
	if (strcmp(how, "sendmsg") == 0)
		return attack_verdict(how, sendmsg(fd, &message.msg_hdr, 0));
	if (strcmp(how, "sendmmsg") == 0)
		return attack_verdict(how, sendmmsg(fd, &message, 1, 0));
	return attack_verdict("sendto", sendto(fd, word, 5, 0, (struct sockaddr *)&target.address, target.length));
}

static uint16_t checksum(const void *data, size_t length)
{
	const uint8_t *bytes = data;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

/* ping TYPE ADDRESS: an echo request by a raw or a datagram ICMP socket, and its answer. */
static int ping(int argc, char **argv)
{
	struct target target = parse_target(argc > 2 ? argv[2] : NULL, "0");
	int type = strcmp(argv[1], "raw") == 0 ? SOCK_RAW : SOCK_DGRAM;
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, IPPROTO_ICMP);
	struct icmphdr request = {.type = ICMP_ECHO, .un.echo = {.id = htons(4711), .sequence = htons(1)}};
	struct pollfd waiting = {.fd = fd, .events = POLLIN};

	if (fd < 0)
		return attack_verdict("socket", -1);
	request.checksum = checksum(&request, sizeof(request));
	if (sendto(fd, &request, sizeof(request), 0, (struct sockaddr *)&target.address, target.length) < 0)
		return attack_verdict("sendto", -1);
	if (poll(&waiting, 1, 2000) != 1) {
		errno = ETIMEDOUT;
		return attack_verdict("poll", -1);
	}
	return attack_verdict("ping", 0);
}

/* ip-raw ADDRESS PORT: a UDP datagram inside an IP header of our own making. */
static int raw_ip(int argc, char **argv)
{
	struct target target = parse_target(argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL);
	struct {
		struct iphdr ip;
		uint16_t source, port, length, checksum;
		char word[6];
	} __attribute__((packed)) packet = {
		.ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP},
		.source = htons(4711),
		.word = "pwned",
	};
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);

	if (fd < 0)
		return attack_verdict("socket", -1);
	packet.ip.daddr = ((struct sockaddr_in *)&target.address)->sin_addr.s_addr;
	packet.ip.saddr = packet.ip.daddr;
	packet.port = ((struct sockaddr_in *)&target.address)->sin_port;
	packet.length = htons(8 + 6);
	packet.ip.tot_len = htons(sizeof(packet));
	return attack_verdict(
		"sendto", sendto(fd, &packet, sizeof(packet), 0, (struct sockaddr *)&target.address, target.length));
}

/* listen ADDRESS PORT SECONDS: waits for one connection. Worked = somebody came. */
static int listen_for_one(int argc, char **argv)
{
	struct target target = parse_target(argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL);
	int fd = socket(target.family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	struct pollfd waiting = {.fd = fd, .events = POLLIN};

	if (fd < 0)
		return attack_verdict("socket", -1);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&target.address, target.length) < 0)
		return attack_verdict("bind", -1);
	if (listen(fd, 4) < 0)
		return attack_verdict("listen", -1);
	printf("listening\n");
	if (poll(&waiting, 1, (int)attack_number(argc > 3 ? argv[3] : NULL) * 1000) != 1) {
		errno = ETIMEDOUT;
		return attack_verdict("poll", -1);
	}
	return attack_verdict("accept", accept(fd, NULL, NULL));
}

/* transparent 4|6: a socket that may be bound to anybody's address, and answer in their name. */
static int transparent(int argc, char **argv)
{
	bool six = attack_number(argc > 1 ? argv[1] : NULL) == 6;
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return attack_verdict("socket", -1);
	return attack_verdict("setsockopt", setsockopt(fd, six ? IPPROTO_IPV6 : IPPROTO_IP,
						       six ? IPV6_TRANSPARENT : IP_TRANSPARENT, &on, sizeof(on)));
}

static int set_flags(const char *name, short flags)
{
	struct ifreq request = {.ifr_flags = flags};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), result;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	result = ioctl(fd, SIOCSIFFLAGS, &request);
	close(fd);
	return result;
}

/* route 4|6 NAME: a network of the world becomes local, by the interface of that name. */
static int add_route(int argc, char **argv)
{
	bool six = attack_number(argc > 1 ? argv[1] : NULL) == 6;
	struct {
		struct nlmsghdr header;
		struct rtmsg route;
		struct rtattr head;
		unsigned index;
	} request = {
		.header = {.nlmsg_len = sizeof(request),
			   .nlmsg_type = RTM_NEWROUTE,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK},
		.route = {.rtm_family = six ? AF_INET6 : AF_INET,
			  .rtm_table = RT_TABLE_LOCAL,
			  .rtm_protocol = RTPROT_BOOT,
			  .rtm_scope = six ? RT_SCOPE_UNIVERSE : RT_SCOPE_HOST,
			  .rtm_type = RTN_LOCAL},
		.head = {.rta_len = RTA_LENGTH(sizeof(unsigned)), .rta_type = RTA_OIF},
		.index = if_nametoindex(argc > 2 ? argv[2] : "lo"),
	};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[256];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return attack_verdict("socket", -1);
	/* No route by an interface that is down; inside it is up. */
	set_flags(argc > 2 ? argv[2] : "lo", IFF_UP);
	if (send(fd, &request, sizeof(request), 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0)
		return attack_verdict("send", -1);
	errno = -answer.error.error;
	return attack_verdict("route", errno == 0 ? 0 : -1);
}

/* interface-down NAME */
static int interface_down(int argc, char **argv)
{
	return attack_verdict("ioctl", set_flags(argc > 1 ? argv[1] : "lo", 0));
}

/* bind ADDRESS PORT */
static int bind_port(int argc, char **argv)
{
	struct target target = parse_target(argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL);
	int fd = socket(target.family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return attack_verdict("bind", bind(fd, (struct sockaddr *)&target.address, target.length));
}

const struct attack attacks_net[] = {
	{"net-connect", net_connect},
	{"net-send", net_send},
	{"ping", ping},
	{"ip-raw", raw_ip},
	{"listen", listen_for_one},
	{"transparent", transparent},
	{"route", add_route},
	{"interface-down", interface_down},
	{"bind", bind_port},
	{NULL, NULL},
};
