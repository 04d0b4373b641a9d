/* The descriptors of a process, each of them as fast as its slower side. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "addon.h"

enum { MOST_PIECES = 8, PIPE_ROOM = 256 * 1024 };

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
	if (source->roomy)
		return;
	source->roomy = true;
	fcntl(source->watch.fd, F_SETPIPE_SZ, PIPE_ROOM);
}

/* One piece. false: there is none now, or no more. */
static bool read_piece(struct source *source)
{
	struct event *event = event_new(source->watch.process, source->kind, NULL, PIECE);
	struct event *smaller;
	ssize_t got;

	if (!event) {
		end_source(source, ENOMEM);
		return false;
	}
	got = read(source->watch.fd, event->data, PIECE);
	if (got <= 0) {
		int reason = got < 0 ? errno : 0;

		free(event);
		if (reason != EAGAIN && reason != EINTR)
			end_source(source, reason);
		return false;
	}
	if (got == PIECE)
		give_room(source);
	else if ((smaller = realloc(event, sizeof(*event) + (size_t)got)) != NULL)
		event = smaller;
	event->length = (size_t)got;
	source->unread += (size_t)got;
	queue_event(source->watch.process->environment, event);
	return got == PIECE;
}

static void source_ready(struct watch *watch)
{
	struct source *source = (struct source *)watch;

	for (int i = 0; i < MOST_PIECES && source->unread < MOST_UNREAD; i++)
		if (!read_piece(source))
			return;
	if (source->unread >= MOST_UNREAD)
		watch_set(watch, EPOLLIN, false);
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
	if (source->unread < MOST_UNREAD)
		watch_set(&source->watch, EPOLLIN, true);
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
