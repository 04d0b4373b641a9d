#include "os/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t taken;

int qsb__signals_open(const int *numbers)
{
	int fd;

	sigemptyset(&taken);
	for (; *numbers; numbers++) {
		struct sigaction present;

		if (sigaction(*numbers, NULL, &present) == 0 && present.sa_handler != SIG_IGN)
			sigaddset(&taken, *numbers);
	}
	if (sigprocmask(SIG_BLOCK, &taken, NULL) != 0)
		return -errno;
	fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

bool qsb__signals_read(int fd, struct qsb__signal *out)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	out->number = (int)info.ssi_signo;
	out->from_terminal = info.ssi_code == SI_KERNEL;
	return true;
}

void qsb__signals_close(int fd)
{
	struct qsb__signal waiting;

	if (fd < 0)
		return;
	/* What came too late to matter must not end us now. */
	while (qsb__signals_read(fd, &waiting))
		;
	close(fd);
	sigprocmask(SIG_UNBLOCK, &taken, NULL);
}
