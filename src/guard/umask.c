/*
 * Creation takes the umask of the thread that makes it, default ACLs included: a thread of the guard has one of its
 * own. Reading the caller's is the dearest step of all. umask(2) stops here as well: as long as nobody has called it,
 * all have the command's, and after that what was read is kept until the next call of it, by anybody.
 *
 * Such a call goes on in the kernel, at a moment that nobody is told. For a caller without other threads it is over
 * when that caller stops again. What several threads share is kept only when the calls of all of them are known to be
 * over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guard/internal.h"

static void set_umask(struct qsb__tasks *tasks, mode_t mask)
{
	if (tasks->umask == (int)mask)
		return;
	umask(mask);
	tasks->umask = (int)mask;
}

static bool exists(pid_t thread)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", thread);
	return access(path, F_OK) == 0;
}

/* Makes room by leaving out those that are dead. */
static void prune(struct qsb__guard *guard)
{
	size_t kept = 0;

	for (size_t i = 0; i < guard->open_umask_count; i++)
		if (exists(guard->open_umasks[i]))
			guard->open_umasks[kept++] = guard->open_umasks[i];
	guard->open_umask_count = kept;
}

void qsb__umask_called(struct qsb__stop *stop)
{
	struct qsb__guard *guard = stop->guard;

	pthread_mutex_lock(&guard->lock);
	if (guard->open_umask_count == QSB__GUARD_UMASKS)
		prune(guard);
	if (guard->open_umask_count == QSB__GUARD_UMASKS)
		guard->umasks_lost = true;
	else
		guard->open_umasks[guard->open_umask_count++] = (pid_t)stop->call.pid;
	pthread_mutex_unlock(&guard->lock);
	/* After it stands in the list: whoever sees the new age sees it there, too. */
	__atomic_fetch_add(&guard->umask_age, 1, __ATOMIC_RELEASE);
}

static void forget(struct qsb__guard *guard, pid_t thread)
{
	pthread_mutex_lock(&guard->lock);
	for (size_t i = 0; i < guard->open_umask_count; i++)
		if (guard->open_umasks[i] == thread)
			guard->open_umasks[i--] = guard->open_umasks[--guard->open_umask_count];
	pthread_mutex_unlock(&guard->lock);
}

void qsb__umask_over(struct qsb__stop *stop)
{
	if (__atomic_load_n(&stop->guard->open_umask_count, __ATOMIC_RELAXED) > 0)
		forget(stop->guard, (pid_t)stop->call.pid);
}

/* Is another thread of the caller's process perhaps still in its umask(2)? What it waits in now says so. */
static bool is_within(struct qsb__stop *stop, pid_t thread)
{
	char path[64], text[32] = "";
	struct stat status;
	ssize_t length;
	char *end;
	long call;
	int fd;

	snprintf(path, sizeof(path), "task/%d", thread);
	if (fstatat(stop->tasks->task[stop->call.pid % QSB__GUARD_TASKS].folder, path, &status, 0) != 0)
		return false; /* of another process */
	snprintf(path, sizeof(path), "task/%d/syscall", thread);
	fd = qsb__stop_open(stop, path, O_RDONLY);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[length < 0 ? 0 : length] = '\0';
	call = strtol(text, &end, 10);
	return end == text || call == SYS_umask;
}

static bool all_over(struct qsb__stop *stop)
{
	struct qsb__guard *guard = stop->guard;
	pid_t threads[QSB__GUARD_UMASKS];
	size_t count;
	bool lost;

	pthread_mutex_lock(&guard->lock);
	count = guard->open_umask_count;
	lost = guard->umasks_lost;
	memcpy(threads, guard->open_umasks, sizeof(threads));
	pthread_mutex_unlock(&guard->lock);
	for (size_t i = 0; i < count && !lost; i++)
		lost = is_within(stop, threads[i]);
	return !lost;
}

bool qsb__stop_take_umask(struct qsb__stop *stop)
{
	struct qsb__guard *guard = stop->guard;
	unsigned age = __atomic_load_n(&guard->umask_age, __ATOMIC_ACQUIRE);
	int common = age == 0 ? __atomic_load_n(&guard->umask, __ATOMIC_RELAXED) : -1;
	struct qsb__task *task;
	char text[QSB__STATUS_BYTES];
	mode_t mask;
	bool certain;

	if (common >= 0) {
		set_umask(stop->tasks, (mode_t)common);
		return true;
	}
	task = qsb__stop_proved_task(stop);
	if (task->id && task->umask >= 0 && task->age == age) {
		set_umask(stop->tasks, (mode_t)task->umask);
		return true;
	}
	/* Before it is read: a call that ended in between would be missed. */
	certain = age == 0 || qsb__stop_is_alone(stop) || all_over(stop);
	if (!qsb__stop_status(stop, text))
		return false;
	mask = (mode_t)qsb__status_number(text, "Umask", 8);
	task = qsb__stop_task(stop, false);
	task->umask = certain ? (int)mask : -1;
	task->age = age;
	if (age == 0)
		__atomic_store_n(&guard->umask, (int)mask, __ATOMIC_RELAXED);
	set_umask(stop->tasks, mask);
	return true;
}
