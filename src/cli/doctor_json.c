/* doctor's facts as JSON, for programs: callers read these fields. */
#include <string.h>

#include "cli/doctor.h"
#include "core/json.h"

static json_t *probe_json(const struct qsb__probe *probe)
{
	json_t *list = json_array();

	for (size_t i = 0; i < probe->count; i++) {
		const struct qsb__probe_row *row = &probe->rows[i];
		json_t *json = json_object();

		json_object_set_new(json, "name", qsb__json_text(row->name));
		json_object_set_new(json, "ok", json_boolean(row->ok));
		json_object_set_new(json, "needed", json_boolean(row->needed));
		json_object_set_new(json, "detail", qsb__json_text(row->detail));
		json_object_set_new(json, "fix", row->fix[0] ? qsb__json_text(row->fix) : json_null());
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *backends_json(const struct qsb__doctor *doctor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < doctor->backend_count; i++) {
		const struct qsb__doctor_backend *found = &doctor->backends[i];
		json_t *json = json_object();

		json_object_set_new(json, "name", qsb__json_text(found->backend->name));
		json_object_set_new(json, "summary", qsb__json_text(found->backend->summary));
		json_object_set_new(json, "usable", json_boolean(found->probe.usable));
		json_object_set_new(json, "chosen", json_boolean(found->backend == doctor->chosen));
		json_object_set_new(json, "refuses",
				    found->refusal.code ? qsb__json_text(found->refusal.message) : json_null());
		json_object_set_new(json, "facts", probe_json(&found->probe));
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *enforced_json(const struct qsb__doctor *doctor)
{
	json_t *json = json_object();

	if (!doctor->chosen)
		return json;
	/* As in the result of a run: true, false, or a word for what part of it is held. */
	for (const char *const *name = qsb__restriction_names; *name; name++) {
		const char *held = doctor->chosen->enforces(doctor->loaded.plan, NULL, *name);

		json_object_set_new(json, *name,
				    strcmp(held, "yes") == 0  ? json_true()
				    : strcmp(held, "no") == 0 ? json_false()
							      : qsb__json_text(held));
	}
	return json;
}

static json_t *limits_json(const struct qsb__doctor *doctor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < doctor->limit_count; i++) {
		json_t *json = json_object();

		json_object_set_new(json, "name", qsb__json_text(doctor->limits[i].name));
		json_object_set_new(json, "value", qsb__json_text(doctor->limits[i].value));
		json_object_set_new(json, "by", qsb__json_text(doctor->limits[i].by));
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *gaps_json(const struct qsb__doctor *doctor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < doctor->gap_count; i++) {
		json_t *json = json_object();

		json_object_set_new(json, "what", qsb__json_text(doctor->gaps[i].what));
		json_object_set_new(json, "why", qsb__json_text(doctor->gaps[i].why));
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *files_json(const struct qsb__doctor *doctor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < doctor->file_count; i++) {
		const struct qsb__doctor_file *file = &doctor->files[i];
		json_t *json = json_object();

		json_object_set_new(json, "layer", qsb__json_text(file->layer));
		json_object_set_new(json, "path", file->path[0] ? qsb__json_text(file->path) : json_null());
		json_object_set_new(json, "state", qsb__json_text(file->state));
		json_object_set_new(json, "problem", file->problem[0] ? qsb__json_text(file->problem) : json_null());
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *self_test_json(const struct qsb__self_test *test)
{
	json_t *json = json_object(), *list = json_array();

	for (size_t i = 0; i < test->count; i++) {
		const struct qsb__self_test_row *row = &test->rows[i];
		json_t *item = json_object();

		json_object_set_new(item, "name", qsb__json_text(row->name));
		json_object_set_new(item, "title", qsb__json_text(row->title));
		json_object_set_new(item, "verdict", qsb__json_text(qsb__verdict_name(row->verdict)));
		json_object_set_new(item, "detail", qsb__json_text(row->detail));
		json_array_append_new(list, item);
	}
	json_object_set_new(json, "held", json_boolean(qsb__self_test_held(test)));
	json_object_set_new(json, "problem", test->problem[0] ? qsb__json_text(test->problem) : json_null());
	json_object_set_new(json, "rows", list);
	return json;
}

char *qsb__doctor_json(const struct qsb__doctor *doctor)
{
	QSB__CLEANUP_JSON json_t *json = json_object();

	json_object_set_new(json, "version", json_string(QSB_VERSION));
	json_object_set_new(json, "usable", json_boolean(doctor->chosen != NULL));
	json_object_set_new(json, "backend", doctor->chosen ? qsb__json_text(doctor->chosen->name) : json_null());
	json_object_set_new(json, "cause", doctor->cause.code ? qsb__json_text(doctor->cause.message) : json_null());
	json_object_set_new(json, "backends", backends_json(doctor));
	json_object_set_new(json, "enforced", enforced_json(doctor));
	json_object_set_new(json, "limits", limits_json(doctor));
	json_object_set_new(json, "notEnforced", gaps_json(doctor));
	json_object_set_new(json, "files", files_json(doctor));
	if (doctor->self_test)
		json_object_set_new(json, "selfTest", self_test_json(doctor->self_test));
	return json_dumps(json, JSON_COMPACT);
}
