/* A program as somebody else would write it: only the public header, built against an installed library. Prints TAP. */
#include <stdio.h>
#include <string.h>

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
	ok(qsb_policy_set(*policy, "/limits/memroy", "1g", &err) == QSB_E_UNKNOWN && strstr(err.message, "/limits/memory"),
	   "a misspelt key is an error with a suggestion", &err);
	ok(qsb_policy_get_json(*policy, &json, &err) == 0 && strstr(json, "256m"), "the policy is readable as JSON", &err);
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

int main(int argc, char **argv)
{
	struct qsb_policy *policy = NULL;

	ok(strcmp(qsb_version(), QSB_VERSION) == 0, "header and library are of one version", NULL);
	try_policy(&policy);
	try_run(policy, argc > 1 ? argv[1] : NULL);
	qsb_policy_free(policy);
	printf("1..%d\n", count);
	return failures != 0;
}
