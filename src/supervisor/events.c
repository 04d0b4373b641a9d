/* What happens, told while it happens: one JSON object a line. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "core/cleanup.h"
#include "os/readiness.h"
#include "supervisor/internal.h"
#include "supervisor/result_json.h"

/* Beyond this, events are counted and not kept: their reader has stopped reading. */
enum { QUEUE_MAX = 256 * 1024, SAFE_WRITE = 4096 };

static void flush(struct qsb__line_queue *queue);

static void ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__supervisor *supervisor = handle->data;

	flush(&supervisor->events);
}

static bool can_write(int fd)
{
	struct pollfd state = {.fd = fd, .events = POLLOUT};

	return poll(&state, 1, 0) > 0;
}

static void flush(struct qsb__line_queue *queue)
{
	while (queue->length > 0 && can_write(queue->fd)) {
		ssize_t written =
			write(queue->fd, queue->text, queue->length < SAFE_WRITE ? queue->length : SAFE_WRITE);

		if (written < 0 && (errno == EINTR || errno == EAGAIN))
			break;
		if (written < 0) {
			queue->length = 0;
			break;
		}
		queue->length -= (size_t)written;
		memmove(queue->text, queue->text + written, queue->length);
	}
	if (queue->polled && queue->length == 0)
		uv_poll_stop(&queue->poll);
	else if (queue->polled)
		uv_poll_start(&queue->poll, UV_READABLE, ready);
}

static bool append(struct qsb__line_queue *queue, const char *line, size_t length)
{
	if (queue->length + length + 1 > QUEUE_MAX)
		return false;
	if (queue->length + length + 1 > queue->room) {
		size_t room = queue->length + length + 1 + SAFE_WRITE;
		char *text = realloc(queue->text, room);

		if (!text)
			return false;
		queue->text = text;
		queue->room = room;
	}
	memcpy(queue->text + queue->length, line, length);
	queue->length += length;
	queue->text[queue->length++] = '\n';
	return true;
}

/* Takes over the reference to `event`. */
static void send_event(struct qsb__supervisor *supervisor, json_t *event)
{
	struct qsb__line_queue *queue = &supervisor->events;
	QSB_CLEANUP_FREE char *line = NULL;

	if (!event)
		return;
	if (queue->left_out > 0)
		json_object_set_new(event, "eventsLeftOut", json_integer((json_int_t)queue->left_out));
	line = json_dumps(event, JSON_COMPACT);
	json_decref(event);
	if (line && append(queue, line, strlen(line)))
		queue->left_out = 0;
	else
		queue->left_out++;
	flush(queue);
}

void qsb__events_open(struct qsb__supervisor *supervisor)
{
	struct qsb__line_queue *queue = &supervisor->events;
	int watcher;

	queue->fd = supervisor->request->events_fd;
	if (queue->fd < 0)
		return;
	watcher = qsb__readiness_open(queue->fd, true);
	queue->polled = watcher >= 0 && uv_poll_init(&supervisor->loop, &queue->poll, watcher) == 0;
	queue->poll.data = supervisor;
}

void qsb__events_started(struct qsb__supervisor *supervisor)
{
	if (supervisor->events.fd >= 0)
		send_event(supervisor,
			   json_pack("{s:s, s:s, s:s, s:s}", "event", "started", "backend",
				     supervisor->request->backend->name, "workspace",
				     supervisor->request->plan->workspace, "cwd", supervisor->request->plan->cwd));
}

void qsb__events_denial(struct qsb__supervisor *supervisor, const struct qsb__denial *denial)
{
	json_t *event;

	if (supervisor->events.fd < 0)
		return;
	event = json_object();
	json_object_set_new(event, "event", json_string("denial"));
	json_object_set_new(event, "denial", qsb__denial_to_json(denial));
	send_event(supervisor, event);
}

void qsb__events_ended(struct qsb__supervisor *supervisor)
{
	const struct qsb__result *result = supervisor->result;

	if (supervisor->events.fd >= 0)
		send_event(supervisor,
			   json_pack("{s:s, s:i, s:b, s:b}", "event", "ended", "exitCode", result->exit_code,
				     "timedOut", result->timed_out, "outOfMemory", result->out_of_memory));
}

void qsb__events_close(struct qsb__supervisor *supervisor)
{
	free(supervisor->events.text);
	supervisor->events.text = NULL;
}
