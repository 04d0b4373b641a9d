/* The library against a program that plays qiming-sandbox: this one, started as "run". */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <qiming/sandbox.h>

#include "core/cleanup.h"
#include "played_run.h"
#include "tap.h"

static json_t *list_of(const struct qsb_result *result)
{
	json_t *root = result ? json_loads(result->json, 0, NULL) : NULL;
	json_t *list = json_incref(json_object_get(root, "list"));

	json_decref(root);
	return list;
}

static bool has(json_t *list, const char *word, const char *next)
{
	for (size_t i = 0; i + 1 < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), word) == 0 &&
		    (!next || strcmp(json_string_value(json_array_get(list, i + 1)), next) == 0))
			return true;
	return false;
}

static void test_failures(void)
{
	tap_ok(!run_with(fresh(), "fails") && err.code == QSB_E_UNSUPPORTED, "the program's failure is the call's");
	tap_is_text(err.message, "not here", "in its words");
	tap_is_text(err.where, "user namespaces", "with its place");
	tap_ok(!run_with(fresh(), "garbage") && err.code == QSB_E_PROTOCOL, "an answer that is cut is no answer");
	tap_ok(!run_with(fresh(), "no-code") && err.code == QSB_E_PROTOCOL, "an answer without an exit code is none");
	tap_ok(!run_with(fresh(), "silent") && err.code == QSB_E_PROTOCOL, "nor is silence");
	tap_is_text(err.message, "the program ended with status 125 and without an answer",
		    "which is told with the status");
	tap_ok(!run_with(fresh(), "dies") && err.code == QSB_E_PROTOCOL, "a program that is killed gave no answer");
	tap_is_text(err.message, "the program was ended by signal 9 before it could answer",
		    "which is told with the signal");
}

/* An event loop's way: the answer comes in pieces, and no call waits. */
static void test_poll(void)
{
	struct qsb_spawn_options options = fresh();
	struct qsb_sandbox *sandbox = NULL;
	struct pollfd state = {.events = POLLIN};
	char *text = NULL;
	size_t length = 0, early = 0;
	int rc = 0;

	if (!tap_ok(start(&sandbox, &options, "slow") == 0, "a program starts"))
		return;
	state.fd = qsb_sandbox_fd(sandbox, QSB_FD_RESULT);
	while (rc == 0 && poll(&state, 1, 10000) > 0) {
		rc = qsb_sandbox_poll(sandbox, &err);
		early += rc == 0;
	}
	tap_ok(rc == 1 && early > 0, "its answer is read as it comes, without a wait");
	tap_is_number(qsb_sandbox_poll(sandbox, &err), 1, "and stays read");
	tap_is_number(qsb_sandbox_wait_json(sandbox, &text, &length, &err), 0, "a wait gives it");
	tap_ok(length > 100000 && text && text[length] == '\0' && text[0] == '{' && text[length - 1] == '}',
	       "whole, as the program wrote it");
	qsb_string_free(text);
	tap_is_number(qsb_sandbox_poll(sandbox, &err), QSB_E_STATE, "after the wait there is nothing to read");
	tap_is_number(qsb_sandbox_wait_json(sandbox, &text, &length, &err), QSB_E_STATE, "nor a second wait");
	qsb_sandbox_free(sandbox);

	options = fresh();
	start(&sandbox, &options, "fails");
	tap_is_number(qsb_sandbox_wait_json(sandbox, &text, &length, &err), 0, "a failure is an answer, too");
	tap_ok(text && strstr(text, "\"unsupported\""), "with its code");
	qsb_string_free(text);
	qsb_sandbox_free(sandbox);

	options = fresh();
	start(&sandbox, &options, "silent");
	tap_is_number(qsb_sandbox_wait_json(sandbox, &text, &length, &err), QSB_E_PROTOCOL, "silence is none");
	tap_ok(!text && length == 0, "and gives nothing");
	qsb_sandbox_free(sandbox);
}

