/*
 * Calls that stop at the supervisor. It copies what the caller's memory holds once, judges the copy, and makes the call
 * itself on the caller's own descriptor: a thread that rewrites the memory, or swaps the descriptor, gains nothing.
 * A call whose arguments decide anything is never told to "continue".
 *
 * connect(2): in a network namespace of its own an internet or abstract address can name nothing outside,
 * but a unix socket by path can: a read-only mount does not stop connect. Such a socket is reached when it was made
 * inside, or when the policy names it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <netinet/tcp.h>
#include <linux/netlink.h>

#include "backend/linux/abi.h"
#include "backend/linux/callers.h"
#include "backend/linux/diag.h"
#include "backend/linux/proc_status.h"
#include "backend/linux/refusals.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "os/workers.h"

enum { SYNC_WAKE_UP = 1, PORT_OF_NAMES = 53, STUB_RESOLVER = 0x7f000035 };

/* One connect to make: the caller's own socket and our copy of the address. */
struct connect_call {
	int listener;
	uint64_t id;
	pid_t thread; /* that calls */
	int socket;
	struct sockaddr_storage address;
	socklen_t length;
	int place; /* O_PATH descriptor that `address` goes through, -1 = none */
	bool network_off, filtered;
	struct qsb__denial denial; /* what is known of a refusal */
};

static void respond(int listener, uint64_t id, int error)
{
	struct seccomp_notif_resp response = {.id = id, .error = -error};

	/* ENOENT: the caller is gone. Nobody waits for an answer then. */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) != 0)
		return;
}

/* Only for a call whose arguments decide nothing: what the caller's memory says by now does not matter. */
static void let_go_on(int listener, uint64_t id)
{
	struct seccomp_notif_resp response = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) != 0)
		return;
}

static bool still_waits(int listener, uint64_t id)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static bool read_status(pid_t thread, char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
	return qsb__status_read(AT_FDCWD, path, text);
}

static pid_t process_of(pid_t thread)
{
	char text[QSB__STATUS_BYTES];

	return read_status(thread, text) ? (pid_t)qsb__status_number(text, "Tgid", 10) : 0;
}

/* Before Linux 6.9 only processes have such a descriptor. */
static int open_caller(pid_t thread)
{
	int pidfd = qsb__pidfd_open(thread, PIDFD_THREAD);

	return pidfd >= 0 || errno != EINVAL ? pidfd : qsb__pidfd_open(process_of(thread), 0);
}

static int fetch_descriptor(pid_t thread, int number)
{
	QSB_CLEANUP_FD int pidfd = open_caller(thread);
	int fd = pidfd < 0 ? -1 : qsb__pidfd_getfd(pidfd, number);

	return fd < 0 ? -errno : fd;
}

static int copy_address(pid_t thread, uint64_t from, struct connect_call *call)
{
	struct iovec local = {.iov_base = &call->address, .iov_len = call->length};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = call->length};

	return process_vm_readv(thread, &local, 1, &remote, 1, 0) == (ssize_t)call->length ? 0 : -EFAULT;
}

/*
 * What the caller means by a path, found from the sandbox's own root and never by following a link of /proc, which
 * would lead out of it. An O_PATH descriptor, or a negative errno.
 */
