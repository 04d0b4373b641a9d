/*
 * Moves bytes between descriptors that were given to us and may be anything: pipes, terminals, files. A write never
 * waits (a reader that stopped reading must not stop the timeout), and the mode of the caller's descriptors is never
 * changed (other processes share them).
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cleanup.h"
#include "os/readiness.h"
#include "supervisor/internal.h"

/* POSIX: a pipe that polls writable takes this much without waiting. */
enum { SAFE_WRITE = 4096, LAST_WAIT_MS = 1000, REST_MAX = 64 * 1024 };

static void read_ready(uv_poll_t *handle, int status, int events);
static void pump_ready(uv_idle_t *handle);

static bool is_readable(int fd)
{
	struct pollfd state = {.fd = fd, .events = POLLIN};

	return poll(&state, 1, 0) > 0;
}

static bool is_writable(int fd)
{
	struct pollfd state = {.fd = fd, .events = POLLOUT};

	return poll(&state, 1, 0) > 0;
}

static bool wait_writable(int fd)
{
	struct pollfd state = {.fd = fd, .events = POLLOUT};

	return poll(&state, 1, LAST_WAIT_MS) > 0 && (state.revents & POLLOUT);
}

static void listen_to_source(struct qsb__stream *stream, bool on)
{
	if (stream->reading == on || !stream->open)
		return;
	stream->reading = on;
	if (stream->from_pollable && on)
		uv_poll_start(&stream->source, UV_READABLE, read_ready);
	else if (stream->from_pollable)
		uv_poll_stop(&stream->source);
	else if (on)
		uv_idle_start(&stream->pump, pump_ready);
	else
		uv_idle_stop(&stream->pump);
}

static void end_source(struct qsb__stream *stream)
{
	if (!stream->open)
		return;
	listen_to_source(stream, false);
	stream->open = false;
	if (stream->ended)
		stream->ended(stream);
	qsb__supervisor_settle(stream->supervisor);
}

/* Nobody reads any more: the rest is swallowed, as a shell's pipeline does after its reader is gone. */
static void give_up_sink(struct qsb__stream *stream)
{
	if (stream->to_pollable)
		uv_poll_stop(&stream->sink);
	stream->to = -1;
	stream->length = stream->offset = 0;
	if (!stream->keeper)
		end_source(stream);
	else
		listen_to_source(stream, true);
}

static void write_pending(struct qsb__stream *stream)
{
	while (stream->offset < stream->length && is_writable(stream->to)) {
		size_t part = stream->length - stream->offset;
		ssize_t written =
			write(stream->to, stream->buffer + stream->offset, part < SAFE_WRITE ? part : SAFE_WRITE);

		if (written < 0 && (errno == EINTR || errno == EAGAIN))
			return;
		if (written < 0) {
			give_up_sink(stream);
			return;
		}
		stream->offset += (size_t)written;
	}
}

static void sink_ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__stream *stream = handle->data;

	if (status < 0) {
		give_up_sink(stream);
		return;
	}
	write_pending(stream);
	if (stream->offset == stream->length && stream->to >= 0) {
		uv_poll_stop(&stream->sink);
		listen_to_source(stream, true);
		qsb__supervisor_settle(stream->supervisor);
	}
}

/* What of `length` bytes may still go on. */
static size_t within_limit(struct qsb__stream *stream, size_t length)
{
	uint64_t left;

	if (!stream->limit)
		return length;
	left = stream->limit > stream->passed ? stream->limit - stream->passed : 0;
	stream->passed += length;
	if (length <= left)
		return length;
	if (stream->keeps_rest)
		qsb__keeper_add(&stream->rest, stream->buffer + left, length - (size_t)left);
	return (size_t)left;
}

static void stop_at_limit(struct qsb__stream *stream)
{
	const struct qsb__run_request *request = stream->supervisor->request;
	bool over =
		stream->limit ? stream->passed > stream->limit : stream->keeper && qsb__keeper_is_over(stream->keeper);

	if (!over || request->plan->output_action != QSB__OUTPUT_KILL)
		return;
	qsb__deny_limit(stream->supervisor, "output", "/limits/output", "--output SIZE");
	request->backend->kill(stream->supervisor->sandbox);
}

