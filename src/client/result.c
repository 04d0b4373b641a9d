/* The program's answer as a struct. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "client/program.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"

/* The strings of the public part are borrowed from the JSON. */
struct parsed {
	struct qsb_result result; /* first: the caller has a pointer to it */
	json_t *root;
	char *text;
};

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static size_t length_of(const json_t *object, const char *key)
{
	return json_string_length(json_object_get(object, key));
}

static uint64_t number_of(const json_t *object, const char *key)
{
	json_int_t number = json_integer_value(json_object_get(object, key));

	return number > 0 ? (uint64_t)number : 0;
}

static int flag_of(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

static int read_denials(struct qsb_result *result, const json_t *list)
{
	size_t count = json_array_size(list);
	struct qsb_denial *denials = calloc(count + 1, sizeof(*denials));

	if (!denials)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const json_t *from = json_array_get(list, i);

		denials[i] = (struct qsb_denial){
			.kind = text_of(from, "kind"),
			.operation = text_of(from, "operation"),
			.target = text_of(from, "target"),
			.detail = text_of(from, "detail"),
			.rule = text_of(from, "rule"),
			.process = text_of(from, "process"),
			.suggestion = text_of(from, "suggestion"),
			.time = text_of(from, "time"),
			.pid = (int64_t)number_of(from, "pid"),
			.count = number_of(from, "count"),
		};
	}
	result->denials = denials;
	result->denial_count = count;
	return 0;
}

static int read_findings(struct qsb_result *result, const json_t *list)
{
	size_t count = json_array_size(list);
	struct qsb_finding *findings = calloc(count + 1, sizeof(*findings));

	if (!findings)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const json_t *from = json_array_get(list, i);

		findings[i] = (struct qsb_finding){
			.kind = text_of(from, "kind"),
			.path = text_of(from, "path"),
			.what = text_of(from, "what"),
			.reason = text_of(from, "reason"),
			.moved_to = text_of(from, "movedTo"),
			.error = text_of(from, "error"),
		};
	}
	result->findings = findings;
	result->finding_count = count;
	return 0;
}

static const char *pair_text(const json_t *value)
{
	if (json_is_boolean(value))
		return json_is_true(value) ? "true" : "false";
	return json_is_string(value) ? json_string_value(value) : "";
}

static int read_pairs(const struct qsb_pair **out, size_t *count, json_t *object)
{
	struct qsb_pair *pairs = calloc(json_object_size(object) + 1, sizeof(*pairs));
	const char *key;
	json_t *value;

	if (!pairs)
		return -1;
	json_object_foreach(object, key, value)
		pairs[(*count)++] = (struct qsb_pair){key, pair_text(value)};
	*out = pairs;
	return 0;
}

static int read_gaps(struct qsb_result *result, const json_t *list)
{
	size_t count = json_array_size(list);
	struct qsb_pair *pairs = calloc(count + 1, sizeof(*pairs));

	if (!pairs)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const json_t *gap = json_array_get(list, i);

		pairs[i] = (struct qsb_pair){text_of(gap, "what"), text_of(gap, "rule")};
	}
	result->not_enforced = pairs;
	result->not_enforced_count = count;
	return 0;
}

static void read_end(struct qsb_result *result, const json_t *root)
{
	const json_t *truncated = json_object_get(root, "truncated");
	const json_t *usage = json_object_get(root, "usage");

	result->exit_code = (int)number_of(root, "exitCode");
	result->signal = text_of(root, "signal");
	result->timed_out = flag_of(root, "timedOut");
	result->out_of_memory = flag_of(root, "outOfMemory");
	result->stdout_data = text_of(root, "stdout");
	result->stdout_length = length_of(root, "stdout");
	result->stdout_truncated = flag_of(truncated, "stdout");
	result->stderr_data = text_of(root, "stderr");
	result->stderr_length = length_of(root, "stderr");
	result->stderr_truncated = flag_of(truncated, "stderr");
	result->duration_ms = number_of(root, "durationMs");
	result->user_ms = number_of(usage, "userMs");
	result->system_ms = number_of(usage, "sysMs");
	result->max_rss_bytes = number_of(usage, "maxRssBytes");
	result->processes = number_of(usage, "processes");
}

/* The program says that the command never ran: its words become ours. */
static int fail_as_told(const json_t *told, struct qsb_error *err)
{
	return qsb__fail(err, qsb__error_of_name(text_of(told, "code")), text_of(told, "where"), "%s",
			 text_of(told, "message"));
}

static int read_all(struct parsed *parsed, struct qsb_error *err)
{
	json_t *sandbox = json_object_get(parsed->root, "sandbox");
	const json_t *told = json_object_get(parsed->root, "error");
	struct qsb_result *result = &parsed->result;

	if (json_is_object(told))
		return fail_as_told(told, err);
	if (!json_is_integer(json_object_get(parsed->root, "exitCode")))
		return qsb__fail(err, QSB_E_PROTOCOL, "result", "the program's answer has no exit code");
	read_end(result, parsed->root);
	result->backend = text_of(sandbox, "backend");
	result->json = parsed->text;
	result->findings_left_out = number_of(parsed->root, "findingsLeftOut");
	result->denials_left_out = number_of(parsed->root, "denialsLeftOut");
	if (read_denials(result, json_object_get(parsed->root, "denials")) ||
	    read_findings(result, json_object_get(parsed->root, "findings")) ||
	    read_gaps(result, json_object_get(sandbox, "notEnforced")) ||
	    read_pairs(&result->enforced, &result->enforced_count, json_object_get(sandbox, "enforced")) ||
	    read_pairs(&result->reported, &result->reported_count, json_object_get(sandbox, "reported")) ||
	    read_pairs(&result->limits_by, &result->limits_by_count, json_object_get(sandbox, "limitsBy")))
		return qsb__fail_memory(err, "result");
	return 0;
}

int qsb__result_parse(struct qsb_result **out, char *text, size_t length, struct qsb_error *err)
{
	struct parsed *parsed = calloc(1, sizeof(*parsed));
	json_error_t where;
	int rc;

	*out = NULL;
	if (!parsed) {
		free(text);
		return qsb__fail_memory(err, "result");
	}
	parsed->text = text;
	/* What a command wrote may hold NULs; the lengths tell. */
	parsed->root = json_loadb(text, length, JSON_ALLOW_NUL, &where);
	if (json_is_object(parsed->root))
		rc = read_all(parsed, err);
	else
		rc = qsb__fail(err, QSB_E_PROTOCOL, "result", "the program's answer is not understood: %s", where.text);
	if (rc)
		qsb_result_free(&parsed->result);
	else
		*out = &parsed->result;
	return rc;
}

void qsb_result_free(struct qsb_result *result)
{
	struct parsed *parsed = (struct parsed *)result;

	if (!parsed)
		return;
	free((void *)(uintptr_t)result->denials);
	free((void *)(uintptr_t)result->findings);
	free((void *)(uintptr_t)result->enforced);
	free((void *)(uintptr_t)result->not_enforced);
	free((void *)(uintptr_t)result->limits_by);
	free((void *)(uintptr_t)result->reported);
	json_decref(parsed->root);
	free(parsed->text);
	free(parsed);
}
