/*
 * The broker as the supervisor sees it. It reads hostile bytes and may be in somebody else's hands: what it says is
 * checked here, and never waited for without a bound.
 */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "supervisor/internal.h"

enum { LAST_WORDS_MS = 2500, EVENTS_AT_ONCE = 64 };

/* ---- what it says ---- */

static void add_up(uint64_t *sum, uint64_t more)
{
	*sum = *sum > INT64_MAX / 2 ? *sum : *sum + more;
}

static void count(struct qsb__traffic *traffic, const struct qsb__broker_event *event)
{
	traffic->connections++;
	traffic->denied += !event->allowed;
	traffic->failed += event->allowed && event->failed;
	add_up(&traffic->sent, event->sent);
	add_up(&traffic->received, event->received);
}

static void deny(struct qsb__supervisor *supervisor, const struct qsb__broker_event *event)
{
	bool lookup = event->kind == QSB__BROKER_LOOKUP;
	bool brackets = !lookup && strchr(event->host, ':');
	struct qsb__denial denial;

	qsb__denial_begin(&denial, "network", lookup ? "lookup" : "connect");
	snprintf(denial.target, sizeof(denial.target), "%s%s%s", brackets ? "[" : "", event->host, brackets ? "]" : "");
	if (!lookup)
		snprintf(denial.target + strlen(denial.target), 8, ":%u", event->port);
	snprintf(denial.rule, sizeof(denial.rule), "%.127s", event->rule);
	if (supervisor->request->backend->name_client)
		supervisor->request->backend->name_client(supervisor->sandbox, event->client_port, &denial);
	/* Half an option is worse than none. */
	if (strlen(event->suggestion) < sizeof(denial.suggestion))
		memcpy(denial.suggestion, event->suggestion, strlen(event->suggestion));
	qsb__deny(supervisor, &denial);
}

static void take_event(struct qsb__supervisor *supervisor, const struct qsb__broker_event *event)
{
	supervisor->result->traffic.left_out += event->left_out;
	switch (event->kind) {
	case QSB__BROKER_FAILED:
		if (!supervisor->broker_error.code)
			supervisor->broker_error = event->error;
		break;
	case QSB__BROKER_CONNECTION:
		count(&supervisor->result->traffic, event);
		qsb__network_log_add(supervisor, event);
		if (supervisor->request->connected)
			supervisor->request->connected(supervisor->request->connected_context, event);
		qsb__events_connection(supervisor, event);
		if (!event->allowed)
			deny(supervisor, event);
		break;
	case QSB__BROKER_LOOKUP:
		qsb__network_log_add(supervisor, event);
		deny(supervisor, event);
		break;
	default:
		if (supervisor->request->ask_network)
			qsb__events_request(supervisor, event);
		else
			qsb__broker_answer(&supervisor->broker, event->id, QSB__ANSWER_DENY);
	}
}

/* ---- its life ---- */

static void stop_watching(struct qsb__supervisor *supervisor)
{
	supervisor->broker_serves = false;
	uv_poll_stop(&supervisor->broker_poll);
	uv_timer_stop(&supervisor->broker_bound);
	qsb__supervisor_settle(supervisor);
}

/*
 * The command goes on: its connections are dead, and it has no way to others. To kill it would not be safer, and would
 * lose what it still can do.
 */
static void note_loss(struct qsb__supervisor *supervisor)
{
	struct qsb__denial denial;

	supervisor->result->broker_lost = true;
	supervisor->result->broker_error = supervisor->broker_error;
	qsb__denial_begin(&denial, "network", "broker");
	snprintf(denial.rule, sizeof(denial.rule), "/network/mode");
	qsb__deny(supervisor, &denial);
}

static void gone(struct qsb__supervisor *supervisor)
{
	if (!supervisor->broker_told)
		note_loss(supervisor);
	stop_watching(supervisor);
}

static void ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__supervisor *supervisor = handle->data;
	struct qsb__broker_event event;

	/* An error stops the poll: what is there now is all that comes. */
	for (int i = 0; status != 0 || i < EVENTS_AT_ONCE; i++) {
		int code = qsb__broker_read(&supervisor->broker, &event);

		if (code == 0 && status == 0)
			return;
		if (code == 0)
			code = -1;
		/* Who speaks nonsense is not the broker that was started. */
		if (code < 0 || !qsb__broker_event_check(&event)) {
			gone(supervisor);
			return;
		}
		take_event(supervisor, &event);
	}
}

static void bound_over(uv_timer_t *timer)
{
	stop_watching(timer->data);
}

void qsb__broker_init(struct qsb__supervisor *supervisor)
{
	supervisor->broker.launch_fd = supervisor->broker.events_fd = -1;
	supervisor->log.fd = -1;
	supervisor->launch.broker_fd = -1;
}

int qsb__broker_begin(struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	const struct qsb__run_request *request = supervisor->request;
	const struct qsb__broker_options options = {
		.plan = request->plan,
		.ask = request->ask_network,
		.ask_ms = request->ask_ms,
		.report_all = request->network_log_fd >= 0 || request->events_fd >= 0 || request->count_traffic ||
			      request->connected,
	};
	int code;

	if (!qsb__broker_needed(request->plan))
		return 0;
	code = qsb__broker_start(&supervisor->broker, &options, err);
	if (code != 0)
		return code;
	supervisor->result->has_broker = true;
	supervisor->launch.broker_fd = supervisor->broker.launch_fd;
	return 0;
}

int qsb__broker_watch(struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	qsb__broker_launched(&supervisor->broker);
	if (supervisor->broker.events_fd < 0)
		return 0;
	qsb__network_log_open(supervisor);
	supervisor->broker_poll.data = supervisor->broker_bound.data = supervisor;
	uv_timer_init(&supervisor->loop, &supervisor->broker_bound);
	if (uv_poll_init(&supervisor->loop, &supervisor->broker_poll, supervisor->broker.events_fd) != 0 ||
	    uv_poll_start(&supervisor->broker_poll, UV_READABLE | UV_DISCONNECT, ready) != 0)
		return qsb__fail(err, QSB_E_OS, "broker", "cannot listen to the broker");
	supervisor->broker_serves = true;
	return 0;
}

void qsb__broker_tell_end(struct qsb__supervisor *supervisor)
{
	supervisor->broker_told = true;
	if (!supervisor->broker_serves)
		return;
	qsb__broker_finish(&supervisor->broker);
	uv_timer_start(&supervisor->broker_bound, bound_over, LAST_WORDS_MS, 0);
}

bool qsb__broker_is_awaited(const struct qsb__supervisor *supervisor)
{
	return supervisor->broker_serves;
}

void qsb__broker_approve(struct qsb__supervisor *supervisor, uint32_t id, enum qsb__broker_answer answer)
{
	if (supervisor->broker_serves)
		qsb__broker_answer(&supervisor->broker, id, answer);
}

void qsb__broker_end(struct qsb__supervisor *supervisor)
{
	qsb__broker_free(&supervisor->broker);
}
