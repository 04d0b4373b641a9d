/* A sandbox's network as a user without privileges gets it: which listener a connection arrives at, under which
 * address. A child is the sandbox: it makes the network, hands the listeners over, then connects where it is told. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>

#include "backend/linux/sandbox.h"
#include "broker/broker.h"
#include "tap.h"

enum { PATIENCE_MS = 5000 };

static const char v4_loopback[] = "127.0.0.1", v6_loopback[] = "::1";

/* ---- inside ---- */

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

/* ---- outside ---- */

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
	if (qsb__network_begin(&network, plan, &err) != 0 || qsb__network_enter(&network, &err) != 0 ||
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

static int order(const struct place *place, const char *address, uint16_t port, int type)
{
	struct target target = {.port = port, .type = type};
	int error = -1;

	snprintf(target.address, sizeof(target.address), "%s", address);
	if (send(place->orders, &target, sizeof(target), MSG_NOSIGNAL) < 0 ||
	    recv(place->orders, &error, sizeof(error), 0) != (ssize_t)sizeof(error))
		return -1;
	return error;
}

static const char *kind_name(const struct place *place, size_t i)
{
	static const char *const names[] = {"transparent", "http", "socks", "dns-udp", "dns-tcp", "reach", "namespace"};

	return names[place->kinds[i]];
}

/* "[198.18.0.1]:443" */
static void name_of(int fd, char *out, size_t size)
{
	struct sockaddr_storage address;
	const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
	socklen_t length = sizeof(address);
	char text[INET6_ADDRSTRLEN] = "?";

	memset(&address, 0, sizeof(address));
	getsockname(fd, (struct sockaddr *)&address, &length);
	if (address.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		inet_ntop(AF_INET, six->sin6_addr.s6_addr + 12, text, sizeof(text));
	else if (address.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
	else
		inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
	snprintf(out, size, "[%s]:%u", text, ntohs(four->sin_port));
}

/* Which listener has something, and for a connection under which name: "transparent [198.18.0.1]:443". */
static void arrival(const struct place *place, char *out, size_t size)
{
	struct pollfd waiting[QSB__LISTENERS_MAX];
	size_t i = 0;
	char name[80] = "", byte;

	for (size_t j = 0; j < place->count; j++)
		waiting[j] = (struct pollfd){.fd = place->kinds[j] == QSB__LISTENER_NAMESPACE ? -1 : place->fds[j],
					     .events = POLLIN};
	snprintf(out, size, "nothing");
	if (poll(waiting, place->count, PATIENCE_MS) <= 0)
		return;
	while (waiting[i].fd < 0 || !(waiting[i].revents & POLLIN))
		i++;
	if (place->kinds[i] == QSB__LISTENER_DNS_UDP) {
		snprintf(name, sizeof(name), "%s", recv(place->fds[i], &byte, 1, 0) == 1 ? "a datagram" : "?");
	} else {
		int fd = accept4(place->fds[i], NULL, NULL, SOCK_CLOEXEC);

		name_of(fd, name, sizeof(name));
		close(fd);
	}
	snprintf(out, size, "%s %s", kind_name(place, i), name);
}

static void arrives(const struct place *place, const char *address, uint16_t port, const char *kind)
{
	char got[160], wanted[160], name[200];
	int error = order(place, address, port, SOCK_STREAM);

	if (error == 0)
		arrival(place, got, sizeof(got));
	else
		snprintf(got, sizeof(got), "error %d", error);
	snprintf(wanted, sizeof(wanted), "%s [%s]:%u", kind, address, port);
	snprintf(name, sizeof(name), "a connection to [%s]:%u arrives at the %s listener as itself", address, port,
		 kind);
	tap_is_text(got, wanted, name);
}

static void is_refused(const struct place *place, const char *address, uint16_t port, int error)
{
	char name[160];

	snprintf(name, sizeof(name), "a connection to [%s]:%u fails: %s", address, port, strerror(error));
	tap_is_number(order(place, address, port, SOCK_STREAM), error, name);
}

static void datagram_arrives(const struct place *place, const char *address)
{
	char got[160] = "an error", name[160];

	if (order(place, address, 53, SOCK_DGRAM) == 0)
		arrival(place, got, sizeof(got));
	snprintf(name, sizeof(name), "a question to the resolver [%s] arrives at ours", address);
	tap_is_text(got, "dns-udp a datagram", name);
}

static char *domains[] = {(char[]){"example.com:8443"}, (char[]){"*"}, (char[]){"proxy.example:3128"}, NULL};
static uint16_t no_ports[] = {0}, reach_ports[] = {5432, 6379, 0}, publish_ports[] = {8080, 0};

static struct qsb__plan filtered_plan(void)
{
	return (struct qsb__plan){.network = QSB__NETWORK_FILTERED,
				  .allowed_domains = domains,
				  .publish_ports = no_ports,
				  .reach_ports = reach_ports,
				  .proxy_port = 3128,
				  .socks_port = 1080};
}

static void own_servers(const struct place *place)
{
	arrives(place, v4_loopback, 3128, "http");
	arrives(place, v6_loopback, 3128, "http");
	arrives(place, v4_loopback, 1080, "socks");
	arrives(place, v6_loopback, 1080, "socks");
	arrives(place, v4_loopback, 5432, "reach");
	arrives(place, v6_loopback, 6379, "reach");
	arrives(place, "9.9.9.9", 53, "dns-tcp");
	arrives(place, v4_loopback, 53, "dns-tcp");
	arrives(place, "2001:db8::53", 53, "dns-tcp");
	datagram_arrives(place, "9.9.9.9");
	datagram_arrives(place, "127.0.0.53");
	datagram_arrives(place, "2001:db8::53");
}

static void test_catch(void)
{
	const struct qsb__plan plan = filtered_plan();
	struct place place;

	if (tap_ok(begin(&place, &plan, NOTHING, 1), "a filtered network is made without privileges") &&
	    tap_ok(!place.listed_only, "every port is caught: this kernel has nftables with tproxy")) {
		arrives(&place, "198.18.0.1", 443, "transparent");
		arrives(&place, "203.0.113.7", 22, "transparent");
		arrives(&place, "10.1.2.3", 1, "transparent");
		arrives(&place, "169.254.169.254", 80, "transparent");
		arrives(&place, "192.0.2.99", 65535, "transparent");
		arrives(&place, "8.8.8.8", 3128, "transparent");
		arrives(&place, "8.8.8.8", 5432, "transparent");
		arrives(&place, "fd71:6d69:6e67::1", 443, "transparent");
		arrives(&place, "2001:db8::1", 9418, "transparent");
		arrives(&place, "fd00::1234", 1080, "transparent");
		own_servers(&place);
		is_refused(&place, v4_loopback, 4444, ECONNREFUSED);
		is_refused(&place, "127.9.9.9", 443, ECONNREFUSED);
		is_refused(&place, v6_loopback, 443, ECONNREFUSED);
	} else {
		printf("# %s\n", place.err.message);
	}
	end(&place);
}

static void test_listed(void)
{
	const struct qsb__plan plan = filtered_plan();
	struct place place;

	if (tap_ok(begin(&place, &plan, NFTABLES, 1), "a filtered network is made on a kernel without nftables") &&
	    tap_ok(place.listed_only, "then it is known that only listed ports are caught")) {
		arrives(&place, "198.18.0.1", 443, "transparent");
		arrives(&place, "2001:db8::1", 80, "transparent");
		arrives(&place, "203.0.113.7", 8443, "transparent");
		is_refused(&place, "203.0.113.7", 22, ECONNREFUSED);
		is_refused(&place, "2001:db8::1", 9418, ECONNREFUSED);
		own_servers(&place);
	} else {
		printf("# %s\n", place.err.message);
	}
	end(&place);
}

static void test_without_six(void)
{
	const struct qsb__plan plan = filtered_plan();
	struct place place;

	if (tap_ok(begin(&place, &plan, IPV6, 1), "a filtered network is made on a kernel without IPv6")) {
		arrives(&place, "198.18.0.1", 443, "transparent");
		arrives(&place, "203.0.113.7", 22, "transparent");
		arrives(&place, v4_loopback, 3128, "http");
		arrives(&place, v4_loopback, 6379, "reach");
		datagram_arrives(&place, "9.9.9.9");
		is_refused(&place, "2001:db8::1", 443, EAFNOSUPPORT);
	} else {
		printf("# %s\n", place.err.message);
	}
	end(&place);
}

static void test_off(void)
{
	struct qsb__plan plan = {
		.network = QSB__NETWORK_OFF, .reach_ports = reach_ports, .publish_ports = publish_ports};
	struct place place;

	if (tap_ok(begin(&place, &plan, NOTHING, 1), "ports are reached and published where the network is off")) {
		arrives(&place, v4_loopback, 5432, "reach");
		arrives(&place, v6_loopback, 5432, "reach");
		is_refused(&place, "198.18.0.1", 443, ENETUNREACH);
		is_refused(&place, "2001:db8::1", 443, ENETUNREACH);
		tap_is_number(place.kinds[place.count - 1], QSB__LISTENER_NAMESPACE, "the namespace is handed over");
	} else {
		printf("# %s\n", place.err.message);
	}
	end(&place);
}

static void test_many_ports(void)
{
	static uint16_t many[QSB__REACH_MAX + 1];
	struct qsb__plan plan = filtered_plan();
	struct place place;

	for (size_t i = 0; i < QSB__REACH_MAX; i++)
		many[i] = (uint16_t)(1023 - i);
	plan.reach_ports = many;
	if (tap_ok(begin(&place, &plan, NOTHING, 1), "as many ports as may be reached are handed over")) {
		arrives(&place, "198.18.0.1", 443, "transparent");
		arrives(&place, v4_loopback, 1023, "reach");
		arrives(&place, v6_loopback, 1023 - QSB__REACH_MAX + 1, "reach");
	} else {
		printf("# %s\n", place.err.message);
	}
	end(&place);
}

static void test_no_service(void)
{
	static const char message[] = "the broker could not serve the sandbox's network";
	const struct qsb__plan plan = filtered_plan();
	struct qsb__network network = {.diag_fd = -1};
	struct qsb_error err = {.code = 0};
	struct place place;

	tap_ok(!begin(&place, &plan, NOTHING, -1), "no command begins when the broker is gone");
	tap_is_text(place.err.message, message, "the error says so");
	end(&place);
	tap_ok(!begin(&place, &plan, NOTHING, 0), "no command begins when the broker cannot serve");
	tap_is_text(place.err.message, message, "that error says so, too");
	end(&place);
	network.listeners.count = 1;
	tap_is_number(qsb__handover_send(-1, &network, &err), QSB_E_OS, "no command begins where there is no broker");
}

/* As doctor asks, on a kernel that lacks something. */
static struct qsb__network_trial try_without(enum missing missing)
{
	struct qsb__network_trial trial = {.code = 1};
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return trial;
	pid = fork();
	if (pid == 0) {
		if (missing == NFTABLES)
			hide_sockets(2, NETLINK_NETFILTER, EPROTONOSUPPORT);
		if (missing == IPV6)
			hide_sockets(0, AF_INET6, EAFNOSUPPORT);
		qsb__network_try(&trial);
		_exit(write(ends[1], &trial, sizeof(trial)) != sizeof(trial));
	}
	close(ends[1]);
	if (read(ends[0], &trial, sizeof(trial)) != sizeof(trial))
		trial.code = 2;
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return trial;
}

static void test_trial(void)
{
	struct qsb__network_trial trial = try_without(NOTHING);

	tap_ok(trial.code == 0 && trial.catch_error == 0 && trial.six, "a trial finds that every port is caught");
	trial = try_without(NFTABLES);
	tap_ok(trial.code == 0 && trial.catch_error == -EPROTONOSUPPORT, "a trial finds that nftables is missing");
	trial = try_without(IPV6);
	tap_ok(trial.code == 0 && trial.catch_error == 0 && !trial.six, "a trial finds that IPv6 is missing");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_catch();
	test_listed();
	test_without_six();
	test_off();
	test_many_ports();
	test_no_service();
	test_trial();
	return tap_done();
}
