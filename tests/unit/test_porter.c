/* Sockets out of a network that a process of this test stands in. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "broker/porter.h"
#include "tap.h"

enum { PORT = 7007 };

/* A child in a network of its own, that listens there and sends a byte to whoever connects. */
struct inside {
	pid_t pid;
	int network; /* its namespace */
	int ready;
};

static int listen_inside(int family)
{
	struct sockaddr_in four = {
		.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_port = htons(PORT), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int code = family == AF_INET ? bind(fd, (const struct sockaddr *)&four, sizeof(four))
				     : bind(fd, (const struct sockaddr *)&six, sizeof(six));

	return code == 0 && listen(fd, 16) == 0 ? fd : -1;
}

static void serve_inside(int ready)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	struct pollfd listeners[2];
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		_exit(1);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
		_exit(2);
	listeners[0] = (struct pollfd){.fd = listen_inside(AF_INET), .events = POLLIN};
	listeners[1] = (struct pollfd){.fd = listen_inside(AF_INET6), .events = POLLIN};
	if (listeners[0].fd < 0 || listeners[1].fd < 0 || write(ready, "r", 1) != 1)
		_exit(3);
	while (poll(listeners, 2, -1) > 0)
		for (int i = 0; i < 2; i++)
			if (listeners[i].revents & POLLIN) {
				int client = accept(listeners[i].fd, NULL, NULL);

				if (send(client, i == 0 ? "4" : "6", 1, MSG_NOSIGNAL) < 0)
					_exit(4);
				close(client);
			}
	_exit(0);
}

static bool begin_inside(struct inside *inside)
{
	char path[64], byte;
	int ready[2];
	bool began;

	if (pipe2(ready, O_CLOEXEC) != 0)
		return false;
	inside->pid = fork();
	if (inside->pid == 0)
		serve_inside(ready[1]);
	close(ready[1]);
	began = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)inside->pid);
	inside->network = open(path, O_RDONLY | O_CLOEXEC);
	return began && inside->network >= 0;
}

static void end_inside(const struct inside *inside)
{
	close(inside->network);
	kill(inside->pid, SIGKILL);
	waitpid(inside->pid, NULL, 0);
}

/* What the server at the port says to a socket: '4', '6', or 0. Never waits longer than its patience. */
static char ask(int fd, int family)
{
	struct sockaddr_in four = {
		.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_port = htons(PORT), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int code = family == 4 ? connect(fd, (const struct sockaddr *)&four, sizeof(four))
			       : connect(fd, (const struct sockaddr *)&six, sizeof(six));
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	char byte = 0;

	if (code != 0 && errno != EINPROGRESS)
		return 0;
	return poll(&waiting, 1, 5000) == 1 && recv(fd, &byte, 1, 0) == 1 ? byte : '\0';
}

static void hands_out(struct qsb__porter *porter, int family, size_t count)
{
	int fds[QSB__PORTER_MAX], flags;
	size_t connected = 0, fit = 0;

	if (!tap_ok(qsb__porter_sockets(porter, family, fds, count) == 0, "%zu sockets of IPv%d come", count, family))
		return;
	for (size_t i = 0; i < count; i++) {
		flags = fcntl(fds[i], F_GETFL);
		fit += (flags & O_NONBLOCK) && (fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
		connected += ask(fds[i], family) == (family == 4 ? '4' : '6');
		close(fds[i]);
	}
	tap_is_number((long long)fit, (long long)count, "they wait for nothing, and no program inherits them");
	tap_is_number((long long)connected, (long long)count, "they connect to a server inside");
}

static void test_sockets(struct qsb__porter *porter)
{
	int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fds[QSB__PORTER_MAX];
	char byte = ask(own, 4);

	tap_is_number(byte, 0, "a socket of this side reaches no server inside");
	close(own);
	hands_out(porter, 4, 1);
	hands_out(porter, 6, 1);
	hands_out(porter, 4, QSB__PORTER_MAX);
	tap_is_number(qsb__porter_sockets(porter, 4, fds, QSB__PORTER_MAX + 1), -EINVAL, "more are not asked for");
	tap_is_number(qsb__porter_sockets(porter, 5, fds, 1), -EINVAL, "there is no other family");
}

/* Few descriptors left: none are handed out, none are lost, and it works again later. */
static void test_no_descriptors(struct qsb__porter *porter)
{
	struct rlimit few, before;
	int fds[QSB__PORTER_MAX], lowest = dup(0), next;

	close(lowest);
	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = (rlim_t)lowest + 3;
	setrlimit(RLIMIT_NOFILE, &few);
	tap_is_number(qsb__porter_sockets(porter, 4, fds, 8), -EMFILE, "without descriptors there are no sockets");
	next = dup(0);
	tap_is_number(next, lowest, "and no descriptor is lost");
	close(next);
	setrlimit(RLIMIT_NOFILE, &before);
	hands_out(porter, 4, 8);
}

/* Of /proc/PID/status, in hexadecimal. */
static unsigned long long status_of(pid_t pid, const char *field)
{
	char path[64], line[200];
	unsigned long long value = ~0ULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, field, strlen(field)) == 0)
			sscanf(line + strlen(field), ":\t%llx", &value);
	if (file)
		fclose(file);
	return value;
}

