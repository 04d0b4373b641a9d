/* Terminal: what a command can do to the terminal of the person who started the sandbox. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* sti REQUEST TEXT: pushes TEXT and a newline as if typed. REQUEST is passed whole, high bits too. */
static int push_characters(int argc, char **argv)
{
	unsigned long request = attack_number(argc > 1 ? argv[1] : NULL);
	const char *text = argc > 2 ? argv[2] : "";

	for (const char *at = text; *at; at++) {
		if (syscall(SYS_ioctl, 0, request, at) < 0)
			return attack_verdict("ioctl", -1);
	}
	return attack_verdict("ioctl", syscall(SYS_ioctl, 0, request, "\n"));
}

/* ioctl-int REQUEST NUMBER [FD]: an ioctl whose argument points to a number. */
static int ioctl_number(int argc, char **argv)
{
	unsigned long request = attack_number(argc > 1 ? argv[1] : NULL);
	int value = (int)attack_number(argc > 2 ? argv[2] : NULL);
	int fd = argc > 3 ? (int)attack_number(argv[3]) : 0;

	return attack_verdict("ioctl", syscall(SYS_ioctl, fd, request, &value));
}

/* open-tty PATH TEXT: opens a terminal by path and writes TEXT to it. */
static int open_terminal(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return attack_verdict("open", -1);
	if (!isatty(fd)) {
		errno = ENOTTY;
		return attack_verdict("isatty", -1);
	}
	return attack_verdict("write", write(fd, argc > 2 ? argv[2] : "", argc > 2 ? strlen(argv[2]) : 0));
}

/* steal-tty: a child in a session of its own makes the terminal on descriptor 0 its controlling one, by force. */
static int steal_terminal(int argc, char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return attack_broken("fork");
	if (pid == 0) {
		if (setsid() < 0)
			_exit(attack_broken("setsid"));
		_exit(attack_verdict("TIOCSCTTY", ioctl(0, TIOCSCTTY, 1)));
	}
	signal(SIGHUP, SIG_IGN);
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return attack_broken("waitpid");
	return WEXITSTATUS(status);
}

const struct attack attacks_tty[] = {
	{"sti", push_characters},
	{"ioctl-int", ioctl_number},
	{"open-tty", open_terminal},
	{"steal-tty", steal_terminal},
	{NULL, NULL},
};
