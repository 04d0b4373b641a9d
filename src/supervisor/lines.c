/* Lines for somebody who may be slow: bounded, and never waited for. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/readiness.h"
#include "supervisor/internal.h"

/* Beyond this, lines are not kept: their reader has stopped reading. */
enum { QUEUE_MAX = 256 * 1024, SAFE_WRITE = 4096 };

static void ready(uv_poll_t *handle, int status, int events)
{
	qsb__lines_flush(handle->data);
}

static bool can_write(int fd)
{
	struct pollfd state = {.fd = fd, .events = POLLOUT};

	return poll(&state, 1, 0) > 0;
}

void qsb__lines_flush(struct qsb__line_queue *queue)
{
	while (queue->length > 0 && can_write(queue->fd)) {
		ssize_t written =
			write(queue->fd, queue->text, queue->length < SAFE_WRITE ? queue->length : SAFE_WRITE);

		if (written < 0 && (errno == EINTR || errno == EAGAIN))
			break;
		if (written < 0) {
			queue->os_error = errno;
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

bool qsb__lines_add(struct qsb__line_queue *queue, const char *line)
{
	bool kept = append(queue, line, strlen(line));

	qsb__lines_flush(queue);
	return kept;
}

void qsb__lines_open(struct qsb__line_queue *queue, uv_loop_t *loop, int fd)
{
	int watcher;

	queue->fd = fd;
	if (fd < 0)
		return;
	watcher = qsb__readiness_open(fd, true);
	queue->polled = watcher >= 0 && uv_poll_init(loop, &queue->poll, watcher) == 0;
	queue->poll.data = queue;
}

void qsb__lines_close(struct qsb__line_queue *queue)
{
	free(queue->text);
	queue->text = NULL;
	queue->length = queue->room = 0;
}