static int find_in_sandbox(pid_t thread, const char *path)
{
	char link[64], full[4096 + 256];
	QSB_CLEANUP_FD int root = -1;
	size_t used = 0;
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/root", (int)thread);
	root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	if (path[0] != '/') {
		ssize_t length;

		snprintf(link, sizeof(link), "/proc/%d/cwd", (int)thread);
		length = readlink(link, full, 4095);
		if (length <= 0 || full[0] != '/')
			return -ENOENT;
		used = (size_t)length;
		full[used++] = '/';
	}
	if (used + strlen(path) >= sizeof(full))
		return -ENAMETOOLONG;
	memcpy(full + used, path, strlen(path) + 1);
	fd = qsb__openat2(root, full, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	return fd < 0 ? -errno : fd;
}

/* Nobody serves it: then the answer is the one that everybody gets. */
static bool is_served_outside(const struct stat *status)
{
	QSB_CLEANUP_FD int diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	return diag < 0 || qsb__diag_listens(diag, status);
}

/* May the caller reach the socket behind this place? 0, or the errno that connect answers. */
static int judge_place(const struct qsb__sandbox *sandbox, int place)
{
	struct stat status;

	if (fstat(place, &status) != 0)
		return errno;
	if (!S_ISSOCK(status.st_mode))
		return ECONNREFUSED;
	/* Our own tmpfs: whatever lies there was made inside. */
	if (status.st_dev == sandbox->scratch_device || qsb__named_sockets_have(sandbox, &status))
		return 0;
	if (sandbox->plan->network != QSB__NETWORK_HOST && qsb__diag_listens(sandbox->diag_fd, &status))
		return 0;
	return is_served_outside(&status) ? EACCES : ECONNREFUSED;
}

/* Where the socket lies, whatever the caller calls it. */
static void describe_unix(struct connect_call *call, const char *path)
{
	struct qsb__denial *denial = &call->denial;
	char link[64], real[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", call->place);
	length = readlink(link, real, sizeof(real) - 1);
	real[length < 0 ? 0 : length] = '\0';
	qsb__denial_set_target(denial, real[0] == '/' ? real : path);
	snprintf(denial->rule, sizeof(denial->rule), "/network/unixSockets");
	qsb__suggest_entry(denial->suggestion, sizeof(denial->suggestion), "network", "unixSockets", denial->target);
}

/* Points the call at what was judged, not at a name that may mean something else by now. */
static int aim_unix(const struct qsb__sandbox *sandbox, pid_t thread, struct connect_call *call)
{
	struct sockaddr_un *address = (struct sockaddr_un *)&call->address;
	size_t offset = offsetof(struct sockaddr_un, sun_path);
	char path[sizeof(address->sun_path) + 1];
	size_t length;
	int error;

	if (call->length <= offset)
		return 0; /* no name: the kernel's own error */
	if (call->length > sizeof(*address))
		return EINVAL;
	if (address->sun_path[0] == '\0' && sandbox->plan->network == QSB__NETWORK_HOST) {
		call->denial.target[0] = '@';
		memcpy(call->denial.target + 1, address->sun_path + 1, call->length - offset - 1);
		snprintf(call->denial.rule, sizeof(call->denial.rule), "built-in: sockets (abstract ones of the host)");
		return EACCES;
	}
	if (address->sun_path[0] == '\0')
		return 0;
	length = strnlen(address->sun_path, call->length - offset);
	memcpy(path, address->sun_path, length);
	path[length] = '\0';
	call->place = find_in_sandbox(thread, path);
	if (call->place < 0)
		return -call->place;
	error = judge_place(sandbox, call->place);
	if (error == EACCES) {
		describe_unix(call, path);
	}
	if (error == 0) {
		snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d", call->place);
		call->length = (socklen_t)(offset + strlen(address->sun_path) + 1);
	}
	return error;
}

/* "192.0.2.1:443", "[2001:db8::1]:443" */
static void describe_internet(const struct connect_call *call, char *text, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "";

	if (call->address.ss_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&call->address;

		inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
		snprintf(text, size, "[%s]:%u", host, ntohs(six->sin6_port));
	} else {
		const struct sockaddr_in *four = (const struct sockaddr_in *)&call->address;

		inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
		snprintf(text, size, "%s:%u", host, ntohs(four->sin_port));
	}
}

/* Who asks: its number inside and its name. */
void qsb__calls_name_caller(pid_t thread, struct qsb__denial *denial)
{
	char text[QSB__STATUS_BYTES];

	if (!read_status(thread, text))
		return;
	qsb__status_name(text, denial->process, sizeof(denial->process));
	denial->pid = qsb__status_inside(text, "NStgid");
}

static int socket_number(int fd, int level, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, level, option, &value, &size) == 0 ? value : -1;
}

static unsigned port_of(const struct connect_call *call)
{
	return ntohs(call->address.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&call->address)->sin6_port
							 : ((const struct sockaddr_in *)&call->address)->sin_port);
}

