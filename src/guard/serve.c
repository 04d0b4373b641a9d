/*
 * The guard's threads. One receives: several that wait are all woken for each call, which costs more than it gives, and
 * nothing here waits long. Should a call hang all the same (a slow disk, a file server), the watch adds a receiver, and
 * surplus ones leave.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "core/error.h"
#include "guard/git.h"
#include "os/capabilities.h"
#include "os/threads.h"

enum { SETTLE_TIMES = 200, SETTLE_NS = 50 * 1000 };
enum { END_LOOK_NS = 5 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000 };
enum { THREAD_STACK = 1024 * 1024, BUSY_LOOK_MS = 10, IDLE_LOOK_MS = 100, LOOKS_MOST = 8 };

int qsb__guard_wake_signal(void)
{
	return SIGRTMIN + 7;
}

static void wake_up(int number)
{
}

bool qsb__guard_thread_begin(void)
{
	sigset_t wake;

	sigemptyset(&wake);
	sigaddset(&wake, qsb__guard_wake_signal());
	/* Its own umask and working folder, too. */
	return pthread_sigmask(SIG_UNBLOCK, &wake, NULL) == 0 && qsb__capabilities_drop() && unshare(CLONE_FS) == 0;
}

void qsb__guard_answer(const struct qsb__guard *guard, uint64_t id, long result)
{
	struct seccomp_notif_resp response = {.id = id};

	if (result == QSB__STOP_GO_ON)
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (result < 0)
		response.error = (int)result;
	else
		response.val = result;
	/* ENOENT: the caller is gone. Nobody waits for an answer then. */
	if (ioctl(guard->listener, SECCOMP_IOCTL_NOTIF_SEND, &response) != 0)
		return;
}

/*
 * In one step the caller runs on before our own reference is gone, which is quicker by half: but a program that it
 * writes, closes and executes would be busy. So a file open for writing that can be executed goes over in two. What can
 * not is made so by a call that comes here, and waits until the file is ours no longer; locks do the same.
 */
static bool goes_at_once(int fd, int flags)
{
	struct stat status;

	return (flags & O_ACCMODE) == O_RDONLY ||
	       (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && !(status.st_mode & 0111));
}

void qsb__guard_hand_over(struct qsb__guard *guard, uint64_t id, int fd, int flags)
{
	bool at_once = goes_at_once(fd, flags);
	struct seccomp_notif_addfd added = {
		.id = id,
		.srcfd = (unsigned)fd,
		.newfd_flags = (unsigned)(flags & O_CLOEXEC),
		.flags = at_once ? SECCOMP_ADDFD_FLAG_SEND : 0,
	};
	int number, error;

	__atomic_fetch_add(&guard->handing, 1, __ATOMIC_ACQUIRE);
	number = ioctl(guard->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &added);
	error = errno;
	close(fd);
	__atomic_fetch_sub(&guard->handing, 1, __ATOMIC_RELEASE);
	if (number < 0 && error != ENOENT)
		qsb__guard_answer(guard, id, -error);
	else if (number >= 0 && !at_once)
		qsb__guard_answer(guard, id, number);
}

/* Not for ever: a hand-over waits for its own caller, who may have been stopped. */
void qsb__guard_settle(const struct qsb__guard *guard)
{
	for (int i = 0; i < SETTLE_TIMES && __atomic_load_n(&guard->handing, __ATOMIC_ACQUIRE) > 0; i++)
		nanosleep(&(const struct timespec){.tv_nsec = SETTLE_NS}, NULL);
}

