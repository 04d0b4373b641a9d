/*
 * What belongs to the caller: folders, descriptors, umask, memory. A call's pid is a thread's, so all of these are
 * those of the very thread that called, whatever it shares with others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "guard/internal.h"

enum { PAGE = 4096, ROOMY_CALLS = 16 };

int qsb__stop_keep(struct qsb__stop *stop, int fd)
{
	if (fd < 0)
		return fd;
	if (stop->kept_count == QSB__GUARD_KEPT) {
		close(fd);
		return -ENFILE;
	}
	stop->kept[stop->kept_count++] = fd;
	return fd;
}

void qsb__stop_close(struct qsb__stop *stop)
{
	for (size_t i = 0; i < stop->kept_count; i++)
		close(stop->kept[i]);
	stop->kept_count = 0;
	stop->proved = false;
}

/* The task was looked at by its number: is it still the one that asked? Always the last step before acting. */
bool qsb__stop_waits(const struct qsb__stop *stop)
{
	return ioctl(stop->guard->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &stop->call.id) == 0;
}

static void forget(struct qsb__tasks *tasks, struct qsb__task *task)
{
	if (!task->id)
		return;
	close(task->folder);
	if (task->pidfd >= 0)
		close(task->pidfd);
	if (task->cwd >= 0)
		close(task->cwd);
	if (task->cwd >= 0 && task->cwd == tasks->at)
		tasks->at = -1;
	task->id = 0;
}

void qsb__tasks_clear(struct qsb__tasks *tasks)
{
	for (size_t i = 0; i < QSB__GUARD_TASKS; i++)
		forget(tasks, &tasks->task[i]);
}

/* The call on hand may be using it: closed at its end. */
static void drop_cwd(struct qsb__stop *stop, struct qsb__task *task)
{
	if (task->cwd < 0)
		return;
	if (task->cwd == stop->tasks->at)
		stop->tasks->at = -1;
	qsb__stop_keep(stop, task->cwd);
	task->cwd = -1;
}

/* Before Linux 6.9 only whole processes have such a descriptor: that of the thread's process then. */
static int open_pidfd(int folder, pid_t thread)
{
	int pidfd = qsb__pidfd_open(thread, PIDFD_THREAD);
	char text[QSB__STATUS_BYTES];

	if (pidfd >= 0 || errno != EINVAL)
		return pidfd;
	qsb__status_read(folder, "status", text);
	return qsb__pidfd_open((pid_t)qsb__status_number(text, "Tgid", 10), 0);
}

struct qsb__task *qsb__stop_task(struct qsb__stop *stop, bool fresh)
{
	pid_t id = (pid_t)stop->call.pid;
	struct qsb__task *task = &stop->tasks->task[(unsigned)id % QSB__GUARD_TASKS];
	char path[32];

	if (task->id == id && !fresh)
		return task;
	if (task->id)
		drop_cwd(stop, task);
	forget(stop->tasks, task);
	snprintf(path, sizeof(path), "/proc/%d", id);
	*task = (struct qsb__task){.pidfd = -1, .umask = -1, .cwd = -1};
	task->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (task->folder >= 0)
		task->id = id;
	return task;
}

static bool is_stale(int error)
{
	return error == ENOENT || error == ESRCH || error == EBADF;
}