/* The host's resolver, also where it would be on the sandbox's own loopback: there nobody answers. */
static bool is_lookup(const struct connect_call *call, int error)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)&call->address;

	return port_of(call) == PORT_OF_NAMES && socket_number(call->socket, SOL_SOCKET, SO_TYPE) == SOCK_DGRAM &&
	       (error == ENETUNREACH ||
		(error == 0 && four->sin_family == AF_INET && ntohl(four->sin_addr.s_addr) == STUB_RESOLVER));
}

/* Only what the sandbox refused: an own server that is not there is the command's own affair. */
static void report(const struct connect_call *call, int error)
{
	struct qsb__denial denial = call->denial;
	bool internet = call->address.ss_family == AF_INET || call->address.ss_family == AF_INET6;
	bool lookup = internet && call->network_off && is_lookup(call, error);

	if (lookup || (internet && call->network_off && error == ENETUNREACH)) {
		describe_internet(call, denial.target, sizeof(denial.target));
		snprintf(denial.rule, sizeof(denial.rule), "/network/mode");
		snprintf(denial.suggestion, sizeof(denial.suggestion), "--network filtered --allow-domain %.150s",
			 lookup ? "NAME" : denial.target);
	} else if (!denial.target[0]) {
		return;
	}
	snprintf(denial.kind, sizeof(denial.kind), "network");
	snprintf(denial.operation, sizeof(denial.operation), lookup ? "lookup" : "connect");
	if (qsb__refusal_is_told(&denial))
		return;
	/* The caller still waits for its answer: it is there to be asked. */
	qsb__calls_name_caller(call->thread, &denial);
	qsb__refusal_add(&denial);
}

static void answer_connect(struct connect_call *call, int error)
{
	if (error != 0 || call->network_off)
		report(call, error);
	if (call->filtered && (error == 0 || error == EINPROGRESS))
		qsb__callers_note(call->thread, call->socket);
	respond(call->listener, call->id, error);
	if (call->socket >= 0)
		close(call->socket);
	if (call->place >= 0)
		close(call->place);
}

static void finish(void *argument)
{
	struct connect_call *call = argument;

	/* EINTR cannot be the caller's: no signal of theirs reaches this thread. */
	answer_connect(call,
		       connect(call->socket, (const struct sockaddr *)&call->address, call->length) == 0 ? 0 : errno);
	free(call);
}

/*
 * Never in the supervisor's own loop: a connect may wait for its peer, and whether a socket is a blocking one is for
 * the caller to change at any moment.
 */
static bool finish_elsewhere(const struct connect_call *call)
{
	struct connect_call *copy = malloc(sizeof(*copy));

	if (!copy)
		return false;
	*copy = *call;
	if (qsb__workers_run(finish, copy))
		return true;
	free(copy);
	return false;
}

/* A fast open without data: a connect that never waits, whatever mode the caller has its socket in or puts it in
 * meanwhile. 0 or an errno, those of a connect that does not wait. */
static int connect_without_waiting(const struct connect_call *call)
{
	return sendto(call->socket, NULL, 0, MSG_FASTOPEN | MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)&call->address, call->length) == 0
		       ? 0
		       : errno;
}

/* 0 or an errno; EALREADY = it is under way and the caller wants to wait, or it cannot be made like this. */
static int try_tcp(const struct connect_call *call)
{
	struct pollfd done = {.fd = call->socket, .events = POLLOUT};
	int error = connect_without_waiting(call);

	if (error == 0 || error == EOPNOTSUPP)
		return EALREADY;
	if (error != EINPROGRESS)
		return error;
	if (poll(&done, 1, 0) != 1)
		return fcntl(call->socket, F_GETFL) & O_NONBLOCK ? EINPROGRESS : EALREADY;
	/* It is over; the second one says how. */
	error = connect_without_waiting(call);
	return error == EISCONN ? 0 : error == EINPROGRESS ? EALREADY : error;
}