static void serve(struct qsb__stop *stop)
{
	struct qsb__guard *guard = stop->guard;
	int number = stop->call.data.nr;
	bool ours;
	long result = -EPERM;

	stop->seen_count = 0;
	stop->asked[0] = '\0';
	stop->told = false;
	qsb__umask_over(stop);
	if (qsb__guard_acts_alone(number))
		pthread_rwlock_wrlock(&guard->tree);
	else
		pthread_rwlock_rdlock(&guard->tree);
	ours = qsb__guard_perform(stop, &result);
	pthread_rwlock_unlock(&guard->tree);
	/* What is needed of it could not be opened here: nobody else would answer. */
	if (ours && result == QSB__STOP_GONE && qsb__stop_waits(stop))
		result = -ENFILE;
	if (ours && result < 0)
		qsb__guard_note_failure(stop, result);
	/* Before the answer: a copy of the caller's own descriptor would keep a file busy, or a lock held. */
	qsb__stop_close(stop);
	if (!ours) {
		pthread_mutex_lock(&guard->other_lock);
		guard->other(guard->context, &stop->call);
		pthread_mutex_unlock(&guard->other_lock);
	} else if (result >= 0 && qsb__guard_is_open(number)) {
		qsb__guard_hand_over(guard, stop->call.id, (int)result, qsb__guard_open_flags(&stop->call));
	} else if (result != QSB__STOP_GONE && result != QSB__STOP_LATER) {
		qsb__guard_answer(guard, stop->call.id, result);
	}
}

/* Is this thread to receive the next call? */
static bool take_turn(struct qsb__guard *guard)
{
	bool mine;

	pthread_mutex_lock(&guard->lock);
	mine = guard->idle == 0 && !guard->ending;
	guard->idle += mine;
	pthread_mutex_unlock(&guard->lock);
	return mine;
}

static void end_turn(struct qsb__guard *guard)
{
	pthread_mutex_lock(&guard->lock);
	guard->idle--;
	guard->received++;
	pthread_mutex_unlock(&guard->lock);
}

/* 1 = a call, 0 = nothing, -1 = every process of the sandbox is gone. Newer kernels end the wait then by themselves,
 * for older ones the wake signal does. */
static int receive(struct qsb__stop *stop)
{
	struct pollfd waiting = {.fd = stop->guard->listener, .events = POLLIN};

	memset(&stop->call, 0, sizeof(stop->call));
	if (ioctl(stop->guard->listener, SECCOMP_IOCTL_NOTIF_RECV, &stop->call) == 0)
		return 1;
	return poll(&waiting, 1, 0) > 0 && (waiting.revents & (POLLHUP | POLLERR | POLLNVAL)) ? -1 : 0;
}

static void leave(struct qsb__guard *guard)
{
	pthread_mutex_lock(&guard->lock);
	guard->threads--;
	pthread_cond_broadcast(&guard->ended);
	pthread_mutex_unlock(&guard->lock);
}

/* Changes one entry of the list. */
static bool note_thread(struct qsb__guard *guard, pid_t from, pid_t to)
{
	size_t i = 0;

	pthread_mutex_lock(&guard->lock);
	while (i < QSB__GUARD_THREADS && guard->ids[i] != from)
		i++;
	if (i < QSB__GUARD_THREADS)
		guard->ids[i] = to;
	pthread_mutex_unlock(&guard->lock);
	return i < QSB__GUARD_THREADS;
}

/* Of the first receiver: nobody answers then. Later ones only help. */
static void tell_failure(struct qsb__guard *guard, int error)
{
	uint64_t one = 1;

	pthread_mutex_lock(&guard->lock);
	if (!guard->watched)
		guard->receiver_error = error ? error : ENOMEM;
	pthread_mutex_unlock(&guard->lock);
	if (write(guard->denial_fd, &one, sizeof(one)) < 0)
		errno = 0; /* it is readable already */
}

static void *watch(void *argument);
static int start_thread(struct qsb__guard *guard, void *(*run)(void *));

