/* A program as somebody else would write it: only the public header, built against an installed library. Prints TAP. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <qiming/sandbox.h>

static int count, failures;

static void ok(int passed, const char *name, const struct qsb_error *err)
{
	printf("%sok %d - %s\n", passed ? "" : "not ", ++count, name);
	if (!passed && err)
		printf("# %s: %s\n", err->where, err->message);
	failures += !passed;
}

static void try_policy(struct qsb_policy **policy)
{
	struct qsb_error err = {0};
	char *json = NULL;

	ok(qsb_policy_new(policy, "workspace", &err) == 0, "a policy begins with a preset", &err);
	ok(qsb_policy_set(*policy, "/limits/memory", "256m", &err) == 0, "a key is set by its pointer", &err);
	ok(qsb_policy_set(*policy, "/limits/memroy", "1g", &err) == QSB_E_UNKNOWN &&
		   strstr(err.message, "/limits/memory"),
	   "a misspelt key is an error with a suggestion", &err);
	ok(qsb_policy_get_json(*policy, &json, &err) == 0 && strstr(json, "256m"), "the policy is readable as JSON",
	   &err);
	qsb_string_free(json);
}

static void try_run(const struct qsb_policy *policy, const char *workspace)
{
	static const char *const argv[] = {"sh", "-c", "echo hello; echo oops >&2; exit 3", NULL};
	struct qsb_error err = {0};
	struct qsb_spawn_options options;
	struct qsb_sandbox *sandbox = NULL;
	struct qsb_result *result = NULL;
	int rc;

	qsb_spawn_options_init(&options, QSB_SPAWN_OPTIONS_SIZE);
	options.argv = argv;
	options.policy = policy;
	options.workspace = workspace;
	options.flags = QSB_SPAWN_CAPTURE;
	rc = qsb_sandbox_spawn(&sandbox, &options, &err);
	ok(rc == 0, "the program is found and started", &err);
	if (rc)
		return;
	rc = qsb_sandbox_wait(sandbox, &result, &err);
	ok(rc == 0, "the command runs in a sandbox", &err);
	if (rc == 0) {
		ok(result->exit_code == 3, "its exit code arrives", NULL);
		ok(strcmp(result->stdout_data, "hello\n") == 0, "its output arrives", NULL);
		ok(strcmp(result->stderr_data, "oops\n") == 0, "its error output arrives", NULL);
	}
	qsb_result_free(result);
	qsb_sandbox_free(sandbox);
}

static void try_streams(const struct qsb_policy *policy, const char *workspace)
{
	struct qsb_error err = {0};
	struct qsb_spawn_options options;
	struct qsb_sandbox *sandbox = NULL;
	struct qsb_result *result = NULL;
	char text[64] = "";
	int in;

	qsb_spawn_options_init(&options, QSB_SPAWN_OPTIONS_SIZE);
	options.command = "read word; echo got $word; sleep 600";
	options.policy = policy;
	options.workspace = workspace;
	options.stdin_fd = options.stdout_fd = QSB_STREAM_PIPE;
	options.flags = QSB_SPAWN_EVENTS;
	if (qsb_sandbox_spawn(&sandbox, &options, &err) != 0) {
		ok(0, "a second command starts", &err);
		return;
	}
	in = qsb_sandbox_take_fd(sandbox, QSB_FD_STDIN);
	ok(write(in, "word\n", 5) == 5 && close(in) == 0, "a running command can be written to", NULL);
	ok(read(qsb_sandbox_fd(sandbox, QSB_FD_STDOUT), text, sizeof(text) - 1) == 9 && strcmp(text, "got word\n") == 0,
	   "and read from", NULL);
	ok(qsb_sandbox_kill(sandbox, 15, &err) == 0, "a signal is sent", &err);
	ok(qsb_sandbox_wait(sandbox, &result, &err) == 0, "and ends it", &err);
	ok(result && strcmp(result->signal, "SIGTERM") == 0 && result->exit_code == 143, "as the result says", NULL);
	qsb_result_free(result);
	qsb_sandbox_free(sandbox);
}

static void try_refusal(const char *workspace)
{
	static const char *const argv[] = {"true", NULL};
	struct qsb_error err = {0};
	struct qsb_spawn_options options;
	struct qsb_sandbox *sandbox = NULL;
	struct qsb_result *result = NULL;

	qsb_spawn_options_init(&options, QSB_SPAWN_OPTIONS_SIZE);
	options.argv = argv;
	options.workspace = workspace;
	options.policy_json = "{\"limits\":{\"memory\":\"1\"}}";
	options.stderr_fd = QSB_STREAM_NULL;
	ok(qsb_sandbox_spawn(&sandbox, &options, &err) == 0 && qsb_sandbox_wait(sandbox, &result, &err) < 0,
	   "a policy that is wrong is the wait's failure", &err);
	ok(strcmp(err.where, "/limits/memory") == 0, "with the key it stands at", &err);
	ok(result == NULL, "and no result", NULL);
	qsb_sandbox_free(sandbox);
}

static void try_host(void)
{
	struct qsb_error err = {0};
	char *json = NULL;

	ok(qsb_is_available(NULL, &err) == 0, "a sandbox can be had here", &err);
	ok(qsb_doctor_json(NULL, &json, &err) == 0 && json[0] == '{', "doctor tells what this machine can do", &err);
	qsb_string_free(json);
}

int main(int argc, char **argv)
{
	const char *workspace = argc > 1 ? argv[1] : NULL;
	struct qsb_policy *policy = NULL;

	ok(strcmp(qsb_version(), QSB_VERSION) == 0, "header and library are of one version", NULL);
	try_policy(&policy);
	try_run(policy, workspace);
	try_streams(policy, workspace);
	try_refusal(workspace);
	try_host();
	qsb_policy_free(policy);
	printf("1..%d\n", count);
	return failures != 0;
}
