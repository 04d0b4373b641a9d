/* The self-test's attacks on other processes and their sockets, and on the limits. All are bounded. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/selftest_attacks.h"
#include "core/cleanup.h"

enum {
	MEBIBYTE = 1 << 20,
	SETTLE_US = 300000 /* several times the interval of the watch that may hold a limit */
};

static int try_connect(int family, const void *address, socklen_t length)
{
	QSB_CLEANUP_FD int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	return connect(fd, address, length) == 0 ? 0 : errno;
}

int qsb__attack_tcp(char *const *arguments)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(arguments[0])),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	return try_connect(AF_INET, &address, sizeof(address));
}

int qsb__attack_unix(char *const *arguments)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	/* The address holds 107 bytes, a path may be longer: go to where its name is short. */
	const char *slash = strrchr(arguments[0], '/');
	char folder[4096];

	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - arguments[0]), arguments[0]);
	if (chdir(folder) < 0)
		return errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", slash + 1);
	return try_connect(AF_UNIX, &address, sizeof(address));
}

int qsb__attack_abstract(char *const *arguments)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(arguments[0]);

	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", arguments[0]);
	return try_connect(AF_UNIX, &address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
}

/* Inside, the number may be that of another process: only the one that was started with the nonce is the victim. */
static bool is_somebody_else(const char *pid, const char *nonce)
{
	char path[64], text[8192];
	ssize_t length;
	QSB_CLEANUP_FD int fd = -1;

	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text));
	return length > 0 && !memmem(text, (size_t)length, nonce, strlen(nonce));
}

int qsb__attack_signal(char *const *arguments)
{
	if (is_somebody_else(arguments[0], arguments[1]))
		return ESRCH;
	return kill(atoi(arguments[0]), SIGUSR1) == 0 ? 0 : errno;
}

int qsb__attack_trace(char *const *arguments)
{
	pid_t victim = atoi(arguments[0]);
	char byte;
	struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)qsb__attack_trace, 1};
	int fault, pidfd;

	if (is_somebody_else(arguments[0], arguments[1]))
		return ESRCH;
	if (ptrace(PTRACE_SEIZE, victim, NULL, NULL) == 0)
		return 0;
	fault = errno;
	if (process_vm_readv(victim, &to, 1, &from, 1, 0) == 1)
		return 0;
	pidfd = (int)syscall(SYS_pidfd_open, victim, 0);
	if (pidfd >= 0 && syscall(SYS_pidfd_getfd, pidfd, STDIN_FILENO, 0) >= 0)
		return 0;
	return fault;
}

int qsb__probe_target(char *const *arguments)
{
	/* Where only a parent may look at its children, the control could show nothing. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

int qsb__attack_memory(char *const *arguments)
{
	for (int left = atoi(arguments[0]); left > 0; left--) {
		char *block = mmap(NULL, MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (block == MAP_FAILED)
			return errno;
		memset(block, 1, MEBIBYTE);
	}
	usleep(SETTLE_US);
	return 0;
}

int qsb__attack_processes(char *const *arguments)
{
	enum { MOST = 512 };
	pid_t children[MOST];
	int wanted = atoi(arguments[0]), made = 0, fault = 0;

	while (made < wanted && made < MOST && fault == 0) {
		pid_t child = fork();

		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
		if (child < 0)
			fault = errno;
		else
			children[made++] = child;
	}
	if (fault == 0)
		usleep(SETTLE_US);
	for (int i = 0; i < made; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	return fault;
}

/* Lives through a request to end, and then on for some seconds. */
int qsb__attack_linger(char *const *arguments)
{
	signal(SIGTERM, SIG_IGN);
	raise(SIGTERM);
	sleep((unsigned)atoi(arguments[0]));
	return 0;
}

/* Holds the lock of a file that has a name, for 20 s at most: so doctor sees whether it lives, and can end it. */
__attribute__((noreturn)) static void live_on(int fd)
{
	enum { ROUNDS = 1000, ROUND_US = 20000 };
	struct stat status;

	setsid();
	for (int other = 0; other < 3; other++)
		close(other);
	for (int i = 0; i < ROUNDS && fstat(fd, &status) == 0 && status.st_nlink > 0; i++)
		usleep(ROUND_US);
	_exit(0);
}

int qsb__attack_daemon(char *const *arguments)
{
	QSB_CLEANUP_FD int fd = open(arguments[0], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	pid_t child;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	/* The lock belongs to the open file, which the children share. */
	child = fork();
	if (child == 0) {
		pid_t daemon = fork();

		if (daemon == 0)
			live_on(fd);
		_exit(daemon < 0);
	}
	if (child < 0)
		return -errno;
	waitpid(child, NULL, 0);
	return 0;
}
