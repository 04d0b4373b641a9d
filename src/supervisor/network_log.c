/* --network-log: each connection as a line of JSON, in a file of the caller's. */
#include <poll.h>
#include <stdio.h>

#include <jansson.h>

#include "core/cleanup.h"
#include "supervisor/internal.h"
#include "supervisor/result_json.h"

/* How long a reader behind a pipe gets for the last lines. */
enum { LAST_LINES_MS = 500, STEP_MS = 50 };

void qsb__network_log_open(struct qsb__supervisor *supervisor)
{
	qsb__lines_open(&supervisor->log, &supervisor->loop, supervisor->request->network_log_fd);
}

void qsb__network_log_add(struct qsb__supervisor *supervisor, const struct qsb__broker_event *event)
{
	struct qsb__line_queue *queue = &supervisor->log;
	QSB_CLEANUP_FREE char *line = NULL;
	json_t *json;

	if (queue->fd < 0)
		return;
	json = json_object();
	qsb__connection_to_json(json, event);
	json_object_set_new(json, "verdict",
			    json_string(!event->allowed ? "denied"
					: event->failed ? "failed"
							: "allowed"));
	if (queue->left_out > 0 || event->left_out > 0)
		json_object_set_new(json, "leftOut", json_integer((json_int_t)(queue->left_out + event->left_out)));
	line = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	supervisor->log_lost += event->left_out;
	if (!line || queue->os_error || !qsb__lines_add(queue, line)) {
		queue->left_out++;
		supervisor->log_lost++;
	} else {
		/* A line that was taken and could not be written. */
		queue->left_out = queue->os_error ? 1 : 0;
		supervisor->log_lost += queue->left_out;
	}
}

static size_t count_lines(const struct qsb__line_queue *queue)
{
	size_t count = 0;

	for (size_t i = 0; i < queue->length; i++)
		count += queue->text[i] == '\n';
	return count;
}

void qsb__network_log_close(struct qsb__supervisor *supervisor)
{
	struct qsb__line_queue *queue = &supervisor->log;

	if (queue->fd < 0)
		return;
	for (int waited = 0; queue->length > 0 && waited < LAST_LINES_MS; waited += STEP_MS) {
		struct pollfd state = {.fd = queue->fd, .events = POLLOUT};

		poll(&state, 1, STEP_MS);
		qsb__lines_flush(queue);
	}
	supervisor->result->log_lost = supervisor->log_lost + count_lines(queue);
	supervisor->result->log_error = queue->os_error;
	qsb__lines_close(queue);
}
