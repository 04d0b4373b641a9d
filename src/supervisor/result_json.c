/* The result as JSON: the fields that callers read. */
#include "supervisor/result_json.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/error.h"
#include "core/json.h"

const char *const qsb__limit_names[9] = {"memory", "cpus",    "timeout",  "processes",  "openFiles",
					 "output", "tmpSize", "fileSize", "diskReserve"};

static json_t *time_json(int64_t milliseconds)
{
	time_t seconds = (time_t)(milliseconds / 1000);
	char date[32], text[64];
	struct tm parts;

	gmtime_r(&seconds, &parts);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text, sizeof(text), "%s.%03dZ", date, (int)(milliseconds % 1000));
	return json_string(text);
}

json_t *qsb__denial_to_json(const struct qsb__denial *denial)
{
	json_t *json = json_object();

	json_object_set_new(json, "kind", json_string(denial->kind));
	json_object_set_new(json, "operation", json_string(denial->operation));
	json_object_set_new(json, "target", qsb__json_text(denial->target));
	json_object_set_new(json, "rule", qsb__json_text(denial->rule));
	json_object_set_new(json, "pid", denial->pid ? json_integer(denial->pid) : json_null());
	json_object_set_new(json, "process", denial->process[0] ? qsb__json_text(denial->process) : json_null());
	json_object_set_new(json, "time", time_json(denial->time_ms));
	json_object_set_new(json, "suggestion", qsb__json_text(denial->suggestion));
	json_object_set_new(json, "count", json_integer(denial->count));
	if (denial->detail[0])
		json_object_set_new(json, "detail", qsb__json_text(denial->detail));
	return json;
}

json_t *qsb__finding_to_json(const struct qsb__finding *finding)
{
	json_t *json = json_object();

	json_object_set_new(json, "kind", json_string(finding->kind));
	json_object_set_new(json, "path", qsb__json_text(finding->path));
	json_object_set_new(json, "what", qsb__json_text(finding->what));
	json_object_set_new(json, "reason", json_string(finding->reason));
	json_object_set_new(json, "movedTo", finding->moved_to[0] ? qsb__json_text(finding->moved_to) : json_null());
	json_object_set_new(json, "error", finding->os_error[0] ? json_string(finding->os_error) : json_null());
	return json;
}

const char *qsb__way_name(uint32_t way)
{
	static const char *const names[] = {
		[QSB__WAY_DIRECT] = "direct",   [QSB__WAY_HTTP] = "http", [QSB__WAY_CONNECT] = "connect",
		[QSB__WAY_SOCKS] = "socks",     [QSB__WAY_DNS] = "dns",   [QSB__WAY_REACH] = "reach",
		[QSB__WAY_PUBLISH] = "publish",
	};

	return way < sizeof(names) / sizeof(names[0]) ? names[way] : "unknown";
}

void qsb__connection_to_json(json_t *json, const struct qsb__broker_event *event)
{
	json_object_set_new(json, "time", time_json((int64_t)event->time_ms));
	json_object_set_new(json, "host", qsb__json_text(event->host));
	json_object_set_new(json, "port", event->port ? json_integer(event->port) : json_null());
	json_object_set_new(json, "address", event->address[0] ? qsb__json_text(event->address) : json_null());
	json_object_set_new(json, "way", json_string(qsb__way_name(event->way)));
	json_object_set_new(json, "sent", json_integer((json_int_t)event->sent));
	json_object_set_new(json, "received", json_integer((json_int_t)event->received));
	json_object_set_new(json, "durationMs", json_integer((json_int_t)event->duration_ms));
	json_object_set_new(json, "rule", qsb__json_text(event->rule));
	json_object_set_new(json, "reason", event->reason[0] ? qsb__json_text(event->reason) : json_null());
}

static json_t *denials_json(const struct qsb__result *result)
{
	json_t *list = json_array();

	for (size_t i = 0; i < result->denial_count; i++)
		json_array_append_new(list, qsb__denial_to_json(&result->denials[i]));
	return list;
}

static json_t *findings_json(const struct qsb__result *result)
{
	json_t *list = json_array();

	for (size_t i = 0; i < result->finding_count; i++)
		json_array_append_new(list, qsb__finding_to_json(&result->findings[i]));
	return list;
}

static json_t *usage_json(const struct qsb__result *result)
{
	json_t *json = json_object();

	json_object_set_new(json, "userMs", json_integer((json_int_t)result->user_ms));
	json_object_set_new(json, "sysMs", json_integer((json_int_t)result->system_ms));
	json_object_set_new(json, "maxRssBytes", json_integer((json_int_t)result->max_rss_bytes));
	json_object_set_new(json, "processes", json_integer((json_int_t)result->processes));
	return json;
}

static void set_answer(json_t *json, const char *name, const char *answer)
{
	json_object_set_new(json, name,
			    strcmp(answer, "yes") == 0  ? json_true()
			    : strcmp(answer, "no") == 0 ? json_false()
							: json_string(answer));
}

static json_t *enforced_json(const struct qsb__result *result)
{
	json_t *json = json_object();

	for (size_t i = 0; qsb__restriction_names[i]; i++)
		set_answer(json, qsb__restriction_names[i], result->enforced[i]);
	return json;
}

