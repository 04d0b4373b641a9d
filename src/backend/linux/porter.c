#include "broker/porter.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/nsfs.h>

#include "backend/linux/abi.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "os/capabilities.h"
#include "os/descriptors.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no seccomp filter for this architecture"
#endif

enum { PATIENCE_S = 5, SIX = 0x80 };

/* A byte, and descriptors with it. */
static int send_with(int to, unsigned char byte, const int *fds, size_t count)
{
	const struct iovec data = {.iov_base = &byte, .iov_len = 1};
	ssize_t length = qsb__descriptors_send(to, &data, fds, count);

	return length == 1 ? 0 : (int)length;
}

/* *count: of the descriptors that came. 0 or a negative errno; -EPIPE at the end. */
static int receive_with(int from, unsigned char *byte, int *fds, size_t *count)
{
	const struct iovec data = {.iov_base = byte, .iov_len = 1};
	ssize_t length;

	do {
		*count = QSB__PORTER_MAX;
		length = qsb__descriptors_receive(from, &data, fds, count, 0);
	} while (length == -EINTR);
	return length == 1 ? 0 : length < 0 ? (int)length : -EPIPE;
}

static void close_all(int *fds, size_t count)
{
	while (count > 0)
		close(fds[--count]);
}

/* ---- the porter itself ---- */

/* Into the user namespace first: it gives the right to enter the network that belongs to it. */
static int enter(int namespace_fd)
{
	QSB_CLEANUP_FD int owner = ioctl(namespace_fd, NS_GET_USERNS);

	if (owner < 0 || setns(owner, CLONE_NEWUSER) != 0 || setns(namespace_fd, CLONE_NEWNET) != 0)
		return -errno;
	return 0;
}

/* Sockets of the internet, descriptors handed on, and the end. */
static int confine(void)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_recvmsg, 8, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 7, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]),
		.filter = (struct sock_filter *)(uintptr_t)code,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0 ||
	    !qsb__capabilities_drop() || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		return -errno;
	return 0;
}

static int hand_out(int to, unsigned char order)
{
	const int family = order & SIX ? AF_INET6 : AF_INET;
	size_t wanted = order & ~(unsigned)SIX, made = 0;
	int fds[QSB__PORTER_MAX], code = wanted > QSB__PORTER_MAX ? EINVAL : 0;

	while (code == 0 && made < wanted) {
		fds[made] = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (fds[made] < 0)
			code = errno;
		else
			made++;
	}
	code = send_with(to, (unsigned char)code, fds, code == 0 ? made : 0);
	close_all(fds, made);
	return code;
}

__attribute__((noreturn)) static void serve(int fd)
{
	int fds[QSB__PORTER_MAX], code;
	unsigned char order = 0;
	size_t count;

	if (fd > 0)
		qsb__close_range(0, (unsigned)fd - 1, 0);
	qsb__close_range((unsigned)fd + 1, ~0U, 0);
	code = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? receive_with(fd, &order, fds, &count) : -errno;
	if (code == -EPIPE)
		_exit(0);
	if (code == 0)
		code = count == 1 ? enter(fds[0]) : -EBADMSG;
	if (code == 0) {
		close(fds[0]);
		/* New rights take the death signal away. */
		code = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? confine() : -errno;
	}
	if (send_with(fd, (unsigned char)-code, NULL, 0) != 0 || code != 0)
		_exit(1);
	while (receive_with(fd, &order, fds, &count) == 0 && count == 0)
		if (hand_out(fd, order) != 0)
			break;
	_exit(0);
}

/* ---- the broker's side ---- */

int qsb__porter_start(struct qsb__porter *porter, struct qsb_error *err)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	int ends[2];

	memset(porter, 0, sizeof(*porter));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return qsb__fail_os(err, errno, "network", "cannot make a socket pair");
	/* It answers at once, or is no more. */
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	porter->pid = fork();
	if (porter->pid == 0)
		serve(ends[1]);
	close(ends[1]);
	if (porter->pid < 0) {
		int error = errno;

		close(ends[0]);
		porter->pid = 0;
		return qsb__fail_os(err, error, "network", "cannot start the process that reaches published ports");
	}
	porter->fd = ends[0];
	return 0;
}

int qsb__porter_enter(struct qsb__porter *porter, int namespace_fd, struct qsb_error *err)
{
	unsigned char answer = 0;
	int fds[QSB__PORTER_MAX], code = send_with(porter->fd, 0, &namespace_fd, 1);
	size_t count = 0;

	if (code == 0)
		code = receive_with(porter->fd, &answer, fds, &count);
	if (code == 0)
		code = -(int)answer;
	close_all(fds, count);
	if (code != 0)
		return qsb__fail_os(err, -code, "network", "cannot enter the sandbox's network to publish its ports");
	return 0;
}

int qsb__porter_sockets(struct qsb__porter *porter, int family, int *fds, size_t count)
{
	unsigned char answer = 0;
	int got[QSB__PORTER_MAX], code;
	size_t number = 0;

	if (count < 1 || count > QSB__PORTER_MAX || (family != 4 && family != 6))
		return -EINVAL;
	code = send_with(porter->fd, (unsigned char)(count | (family == 6 ? SIX : 0U)), NULL, 0);
	if (code == 0)
		code = receive_with(porter->fd, &answer, got, &number);
	if (code == 0)
		code = -(int)answer;
	/* Fewer come through when this process has no more descriptors left. */
	if (code == 0 && number != count)
		code = -EMFILE;
	if (code != 0) {
		close_all(got, number);
		return code;
	}
	memcpy(fds, got, sizeof(int) * count);
	return 0;
}

void qsb__porter_free(struct qsb__porter *porter)
{
	if (porter->pid <= 0)
		return;
	close(porter->fd);
	while (waitpid(porter->pid, NULL, 0) < 0 && errno == EINTR)
		;
	memset(porter, 0, sizeof(*porter));
}
