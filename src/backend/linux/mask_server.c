/*
 * Answers what the command asks of its masks. A thread of its own: nobody who opens a masked file waits for what else
 * the supervisor does, and a flood of such opens keeps nobody else waiting. Whoever asks waits for the answer, so it is
 * there to be named; a refusal that is known is counted only.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/linux/masks.h"
#include "backend/linux/proc_status.h"
#include "backend/linux/refusals.h"
#include "core/cleanup.h"
#include "os/capabilities.h"
#include "os/descriptors.h"
#include "os/threads.h"
#include "plan/plan.h"

enum { STACK_BYTES = 128 * 1024, MORE_TURNS = 100, NAMES_OF_A_FOLDER = 16 };

struct qsb__mask_server {
	pthread_mutex_t lock;
	const struct qsb__mask_list *masks; /* under the lock; NULL: the sandbox is no more */
	int from, stop, device;
	int fds[QSB__MASK_FD_COUNT]; /* -1 = not taken yet */
	bool more;                   /* the next request is on its way */
	atomic_uint users;           /* who frees it: the last one */
	size_t size;                 /* of all this: it is mapped */
	unsigned char names[];       /* by mask: how many names in it were told */
};

static bool take(const struct qsb__mask_server *server, int *fds, size_t count)
{
	char nothing;
	const struct iovec data = {.iov_base = &nothing, .iov_len = sizeof(nothing)};
	size_t taken = count;

	return qsb__descriptors_receive(server->from, &data, fds, &taken, MSG_DONTWAIT) > 0 && taken == count;
}

/* Its number is the one that the sandbox's own processes see, as is this /proc. */
static void name_caller(struct qsb__mask_server *server, pid_t thread, struct qsb__denial *denial)
{
	char path[32], text[QSB__STATUS_BYTES];

	snprintf(path, sizeof(path), "%d/status", (int)thread);
	denial->pid = thread;
	if (server->fds[QSB__MASK_FD_PROC] < 0 && !take(server, server->fds, QSB__MASK_FD_COUNT))
		return;
	if (!qsb__status_read(server->fds[QSB__MASK_FD_PROC], path, text))
		return;
	qsb__status_name(text, denial->process, sizeof(denial->process));
	denial->pid = (int)qsb__status_number(text, "Tgid", 10);
}

/* Seen from outside, where no mask stands in the way. */
static void explain(const struct qsb__mask_server *server, const struct qsb__mask *mask, const char *path,
		    struct qsb__denial *denial)
{
	struct stat status;
	size_t there = lstat(path, &status) == 0 ? strlen(path) : strlen(mask->path);

	/* The rule of another place where the host shows the same is not found by that place's name. */
	if (!qsb__denial_explain(denial, server->masks->plan, path, there, QSB__ACCESS_READ))
		snprintf(denial->rule, sizeof(denial->rule), "%.200s", mask->rule);
}

/* A folder stands for all further names in it: who tries one after the other must not push out what else is refused. */
static bool is_told(struct qsb__mask_server *server, const struct qsb__mask_event *event, struct qsb__denial *denial)
{
	char all[PATH_MAX + sizeof("/*")];

	if (qsb__refusal_is_told(denial))
		return true;
	if (!event->name[0] || server->names[event->mask]++ < NAMES_OF_A_FOLDER)
		return false;
	server->names[event->mask]--;
	snprintf(all, sizeof(all), "%.*s/*", PATH_MAX, server->masks->list[event->mask].path);
	qsb__denial_set_target(denial, all);
	return qsb__refusal_is_told(denial);
}

static void report(struct qsb__mask_server *server, const struct qsb__mask_event *event)
{
	static const char *const operations[] = {
		[QSB__MASK_READ] = "read", [QSB__MASK_LIST] = "list", [QSB__MASK_ENTER] = "enter"};
	const struct qsb__mask *mask = &server->masks->list[event->mask];
	char path[PATH_MAX + NAME_MAX + 2];
	struct qsb__denial denial;

	snprintf(path, sizeof(path), "%.*s%s%s", PATH_MAX, mask->path, event->name[0] ? "/" : "", event->name);
	qsb__denial_begin(&denial, "file", operations[event->wish]);
	qsb__denial_set_target(&denial, path);
	if (is_told(server, event, &denial))
		return;
	explain(server, mask, path, &denial);
	name_caller(server, event->thread, &denial);
	qsb__refusal_add(&denial);
}