static void *receiver(void *argument)
{
	struct qsb__guard *guard = argument;
	struct qsb__stop stop = {.guard = guard};
	int got = 0;

	stop.tasks = calloc(1, sizeof(*stop.tasks));
	if (stop.tasks && qsb__guard_thread_begin() && note_thread(guard, 0, gettid())) {
		stop.tasks->umask = stop.tasks->at = -1;
		stop.tasks->folder_age = ~0UL;
		while (got >= 0 && take_turn(guard)) {
			got = receive(&stop);
			end_turn(guard);
			if (got <= 0)
				continue;
			/* The first call's receiver is the only one. Without a watch, a call that hangs keeps the
			 * others waiting. */
			if (!guard->watched) {
				guard->watched = true;
				if (start_thread(guard, watch) != 0)
					errno = 0;
			}
			serve(&stop);
		}
		qsb__tasks_clear(stop.tasks);
		note_thread(guard, gettid(), 0);
	} else {
		tell_failure(guard, errno);
	}
	free(stop.tasks);
	leave(guard);
	return NULL;
}

static int start_thread(struct qsb__guard *guard, void *(*run)(void *))
{
	int error;

	pthread_mutex_lock(&guard->lock);
	guard->threads++;
	pthread_mutex_unlock(&guard->lock);
	error = qsb__thread_start(run, guard, THREAD_STACK);
	if (error != 0)
		leave(guard);
	return error;
}

static bool is_call_waiting(const struct qsb__guard *guard)
{
	struct pollfd waiting = {.fd = guard->listener, .events = POLLIN};

	return poll(&waiting, 1, 0) > 0 && (waiting.revents & POLLIN);
}

/* A receiver that only waits for a processor looks like one that hangs, and another one would wait for it, too: the
 * more there are, the longer nothing must have been received. */
static void *watch(void *argument)
{
	struct qsb__guard *guard = argument;
	struct pollfd end = {.fd = guard->stop_fd, .events = POLLIN};
	unsigned long seen = 0;
	unsigned looks = 0; /* at which all were busy, and nothing was received since the one before */
	bool busy = false;

	while (poll(&end, 1, busy ? BUSY_LOOK_MS : IDLE_LOOK_MS) <= 0) {
		unsigned others;
		bool stuck;

		pthread_mutex_lock(&guard->lock);
		looks = guard->idle == 0 && busy && guard->received == seen ? looks + 1 : 0;
		busy = guard->idle == 0;
		seen = guard->received;
		others = guard->threads - 1; /* without this one */
		stuck = looks >= (others < LOOKS_MOST ? others : LOOKS_MOST) && looks > 0 &&
			guard->threads < QSB__GUARD_THREADS;
		pthread_mutex_unlock(&guard->lock);
		if (!stuck || !is_call_waiting(guard))
			continue;
		/* Without another thread the calls wait longer, and nothing else. */
		if (start_thread(guard, receiver) != 0)
			busy = false;
		looks = 0;
	}
	leave(guard);
	return NULL;
}

/* The sandbox's paths may have something before them when its root is a mount within its namespace: what stands before
 * the "/proc" of its own /proc. */
static int find_root(struct qsb__guard *guard, int proc)
{
	static const char name[] = "/proc";
	char number[16];
	ssize_t length;

	snprintf(number, sizeof(number), "%d", proc);
	length = readlinkat(guard->proc_self_fd, number, guard->root, sizeof(guard->root) - 1);
	if (length < 0)
		return -errno;
	guard->root[length] = '\0';
	if ((size_t)length < sizeof(name) - 1 || strcmp(guard->root + length - (sizeof(name) - 1), name) != 0)
		return -ENOENT;
	guard->root_length = (size_t)length - (sizeof(name) - 1);
	guard->root[guard->root_length] = '\0';
	return 0;
}

int qsb__guard_start(struct qsb__guard *guard, int listener, int proc, qsb__guard_other other, void *context,
		     struct qsb_error *err)
{
	struct epoll_event calls = {.events = EPOLLIN}, denials = {.events = EPOLLIN};

