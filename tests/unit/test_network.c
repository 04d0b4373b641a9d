/* A sandbox's network as a user without privileges gets it: which listener a connection arrives at, under which
 * address. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <linux/netlink.h>

#include "played_sandbox.h"
#include "tap.h"

enum { PATIENCE_MS = 5000 };

static const char v4_loopback[] = "127.0.0.1", v6_loopback[] = "::1";

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

static void is_checked(const struct qsb__plan *plan, int code, const char *where, const char *name)
{
	struct qsb_error err = {.code = 0};

	tap_is_number(qsb__backends[0]->check(plan, &err), code, name);
	if (code != 0)
		tap_is_text(err.where, where, "and the error names the place");
}

static void test_check(void)
{
	static uint16_t many[QSB__REACH_MAX + 2], both[] = {6379, 8080, 0};
	struct qsb__plan plan = filtered_plan();

	plan.publish_ports = publish_ports;
	is_checked(&plan, 0, "", "a filtered network with ports to reach and to publish is accepted");
	plan.network = QSB__NETWORK_OFF;
	is_checked(&plan, 0, "", "so is one that is off");
	plan.reach_ports = both;
	is_checked(&plan, QSB_E_UNSUPPORTED, "/network/reachPorts", "a port is reached or published, not both");
	for (size_t i = 0; i <= QSB__REACH_MAX; i++)
		many[i] = (uint16_t)(20000 + i);
	plan.reach_ports = many;
	is_checked(&plan, QSB_E_UNSUPPORTED, "/network/reachPorts", "one port more than can be reached is refused");
	many[QSB__REACH_MAX] = 0;
	is_checked(&plan, 0, "", "as many as can be are not");
	plan.network = QSB__NETWORK_HOST;
	is_checked(&plan, QSB_E_UNSUPPORTED, "/network/publishPorts", "in the host's network no port is published");
	plan.publish_ports = no_ports;
	is_checked(&plan, QSB_E_UNSUPPORTED, "/network/reachPorts", "nor reached");
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
	test_check();
	return tap_done();
}