/* 0, or the errno of a device that is no more. */
static int answer(struct qsb__mask_server *server, const void *request, size_t length)
{
	char text[QSB__MASK_BYTES];
	struct qsb__mask_event event;

	length = qsb__mask_answer(server->masks, request, length, text, &event);
	/* What the guard asks on somebody's behalf comes from outside, without a number, and is the guard's to tell. */
	if (event.wish != QSB__MASK_NOTHING && event.thread > 0)
		report(server, &event);
	server->more = event.more;
	return length > 0 && write(server->device, text, length) < 0 && errno != ENOENT && errno != EINVAL ? errno : 0;
}

/* The same. Whatever is read when the sandbox is no more was asked by nobody who waits. */
static int serve(struct qsb__mask_server *server)
{
	char request[QSB__MASK_BYTES];
	ssize_t length = read(server->device, request, sizeof(request));
	int error = ENODEV;

	/* ENOENT: who asked is gone. */
	if (length < 0)
		return errno == EAGAIN || errno == EINTR || errno == ENOENT ? 0 : errno;
	pthread_mutex_lock(&server->lock);
	if (server->masks)
		error = answer(server, request, (size_t)length);
	pthread_mutex_unlock(&server->lock);
	return error;
}

static void drop_privileges(void)
{
	/* It needs none: without them, or with, it does the same. */
	if (!qsb__capabilities_drop())
		errno = 0;
}

/* False: the sandbox has no masks that tell, or is no more. */
static bool receive(struct qsb__mask_server *server)
{
	struct pollfd waiting[] = {{.fd = server->from, .events = POLLIN}, {.fd = server->stop, .events = POLLIN}};

	while (poll(waiting, 2, -1) < 0 && errno == EINTR)
		;
	return !waiting[1].revents && take(server, &server->device, 1);
}

static void answer_all(struct qsb__mask_server *server)
{
	struct pollfd waiting[] = {{.fd = server->device, .events = POLLIN}, {.fd = server->stop, .events = POLLIN}};
	int error = 0;

	while (error == 0 && (poll(waiting, 2, -1) > 0 || errno == EINTR)) {
		/* Whatever still asks is of a sandbox that is no more. */
		if (waiting[1].revents)
			return;
		error = waiting[0].revents & POLLIN ? serve(server) : waiting[0].revents ? ENODEV : 0;
		/* The child waits for all names: who slept in between would keep it waiting. */
		for (unsigned i = 0; error == 0 && server->more && i < MORE_TURNS; i++) {
			/* It may wait for this very processor. */
			sched_yield();
			error = serve(server);
		}
	}
}

/* The allocator would first make an arena for the thread, at the very end. */
static void leave(struct qsb__mask_server *server)
{
	if (atomic_fetch_sub(&server->users, 1) > 1)
		return;
	close(server->stop);
	pthread_mutex_destroy(&server->lock);
	munmap(server, server->size);
}

static void close_all(struct qsb__mask_server *server)
{
	close(qsb__take_fd(&server->from));
	/* The device too: nobody may wait for an answer that will not come. */
	if (server->device >= 0)
		close(qsb__take_fd(&server->device));
	for (size_t i = 0; i < QSB__MASK_FD_COUNT; i++)
		if (server->fds[i] >= 0)
			close(qsb__take_fd(&server->fds[i]));
}

static void *run(void *argument)
{
	struct qsb__mask_server *server = argument;

	drop_privileges();
	if (receive(server))
		answer_all(server);
	close_all(server);
	leave(server);
	return NULL;
}

struct qsb__mask_server *qsb__mask_server_start(const struct qsb__mask_list *masks, int from)
{
	size_t size = sizeof(struct qsb__mask_server) + masks->count;
	struct qsb__mask_server *server = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (server != MAP_FAILED && stop >= 0) {
		*server = (struct qsb__mask_server){.masks = masks,
						    .from = from,
						    .stop = stop,
						    .device = -1,
						    .fds = {-1, -1},
						    .users = 2,
						    .size = size};
		pthread_mutex_init(&server->lock, NULL);
		if (qsb__thread_start(run, server, STACK_BYTES) == 0)
			return server;
	}
	close(from);
	if (stop >= 0)
		close(stop);
	if (server != MAP_FAILED)
		munmap(server, size);
	return NULL;
}

void qsb__mask_server_free(struct qsb__mask_server *server)
{
	uint64_t one = 1;

	if (!server)
		return;
	/* Waits for the answer on hand at most; to close the device takes longer, and is the thread's. */
	pthread_mutex_lock(&server->lock);
	server->masks = NULL;
	pthread_mutex_unlock(&server->lock);
	/* Cannot fail: the counter is far from full. */
	if (write(server->stop, &one, sizeof(one)) == sizeof(one))
		leave(server);
}