/*
 * Most connects are over at once: the peer is in the same network namespace, also where that is our own door to the
 * outside. To hand those to another thread takes several times as long as to make them.
 */
static bool finish_here(struct connect_call *call)
{
	int error;

	/* The caller asked for a connect that is put off until it sends. */
	if (socket_number(call->socket, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_TCP ||
	    socket_number(call->socket, IPPROTO_TCP, TCP_FASTOPEN_CONNECT) != 0)
		return false;
	error = try_tcp(call);
	if (error == EALREADY)
		return false;
	answer_connect(call, error);
	return true;
}

static int begin_connect(const struct qsb__sandbox *sandbox, const struct seccomp_notif *request,
			 struct connect_call *call)
{
	pid_t thread = (pid_t)request->pid;
	int error, domain;

	call->length = (socklen_t)request->data.args[2];
	if (request->data.args[2] > sizeof(call->address))
		return EINVAL;
	call->socket = fetch_descriptor(thread, (int)request->data.args[0]);
	if (call->socket < 0)
		return -call->socket;
	domain = socket_number(call->socket, SOL_SOCKET, SO_DOMAIN);
	if (domain < 0)
		return ENOTSOCK;
	error = -copy_address(thread, request->data.args[1], call);
	if (error == 0 && domain == AF_UNIX && call->length >= sizeof(sa_family_t) &&
	    call->address.ss_family == AF_UNIX)
		error = aim_unix(sandbox, thread, call);
	/* All of the above read from a process with this number: is it still the one that asked? */
	return error == 0 && !still_waits(call->listener, call->id) ? ESRCH : error;
}

static void serve_connect(const struct qsb__sandbox *sandbox, const struct seccomp_notif *request)
{
	struct connect_call call = {
		.listener = sandbox->calls_fd,
		.id = request->id,
		.thread = (pid_t)request->pid,
		.socket = -1,
		.place = -1,
		.network_off = sandbox->plan->network == QSB__NETWORK_OFF,
		.filtered = sandbox->plan->network == QSB__NETWORK_FILTERED,
	};
	int error = begin_connect(sandbox, request, &call);

	if (error == 0 && sandbox->plan->network != QSB__NETWORK_HOST && finish_here(&call))
		return;
	if (error == 0 && finish_elsewhere(&call))
		return;
	/* Without an error so far: too many wait already. */
	answer_connect(&call, error ? error : EAGAIN);
}

void qsb__calls_answer(void *context, const struct seccomp_notif *request)
{
	struct qsb__sandbox *sandbox = context;

	switch (request->data.nr) {
	case SYS_connect:
		serve_connect(sandbox, request);
		break;
	case SYS_memfd_create:
		sandbox->memfd_seen = true;
		let_go_on(sandbox->calls_fd, request->id);
		break;
	case SYS_sched_setaffinity:
		respond(sandbox->calls_fd, request->id, qsb__affinity_set(sandbox, request));
		break;
	default:
		respond(sandbox->calls_fd, request->id, qsb__told_refuse(request));
	}
}

/* Each call and each answer then wakes the other side on this processor. Kernels before 6.6 do without. */
void qsb__calls_begin(struct qsb__sandbox *sandbox)
{
	if (ioctl(sandbox->calls_fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) != 0)
		errno = 0;
}

void qsb__calls_serve(struct qsb__sandbox *sandbox)
{
	struct pollfd waiting = {.fd = sandbox->calls_fd, .events = POLLIN};
	struct seccomp_notif request;

	/* Receiving would wait when a caller died meanwhile. */
	if (poll(&waiting, 1, 0) <= 0 || !(waiting.revents & POLLIN)) {
		/* Every process of the filter is gone. */
		if (waiting.revents & (POLLHUP | POLLERR))
			close(qsb__take_fd(&sandbox->calls_fd));
		return;
	}
	memset(&request, 0, sizeof(request));
	if (ioctl(sandbox->calls_fd, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
		return;
	qsb__calls_answer(sandbox, &request);
}