	guard->listener = listener;
	guard->proc = proc;
	guard->other = other;
	guard->context = context;
	guard->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	/* Others wake by it as well, also where no call ever comes here. */
	guard->denial_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (guard->wait_fd < 0 || guard->denial_fd < 0 ||
	    epoll_ctl(guard->wait_fd, EPOLL_CTL_ADD, listener, &calls) != 0 ||
	    epoll_ctl(guard->wait_fd, EPOLL_CTL_ADD, guard->denial_fd, &denials) != 0)
		return qsb__fail_os(err, errno, "guard", "cannot wait for calls");
	return 0;
}

static int open_descriptors(struct qsb__guard *guard)
{
	guard->proc_self_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	guard->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return guard->proc_self_fd < 0 || guard->stop_fd < 0 ? -errno : 0;
}

static int begin(struct qsb__guard *guard, struct qsb_error *err)
{
	struct rlimit limit;
	int code = open_descriptors(guard);

	if (code != 0)
		return qsb__fail_os(err, -code, "guard", "cannot open what the guard needs");
	/* A command that has ended by now took its mounts with it. Should one still live, every call of it is refused.
	 */
	guard->rootless = find_root(guard, guard->proc) != 0;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (sigaction(qsb__guard_wake_signal(), &(const struct sigaction){.sa_handler = wake_up}, NULL) != 0)
		return qsb__fail_os(err, errno, "guard", "cannot take a signal");
	code = start_thread(guard, receiver);
	return code == 0 ? 0 : qsb__fail_os(err, code, "guard", "cannot start a thread");
}

int qsb__guard_serve(struct qsb__guard *guard, struct qsb_error *err)
{
	struct pollfd waiting = {.fd = guard->listener, .events = POLLIN};
	int error;

	if (guard->begun) {
		pthread_mutex_lock(&guard->lock);
		error = guard->receiver_error;
		pthread_mutex_unlock(&guard->lock);
		return error ? qsb__fail_os(err, error, "guard", "cannot make a thread of its own") : 0;
	}
	if (poll(&waiting, 1, 0) <= 0)
		return 0;
	epoll_ctl(guard->wait_fd, EPOLL_CTL_DEL, guard->listener, NULL);
	/* Every process of the sandbox is gone, and none has called. */
	if (!(waiting.revents & POLLIN))
		return 0;
	guard->begun = true;
	return begin(guard, err);
}

/* A thread may be about to wait when its signal comes: asked again until it has left. */
static void end_threads(struct qsb__guard *guard)
{
	pthread_mutex_lock(&guard->lock);
	guard->ending = true;
	while (guard->threads > 0 || guard->slow_threads > 0) {
		struct timespec until;

		for (size_t i = 0; i < QSB__GUARD_THREADS; i++)
			if (guard->ids[i])
				tgkill(getpid(), guard->ids[i], qsb__guard_wake_signal());
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += END_LOOK_NS;
		if (until.tv_nsec >= SECOND_NS) {
			until.tv_nsec -= SECOND_NS;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&guard->ended, &guard->lock, &until);
	}
	pthread_mutex_unlock(&guard->lock);
}

void qsb__guard_stop(struct qsb__guard *guard)
{
	uint64_t one = 1;

	if (guard->stop_fd >= 0 && write(guard->stop_fd, &one, sizeof(one)) == sizeof(one))
		end_threads(guard);
}

void qsb__guard_free(struct qsb__guard *guard)
{
	if (!guard)
		return;
	qsb__guard_stop(guard);
	for (int i = 0; i < 5; i++) {
		int fd = (int[]){guard->wait_fd, guard->stop_fd, guard->denial_fd, guard->proc_self_fd,
				 guard->root_fd}[i];

		if (fd >= 0)
			close(fd);
	}
	qsb__git_free(guard);
	qsb__names_free(guard->names);
	pthread_rwlock_destroy(&guard->tree);
	pthread_mutex_destroy(&guard->lock);
	pthread_mutex_destroy(&guard->other_lock);
	qsb__ledger_clear(&guard->denials);
	pthread_cond_destroy(&guard->ended);
	free(guard);
}
