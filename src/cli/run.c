#include "cli/run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/backend.h"
#include "cli/learn.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/network.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "os/descriptors.h"
#include "supervisor/run.h"
#include "supervisor/summary.h"

static const struct qsb__option options[] = {
	{.id = QSB__OPT_COMMAND,
	 .name = "-c",
	 .value = QSB__VALUE_TEXT,
	 .metavar = "STRING",
	 .group = QSB__GROUP_OTHER,
	 .summary = "Run STRING with /bin/sh; further words are its arguments, the first one its $0."},
	{.id = QSB__OPT_CWD,
	 .name = "--cwd",
	 .value = QSB__VALUE_DIR,
	 .metavar = "DIR",
	 .group = QSB__GROUP_OTHER,
	 .summary = "Where the command starts. Default: the current folder when it lies in the workspace, else the "
		    "workspace."},
	{.id = QSB__OPT_LEARN,
	 .name = "--learn",
	 .value = QSB__VALUE_PATH,
	 .metavar = "FILE",
	 .group = QSB__GROUP_POLICY,
	 .summary = "Let the command write, read and reach what the policy would refuse, but for secrets, protected "
		    "names and sockets of the host, and write the policy that would have sufficed to FILE, which must "
		    "not be there."},
	{.id = QSB__OPT_BACKEND,
	 .name = "--backend",
	 .value = QSB__VALUE_TEXT,
	 .metavar = "NAME",
	 .group = QSB__GROUP_OTHER,
	 .summary = "Use this back end and no other; `doctor` lists them."},
	{.id = QSB__OPT_TTY,
	 .name = "--tty",
	 .alias = "-t",
	 .group = QSB__GROUP_OUTPUT,
	 .summary = "Give the command a pseudo-terminal of its own, for full-screen programs."},
	{.id = QSB__OPT_JSON,
	 .name = "--json",
	 .group = QSB__GROUP_OUTPUT,
	 .summary = "Keep the command's output and print the result as one line of JSON."},
	{.id = QSB__OPT_CAPTURE,
	 .name = "--capture",
	 .group = QSB__GROUP_OUTPUT,
	 .summary = "Keep the command's output for the result instead of passing it on."},
	{.id = QSB__OPT_RESULT_FD,
	 .name = "--result-fd",
	 .value = QSB__VALUE_TEXT,
	 .metavar = "N",
	 .group = QSB__GROUP_OUTPUT,
	 .summary = "Write the result to this descriptor, as one line of JSON."},
	{.id = QSB__OPT_EVENTS_FD,
	 .name = "--events-fd",
	 .value = QSB__VALUE_TEXT,
	 .metavar = "N",
	 .group = QSB__GROUP_OUTPUT,
	 .summary = "Write what happens to this descriptor, one line of JSON each."},
	{.id = QSB__OPT_CONTROL_FD,
	 .name = "--control-fd",
	 .value = QSB__VALUE_TEXT,
	 .metavar = "N",
	 .group = QSB__GROUP_OUTPUT,
	 .summary = "Read orders from this descriptor: {\"kill\":15}, {\"resize\":[ROWS,COLUMNS]}, "
		    "{\"approve\":{\"id\":N,\"answer\":\"allow-once\"}}."},
	{.id = QSB__OPT_PASS_FD,
	 .name = "--pass-fd",
	 .value = QSB__VALUE_TEXT,
	 .metavar = "N",
	 .group = QSB__GROUP_OUTPUT,
	 .summary = "Leave this descriptor open for the command. Every other one above 2 is closed."},
	{.id = QSB__OPT_NETWORK_LOG,
	 .name = "--network-log",
	 .value = QSB__VALUE_PATH,
	 .metavar = "FILE",
	 .group = QSB__GROUP_NETWORK,
	 .summary = "Add each connection of a filtered network to this file, as one line of JSON."},
	{.id = QSB__OPT_ASK_NETWORK,
	 .name = "--ask-network",
	 .group = QSB__GROUP_NETWORK,
	 .summary = "A connection to a host under no rule waits: an event asks, and the answer (allow-once, allow-run, "
		    "deny) comes as an order. Needs --events-fd and --control-fd."},
	{.id = QSB__OPT_ASK_TIMEOUT,
	 .name = "--ask-timeout",
	 .value = QSB__VALUE_TEXT,
	 .metavar = "SECONDS",
	 .group = QSB__GROUP_NETWORK,
	 .summary = "How long it waits before it is refused. Default: 60."},
	{.id = 0},
};

