/* One trial of the self-test: this program again, plainly or through `run`. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/selftest_attacks.h"
#include "cli/selftest_stage.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"
#include "os/child.h"
#include "supervisor/run.h"

enum { TEXT_SIZE = 128 * 1024 };

/* A command line, and room for its words. */
struct line {
	char *words[QSB__STAGE_WORDS + 1];
	size_t count;
	char *text; /* TEXT_SIZE bytes */
	size_t used;
	bool failed;
};

static void add(struct line *line, const char *word)
{
	size_t length = strlen(word) + 1;

	if (line->count == QSB__STAGE_WORDS || length > TEXT_SIZE - line->used) {
		line->failed = true;
		return;
	}
	line->words[line->count++] = memcpy(line->text + line->used, word, length);
	line->used += length;
}

static void add_expanded(struct line *line, const struct qsb__stage *stage, const char *word, bool inside)
{
	char text[QSB__STAGE_WORD];

	if (strncmp(word, "@/", 2) == 0)
		qsb__stage_path(stage, word + 2, text);
	else if (strcmp(word, "@PORT") == 0)
		snprintf(text, sizeof(text), "%u", stage->port);
	else if (strcmp(word, "@NONCE") == 0)
		snprintf(text, sizeof(text), "%s", stage->nonce);
	else if (strcmp(word, "@FD") == 0)
		snprintf(text, sizeof(text), "%d", stage->leak_fd);
	else if (strcmp(word, "@TARGET") == 0)
		snprintf(text, sizeof(text), "%lld", (long long)stage->target);
	else if (strcmp(word, "@PLACE") == 0)
		snprintf(text, sizeof(text), "%s", inside ? "inside" : "outside");
	else if (strcmp(word, "@SECONDS") == 0)
		snprintf(text, sizeof(text), "%s", inside ? "3" : "0");
	else
		snprintf(text, sizeof(text), "%s", word);
	add(line, text);
}

static void add_run(struct line *line, const struct qsb__stage *stage, const char *const *options, int control)
{
	/* It may lie in the temporary folder, of which the sandbox has its own: it is asked for by name. */
	const char *const common[] = {stage->program,  "run",         "--json", "--backend", stage->backend, "--policy",
				      "@/policy.json", "--workspace", "@/ws",   "--read",    stage->program, NULL};
	char number[16];

	for (size_t i = 0; common[i]; i++)
		add_expanded(line, stage, common[i], true);
	/* When doctor dies this descriptor closes, and with that the run ends. */
	snprintf(number, sizeof(number), "%d", control);
	add(line, "--control-fd");
	add(line, number);
	for (size_t i = 0; options && options[i]; i++)
		add_expanded(line, stage, options[i], true);
	add(line, "--");
}

static void add_probe(struct line *line, const char *program)
{
	add(line, program);
	add(line, QSB__PROBE_COMMAND);
}

static void copy_line(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
}

static const char *string_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* From the result that `run --json` wrote. */
static void read_result(struct qsb__trial *out, const char *text, size_t length)
{
	QSB__CLEANUP_JSON json_t *json = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
	const json_t *denial;
	size_t i;

	if (!json) {
		snprintf(out->failed, sizeof(out->failed), "the program gave no result (status %d)", out->status);
		return;
	}
	if (json_object_get(json, "error"))
		snprintf(out->failed, sizeof(out->failed), "%s", string_of(json_object_get(json, "error"), "message"));
	out->status = (int)json_integer_value(json_object_get(json, "exitCode"));
	copy_line(out->said, sizeof(out->said), string_of(json, "stdout"));
	json_array_foreach(json_object_get(json, "denials"), i, denial) {
		if (strcmp(string_of(denial, "kind"), "limit") != 0)
			continue;
		out->limited = true;
		snprintf(out->limit, sizeof(out->limit), "%s", string_of(denial, "operation"));
	}
	if (json_is_true(json_object_get(json, "timedOut"))) {
		out->limited = true;
		snprintf(out->limit, sizeof(out->limit), "timeout");
	}
}

static int execute(const struct qsb__stage *stage, const struct line *line, int control, struct qsb__trial *out,
		   struct qsb_error *err)
{
	const int keep[] = {stage->leak_fd, control};
	QSB_CLEANUP_FREE char *text = NULL;
	struct qsb__child child = {
		.program = stage->program,
		.argv = line->words,
		.environment = stage->environment,
		.keep = keep,
		.keep_count = control < 0 ? 1 : 2,
	};
	int ends[2], waited, rc = qsb__pipe(ends, err);
	size_t length = 0;
	int64_t pid;

	if (rc)
		return rc;
	child.stdio[0] = child.stdio[2] = -1;
	child.stdio[1] = ends[1];
	rc = qsb__child_start(&pid, &child, err);
	close(ends[1]);
	if (rc == 0) {
		rc = qsb__descriptor_read_all(ends[0], &text, &length, err);
		waited = qsb__child_wait(pid, &out->status, err);
		rc = rc ? rc : waited;
	}
	close(ends[0]);
	if (rc)
		return rc;
	out->pushed = out->status == QSB__PROBE_PUSHED;
	if (control >= 0)
		read_result(out, text ? text : "", length);
	else
		copy_line(out->said, sizeof(out->said), text ? text : "");
	return 0;
}

static int try_with(const struct qsb__stage *stage, const struct qsb__trial_request *request, int control,
		    struct qsb__trial *out, struct qsb_error *err)
{
	struct line line = {.text = malloc(TEXT_SIZE)};
	int rc;

	if (!line.text)
		return qsb__fail_memory(err, "self-test");
	if (request->terminal) {
		add_probe(&line, stage->program);
		add(&line, "terminal");
	}
	if (request->inside)
		add_run(&line, stage, request->options, control);
	add_probe(&line, stage->program);
	for (size_t i = 0; request->words[i]; i++)
		add_expanded(&line, stage, request->words[i], request->inside);
	rc = line.failed ? qsb__fail(err, QSB_E_RANGE, "self-test", "the path of the self-test's folder is too long")
			 : execute(stage, &line, control, out, err);
	free(line.text);
	return rc;
}

int qsb__stage_try(const struct qsb__stage *stage, const struct qsb__trial_request *request, struct qsb__trial *out,
		   struct qsb_error *err)
{
	int control[2] = {-1, -1}; /* ours, that of the run */
	int rc = request->inside ? qsb__channel(control, err) : 0;

	memset(out, 0, sizeof(*out));
	if (rc == 0)
		rc = try_with(stage, request, control[1], out, err);
	for (int i = 0; i < 2; i++)
		if (control[i] >= 0)
			close(control[i]);
	return rc;
}
