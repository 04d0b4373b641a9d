/* What happens, told while it happens: one JSON object a line. */
#include <string.h>

#include <jansson.h>

#include "core/cleanup.h"
#include "supervisor/internal.h"
#include "supervisor/result_json.h"

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
	if (line && qsb__lines_add(queue, line))
		queue->left_out = 0;
	else
		queue->left_out++;
}

void qsb__events_open(struct qsb__supervisor *supervisor)
{
	qsb__lines_open(&supervisor->events, &supervisor->loop, supervisor->request->events_fd);
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

void qsb__events_finding(struct qsb__supervisor *supervisor, const struct qsb__finding *finding)
{
	if (supervisor->events.fd >= 0)
		send_event(supervisor,
			   json_pack("{s:s, s:o}", "event", "finding", "finding", qsb__finding_to_json(finding)));
}

void qsb__events_ended(struct qsb__supervisor *supervisor)
{
	const struct qsb__result *result = supervisor->result;

	if (supervisor->events.fd >= 0)
		send_event(supervisor,
			   json_pack("{s:s, s:i, s:b, s:b}", "event", "ended", "exitCode", result->exit_code,
				     "timedOut", result->timed_out, "outOfMemory", result->out_of_memory));
}

void qsb__events_connection(struct qsb__supervisor *supervisor, const struct qsb__broker_event *event)
{
	json_t *json;

	if (supervisor->events.fd < 0)
		return;
	json = json_pack("{s:s}", "event", "connection");
	qsb__connection_to_json(json, event);
	json_object_set_new(json, "allowed", json_boolean(event->allowed));
	json_object_set_new(json, "failed", json_boolean(event->failed));
	send_event(supervisor, json);
}

void qsb__events_request(struct qsb__supervisor *supervisor, const struct qsb__broker_event *event)
{
	if (supervisor->events.fd >= 0)
		send_event(supervisor, json_pack("{s:s, s:I, s:s, s:i, s:s}", "event", "networkRequest", "id",
						 (json_int_t)event->id, "host", event->host, "port", (int)event->port,
						 "way", qsb__way_name(event->way)));
}

void qsb__events_close(struct qsb__supervisor *supervisor)
{
	qsb__lines_close(&supervisor->events);
}