static void test_confined(const struct qsb__porter *porter)
{
	tap_is_number((long long)status_of(porter->pid, "CapEff"), 0, "it has no capability");
	tap_is_number((long long)status_of(porter->pid, "CapPrm"), 0, "nor can it have one again");
	tap_is_number((long long)status_of(porter->pid, "NoNewPrivs"), 1, "it gains no privilege");
	tap_is_number((long long)status_of(porter->pid, "Seccomp"), 2, "its calls are filtered");
}

static void test_failures(void)
{
	struct qsb__porter porter;
	struct qsb_error err = {.code = 0};
	int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC), fds[1];

	tap_is_number(qsb__porter_start(&porter, &err), 0, "one that is to fail is started");
	tap_is_number(qsb__porter_enter(&porter, file, &err), QSB_E_OS, "what is no network is not entered");
	tap_ok(strstr(err.message, "publish") != NULL, "the error says what is missing: %s", err.message);
	tap_ok(qsb__porter_sockets(&porter, 4, fds, 1) < 0, "and no socket comes");
	qsb__porter_free(&porter);
	close(file);
	tap_is_number(qsb__porter_start(&porter, &err), 0, "one that is never needed is started");
	qsb__porter_free(&porter);
	tap_ok(porter.pid == 0, "it ends when it is freed");
	qsb__porter_free(&porter);
}

/* Whoever started it dies: so does it. The pipe's writing end is held by the starter only until then. */
static void test_dies_with_starter(void)
{
	struct qsb__porter porter;
	struct pollfd end;
	int told[2];
	pid_t starter;

	if (pipe2(told, O_CLOEXEC) != 0)
		return;
	starter = fork();
	if (starter == 0) {
		if (qsb__porter_start(&porter, NULL) != 0 ||
		    write(told[1], &porter.pid, sizeof(porter.pid)) != sizeof(porter.pid))
			_exit(1);
		pause();
		_exit(0);
	}
	close(told[1]);
	memset(&porter, 0, sizeof(porter));
	tap_is_number(read(told[0], &porter.pid, sizeof(porter.pid)), sizeof(porter.pid), "a process starts one");
	kill(starter, SIGKILL);
	waitpid(starter, NULL, 0);
	end = (struct pollfd){.fd = told[0], .events = POLLIN};
	poll(&end, 1, 5000);
	for (int i = 0; i < 500 && kill(porter.pid, 0) == 0 && status_of(porter.pid, "Seccomp") != ~0ULL; i++)
		poll(NULL, 0, 10);
	tap_ok(kill(porter.pid, 0) != 0 || status_of(porter.pid, "Seccomp") == ~0ULL, "it is gone with that process");
	close(told[0]);
}

int main(void)
{
	struct inside inside = {.network = -1};
	struct qsb__porter porter;
	struct qsb_error err = {.code = 0};

	signal(SIGPIPE, SIG_IGN);
	if (tap_ok(begin_inside(&inside), "there is a network inside") &&
	    tap_ok(qsb__porter_start(&porter, &err) == 0, "the porter starts") &&
	    tap_ok(qsb__porter_enter(&porter, inside.network, &err) == 0, "it enters the network %s", err.message)) {
		test_sockets(&porter);
		test_no_descriptors(&porter);
		test_confined(&porter);
		qsb__porter_free(&porter);
	}
	end_inside(&inside);
	test_failures();
	test_dies_with_starter();
	return tap_done();
}
