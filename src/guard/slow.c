/*
 * Calls that may wait long: a FIFO without its other end, a lease to be broken. A thread of their own makes them, woken
 * now and then to see whether the caller still waits, or has a signal to handle.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "guard/internal.h"
#include "os/threads.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum {
	SLOW_MAX = 256,
	SLOW_STACK = 128 * 1024,
	LOOK_EVERY_NS = 10 * 1000 * 1000,
	SHORTEST_NS = 100 * 1000,
	LONGEST_NS = 4 * 1000 * 1000,
	RESTART_CALL = 512 /* ERESTARTSYS */
};

struct slow {
	struct qsb__guard *guard;
	struct seccomp_notif call;
	int object, flags;
	off_t size; /* of a truncate, else -1 */
};

/* A caller that was told to wait does not see its signals: it must get back to handle them. */
static bool has_signal(const struct slow *slow)
{
	struct qsb__tasks *tasks = calloc(1, sizeof(*tasks));
	struct qsb__stop stop = {.guard = slow->guard, .call = slow->call, .tasks = tasks};
	char text[QSB__STATUS_BYTES];
	bool waits = false;

	if (!tasks)
		return true;
	if (qsb__stop_status(&stop, text))
		waits = ((qsb__status_number(text, "SigPnd", 16) | qsb__status_number(text, "ShdPnd", 16)) &
			 ~qsb__status_number(text, "SigBlk", 16)) != 0;
	qsb__stop_close(&stop);
	qsb__tasks_clear(tasks);
	free(tasks);
	return waits;
}

static bool only_reads(const struct slow *slow)
{
	return slow->size < 0 && (slow->flags & O_ACCMODE) == O_RDONLY;
}

/*
 * A FIFO's reader must really wait in its open: nobody else can tell when a writer has come. A writer must not: it
 * would still be there for a reader when its caller is dead already. So it tries again and again.
 */
static int try_open(const struct slow *slow)
{
	char path[64];
	int flags = slow->size >= 0 ? O_WRONLY : slow->flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW);
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", slow->object);
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY | (only_reads(slow) ? 0 : O_NONBLOCK));
	if (fd >= 0 && slow->size < 0 && !only_reads(slow))
		fcntl(fd, F_SETFL, slow->flags & (O_APPEND | O_DIRECT | O_NOATIME | O_ASYNC));
	return fd;
}

static bool must_wait(int error)
{
	return error == EINTR || error == ENXIO || error == EWOULDBLOCK;
}

static void pause_for(long nanoseconds)
{
	const struct timespec time = {.tv_nsec = nanoseconds};

	nanosleep(&time, NULL);
}

static void finish(const struct slow *slow, int fd)
{
	if (slow->size < 0) {
		qsb__guard_hand_over(slow->guard, slow->call.id, fd, slow->flags);
		return;
	}
	qsb__guard_answer(slow->guard, slow->call.id, ftruncate(fd, slow->size) == 0 ? 0 : -errno);
	close(fd);
}

static void wait_for(const struct slow *slow)
{
	struct qsb__stop stop = {.guard = slow->guard, .call = slow->call};

	for (long pause = SHORTEST_NS;; pause = pause < LONGEST_NS ? 2 * pause : pause) {
		int fd = try_open(slow);

		if (fd >= 0) {
			finish(slow, fd);
			return;
		}
		if (!must_wait(errno)) {
			qsb__guard_answer(slow->guard, slow->call.id, -errno);
			return;
		}
		/* Before the looks: a caller that died meanwhile must not get a reader of its FIFO. */
		if (!only_reads(slow))
			pause_for(pause);
		if (!qsb__stop_waits(&stop))
			return;
		if (has_signal(slow)) {
			qsb__guard_answer(slow->guard, slow->call.id, -RESTART_CALL);
			return;
		}
	}
}

static bool start_waking(timer_t *timer)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = qsb__guard_wake_signal()};
	const struct itimerspec every = {{0, LOOK_EVERY_NS}, {0, LOOK_EVERY_NS}};

	event.sigev_notify_thread_id = gettid();
	return timer_create(CLOCK_MONOTONIC, &event, timer) == 0 && timer_settime(*timer, 0, &every, NULL) == 0;
}

static void *slow_main(void *argument)
{
	struct slow *slow = argument;
	struct qsb__guard *guard = slow->guard;
	timer_t timer;

	if (!qsb__guard_thread_begin() || !start_waking(&timer)) {
		qsb__guard_answer(guard, slow->call.id, -EAGAIN);
	} else {
		wait_for(slow);
		timer_delete(timer);
	}
	close(slow->object);
	free(slow);
	pthread_mutex_lock(&guard->lock);
	guard->slow_threads--;
	pthread_cond_broadcast(&guard->ended);
	pthread_mutex_unlock(&guard->lock);
	return NULL;
}

static bool take_place(struct qsb__guard *guard)
{
	bool room;

	pthread_mutex_lock(&guard->lock);
	room = guard->slow_threads < SLOW_MAX;
	guard->slow_threads += room;
	pthread_mutex_unlock(&guard->lock);
	return room;
}

static long begin(struct qsb__stop *stop, int object, int flags, off_t size)
{
	struct qsb__guard *guard = stop->guard;
	struct slow *slow;

	if (!take_place(guard))
		return -ENFILE;
	slow = malloc(sizeof(*slow));
	if (slow) {
		*slow = (struct slow){guard, stop->call, fcntl(object, F_DUPFD_CLOEXEC, 0), flags, size};
		if (slow->object >= 0 && qsb__thread_start(slow_main, slow, SLOW_STACK) == 0)
			return QSB__STOP_LATER;
		if (slow->object >= 0)
			close(slow->object);
		free(slow);
	}
	pthread_mutex_lock(&guard->lock);
	guard->slow_threads--;
	pthread_mutex_unlock(&guard->lock);
	return -EAGAIN;
}

long qsb__slow_open(struct qsb__stop *stop, int object, int flags)
{
	return begin(stop, object, flags, -1);
}

long qsb__slow_truncate(struct qsb__stop *stop, int object, off_t size)
{
	return begin(stop, object, 0, size);
}
