#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/policy.h"
#include "core/policy_load.h"
#include "tap.h"

static json_t *parsed(char *text)
{
	json_t *value = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

	free(text);
	return value;
}

/* The value at a pointer of one or two keys, where groups may hold their keys in "properties". */
static json_t *at(json_t *root, const char *pointer, const char *between)
{
	char group[64];
	const char *slash = strchr(pointer + 1, '/');

	if (!slash)
		return json_object_get(root, pointer + 1);
	snprintf(group, sizeof(group), "%.*s", (int)(slash - pointer - 1), pointer + 1);
	root = json_object_get(root, group);
	return json_object_get(between ? json_object_get(root, between) : root, slash + 1);
}

static bool has_names(const json_t *list, const char *const *names)
{
	size_t count = 0;

	for (; names[count]; count++)
		if (!json_is_string(json_array_get(list, count)) ||
		    strcmp(json_string_value(json_array_get(list, count)), names[count]) != 0)
			return false;
	return json_array_size(list) == count;
}

static void schema(void)
{
	QSB__CLEANUP_JSON json_t *root = parsed(qsb__policy_schema_json());
	json_t *properties = json_object_get(root, "properties"), *group;
	const char *key;

	tap_is_text(json_string_value(json_object_get(root, "$schema")), "https://json-schema.org/draft/2020-12/schema",
		    "the schema names its draft");
	tap_ok(json_is_false(json_object_get(root, "additionalProperties")), "no other key is allowed");
	json_object_foreach(properties, key, group)
		if (json_object_get(group, "properties"))
			tap_ok(json_is_false(json_object_get(group, "additionalProperties")),
			       "no other key is allowed in %s", key);
	for (size_t i = 0; i < qsb__row_count; i++) {
		const struct qsb__row *row = &qsb__rows[i];
		json_t *entry = at(properties, row->pointer, "properties");

		tap_is_text(json_string_value(json_object_get(entry, "description")), row->summary, row->pointer);
		if (row->type == QSB__ROW_ENUM)
			tap_ok(has_names(json_object_get(entry, "enum"), row->names), "%s has its words", row->pointer);
		if (strcmp(row->pointer, "/trustedFolders") != 0 && strcmp(row->pointer, "/$comment") != 0)
			tap_ok(json_object_get(entry, "default") != NULL, "%s has its default", row->pointer);
	}
}

/* What the program prints as a policy is one, and means the same. */
static void round_trip(enum qsb__preset preset, const char *more)
{
	struct qsb_policy *policy = NULL, *again = NULL;
	struct qsb_error err = {.code = 0};
	char *first = NULL, *second = NULL;

	if (qsb__policy_new(&policy, preset, &err) == 0 &&
	    qsb__policy_merge_json(policy, QSB__LAYER_FILE, more, strlen(more), "p.json", &err) == 0)
		first = qsb__policy_to_json(policy, false);
	/* full-access denies nothing: a deny list only grows. */
	if (first && qsb__policy_new(&again, QSB__PRESET_FULL_ACCESS, &err) == 0 &&
	    qsb__policy_merge_json(again, QSB__LAYER_FILE, first, strlen(first), "q.json", &err) == 0)
		second = qsb__policy_to_json(again, false);
	tap_is_text(second, first, qsb__preset_name(preset));
	tap_is_text(err.message, "", "no error");
	tap_is_number(again ? (long long)again->notes.count : -1, 0, "no note");
	free(first);
	free(second);
	qsb__policy_free(policy);
	qsb__policy_free(again);
}

static void origins(void)
{
	static const char text[] = "{\"limits\":{\"cpus\":0.5},\"filesystem\":{\"denyWrite\":[\"a\\nb\"]}}";
	struct qsb_policy *policy = NULL;
	QSB__CLEANUP_JSON json_t *root = NULL;
	json_t *all;

	if (qsb__policy_new(&policy, QSB__PRESET_WORKSPACE, NULL) ||
	    qsb__policy_merge_json(policy, QSB__LAYER_USER, text, strlen(text), "p.json", NULL))
		return;
	policy->source[QSB__LAYER_USER] = strdup("/home/a/policy.json");
	root = parsed(qsb__policy_to_json(policy, true));
	all = json_object_get(root, "origins");
	tap_is_text(json_string_value(json_object_get(json_object_get(all, "/limits/cpus"), "layer")), "user",
		    "a value has its layer");
	tap_is_text(json_string_value(json_object_get(json_object_get(all, "/limits/cpus"), "file")),
		    "/home/a/policy.json", "and its file");
	tap_is_text(json_string_value(json_object_get(json_object_get(all, "/limits/memory"), "layer")), "preset",
		    "what nobody names is the preset's");
	tap_is_text(json_string_value(json_array_get(
			    json_object_get(json_object_get(all, "/filesystem/denyWrite"), "entries"), 0)),
		    "/filesystem/denyWrite/0 (user)", "an entry has its own");
	tap_ok(json_is_array(json_object_get(root, "notes")), "the notes are a list");
	tap_ok(json_is_real(at(json_object_get(root, "policy"), "/limits/cpus", NULL)), "half a processor is a number");
	qsb__policy_free(policy);
}

/* Paths are bytes. */
static void strange_bytes(void)
{
	struct qsb_policy *policy = NULL;
	QSB__CLEANUP_JSON json_t *root = NULL;

	if (qsb__policy_new(&policy, QSB__PRESET_WORKSPACE, NULL) ||
	    qsb__policy_set_text(policy, qsb__row_by_option("--write"), "/a\xFF", QSB__LAYER_OPTION, NULL) ||
	    qsb__policy_set_text(policy, qsb__row_by_option("--env"), "A\xFF=\xFF", QSB__LAYER_OPTION, NULL))
		return;
	policy->source[QSB__LAYER_OPTION] = strdup("/b\xFF");
	root = parsed(qsb__policy_to_json(policy, true));
	tap_is_text(json_string_value(
			    json_array_get(at(json_object_get(root, "policy"), "/filesystem/allowWrite", NULL), 1)),
		    "/a\xEF\xBF\xBD", "a path that is not UTF-8 is shown with a replacement");
	tap_ok(root != NULL, "and leaves the rest readable");
	qsb__policy_free(policy);
}

int main(void)
{
	static const char full[] =
		"{\"limits\":{\"cpus\":0.25,\"timeout\":1.001,\"memory\":123456789,\"openFiles\":\"none\"},"
		"\"network\":{\"publishPorts\":[1,65535],\"allowedDomains\":[\"*.example.com:443\"],"
		"\"unixSockets\":[\"/run/a.sock\"]},\"environment\":{\"set\":{\"A\":\"\\u4e2d=\\n\",\"B\":\"\"},"
		"\"pass\":[\"*\"]},\"filesystem\":{\"allowRead\":[\"~\"],\"allowWrite\":[\"a/**/"
		"b\"],\"devices\":[\"kvm\"]}}";

	schema();
	for (int preset = 0; preset <= QSB__PRESET_FULL_ACCESS; preset++) {
		round_trip((enum qsb__preset)preset, "{}");
		round_trip((enum qsb__preset)preset, full);
		round_trip((enum qsb__preset)preset, "{\"$comment\":\"one remark\"}");
		round_trip((enum qsb__preset)preset, "{\"$comment\":[\"a\",\"b\"],\"version\":1}");
	}
	origins();
	strange_bytes();
	return tap_done();
}