static void test_arguments(void)
{
	struct qsb_spawn_options options = fresh();
	struct qsb_result *result;
	json_t *list;

	options.command = "--not an option";
	options.workspace = "/a b";
	options.cwd = "-c";
	options.backend = "x";
	options.flags = QSB_SPAWN_CAPTURE | QSB_SPAWN_TTY;
	result = run_with(options, NULL);
	list = list_of(result);
	tap_ok(has(list, "-c", "--not an option"), "text for the shell is the value of -c");
	tap_ok(has(list, "--workspace", "/a b"), "the workspace is passed as it is");
	tap_ok(has(list, "--cwd", "-c"), "so is the working folder");
	tap_ok(has(list, "--backend", "x") && has(list, "--capture", NULL) && has(list, "--tty", NULL), "and the rest");
	tap_ok(!has(list, "--policy-fd", NULL) && !has(list, "--events-fd", NULL), "what was not asked is not passed");
	json_decref(list);
	qsb_result_free(result);

	options = fresh();
	tap_ok(!run_with(options, NULL) && err.code == QSB_E_INVALID, "an empty command is refused");
	options.command = "x";
	options.argv = (const char *const[]){"x", NULL};
	tap_is_number(qsb_sandbox_spawn(&(struct qsb_sandbox *){NULL}, &options, &err), QSB_E_INVALID,
		      "so are two commands");
	options = fresh();
	options.pass_fds = (const int[]){1};
	options.pass_count = 1;
	tap_ok(!run_with(options, "whole") && err.code == QSB_E_INVALID,
	       "a stream is not passed as a further descriptor");
	options = fresh();
	options.stdout_fd = 200;
	tap_ok(!run_with(options, "whole") && err.code == QSB_E_INVALID, "a stream that is not open is refused");
}

static void test_old_caller(void)
{
	struct qsb_spawn_options options;
	struct qsb_result *result;

	/* As if later fields did not exist yet: the bytes there are somebody else's. */
	memset(&options, 0xEE, sizeof(options));
	qsb_spawn_options_init(&options, offsetof(struct qsb_spawn_options, pass_fds));
	result = run_with(options, "whole");
	tap_ok(result != NULL, "options of an older version are understood");
	qsb_result_free(result);
}

static void test_descriptors(void)
{
	struct qsb_spawn_options options = fresh();
	int leaked = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int passed = fcntl(leaked, F_DUPFD_CLOEXEC, 100);
	struct qsb_result *result;
	json_t *list;
	bool seen = false;

	options.pass_fds = &passed;
	options.pass_count = 1;
	result = run_with(options, "descriptors");
	list = list_of(result);
	tap_is_number((long long)json_array_size(list), 3,
		      "the program gets result, control and what was passed, no more");
	for (size_t i = 0; i < json_array_size(list); i++)
		seen |= json_integer_value(json_array_get(list, i)) == passed;
	tap_ok(seen, "a passed descriptor keeps its number");
	json_decref(list);
	qsb_result_free(result);
	close(leaked);
	close(passed);
}