static const char *const notes[] = {
	"Everything from the COMMAND on is data, also what begins with a dash. Sizes are bytes or 512k, 2g; times are "
	"seconds or 90s, 5m, 1h; `none` switches a limit off. Options that name a list add to it.",
	"--env NAME passes the caller's variable on, also one that is kept back as a secret; --env NAME=VALUE sets it.",
	"Exit status: the command's own; 128+N when signal N ended it; 124 after the timeout; 125 when the sandbox "
	"failed and the command never ran; 126 when it cannot be executed; 127 when it is not found.",
	NULL,
};

/* The descriptors that options name. */
struct descriptors {
	int policy, events, control, result;
	int *pass;
	size_t pass_count;
};

static void clear_descriptors(struct descriptors *descriptors)
{
	free(descriptors->pass);
}

static int read_pass_descriptors(struct descriptors *to, const struct qsb__invocation *invocation,
				 struct qsb_error *err)
{
	to->pass = calloc(invocation->use_count + 1, sizeof(*to->pass));
	if (!to->pass)
		return qsb__fail_memory(err, "descriptors");
	for (size_t i = 0; i < invocation->use_count; i++) {
		const struct qsb__option_use *use = &invocation->uses[i];
		int fd, rc;

		if (!use->option || use->option->id != QSB__OPT_PASS_FD)
			continue;
		rc = qsb__option_use_fd(use, &fd, err);
		if (rc == 0 && (fd == to->policy || fd == to->events || fd == to->control || fd == to->result))
			rc = qsb__fail(err, QSB_E_INVALID, "--pass-fd",
				       "descriptor %d is the sandbox's own: the command cannot have it too", fd);
		if (rc == 0)
			rc = qsb__descriptor_check(fd, err);
		if (rc)
			return rc;
		if (fd > 2)
			to->pass[to->pass_count++] = fd;
	}
	return 0;
}

static int read_descriptors(struct descriptors *to, const struct qsb__invocation *invocation, struct qsb_error *err)
{
	const struct {
		enum qsb__option_id id;
		int *fd;
	} wanted[] = {
		{QSB__OPT_POLICY_FD, &to->policy},
		{QSB__OPT_EVENTS_FD, &to->events},
		{QSB__OPT_CONTROL_FD, &to->control},
		{QSB__OPT_RESULT_FD, &to->result},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		int rc = qsb__invocation_fd(invocation, wanted[i].id, wanted[i].fd, err);

		if (rc)
			return rc;
	}
	return read_pass_descriptors(to, invocation, err);
}

/* A descriptor that the caller left open is a way past every rule: none gets further than this. */
static int close_leaked_descriptors(const struct descriptors *descriptors, struct qsb_error *err)
{
	const int own[] = {descriptors->policy, descriptors->events, descriptors->control, descriptors->result};
	QSB_CLEANUP_FREE int *keep = calloc(descriptors->pass_count + 4, sizeof(*keep));
	size_t count = 0;

	if (!keep)
		return qsb__fail_memory(err, "descriptors");
	for (size_t i = 0; i < 4; i++)
		if (own[i] >= 0)
			keep[count++] = own[i];
	for (size_t i = 0; i < descriptors->pass_count; i++)
		keep[count++] = descriptors->pass[i];
	for (int fd = 0; fd <= 2; fd++) {
		int rc = qsb__descriptor_check(fd, err);

		if (rc)
			return rc;
	}
	return qsb__descriptors_keep_only(keep, count, err);
}

