/*
 * Reads cases (made-up host, policy layers) and compares the printed plan with what stands beside each.
 *   golden FOLDER            TAP, one test a case
 *   golden --write FOLDER    writes the expected files anew: read the difference before committing it
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/policy_load.h"
#include "made_host.h"
#include "plan/plan.h"

#include "../unit/tap.h"

static int add_layers(struct qsb_policy *policy, const json_t *json, struct qsb_error *err)
{
	static const struct {
		const char *key;
		enum qsb__layer layer;
	} layers[] = {{"user", QSB__LAYER_USER}, {"policy", QSB__LAYER_FILE}};
	const json_t *option;
	size_t i;

	for (i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		char *text = json_dumps(json_object_get(json, layers[i].key), 0);
		int result =
			text ? qsb__policy_merge_json(policy, layers[i].layer, text, strlen(text), layers[i].key, err)
			     : 0;

		free(text);
		if (result)
			return result;
	}
	json_array_foreach(json_object_get(json, "options"), i, option) {
		const char *name = json_string_value(json_array_get(option, 0));
		const char *value = json_string_value(json_array_get(option, 1));
		int result = qsb__policy_set_text(policy, qsb__row_by_option(name), value, QSB__LAYER_OPTION, err);

		if (result)
			return result;
	}
	return 0;
}

static enum qsb__preset preset_of(const json_t *json)
{
	const char *name = json_string_value(json_object_get(json, "preset"));

	for (int preset = 0; name && preset <= QSB__PRESET_FULL_ACCESS; preset++)
		if (strcmp(qsb__preset_name((enum qsb__preset)preset), name) == 0)
			return (enum qsb__preset)preset;
	return QSB__PRESET_WORKSPACE;
}

static void print_verdicts(const json_t *json, const struct qsb__plan *plan, const struct qsb__host *host, FILE *to)
{
	const json_t *path;
	size_t i;

	json_array_foreach(json_object_get(json, "explain"), i, path) {
		struct qsb__verdict verdict;
		struct qsb_error err = {0};

		if (qsb__plan_explain_path(plan, host, json_string_value(path), &verdict, &err)) {
			fprintf(to, "explain error %s\n", err.message);
			continue;
		}
		fprintf(to, "explain %s -> %s%s\n  read: %s\n  write: %s\n", verdict.resolved,
			verdict.access & QSB__ACCESS_READ ? "r" : "-", verdict.access & QSB__ACCESS_WRITE ? "w" : "-",
			verdict.read_rule, verdict.write_rule);
		if (verdict.fix[0])
			fprintf(to, "  fix: %s\n", verdict.fix);
	}
}

static void print_case(const json_t *json, FILE *to)
{
	struct qsb_policy *policy = NULL;
	struct qsb__plan *plan = NULL;
	struct qsb_error err = {0};
	struct qsb__host host;
	struct qsb__request request = {.workspace = json_string_value(json_object_get(json, "workspace")),
				       .cwd = json_string_value(json_object_get(json, "startIn"))};

	if (!made_host_init(&host, json))
		return;
	if (qsb__policy_new(&policy, preset_of(json), &err) || add_layers(policy, json, &err) ||
	    qsb__plan_new(&plan, policy, &host, &request, &err))
		fprintf(to, "error %d at %s: %s\n", err.code, err.where, err.message);
	else
		qsb__plan_print(plan, to);
	if (plan)
		print_verdicts(json, plan, &host, to);
	qsb__plan_free(plan);
	qsb__policy_free(policy);
	made_host_clear(&host);
}

/* The rules for built-in names are the same in every writable root: two cases show them, the others leave them out. */
static char *without_name_rules(char *text)
{
	char *out = text, *next;

	for (char *line = text; *line; line = next) {
		size_t length = strcspn(line, "\n");
		const char *mark = strstr(line, "# built-in: ");

		next = line + length + (line[length] ? 1 : 0);
		if (strncmp(line, "name-rule ", 10) == 0 && mark && mark < next &&
		    (strncmp(mark + 12, "secrets", 7) == 0 || strncmp(mark + 12, "protected names", 15) == 0))
			continue;
		memmove(out, line, (size_t)(next - line));
		out += next - line;
	}
	*out = '\0';
	return text;
}

static char *plan_of_case(const json_t *json)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	print_case(json, to);
	fclose(to);
	return json_is_true(json_object_get(json, "full")) ? text : without_name_rules(text);
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (file && getdelim(&text, &size, '\0', file) < 0 && text)
		text[0] = '\0';
	if (file)
		fclose(file);
	return text;
}

static void show_difference(const char *got, const char *wanted)
{
	while (*got && *wanted) {
		size_t a = strcspn(got, "\n"), b = strcspn(wanted, "\n");

		if (a != b || strncmp(got, wanted, a) != 0)
			break;
		got += a + (got[a] ? 1 : 0);
		wanted += b + (wanted[b] ? 1 : 0);
	}
	printf("#      got: %.*s\n# expected: %.*s\n", (int)strcspn(got, "\n"), got, (int)strcspn(wanted, "\n"),
	       wanted);
}

static void run_case(const char *folder, const char *file, bool write)
{
	char path[600], expected_path[600];
	json_error_t json_error;
	char *got, *wanted;
	json_t *json;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	snprintf(expected_path, sizeof(expected_path), "%s/%.*s.expected", folder, (int)(strlen(file) - 5), file);
	json = json_load_file(path, JSON_REJECT_DUPLICATES, &json_error);
	if (!json) {
		tap_ok(false, "%s is a case (%s, line %d)", file, json_error.text, json_error.line);
		return;
	}
	got = plan_of_case(json);
	if (write && got) {
		FILE *to = fopen(expected_path, "w");

		if (to) {
			fputs(got, to);
			fclose(to);
		}
	}
	wanted = read_file(expected_path);
	if (!tap_ok(got && wanted && strcmp(got, wanted) == 0, "%s", json_string_value(json_object_get(json, "name"))))
		show_difference(got ? got : "", wanted ? wanted : "");
	free(got);
	free(wanted);
	json_decref(json);
}

static int is_case(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

int main(int argc, char **argv)
{
	bool write = argc == 3 && strcmp(argv[1], "--write") == 0;
	struct dirent **cases;
	int count = argc > 1 ? scandir(argv[argc - 1], &cases, is_case, alphasort) : -1;

	if (count <= 0) {
		fprintf(stderr, "usage: golden [--write] FOLDER\n");
		return 1;
	}
	for (int i = 0; i < count; i++) {
		run_case(argv[argc - 1], cases[i]->d_name, write);
		free(cases[i]);
	}
	free(cases);
	return tap_done();
}