static size_t descriptor_count(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void test_streams(void)
{
	struct qsb_spawn_options options = fresh();
	struct qsb_sandbox *sandbox = NULL;
	struct qsb_result *result = NULL;
	char out[8] = "", error[8] = "";
	ssize_t got, got_error;

	options.stdout_fd = options.stderr_fd = QSB_STREAM_PIPE;
	start(&sandbox, &options, "prints");
	got = read(qsb_sandbox_fd(sandbox, QSB_FD_STDOUT), out, sizeof(out) - 1);
	got_error = read(qsb_sandbox_fd(sandbox, QSB_FD_STDERR), error, sizeof(error) - 1);
	tap_ok(got == 3 && got_error == 3 && strcmp(out, "out") == 0 && strcmp(error, "err") == 0,
	       "output comes through pipes");
	tap_ok(qsb_sandbox_fd(sandbox, QSB_FD_STDIN) < 0 && qsb_sandbox_fd(sandbox, QSB_FD_EVENTS) < 0,
	       "what was not asked for has no descriptor");
	tap_ok(qsb_sandbox_wait(sandbox, &result, &err) == 0, "and the result arrives too");
	qsb_result_free(result);
	qsb_sandbox_free(sandbox);

	options = fresh();
	options.stdin_fd = QSB_STREAM_PIPE;
	start(&sandbox, &options, "input");
	got = write(qsb_sandbox_fd(sandbox, QSB_FD_STDIN), "typed", 5);
	close(qsb_sandbox_take_fd(sandbox, QSB_FD_STDIN));
	tap_ok(got == 5 && qsb_sandbox_fd(sandbox, QSB_FD_STDIN) < 0, "a descriptor that was taken is gone");
	tap_ok(qsb_sandbox_wait(sandbox, &result, &err) == 0 && strcmp(result->stdout_data, "typed") == 0,
	       "input goes through a pipe");
	qsb_result_free(result);
	qsb_sandbox_free(sandbox);

	result = run_with(fresh(), "input");
	tap_ok(result && result->stdout_length == 0, "without one there is no input");
	qsb_result_free(result);

	options = fresh();
	options.flags = QSB_SPAWN_EVENTS;
	start(&sandbox, &options, "events");
	got = read(qsb_sandbox_fd(sandbox, QSB_FD_EVENTS), out, sizeof(out));
	tap_is_number(got, 3, "events come through their descriptor");
	tap_ok(qsb_sandbox_take_fd(sandbox, QSB_FD_RESULT) == -1, "that of the result is the library's");
	qsb_sandbox_free(sandbox);
}

static void test_policy(void)
{
	struct qsb_spawn_options options = fresh();
	struct qsb_policy *policy = NULL;
	struct qsb_result *result;
	char *json = NULL;

	options.policy_json = "{\"extends\":\"read-only\"}";
	result = run_with(options, "policy");
	tap_is_text(result ? result->stdout_data : NULL, options.policy_json, "a policy arrives as it was written");
	qsb_result_free(result);

	qsb_policy_new(&policy, NULL, &err);
	qsb_policy_set(policy, "/limits/timeout", "7", &err);
	qsb_policy_get_json(policy, &json, &err);
	options = fresh();
	options.policy = policy;
	result = run_with(options, "policy");
	tap_is_text(result ? result->stdout_data : NULL, json, "a policy object arrives as its JSON");
	qsb_result_free(result);
	options.policy_json = "{}";
	tap_ok(!run_with(options, "policy") && err.code == QSB_E_INVALID, "two policies are refused");
	qsb_string_free(json);

	tap_is_number(qsb_policy_set(policy, "/limits/timout", "7", &err), QSB_E_UNKNOWN, "an unknown key is refused");
	tap_is_text(err.message, "unknown key /limits/timout; did you mean /limits/timeout?", "with a suggestion");
	tap_ok(qsb_policy_set(policy, "/limits/timeout", "0", &err) < 0, "so is a bad value");
	tap_is_number(qsb_policy_merge_json(policy, "{\"x\":1}", 7, &err), QSB_E_UNKNOWN,
		      "and a policy with an unknown key");
	qsb_policy_free(policy);
	tap_is_number(qsb_policy_new(&policy, "workspce", &err), QSB_E_UNKNOWN, "an unknown preset is refused");
	tap_is_text(err.message, "unknown preset workspce; did you mean workspace?", "with a suggestion too");
	tap_ok(policy == NULL, "and gives no policy");
	qsb_policy_free(NULL);
}

static void test_orders(void)
{
	struct qsb_spawn_options options = fresh();
	struct qsb_sandbox *sandbox = NULL;
	struct qsb_result *result = NULL;

	start(&sandbox, &options, "order");
	tap_is_number(qsb_sandbox_kill(sandbox, 0, &err), QSB_E_RANGE, "0 is no signal");
	tap_is_number(qsb_sandbox_resize(sandbox, 0, 80, &err), QSB_E_RANGE, "no rows are no terminal");
	tap_is_number(qsb_sandbox_approve(sandbox, 1, 3, &err), QSB_E_RANGE, "3 is no approval");
	tap_ok(qsb_sandbox_kill(sandbox, SIGTERM, &err) == 0 && qsb_sandbox_wait(sandbox, &result, &err) == 0,
	       "a signal is an order to the program");
	tap_is_text(result ? result->stdout_data : NULL, "{\"kill\":15}\n", "a line of JSON");
	qsb_result_free(result);
	tap_is_number(qsb_sandbox_kill(sandbox, SIGTERM, &err), QSB_E_STATE,
		      "after the wait there is nobody to signal");
	tap_is_number(qsb_sandbox_wait(sandbox, &result, &err), QSB_E_STATE, "and nothing to wait for");
	qsb_sandbox_free(sandbox);

	result = NULL;
	options.rows = 33;
	options.columns = 101;
	start(&sandbox, &options, "order");
	qsb_sandbox_wait(sandbox, &result, &err);
	tap_is_text(result ? result->stdout_data : NULL, "{\"resize\":[33,101]}\n",
		    "a size to begin with is the first order");
	qsb_result_free(result);
	result = NULL;
	qsb_sandbox_free(sandbox);
	options.rows = options.columns = 0;
	for (int answer = QSB_APPROVE_DENY; answer <= QSB_APPROVE_RUN; answer++) {
		static const char *const orders[] = {"{\"approve\":{\"id\":4294967295,\"answer\":\"deny\"}}\n",
						     "{\"approve\":{\"id\":4294967295,\"answer\":\"allow-once\"}}\n",
						     "{\"approve\":{\"id\":4294967295,\"answer\":\"allow-run\"}}\n"};

		start(&sandbox, &options, "order");
		qsb_sandbox_approve(sandbox, UINT32_MAX, answer, &err);
		qsb_sandbox_wait(sandbox, &result, &err);
		tap_is_text(result ? result->stdout_data : NULL, orders[answer], "an answer to a request is an order");
		qsb_result_free(result);
		result = NULL;
		tap_is_number(qsb_sandbox_approve(sandbox, 1, QSB_APPROVE_DENY, &err), QSB_E_STATE,
			      "after the wait nobody takes it");
		qsb_sandbox_free(sandbox);
	}
	options.flags = QSB_SPAWN_ASK_NETWORK;
	tap_is_number(start(&sandbox, &options, "order"), QSB_E_INVALID, "a request that nobody hears is refused");
	options.flags = QSB_SPAWN_ASK_NETWORK | QSB_SPAWN_EVENTS;
	start(&sandbox, &options, "words");
	qsb_sandbox_wait(sandbox, &result, &err);
	tap_ok(result && strstr(result->json, "\"--ask-network\""), "the program is told to ask");
	qsb_result_free(result);
	qsb_sandbox_free(sandbox);
	options.flags = 0;
	start(&sandbox, &options, "silent");
	usleep(50000);
	tap_is_number(qsb_sandbox_kill(sandbox, SIGTERM, &err), 0, "a signal to what has just ended is no error");
	qsb_sandbox_free(sandbox);

	start(&sandbox, &options, "sleeps");
	qsb_sandbox_free(sandbox);
	tap_ok(true, "freeing a sandbox that runs ends it");
	qsb_sandbox_free(NULL);
	qsb_result_free(NULL);
}

static void test_host_state(void)
{
	struct qsb_result *result;
	sigset_t block, before;
	size_t open_before;
	int saved;

	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &before);
	signal(SIGPIPE, SIG_IGN);
	result = run_with(fresh(), "signals");
	tap_ok(result && result->exit_code == 0, "signals are as the system made them");
	qsb_result_free(result);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);

	signal(SIGCHLD, SIG_IGN);
	result = run_with(fresh(), "whole");
	tap_ok(result && result->exit_code == 143, "a host that ignores its children still gets the result");
	qsb_result_free(result);
	signal(SIGCHLD, SIG_DFL);

	saved = fcntl(0, F_DUPFD_CLOEXEC, 50);
	close(0);
	result = run_with(fresh(), "whole");
	tap_ok(result && result->exit_code == 143, "so does one that has closed its standard input");
	qsb_result_free(result);
	if (saved >= 0) {
		dup2(saved, 0);
		close(saved);
	}
	open_before = descriptor_count();
	qsb_result_free(run_with(fresh(), "whole"));
	qsb_result_free(run_with(fresh(), "fails"));
	tap_is_number((long long)descriptor_count(), (long long)open_before, "no descriptor is left behind");
}

