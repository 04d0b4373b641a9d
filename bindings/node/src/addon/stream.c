/* The descriptors of a process, each of them as fast as its slower side. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "addon.h"

enum { MOST_PIECES = 4, PIPE_ROOM = 512 * 1024, BUSY = 1024 * 1024, REST_US = 100 };

static void set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	/* This process's end alone: a pipe's ends have modes of their own. */
	if (flags >= 0)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static void end_source(struct source *source, int reason)
{
	struct event *event = event_new(source->watch.process, source->end, NULL, 0);

	watch_close(&source->watch);
	if (event)
		event->value = reason;
	/* The lines' end tells nothing that the process's end does not. */
	if (source->kind == EVENT_LINES)
		free(event);
	else
		queue_event(source->watch.process->environment, event);
	process_settle(source->watch.process);
}

/* A busy stream is given a larger pipe: fewer turns for the same bytes. Where the user's share of such room is used up,
 * the pipe stays as it is. */
static void give_room(struct source *source)
{
	if (source->roomy || source->total < BUSY)
		return;
	source->roomy = true;
	fcntl(source->watch.fd, F_SETPIPE_SZ, PIPE_ROOM);
}

static size_t piece_size(int fd)
{
	int there = 0;

	/* At the end of the stream there is nothing, and something has to be read to see it. */
	if (ioctl(fd, FIONREAD, &there) < 0 || there <= 0)
		return 1;
	return there < PIECE ? (size_t)there : PIECE;
}

/* One piece. false: there is none now, or no more. */
static bool read_piece(struct source *source)
{
	size_t size = piece_size(source->watch.fd);
	struct event *event = event_new(source->watch.process, source->kind, NULL, size);
	ssize_t got;

	if (!event) {
		end_source(source, ENOMEM);
		return false;
	}
	got = read(source->watch.fd, event->data, size);
	if (got <= 0) {
		int reason = got < 0 ? errno : 0;

		free(event);
		if (reason != EAGAIN && reason != EINTR)
			end_source(source, reason);
		return false;
	}
	event->length = (size_t)got;
	source->unread += (size_t)got;
	source->total += (size_t)got;
	give_room(source);
	queue_event(source->watch.process->environment, event);
	return true;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Whoever writes in small pieces without a pause would be read in small pieces, each of them a turn of two threads. Its
 * pipe fills meanwhile. What comes after a pause is read at once. */
static void rest(struct source *source)
{
	static const struct itimerspec due = {.it_value = {.tv_nsec = REST_US * 1000L}};
	struct environment *environment = source->watch.process->environment;
	uint64_t now = now_us();
	bool soon = now - source->read_at < REST_US;

	source->read_at = now;
	if (!soon)
		return;
	/* One timer for all: whoever comes later rests less. */
	if (!environment->rest_is_due && timerfd_settime(environment->rest.fd, 0, &due, NULL) < 0)
		return;
	environment->rest_is_due = source->resting = true;
	watch_set(&source->watch, EPOLLIN, false);
}

static void go_on(struct source *source)
{
	bool on = !source->resting && source->unread < MOST_UNREAD;

	watch_set(&source->watch, EPOLLIN, on);
}

void sources_wake(struct watch *timer)
{
	struct environment *environment =
		(struct environment *)(void *)((char *)timer - offsetof(struct environment, rest));
	uint64_t count;

	if (read(timer->fd, &count, sizeof(count)) < 0)
		return;
	environment->rest_is_due = false;
	for (struct process *process = environment->processes; process; process = process->next) {
		process->out.resting = process->err.resting = false;
		go_on(&process->out);
		go_on(&process->err);
	}
}

static void source_ready(struct watch *watch)
{
	struct source *source = (struct source *)watch;

	for (int i = 0; i < MOST_PIECES && source->unread < MOST_UNREAD; i++)
		if (!read_piece(source))
			break;
	if (source->watch.fd >= 0 && source->kind != EVENT_LINES)
		rest(source);
	go_on(source);
}

void source_open(struct source *source, struct process *process, enum event_kind kind, enum event_kind end)
{
	source->watch.process = process;
	source->watch.ready = source_ready;
	source->kind = kind;
	source->end = end;
	if (source->watch.fd < 0)
		return;
	set_nonblocking(source->watch.fd);
	watch_set(&source->watch, EPOLLIN, true);
}

void source_credit(struct source *source, size_t bytes)
{
	source->unread -= bytes < source->unread ? bytes : source->unread;
	go_on(source);
}

void source_finish(struct source *source)
{
	while (source->watch.fd >= 0 && read_piece(source))
		continue;
	if (source->watch.fd >= 0)
		end_source(source, 0);
}

/* -- The other way.
 * ---------------------------------------------------------------------------------------------------- */

static void drop_piece(struct sink *sink, int reason)
{
	struct order *piece = sink->pieces;
	struct event *event = event_new(sink->watch.process, EVENT_WRITTEN, NULL, 0);

	sink->pieces = piece->next;
	if (!sink->pieces)
		sink->last = NULL;
	sink->offset = 0;
	order_free(piece);
	if (event)
		event->value = reason;
	queue_event(sink->watch.process->environment, event);
}

static void write_pieces(struct sink *sink)
{
	while (sink->pieces && sink->watch.fd >= 0) {
		struct order *piece = sink->pieces;
		ssize_t put = write(sink->watch.fd, piece->data + sink->offset, piece->length - sink->offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0 && errno == EAGAIN)
			break;
		if (put < 0) {
			int reason = errno;

			watch_close(&sink->watch);
			drop_piece(sink, reason);
			break;
		}
		sink->offset += (size_t)put;
		if (sink->offset == piece->length)
			drop_piece(sink, 0);
	}
	/* Nobody reads it: what was still to come has failed, too. */
	while (sink->pieces && sink->watch.fd < 0)
		drop_piece(sink, EPIPE);
	watch_set(&sink->watch, EPOLLOUT, sink->pieces != NULL);
	if (sink->end && !sink->pieces)
		watch_close(&sink->watch);
}

static void sink_ready(struct watch *watch)
{
	write_pieces((struct sink *)watch);
}

void sink_open(struct sink *sink, struct process *process)
{
	sink->watch.process = process;
	sink->watch.ready = sink_ready;
	if (sink->watch.fd >= 0)
		set_nonblocking(sink->watch.fd);
}

void sink_add(struct sink *sink, struct order *piece)
{
	piece->next = NULL;
	if (sink->last)
		sink->last->next = piece;
	else
		sink->pieces = piece;
	sink->last = piece;
	write_pieces(sink);
}

void sink_finish(struct sink *sink)
{
	sink->end = true;
	write_pieces(sink);
}

void sink_clear(struct sink *sink)
{
	watch_close(&sink->watch);
	orders_free(sink->pieces);
	sink->pieces = sink->last = NULL;
}
