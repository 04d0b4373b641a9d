/* The self-test's attacks by system calls that ordinary programs do without. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <linux/keyctl.h>

#include "cli/selftest_attacks.h"
#include "core/cleanup.h"

int qsb__attack_user_namespace(char *const *arguments)
{
	long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

	if (child == 0)
		_exit(0);
	if (child > 0) {
		waitpid((pid_t)child, NULL, 0);
		return 0;
	}
	return unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
}

int qsb__attack_mount(char *const *arguments)
{
	int fd;

	/* The control must not change what the host sees: it needs a namespace of its own. Inside, the one that the
	 * sandbox is in has to hold too. */
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 && strcmp(arguments[1], "outside") == 0)
		return errno;
	if (mount(arguments[0], arguments[0], NULL, MS_BIND, NULL) == 0)
		return 0;
	fd = (int)syscall(SYS_open_tree, AT_FDCWD, arguments[0], 1 /* OPEN_TREE_CLONE */);
	return fd >= 0 ? 0 : errno;
}

int qsb__attack_io_uring(char *const *arguments)
{
	char parameters[256] = {0};

	return syscall(SYS_io_uring_setup, 4, parameters) >= 0 ? 0 : errno;
}

int qsb__attack_keyring(char *const *arguments)
{
	return syscall(SYS_add_key, "user", "qiming-sandbox-self-test", "x", 1, KEY_SPEC_PROCESS_KEYRING) >= 0 ? 0
													       : errno;
}

/* Types a key into the terminal that is its input. The kernel looks at 32 bits of the request only. */
int qsb__attack_push(char *const *arguments)
{
	bool pushed = syscall(SYS_ioctl, STDIN_FILENO, TIOCSTI, "x") == 0;
	int fault = errno;

	pushed |= syscall(SYS_ioctl, STDIN_FILENO, TIOCSTI | 1UL << 32, "x") == 0;
	return pushed ? 0 : fault;
}

static int open_terminal(int *master, int *slave)
{
	struct termios settings;
	const char *name;

	*master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*master < 0 || grantpt(*master) < 0 || unlockpt(*master) < 0 || !(name = ptsname(*master)))
		return -1;
	/* The first terminal that a session's leader opens becomes the session's. */
	if (setsid() < 0)
		return -1;
	*slave = open(name, O_RDWR | O_CLOEXEC);
	if (*slave < 0 || tcgetattr(*slave, &settings) < 0)
		return -1;
	cfmakeraw(&settings); /* what is typed can be counted at once, not only whole lines */
	return tcsetattr(*slave, TCSANOW, &settings);
}

int qsb__probe_terminal(char *const *arguments)
{
	int master = -1, slave = -1, waiting = 0, status = 0;
	pid_t child;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A process that leads its group cannot begin a session. */
	child = fork();
	if (child != 0) {
		if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
			return QSB__PROBE_CANNOT;
		return WEXITSTATUS(status);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (open_terminal(&master, &slave) < 0)
		_exit(QSB__PROBE_CANNOT);
	child = fork();
	if (child == 0) {
		dup2(slave, STDIN_FILENO);
		execv(arguments[0], arguments);
		_exit(QSB__PROBE_CANNOT);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		_exit(QSB__PROBE_CANNOT);
	if (ioctl(slave, FIONREAD, &waiting) == 0 && waiting > 0)
		_exit(QSB__PROBE_PUSHED);
	_exit(WEXITSTATUS(status));
}
