/* What a process can still do that shut itself in as a server, in the hands of an intruder. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "os/confine.h"
#include "tap.h"

/* Made before: what a server has open. */
static int stream, pair[2];
static pid_t caller;

static long sockets_of_other_kinds(void)
{
	static const struct {
		int family, type, protocol;
	} rows[] = {
		{AF_UNIX, SOCK_STREAM, 0},
		{AF_UNIX, SOCK_DGRAM, 0},
		{AF_NETLINK, SOCK_RAW, 0},
		{AF_PACKET, SOCK_RAW, 0},
		{AF_INET, SOCK_RAW, IPPROTO_TCP},
		{AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
		{AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6},
		{AF_INET, SOCK_STREAM, 132 /* SCTP */},
		{AF_INET, SOCK_STREAM, 262 /* MPTCP */},
		{AF_INET, SOCK_SEQPACKET, 0},
		{40 /* AF_VSOCK */, SOCK_STREAM, 0},
		{38 /* AF_ALG */, SOCK_SEQPACKET, 0},
		{44 /* AF_XDP */, SOCK_RAW, 0},
	};
	int ends[2];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (socket(rows[i].family, rows[i].type, rows[i].protocol) >= 0)
			return 0;
	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static long listen_at(void)
{
	struct sockaddr_in name = {.sin_family = AF_INET};

	return bind(stream, (const struct sockaddr *)&name, sizeof(name)) == 0 || listen(stream, 1) == 0 ? 0 : -1;
}

static long open_files(void)
{
	static const struct {
		const char *path;
		int flags;
	} rows[] = {
		{"/etc/passwd", O_RDONLY},     {"/etc/hosts", O_WRONLY},      {"/proc/self/mem", O_RDWR},
		{"/proc/self/maps", O_RDONLY}, {"/", O_RDONLY | O_DIRECTORY}, {"/dev/null", O_RDWR},
		{"/dev/tty", O_RDWR},          {"/tmp", O_RDWR | O_TMPFILE},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (openat(AT_FDCWD, rows[i].path, rows[i].flags, 0600) >= 0)
			return 0;
	return -1;
}

static long change_files(void)
{
	return mkdirat(AT_FDCWD, "/tmp/qsb-confine", 0700) == 0 || unlinkat(AT_FDCWD, "/tmp/nothing", 0) == 0 ||
			       fchmodat(AT_FDCWD, "/proc/self", 0700, 0) == 0 || errno != EPERM
		       ? 0
		       : -1;
}

static long start_program(void)
{
	char name[] = "/bin/false", *const words[] = {name, NULL};

	execve(words[0], words, words + 1);
	return -1;
}

static long start_process(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long look_into_others(void)
{
	char byte;
	struct iovec local = {&byte, 1}, remote = {&byte, 1};

	return ptrace(PTRACE_ATTACH, caller, 0, 0) == 0 || process_vm_readv(caller, &local, 1, &remote, 1, 0) == 1 ||
			       syscall(SYS_pidfd_open, caller, 0) >= 0
		       ? 0
		       : -1;
}

static long signal_others(void)
{
	return kill(caller, 0) == 0 || syscall(SYS_tgkill, caller, caller, 0) == 0 || syscall(SYS_tkill, caller, 0) == 0
		       ? 0
		       : -1;
}

/* With F_SETSIG and O_ASYNC, whoever owns a descriptor gets a signal of our choice when it can be read. */
static long own_descriptors(void)
{
	struct f_owner_ex owner = {.type = F_OWNER_PID, .pid = caller};
	int pid = caller;

	return fcntl(stream, F_SETOWN, caller) == 0 || fcntl(stream, F_SETOWN_EX, &owner) == 0 ||
			       ioctl(stream, FIOSETOWN, &pid) == 0 || ioctl(stream, SIOCSPGRP, &pid) == 0
		       ? 0
		       : -1;
}

static long choose_signal(void)
{
	return fcntl(stream, F_SETSIG, SIGKILL);
}

static long new_code(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mprotect(page, size, PROT_READ | PROT_EXEC) == 0 ||
			       mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED
		       ? 0
		       : -1;
}

static long other_kernel_parts(void)
{
	const struct rlimit limit = {10, 10};

	return syscall(SYS_io_uring_setup, 1, NULL) >= 0 || syscall(SYS_bpf, 0, NULL, 0) >= 0 ||
			       syscall(SYS_memfd_create, "x", 0) >= 0 || unshare(CLONE_NEWUSER) == 0 ||
			       setrlimit(RLIMIT_NOFILE, &limit) == 0 || syscall(SYS_keyctl, 0, -3, 0) >= 0 ||
			       syscall(SYS_userfaultfd, 0) >= 0 || syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) >= 0
		       ? 0
		       : -1;
}

/* ---- what it is for ---- */

static long serve(void)
{
	int fds[2], four = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
	int six = socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP);

	if (four < 0 || (six < 0 && errno != EAFNOSUPPORT) || pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return 1;
	if (fcntl(fds[1], F_SETPIPE_SZ, 65536) < 0 || fcntl(four, F_SETFL, O_NONBLOCK) != 0 ||
	    fcntl(four, F_SETFD, FD_CLOEXEC) != 0 || ioctl(four, FIONBIO, &on) != 0 || ioctl(four, FIONREAD, &on) != 0)
		return 2;
	if (send(pair[0], "x", 1, 0) != 1 || splice(pair[1], NULL, fds[1], NULL, 1, 0) != 1)
		return 3;
	return 0;
}

static long signal_itself(void)
{
	return syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0);
}

/* In a process of its own. 1 = it was done, 0 = not, others: the process broke. */
static int try_confined(long (*act)(void))
{
	struct qsb_error err;
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(qsb__confine_server(&err) != 0 ? 99 : act() == 0);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	static const struct {
		const char *what;
		long (*act)(void);
	} refused[] = {
		{"a socket of another kind", sockets_of_other_kinds},
		{"listening", listen_at},
		{"any file", open_files},
		{"changing files", change_files},
		{"a program", start_program},
		{"another process", start_process},
		{"looking into other processes", look_into_others},
		{"signals to other processes", signal_others},
		{"giving a descriptor to another process, which gets its signals", own_descriptors},
		{"another signal for a descriptor", choose_signal},
		{"memory that is code", new_code},
		{"parts of the kernel that no server needs", other_kernel_parts},
	};

	caller = getpid();
	stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (stream < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return 1;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		tap_ok(try_confined(refused[i].act) == 0, "%s: refused", refused[i].what);
	tap_ok(try_confined(serve) == 1, "sockets and pipes: granted");
	tap_ok(try_confined(signal_itself) == 1, "a signal to itself: granted");
	return tap_done();
}
