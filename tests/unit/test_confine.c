/* What a confined server may still do: each call is tried before, as a control, and after. */
#include "os/confine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tap.h"

struct place {
	int listener; /* on loopback */
	struct sockaddr_in name;
	pid_t parent;
};

static struct place place;

/* 0, or an errno. */
static int take_socket(int fd)
{
	int error = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

static int opens_file(void)
{
	return take_socket(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int opens_hosts(void)
{
	return take_socket(open("/etc/hosts", O_RDONLY | O_CLOEXEC));
}

static int makes_file(void)
{
	char path[] = "/tmp/test-confine-XXXXXX";
	int error = take_socket(mkstemp(path));

	if (error == 0)
		unlink(path);
	return error;
}

static int forks(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		syscall(SYS_exit_group, 0);
	if (pid < 0)
		return errno;
	waitpid(pid, NULL, 0);
	return 0;
}

static int signals_parent(void)
{
	return kill(place.parent, 0) == 0 ? 0 : errno;
}

static int listens(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error = fd < 0 || listen(fd, 1) != 0 ? errno : 0;

	close(fd);
	return error;
}

static int binds(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error = fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) != 0 ? errno : 0;

	close(fd);
	return error;
}

static int makes_unix_socket(void)
{
	return take_socket(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int makes_netlink_socket(void)
{
	return take_socket(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int makes_ping_socket(void)
{
	return take_socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 132));
}

static int makes_memory_file(void)
{
	return take_socket((int)syscall(SYS_memfd_create, "x", MFD_CLOEXEC));
}

static int duplicates_process(void)
{
	return take_socket((int)syscall(SYS_pidfd_open, place.parent, 0));
}

static int lists_files(void)
{
	return access("/etc/passwd", F_OK) == 0 ? 0 : errno;
}

static int connects(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), peer;
	struct pollfd ready = {.fd = place.listener, .events = POLLIN};
	char byte = 0;
	int error = 0;

	if (fd < 0 || (connect(fd, (struct sockaddr *)&place.name, sizeof(place.name)) != 0 && errno != EINPROGRESS))
		return errno ? errno : EIO;
	poll(&ready, 1, 5000);
	peer = accept4(place.listener, NULL, NULL, SOCK_CLOEXEC);
	if (peer < 0 || send(peer, "x", 1, MSG_NOSIGNAL) != 1)
		error = errno;
	ready.fd = fd;
	if (!error && (poll(&ready, 1, 5000) != 1 || recv(fd, &byte, 1, 0) != 1))
		error = EIO;
	close(peer);
	close(fd);
	return error;
}

static int makes_udp6(void)
{
	return take_socket(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP));
}

static int splices(void)
{
	int ends[2], error = 0;
	char byte;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return errno;
	if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
		error = EIO;
	close(ends[0]);
	close(ends[1]);
	return error;
}

static int takes_memory(void)
{
	char *block = malloc(8 << 20);

	if (!block)
		return ENOMEM;
	memset(block, 1, 8 << 20);
	free(block);
	return 0;
}

static const struct {
	const char *what;
	int (*try)(void);
	bool works; /* afterwards, too */
} calls[] = {
	{"opening a file", opens_file, false},
	{"opening the table of hosts", opens_hosts, false},
	{"making a file", makes_file, false},
	{"asking for a file", lists_files, false},
	{"starting a process", forks, false},
	{"a signal to the parent", signals_parent, false},
	{"listening", listens, false},
	{"binding", binds, false},
	{"a unix socket", makes_unix_socket, false},
	{"a netlink socket", makes_netlink_socket, false},
	{"a file in memory", makes_memory_file, false},
	{"a handle of a process", duplicates_process, false},
	{"connecting, accepting, sending and receiving", connects, true},
	{"a datagram socket of IPv6", makes_udp6, true},
	{"a pipe", splices, true},
	{"memory", takes_memory, true},
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static void child(int tell)
{
	int results[2 * CALLS + 2];
	struct qsb_error err;

	for (size_t i = 0; i < CALLS; i++)
		results[i] = calls[i].try();
	results[2 * CALLS] = qsb__confine_server(&err);
	for (size_t i = 0; i < CALLS; i++)
		results[CALLS + i] = calls[i].try();
	results[2 * CALLS + 1] = makes_ping_socket();
	if (write(tell, results, sizeof(results)) != (ssize_t)sizeof(results))
		_exit(1);
	_exit(0);
}

int main(void)
{
	int results[2 * CALLS + 2], told[2], status = 0;
	socklen_t size = sizeof(place.name);
	pid_t pid;

	place.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	place.name.sin_family = AF_INET;
	place.name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	place.parent = getpid();
	if (bind(place.listener, (struct sockaddr *)&place.name, size) != 0 || listen(place.listener, 8) != 0 ||
	    getsockname(place.listener, (struct sockaddr *)&place.name, &size) != 0 || pipe2(told, O_CLOEXEC) != 0)
		return 1;
	pid = fork();
	if (pid == 0)
		child(told[1]);
	close(told[1]);
	if (!tap_ok(read(told[0], results, sizeof(results)) == (ssize_t)sizeof(results), "a process confines itself")) {
		waitpid(pid, &status, 0);
		return tap_done();
	}
	waitpid(pid, &status, 0);
	tap_is_number(results[2 * CALLS], 0, "it may");
	for (size_t i = 0; i < CALLS; i++) {
		tap_is_number(results[i], 0, calls[i].what);
		if (calls[i].works)
			tap_ok(results[CALLS + i] == 0, "%s works afterwards", calls[i].what);
		else
			tap_ok(results[CALLS + i] == EPERM || results[CALLS + i] == EACCES,
			       "%s is refused afterwards (%s)", calls[i].what, strerror(results[CALLS + i]));
	}
	tap_is_number(results[2 * CALLS + 1], EACCES, "a socket of another protocol is refused afterwards");
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it ends by itself");
	return tap_done();
}
