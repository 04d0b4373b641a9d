/* A sandbox as far as its network: a child makes it, hands the listeners over, then connects where it is told. */
#ifndef QSB_TESTS_PLAYED_SANDBOX_H
#define QSB_TESTS_PLAYED_SANDBOX_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>

#include "backend/linux/sandbox.h"
#include "broker/broker.h"

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(70);
	close(fd);
}

static void enter_user_namespace(void)
{
	char uid[64], gid[64];

	snprintf(uid, sizeof(uid), "%u %u 1", getuid(), getuid());
	snprintf(gid, sizeof(gid), "%u %u 1", getgid(), getgid());
	if (unshare(CLONE_NEWUSER) != 0)
		_exit(71);
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/uid_map", uid);
	write_text("/proc/self/gid_map", gid);
}

/* A kernel without a part of itself: sockets of this family, or of this netlink protocol, cannot be made. */
static void hide_sockets(unsigned argument, unsigned value, unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 6),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argument == 0 ? value : AF_NETLINK, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(offsetof(struct seccomp_data, args) + 8UL * argument)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 2),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(72);
}

/* Where the child connects to, or sends a datagram. */
struct target {
	char address[46];
	uint16_t port;
	int type;
};

static socklen_t fill_address(struct sockaddr_storage *out, const char *text, uint16_t port)
{
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		return sizeof(*four);
	}
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(port);
	return inet_pton(AF_INET6, text, &six->sin6_addr) == 1 ? sizeof(*six) : 0;
}

static int reach(const struct target *target, int *fd)
{
	struct sockaddr_storage address;
	socklen_t length = fill_address(&address, target->address, target->port);

	*fd = socket(address.ss_family, target->type | SOCK_CLOEXEC, 0);
	if (*fd < 0 || connect(*fd, (const struct sockaddr *)&address, length) != 0)
		return errno;
	return target->type == SOCK_DGRAM && send(*fd, "?", 1, 0) != 1 ? errno : 0;
}

/* Does as it is told until nobody tells it anything. */
static void serve_orders(int orders)
{
	struct target target;
	int last = -1;

	while (recv(orders, &target, sizeof(target), 0) == (ssize_t)sizeof(target)) {
		int error;

		if (last >= 0)
			close(last);
		error = reach(&target, &last);
		if (send(orders, &error, sizeof(error), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

enum missing { NOTHING, NFTABLES, IPV6 };

struct place {
	pid_t pid;
	int launch, orders;
	int fds[QSB__LISTENERS_MAX];
	uint8_t kinds[QSB__LISTENERS_MAX];
	uint16_t ports[QSB__LISTENERS_MAX];
	size_t count;
	bool listed_only;
	struct qsb_error err;
};

static void inside(const struct qsb__plan *plan, enum missing missing, int launch, int orders)
{
	static struct qsb__network network;
	struct qsb_error err = {.code = 0};
	char listed;

	enter_user_namespace();
	if (missing == NFTABLES)
		hide_sockets(2, NETLINK_NETFILTER, EPROTONOSUPPORT);
	if (missing == IPV6)
		hide_sockets(0, AF_INET6, EAFNOSUPPORT);
	if (qsb__network_begin(&network, plan, NULL, &err) != 0 || qsb__network_enter(&network, &err) != 0 ||
	    qsb__handover_send(launch, &network, &err) != 0 || qsb__handover_wait(launch, &err) != 0) {
		send(orders, &err, sizeof(err), MSG_NOSIGNAL);
		_exit(1);
	}
	listed = network.listeners.listed_only;
	if (send(orders, &listed, 1, MSG_NOSIGNAL) != 1)
		_exit(1);
	serve_orders(orders);
}

/* One packet of the handover; true = more to come. */
static bool take_packet(struct place *place)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * QSB__HANDOVER_MAX)];
	} control;
	struct qsb__handover packet;
	struct iovec data = {.iov_base = &packet, .iov_len = sizeof(packet)};
	struct msghdr header = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	const struct cmsghdr *rights;

	if (recvmsg(place->launch, &header, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(packet))
		return false;
	rights = CMSG_FIRSTHDR(&header);
	if (!rights || rights->cmsg_len != CMSG_LEN(sizeof(int) * packet.count))
		return false;
	memcpy(place->fds + place->count, CMSG_DATA(rights), sizeof(int) * packet.count);
	memcpy(place->kinds + place->count, packet.kinds, packet.count);
	memcpy(place->ports + place->count, packet.ports, packet.count * sizeof(packet.ports[0]));
	place->count += packet.count;
	return !packet.last;
}

/* `answer`: what the broker says, 1 = served, -1 = it says nothing and is gone. */
static bool begin(struct place *place, const struct qsb__plan *plan, enum missing missing, int answer)
{
	const char byte = (char)answer;
	int launch[2], orders[2];

	memset(place, 0, sizeof(*place));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, launch) != 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, orders) != 0)
		return false;
	place->launch = launch[0];
	place->orders = orders[0];
	place->pid = fork();
	if (place->pid == 0) {
		close(launch[0]);
		close(orders[0]);
		inside(plan, missing, launch[1], orders[1]);
	}
	close(launch[1]);
	close(orders[1]);
	while (take_packet(place))
		;
	if (answer < 0)
		shutdown(place->launch, SHUT_RDWR);
	else if (send(place->launch, &byte, 1, MSG_NOSIGNAL) != 1)
		return false;
	if (recv(place->orders, &place->err, sizeof(place->err), 0) != 1)
		return false;
	place->listed_only = *(const char *)&place->err;
	return true;
}

static void end(struct place *place)
{
	close(place->launch);
	close(place->orders);
	for (size_t i = 0; i < place->count; i++)
		close(place->fds[i]);
	waitpid(place->pid, NULL, 0);
}

#endif