static void take(struct qsb__stream *stream, size_t length)
{
	if (stream->keeper)
		qsb__keeper_add(stream->keeper, stream->buffer, length);
	stop_at_limit(stream);
	if (stream->to < 0)
		return;
	stream->offset = 0;
	stream->length = within_limit(stream, length);
	write_pending(stream);
	if (stream->offset < stream->length && stream->to >= 0 && stream->to_pollable) {
		listen_to_source(stream, false);
		uv_poll_start(&stream->sink, UV_READABLE, sink_ready);
	}
}

/* False: nothing there now, or the end. */
static bool read_some(struct qsb__stream *stream)
{
	ssize_t length;

	if (!is_readable(stream->from))
		return false;
	length = read(stream->from, stream->buffer, QSB__STREAM_BUFFER);
	if (length < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	/* EIO: the last inner end of a pseudo-terminal was closed. */
	if (length <= 0) {
		end_source(stream);
		return false;
	}
	take(stream, (size_t)length);
	return true;
}

static void read_ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__stream *stream = handle->data;

	if (status < 0)
		end_source(stream);
	else
		read_some(stream);
}

static void pump_ready(uv_idle_t *handle)
{
	read_some(handle->data);
}

bool qsb__stream_finish(struct qsb__stream *stream)
{
	bool over = stream->rest.total > 0;
	bool lost = qsb__keeper_is_over(&stream->rest);
	struct qsb__capture end;
	size_t at = 0;

	if (!over)
		return stream->limit && stream->passed > stream->limit;
	qsb__keeper_take(&stream->rest, &end);
	/* At its end a run may wait for a reader a little, not for ever. */
	while (at < end.length && stream->to >= 0 && wait_writable(stream->to)) {
		size_t part = end.length - at < SAFE_WRITE ? end.length - at : SAFE_WRITE;
		ssize_t written = write(stream->to, end.data + at, part);

		if (written < 0)
			break;
		at += (size_t)written;
	}
	free(end.data);
	return lost;
}

/*
 * What passes is bounded by the limit as a whole: the last part of it is kept back for the end of the output. A command
 * that is stopped at its limit has no end worth showing.
 */
static void divide_limit(struct qsb__stream *stream)
{
	bool stops = stream->supervisor->request->plan->output_action == QSB__OUTPUT_KILL;
	uint64_t rest = stops ? 0 : stream->limit / 4 < REST_MAX ? stream->limit / 4 : REST_MAX;

	qsb__keeper_init(&stream->rest, rest, true);
	stream->limit -= rest;
	stream->keeps_rest = rest > 0;
}

int qsb__stream_start(struct qsb__stream *stream, struct qsb__supervisor *supervisor, int from, int to)
{
	stream->buffer = malloc(QSB__STREAM_BUFFER);
	if (!stream->buffer)
		return QSB_E_MEMORY;
	stream->supervisor = supervisor;
	if (stream->limit)
		divide_limit(stream);
	stream->from = from;
	stream->to = to;
	stream->open = true;
	/* A plain file cannot be polled: it is always ready. */
	stream->from_ready = qsb__readiness_open(from, false);
	stream->to_ready = to >= 0 ? qsb__readiness_open(to, true) : -1;
	stream->from_pollable =
		stream->from_ready >= 0 && uv_poll_init(&supervisor->loop, &stream->source, stream->from_ready) == 0;
	stream->to_pollable =
		stream->to_ready >= 0 && uv_poll_init(&supervisor->loop, &stream->sink, stream->to_ready) == 0;
	if (!stream->from_pollable)
		uv_idle_init(&supervisor->loop, &stream->pump);
	stream->source.data = stream->pump.data = stream->sink.data = stream;
	listen_to_source(stream, true);
	return 0;
}

bool qsb__stream_is_busy(const struct qsb__stream *stream)
{
	return stream->buffer && (stream->open || (stream->to >= 0 && stream->offset < stream->length));
}

void qsb__stream_close(struct qsb__stream *stream, bool drop)
{
	if (!stream->buffer)
		return;
	if (drop)
		give_up_sink(stream);
	end_source(stream);
}

void qsb__stream_stop(struct qsb__stream *stream)
{
	if (!stream->buffer)
		return;
	stream->ended = NULL;
	end_source(stream);
	if (stream->to_pollable)
		uv_poll_stop(&stream->sink);
	if (stream->from_ready >= 0)
		close(qsb__take_fd(&stream->from_ready));
	if (stream->to_ready >= 0)
		close(qsb__take_fd(&stream->to_ready));
	free(stream->buffer);
	stream->buffer = NULL;
}
