#include "os/readiness.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int qsb__readiness_open(int fd, bool writable)
{
	struct epoll_event event = {.events = writable ? EPOLLOUT : EPOLLIN};
	int watcher = epoll_create1(EPOLL_CLOEXEC);

	if (watcher < 0)
		return -errno;
	if (epoll_ctl(watcher, EPOLL_CTL_ADD, fd, &event) != 0) {
		int error = errno;

		close(watcher);
		return -error;
	}
	return watcher;
}