/* The command's arguments: pointers into argv and to constants. */
static int read_command(char ***out, const struct qsb__invocation *invocation, struct qsb_error *err)
{
	static char shell[] = "/bin/sh", flag[] = "-c", end[] = "--";
	const char *text = qsb__invocation_value(invocation, QSB__OPT_COMMAND);
	size_t used = 0;
	char **words;

	if (!text && invocation->operand_count == 0)
		return qsb__fail(err, QSB_E_INVALID, "command",
				 "there is no command to run: give COMMAND or -c STRING");
	words = calloc(invocation->operand_count + 5, sizeof(*words));
	if (!words)
		return qsb__fail_memory(err, "command");
	if (text) {
		words[used++] = shell;
		words[used++] = flag;
		words[used++] = end; /* the text may begin with a dash */
		words[used++] = (char *)(uintptr_t)text;
	}
	memcpy(words + used, invocation->operands, invocation->operand_count * sizeof(*words));
	*out = words;
	return 0;
}

/* Where the result goes: a line of JSON to --result-fd, and with --json to the standard output. */
static int write_result(const struct qsb__invocation *invocation, const struct descriptors *descriptors,
			const char *json, struct qsb_error *err)
{
	QSB_CLEANUP_FREE char *line = NULL;
	int length = json ? asprintf(&line, "%s\n", json) : -1;
	int rc = 0;

	if (length < 0) {
		line = NULL;
		return qsb__fail_memory(err, "result");
	}
	/* A reader that went away is an error to report, not a signal to die of. */
	signal(SIGPIPE, SIG_IGN);
	if (descriptors->result >= 0)
		rc = qsb__descriptor_write(descriptors->result, line, (size_t)length, err);
	if (qsb__invocation_value(invocation, QSB__OPT_JSON) && fputs(line, invocation->out) == EOF && rc == 0)
		rc = qsb__fail_os(err, errno, "result", "cannot write the result");
	return rc;
}

static bool wants_json(const struct qsb__invocation *invocation, const struct descriptors *descriptors)
{
	return descriptors->result >= 0 || qsb__invocation_value(invocation, QSB__OPT_JSON);
}

/* What stood in the way of executing the command, as a shell says it. */
static void report_exec_failure(const char *name, int os_code)
{
	bool looked_up = os_code == ENOENT && !strchr(name, '/');

	qsb__message("%s: %s", name, looked_up ? "command not found" : strerror(os_code));
}

static void report_denials(const struct qsb__result *result)
{
	char lines[QSB__SUMMARY_LINES][QSB__SUMMARY_WIDTH];
	size_t count = qsb__summary(result, lines);

	for (size_t i = 0; i < count; i++)
		qsb__message("%s", lines[i]);
}

/* Few programs pass on what a resolver or a proxy told them, so a refused host is named also where a program reads. */
static bool is_told(const struct qsb__result *result)
{
	if (isatty(STDERR_FILENO))
		return true;
	for (size_t i = 0; result->plan->network == QSB__NETWORK_FILTERED && i < result->denial_count; i++)
		if (strcmp(result->denials[i].kind, "network") == 0)
			return true;
	return false;
}

/* Whoever uses git there next has to know, also where the command succeeded. */
static void report_findings(const struct qsb__result *result)
{
	size_t more = result->findings_left_out;

	for (size_t i = 0; i < result->finding_count; i++) {
		const struct qsb__finding *finding = &result->findings[i];

		if (i >= QSB__SUMMARY_LINES) {
			more++;
			continue;
		}
		qsb__message("found: %s: %s: %s; %s%s%s%s%s", finding->path, finding->what, finding->reason,
			     finding->moved_to[0] ? "moved to " : "it is still there", finding->moved_to,
			     finding->os_error[0] ? " (" : "", finding->os_error, finding->os_error[0] ? ")" : "");
	}
	if (more > 0)
		qsb__message("found: %zu more, or places that could not be looked at", more);
}

static void report_to_person(const struct qsb__result *result, const char *name)
{
	if (result->exec_errno)
		report_exec_failure(name, result->exec_errno);
	else if (result->exit_code != 0 && result->denial_count > 0 && is_told(result))
		report_denials(result);
	qsb__network_report(result);
}

/* The command ran: its exit status stands, whatever became of what was to be written. */
static void write_learned(struct qsb__learn *learn, struct qsb__result *result)
{
	struct qsb_error lost;

	if (!learn)
		return;
	if (qsb__learn_write(learn, result, &lost) < 0)
		qsb__message("no policy was written: %s", lost.message);
	else
		qsb__learn_report(learn, result);
}