static void test_program(void)
{
	struct qsb_spawn_options options = fresh();
	struct qsb_sandbox *sandbox = NULL;

	options.command = ":";
	options.program = "/no/such/program";
	tap_is_number(qsb_sandbox_spawn(&sandbox, &options, &err), QSB_E_NOT_FOUND,
		      "a program that is not there is refused");
	tap_ok(strstr(err.message, "/no/such/program") != NULL, "by name");
	setenv("QIMING_SANDBOX_PROGRAM", "/no/such/other", 1);
	options.program = NULL;
	tap_is_number(qsb_sandbox_spawn(&sandbox, &options, &err), QSB_E_NOT_FOUND,
		      "so is one that the environment names");
	tap_ok(strstr(err.message, "QIMING_SANDBOX_PROGRAM") != NULL, "and the variable is named");
	setenv("QIMING_SANDBOX_PROGRAM", "/", 1);
	tap_is_number(qsb_sandbox_spawn(&sandbox, &options, &err), QSB_E_NOT_FOUND, "a folder is no program");
	unsetenv("QIMING_SANDBOX_PROGRAM");
	tap_ok(sandbox == NULL, "and no sandbox comes of it");
}

static void test_plan(void)
{
	struct qsb_policy *policy = NULL;
	struct qsb_plan *plan = NULL;
	char *text = NULL;

	qsb_policy_new(&policy, "workspace", &err);
	tap_is_number(qsb_plan_new(&plan, policy, "/no/such/folder", NULL, &err), QSB_E_NOT_FOUND,
		      "a plan needs a workspace that is there");
	tap_ok(plan == NULL, "without one there is none");
	tap_is_number(qsb_plan_new(&plan, policy, "/usr", NULL, &err), 0, "a plan is made");
	qsb_policy_free(policy);
	tap_ok(qsb_plan_print(plan, &text, &err) == 0 && strstr(text, "/usr"), "and printed");
	qsb_string_free(text);
	tap_ok(qsb_plan_explain_path_json(plan, "/usr/x", &text, &err) == 0 && strstr(text, "\"write\": true"),
	       "a path in the workspace may be written");
	qsb_string_free(text);
	tap_ok(qsb_plan_explain_path_json(plan, "/etc/x", &text, &err) == 0 && strstr(text, "\"write\": false"),
	       "one outside may not");
	qsb_string_free(text);
	tap_ok(qsb_plan_explain_host_json(plan, "Example.COM", &text, &err) == 0 && strstr(text, "\"example.com\"") &&
		       strstr(text, "\"allowed\": false"),
	       "with the network off a host is out of reach");
	qsb_string_free(text);
	tap_is_number(qsb_plan_explain_host_json(plan, "https://x", &text, &err), QSB_E_INVALID,
		      "an address of a page is no host");
	qsb_plan_free(plan);
	qsb_plan_free(NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "run") == 0)
		return play(argv);
	if (!find_self())
		return 1;
	/* The runner's own descriptors are not part of the counts. */
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	test_failures();
	test_poll();
	test_arguments();
	test_old_caller();
	test_descriptors();
	test_streams();
	test_policy();
	test_orders();
	test_host_state();
	test_program();
	test_plan();
	return tap_done();
}