/* Which refusals `denials` would have, had there been any. */
static json_t *reported_json(const struct qsb__result *result)
{
	json_t *json = json_object();

	for (size_t i = 0; qsb__report_names[i]; i++)
		set_answer(json, qsb__report_names[i], result->reported[i]);
	return json;
}

static json_t *gap_json(const char *what, const char *rule)
{
	json_t *gap = json_object();

	json_object_set_new(gap, "what", qsb__json_text(what));
	json_object_set_new(gap, "rule", qsb__json_text(rule));
	return gap;
}

static json_t *gaps_json(const struct qsb__result *result)
{
	const struct qsb__plan *plan = result->plan;
	json_t *list = json_array();

	/* A back end that could not hold what was asked for would have refused the plan. */
	for (size_t i = 0; i < plan->gap_count; i++)
		if (!plan->gaps[i].asked)
			json_array_append_new(list, gap_json(plan->gaps[i].what, plan->gaps[i].rule));
	/* The first limit is memory. */
	if (strcmp(result->limit_by[0], "watch") == 0)
		json_array_append_new(list, gap_json(QSB__UNWATCHED_MEMORY, "/limits/memory"));
	return list;
}

/* What went over the network altogether. */
static json_t *network_json(const struct qsb__result *result)
{
	static const char *const modes[] = {"off", "filtered", "host"};
	const struct qsb__traffic *traffic = &result->traffic;

	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "mode", modes[result->plan->network], "connections",
			 (json_int_t)traffic->connections, "denied", (json_int_t)traffic->denied, "failed",
			 (json_int_t)traffic->failed, "sent", (json_int_t)traffic->sent, "received",
			 (json_int_t)traffic->received);
}

static json_t *sandbox_json(const struct qsb__result *result)
{
	json_t *json = json_object();
	json_t *limits = json_object();

	json_object_set_new(json, "backend", json_string(result->backend->name));
	json_object_set_new(json, "enforced", enforced_json(result));
	json_object_set_new(json, "reported", reported_json(result));
	for (size_t i = 0; i < sizeof(qsb__limit_names) / sizeof(qsb__limit_names[0]); i++)
		json_object_set_new(limits, qsb__limit_names[i], json_string(result->limit_by[i]));
	json_object_set_new(json, "limitsBy", limits);
	json_object_set_new(json, "notEnforced", gaps_json(result));
	if (result->has_broker) {
		json_object_set_new(json, "network", network_json(result));
		json_object_set_new(json, "brokerLost", json_boolean(result->broker_lost));
	}
	return json;
}

/* "SIGKILL"; a real-time signal as its number. */
static json_t *signal_json(int number)
{
	const char *name = number ? sigabbrev_np(number) : NULL;
	char text[32];

	if (!number)
		return json_null();
	if (name)
		snprintf(text, sizeof(text), "SIG%s", name);
	else
		snprintf(text, sizeof(text), "%d", number);
	return json_string(text);
}

char *qsb__result_json(const struct qsb__result *result)
{
	json_t *json = json_object();
	json_t *truncated = json_object();
	char *text;

	json_object_set_new(json, "exitCode", json_integer(result->exit_code));
	json_object_set_new(json, "signal", signal_json(result->signal));
	json_object_set_new(json, "stdout", qsb__json_bytes(result->out.data, result->out.length));
	json_object_set_new(json, "stderr", qsb__json_bytes(result->err.data, result->err.length));
	json_object_set_new(json, "timedOut", json_boolean(result->timed_out));
	json_object_set_new(json, "outOfMemory", json_boolean(result->out_of_memory));
	json_object_set_new(truncated, "stdout", json_boolean(result->out.truncated));
	json_object_set_new(truncated, "stderr", json_boolean(result->err.truncated));
	json_object_set_new(json, "truncated", truncated);
	json_object_set_new(json, "durationMs", json_integer((json_int_t)result->duration_ms));
	json_object_set_new(json, "usage", usage_json(result));
	json_object_set_new(json, "denials", denials_json(result));
	json_object_set_new(json, "denialsLeftOut", json_integer((json_int_t)result->denials_left_out));
	json_object_set_new(json, "findings", findings_json(result));
	json_object_set_new(json, "findingsLeftOut", json_integer((json_int_t)result->findings_left_out));
	json_object_set_new(json, "sandbox", sandbox_json(result));
	if (result->learned_file)
		json_object_set_new(json, "learned",
				    json_pack("{s:o, s:I}", "file", qsb__json_text(result->learned_file), "entries",
					      (json_int_t)result->learned_entries));
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

char *qsb__failure_json(const struct qsb_error *err)
{
	json_t *json = json_object();
	json_t *error = json_object();
	char *text;

	json_object_set_new(error, "code", json_string(qsb__error_name(err->code)));
	json_object_set_new(error, "errno", err->os_code ? json_integer(err->os_code) : json_null());
	json_object_set_new(error, "where", qsb__json_text(err->where));
	json_object_set_new(error, "message", qsb__json_text(err->message));
	json_object_set_new(json, "exitCode", json_integer(QSB__EXIT_SANDBOX));
	json_object_set_new(json, "error", error);
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}