static int run_loaded(const struct qsb__invocation *invocation, const struct descriptors *descriptors,
		      const struct qsb__plan *plan, struct qsb__learn *learn, struct qsb_error *err)
{
	QSB_CLEANUP_FD int network_log = -1;
	QSB_CLEANUP_FREE char **command = NULL;
	QSB_CLEANUP_FREE char *json = NULL;
	QSB_CLEANUP(qsb__result_clear) struct qsb__result result = {.exit_code = 0};
	struct qsb__run_request request = {
		.plan = plan,
		.capture = qsb__invocation_value(invocation, QSB__OPT_JSON) ||
			   qsb__invocation_value(invocation, QSB__OPT_CAPTURE),
		.tty = qsb__invocation_value(invocation, QSB__OPT_TTY) != NULL,
		.events_fd = descriptors->events,
		.control_fd = descriptors->control,
		.count_traffic = wants_json(invocation, descriptors),
		.pass_fds = descriptors->pass,
		.pass_count = descriptors->pass_count,
	};
	int rc = read_command(&command, invocation, err);

	if (rc == 0)
		rc = qsb__backend_choose(&request.backend, qsb__invocation_value(invocation, QSB__OPT_BACKEND), plan,
					 err);
	if (rc == 0)
		rc = qsb__network_options(&request, invocation, err);
	if (rc)
		return rc;
	network_log = request.network_log_fd;
	request.argv = command;
	if (learn)
		qsb__learn_listen(learn, &request);
	if (!wants_json(invocation, descriptors))
		qsb__network_warn(plan);
	rc = qsb__run(&request, &result, err);
	if (rc < 0) {
		qsb__backend_explain_failure(request.backend, err);
		return err->code;
	}
	write_learned(learn, &result);
	if (wants_json(invocation, descriptors)) {
		struct qsb_error lost;

		json = qsb__result_json(&result);
		/* The command ran: its exit status stands, whatever became of the report. */
		if (write_result(invocation, descriptors, json, &lost) < 0)
			qsb__message("%s", lost.message);
	}
	report_to_person(&result, command[0]);
	/* A program has them in the result; these lines would stand among the command's own. */
	if (!wants_json(invocation, descriptors))
		report_findings(&result);
	if (result.die_of_signal) {
		fflush(NULL);
		signal(result.signal, SIG_DFL);
		raise(result.signal);
	}
	return result.exit_code;
}

static void free_learn(struct qsb__learn **learn)
{
	qsb__learn_free(*learn);
}

static int run_checked(const struct qsb__invocation *invocation, struct descriptors *descriptors, struct qsb_error *err)
{
	QSB_CLEANUP(qsb__loaded_clear) struct qsb__loaded loaded = {.policy = NULL};
	QSB_CLEANUP(free_learn) struct qsb__learn *learn = NULL;
	int rc = read_descriptors(descriptors, invocation, err);

	if (rc == 0)
		rc = close_leaked_descriptors(descriptors, err);
	if (rc == 0)
		rc = qsb__load(&loaded, invocation, err);
	if (rc == 0)
		rc = qsb__learn_new(&learn, invocation, &loaded, err);
	return rc ? rc : run_loaded(invocation, descriptors, learn ? qsb__learn_plan(learn) : loaded.plan, learn, err);
}

static int run(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	QSB_CLEANUP(clear_descriptors)
	struct descriptors descriptors = {.policy = -1, .events = -1, .control = -1, .result = -1};
	int status = run_checked(invocation, &descriptors, err);

	if (status < 0 && wants_json(invocation, &descriptors)) {
		QSB_CLEANUP_FREE char *json = qsb__failure_json(err);
		struct qsb_error lost;

		write_result(invocation, &descriptors, json, &lost);
	}
	return status;
}

const struct qsb__command qsb__run_command = {
	.name = "run",
	.operands = "[--] COMMAND [ARGUMENTS]",
	.summary = "Run a command in the sandbox.",
	.notes = notes,
	.tables = {qsb__policy_source_options, options},
	.policy_options = true,
	.stop_at_operand = true,
	.run = run,
};
