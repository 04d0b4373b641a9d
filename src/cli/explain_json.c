#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/explain.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"
#include "core/proxy_url.h"

static json_t *texts_json(char *const *texts)
{
	json_t *list = json_array();

	for (; texts && *texts; texts++)
		json_array_append_new(list, qsb__json_text(*texts));
	return list;
}

static json_t *ports_json(const uint16_t *ports)
{
	json_t *list = json_array();

	for (; ports && *ports; ports++)
		json_array_append_new(list, json_integer(*ports));
	return list;
}

static json_t *step_json(const struct qsb__step *step)
{
	static const char *const kinds[] = {
		[QSB__STEP_ROOT] = "emptyRoot", [QSB__STEP_BIND_RO] = "readOnly", [QSB__STEP_BIND_RW] = "writable",
		[QSB__STEP_PIN] = "pinned",     [QSB__STEP_MASK_FILE] = "hidden", [QSB__STEP_MASK_DIR] = "hidden",
		[QSB__STEP_TMPFS] = "scratch",  [QSB__STEP_PROC] = "processes",   [QSB__STEP_DEV] = "devices",
		[QSB__STEP_LINK] = "link",      [QSB__STEP_NAME_RULE] = "name",   [QSB__STEP_NAME_GRANT] = "grant",
	};
	json_t *object = json_pack("{s:s, s:o, s:o}", "kind", kinds[step->kind], "path", qsb__json_text(step->path),
				   "rule", qsb__json_text(step->rule));

	if (step->text)
		json_object_set_new(object, "text", qsb__json_text(step->text));
	if (step->reason)
		json_object_set_new(object, "reason", qsb__json_text(step->reason));
	if (step->kind == QSB__STEP_NAME_RULE)
		json_object_set_new(object, "denies", json_string(step->denies & QSB__ACCESS_READ ? "read" : "write"));
	return object;
}

static json_t *steps_json(const struct qsb__plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->step_count; i++)
		json_array_append_new(list, step_json(&plan->steps[i]));
	return list;
}

static json_t *gaps_json(const struct qsb__plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->gap_count; i++)
		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:b}", "what", qsb__json_text(plan->gaps[i].what), "rule",
						qsb__json_text(plan->gaps[i].rule), "asked", plan->gaps[i].asked));
	return list;
}

static json_t *upstream_json(const struct qsb__plan *plan)
{
	char hidden[QSB__PROXY_URL_MAX + 8];

	if (!plan->upstream_proxy)
		return json_null();
	qsb__proxy_url_hide(plan->upstream_proxy, hidden, sizeof(hidden));
	return qsb__json_text(hidden);
}

static json_t *network_json(const struct qsb__plan *plan)
{
	static const char *const modes[] = {"off", "filtered", "host"};

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "mode", modes[plan->network],
			 "allowedDomains", texts_json(plan->allowed_domains), "deniedDomains",
			 texts_json(plan->denied_domains), "publishPorts", ports_json(plan->publish_ports),
			 "reachPorts", ports_json(plan->reach_ports), "unixSockets", texts_json(plan->unix_sockets),
			 "upstreamProxy", upstream_json(plan), "upstreamBypass", texts_json(plan->upstream_bypass),
			 "upstreamResolve", plan->upstream_resolves ? "proxy" : "local");
}

/* In the units of the policy: bytes, processors, seconds; null = no limit. */
static json_t *limits_json(const struct qsb__plan *plan)
{
	const struct {
		const char *name;
		uint64_t value;
		double unit;
	} limits[] = {
		{"memory", plan->memory_bytes, 1},
		{"cpus", plan->cpus_milli, 1000},
		{"timeout", plan->timeout_ms, 1000},
		{"processes", plan->processes, 1},
		{"openFiles", plan->open_files, 1},
		{"output", plan->output_bytes, 1},
		{"tmpSize", plan->tmp_bytes, 1},
		{"fileSize", plan->file_bytes, 1},
		{"diskReserve", plan->disk_reserve_bytes, 1},
	};
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		json_t *value = json_null();

		if (limits[i].value && limits[i].unit > 1)
			value = json_real((double)limits[i].value / limits[i].unit);
		else if (limits[i].value)
			value = json_integer((json_int_t)limits[i].value);
		json_object_set_new(object, limits[i].name, value);
	}
	return object;
}

/* Names only: the value of what is passed on purpose may be a secret. */
static json_t *environment_json(const struct qsb__plan *plan)
{
	json_t *names = json_array();

	for (char *const *at = plan->environment; *at; at++) {
		char *name = strndup(*at, strcspn(*at, "="));

		if (name)
			json_array_append_new(names, qsb__json_text(name));
		free(name);
	}
	return json_pack("{s:o, s:o}", "kept", names, "leftOut", texts_json(plan->scrubbed));
}

static json_t *notes_json(const struct qsb__loaded *loaded)
{
	const struct qsb__list *notes = &loaded->policy->notes;
	json_t *list = texts_json(loaded->plan->notes);

	for (size_t i = 0; i < notes->count; i++)
		json_array_append_new(list, qsb__json_text(notes->items[i].text));
	return list;
}

static json_t *command_json(const struct qsb__loaded *loaded, const char *command)
{
	char path[QSB__PATH_MAX];
	bool found = qsb__explain_find_command(loaded, command, path);

	return json_pack("{s:o, s:o}", "name", qsb__json_text(command), "path",
			 found ? qsb__json_text(path) : json_null());
}

int qsb__explain_plan_json(const struct qsb__loaded *loaded, const char *command, FILE *to, struct qsb_error *err)
{
	const struct qsb__plan *plan = loaded->plan;
	QSB__CLEANUP_JSON json_t *value = json_pack(
		"{s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "preset",
		qsb__preset_name(loaded->policy->extends), "workspace", qsb__json_text(plan->workspace), "startsIn",
		qsb__json_text(plan->cwd), "readsEverything",
		!(plan->step_count && plan->steps[0].kind == QSB__STEP_ROOT), "files", steps_json(plan), "network",
		network_json(plan), "limits", limits_json(plan), "environment", environment_json(plan), "notEnforced",
		gaps_json(plan), "scanComplete", plan->scan_complete, "notes", notes_json(loaded));
	QSB_CLEANUP_FREE char *text = NULL;

	if (value && command)
		json_object_set_new(value, "command", command_json(loaded, command));
	text = value ? json_dumps(value, JSON_INDENT(2)) : NULL;
	if (!text)
		return qsb__fail_memory(err, "explain");
	fprintf(to, "%s\n", text);
	return 0;
}