/* Does the task that the folder is about still live? Then its number means no other one. */
static bool lives(const struct qsb__task *task)
{
	return task->id && syscall(SYS_faccessat2, task->folder, "", F_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

struct qsb__task *qsb__stop_proved_task(struct qsb__stop *stop)
{
	struct qsb__task *task = qsb__stop_task(stop, false);

	if (!stop->proved && !lives(task))
		task = qsb__stop_task(stop, true);
	stop->proved = task->id != 0;
	return task;
}

/* Below /proc/TID, not kept; -1 with errno. */
static int open_below(struct qsb__stop *stop, const char *name, int flags)
{
	int fd = openat(qsb__stop_task(stop, false)->folder, name, flags | O_CLOEXEC);

	if (fd < 0 && is_stale(errno))
		fd = openat(qsb__stop_task(stop, true)->folder, name, flags | O_CLOEXEC);
	stop->proved |= fd >= 0;
	return fd;
}

int qsb__stop_open(struct qsb__stop *stop, const char *name, int flags)
{
	int fd = open_below(stop, name, flags);

	return fd < 0 ? -errno : qsb__stop_keep(stop, fd);
}

/* Most callers never need one. It is looked up by number: the task that was kept must be that number's. */
int qsb__stop_pidfd(struct qsb__stop *stop, bool fresh)
{
	struct qsb__task *task = qsb__stop_task(stop, fresh);

	if (task->id && task->pidfd < 0) {
		task->pidfd = open_pidfd(task->folder, task->id);
		if (!lives(task)) {
			task = qsb__stop_task(stop, true);
			if (task->id)
				task->pidfd = open_pidfd(task->folder, task->id);
		}
	}
	return task->pidfd;
}

/* The same open file: its locks, offset and access mode. */
int qsb__stop_descriptor(struct qsb__stop *stop, int number)
{
	int fd;

	if (number < 0)
		return -EBADF;
	fd = qsb__pidfd_getfd(qsb__stop_pidfd(stop, false), number);
	if (fd < 0 && is_stale(errno))
		fd = qsb__pidfd_getfd(qsb__stop_pidfd(stop, true), number);
	stop->proved |= fd >= 0;
	return fd < 0 ? -errno : qsb__stop_keep(stop, fd);
}

/* The number of links of /proc/TID/task counts them. A caller without other threads can get none while it waits, nor
 * can its folder or umask change. */
bool qsb__stop_is_alone(struct qsb__stop *stop)
{
	const struct qsb__task *task = qsb__stop_proved_task(stop);
	struct stat status;

	return task->id && fstatat(task->folder, "task", &status, 0) == 0 && status.st_nlink == 3;
}

/*
 * Kept from its second use on, for callers with one thread: chdir(2) stops here as well, and makes every kept one
 * stale.
 */
int qsb__stop_cwd(struct qsb__stop *stop)
{
	struct qsb__task *task = qsb__stop_task(stop, false);
	unsigned age = __atomic_load_n(&stop->guard->cwd_age, __ATOMIC_ACQUIRE);
	bool keeps;
	int fd;

	if (task->cwd >= 0 && task->cwd_age == age)
		task = qsb__stop_proved_task(stop);
	if (task->cwd < 0 || task->cwd_age != age) {
		drop_cwd(stop, task);
		/* Before it is opened: another thread that was there until now could have changed it after. */
		keeps = task->again && qsb__stop_is_alone(stop);
		fd = open_below(stop, "cwd", O_PATH);
		task = qsb__stop_task(stop, false);
		task->again = true;
		if (fd < 0 || !keeps)
			return fd < 0 ? -errno : qsb__stop_keep(stop, fd);
		drop_cwd(stop, task);
		task->cwd = fd;
		task->cwd_age = age;
	}
	if (stop->tasks->at != task->cwd)
		stop->tasks->at = fchdir(task->cwd) == 0 ? task->cwd : -1;
	return task->cwd;
}

bool qsb__stop_status(struct qsb__stop *stop, char text[QSB__STATUS_BYTES])
{
	int fd = qsb__stop_open(stop, "status", O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, text, QSB__STATUS_BYTES - 1);

	text[length < 0 ? 0 : length] = '\0';
	return length > 0;
}

/* The kernel takes a number before it creates or truncates; ours is handed over only after. So look first: not each
 * time where most are free. */
bool qsb__stop_is_out_of_descriptors(struct qsb__stop *stop)
{
	struct qsb__task *task = qsb__stop_task(stop, false);
	struct rlimit limit;
	struct stat status;

	if (task->roomy > 0) {
		task->roomy--;
		return false;
	}
	if (prlimit((pid_t)stop->call.pid, RLIMIT_NOFILE, NULL, &limit) != 0 ||
	    fstatat(task->folder, "fd", &status, 0) != 0)
		return false;
	if ((rlim_t)status.st_size < limit.rlim_cur / 2)
		task->roomy = ROOMY_CALLS;
	return (rlim_t)status.st_size >= limit.rlim_cur;
}

static ssize_t copy(const struct qsb__stop *stop, uint64_t from, void *to, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};
	ssize_t length = process_vm_readv((pid_t)stop->call.pid, &local, 1, &remote, 1, 0);

	return length >= 0 ? length : errno == EPERM ? -EPERM : -EFAULT;
}

int qsb__stop_copy(struct qsb__stop *stop, uint64_t from, void *to, size_t size)
{
	ssize_t length = copy(stop, from, to, size);

	return length < 0 ? (int)length : (size_t)length < size ? -EFAULT : 0;
}

/* Page by page: the one after the text's end may not be there. */
int qsb__stop_text(struct qsb__stop *stop, uint64_t from, char *to, size_t size, int too_long)
{
	size_t got = 0;

	while (got < size) {
		size_t wanted = PAGE - ((from + got) & (PAGE - 1));
		ssize_t length;

		if (wanted > size - got)
			wanted = size - got;
		length = copy(stop, from + got, to + got, wanted);
		if (length < 0)
			return (int)length;
		if (memchr(to + got, '\0', (size_t)length))
			return 0;
		if ((size_t)length < wanted)
			return -EFAULT;
		got += (size_t)length;
	}
	return -too_long;
}

int qsb__stop_path(struct qsb__stop *stop, uint64_t from, char *to, bool empty_allowed)
{
	int code = qsb__stop_text(stop, from, to, PATH_MAX, ENAMETOOLONG);

	return code != 0 ? code : *to == '\0' && !empty_allowed ? -ENOENT : 0;
}
