/* Starts the program for one command and waits for its answer, as text: without Jansson, so that bindings can do
 * without it, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/program.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "os/child.h"

struct qsb_sandbox {
	int64_t pid;
	int stream[3]; /* our ends of pipes, -1 = none */
	int events, control, result;
	struct qsb__bytes answer; /* what was read of it */
	int answered;             /* 1: it is whole; negative: it cannot be read */
	struct qsb_error unreadable;
	bool waited;
};

/* What is needed between "asked" and "started"; all of it goes when the program runs. */
struct starting {
	const struct qsb_spawn_options *options;
	struct qsb_sandbox *sandbox;
	int stdio[3]; /* the command's ends */
	int policy, events, control, result;
	char **words; /* argv */
	size_t word_count;
	char (*numbers)[12]; /* descriptor numbers as text */
	size_t number_count;
};

enum { OPTION_WORDS = 32, OWN_DESCRIPTORS = 4 };

void qsb_spawn_options_init(struct qsb_spawn_options *options, size_t size)
{
	struct qsb_spawn_options fresh = {
		.size = size,
		.stdin_fd = QSB_STREAM_NULL,
		.stdout_fd = QSB_STREAM_INHERIT,
		.stderr_fd = QSB_STREAM_INHERIT,
	};

	/* A caller that was compiled against another version has another size. */
	memset(options, 0, size);
	memcpy(options, &fresh, size < sizeof(fresh) ? size : sizeof(fresh));
}

static void close_at(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void clear_starting(struct starting *starting)
{
	for (int i = 0; i < 3; i++)
		close_at(&starting->stdio[i]);
	close_at(&starting->policy);
	close_at(&starting->events);
	close_at(&starting->control);
	close_at(&starting->result);
	free(starting->words);
	free(starting->numbers);
}

static void add(struct starting *starting, const char *word)
{
	starting->words[starting->word_count++] = (char *)(uintptr_t)word;
}

static void add_option(struct starting *starting, const char *option, const char *value)
{
	if (!value)
		return;
	add(starting, option);
	add(starting, value);
}

static void add_descriptor(struct starting *starting, const char *option, int fd)
{
	char *text = starting->numbers[starting->number_count];

	if (fd < 0)
		return;
	starting->number_count++;
	snprintf(text, sizeof(starting->numbers[0]), "%d", fd);
	add_option(starting, option, text);
}

static int open_stream(struct starting *starting, int which, int asked, struct qsb_error *err)
{
	int ends[2], rc;

	if (asked == QSB_STREAM_NULL)
		return 0;
	if (asked != QSB_STREAM_PIPE) {
		int fd = qsb__descriptor_copy(asked == QSB_STREAM_INHERIT ? which : asked, err);

		/* A host that has closed its own 0, 1 or 2 has no stream to hand on. */
		if (fd < 0 && asked == QSB_STREAM_INHERIT)
			return 0;
		starting->stdio[which] = fd;
		return fd < 0 ? fd : 0;
	}
	rc = qsb__pipe(ends, err);
	if (rc)
		return rc;
	starting->sandbox->stream[which] = ends[which == 0];
	starting->stdio[which] = ends[which != 0];
	return 0;
}

static int open_streams(struct starting *starting, struct qsb_error *err)
{
	const struct qsb_spawn_options *options = starting->options;
	bool capture = options->flags & QSB_SPAWN_CAPTURE;
	int rc = open_stream(starting, 0, options->stdin_fd, err);

	if (rc == 0)
		rc = open_stream(starting, 1, capture ? QSB_STREAM_NULL : options->stdout_fd, err);
	if (rc == 0)
		rc = open_stream(starting, 2, capture ? QSB_STREAM_NULL : options->stderr_fd, err);
	return rc;
}

static int open_channels(struct starting *starting, struct qsb_error *err)
{
	struct qsb_sandbox *sandbox = starting->sandbox;
	int ends[2];
	int rc = qsb__pipe(ends, err);

	if (rc)
		return rc;
	sandbox->result = ends[0];
	starting->result = ends[1];
	rc = qsb__channel(ends, err);
	if (rc)
		return rc;
	sandbox->control = ends[0];
	starting->control = ends[1];
	if (!(starting->options->flags & QSB_SPAWN_EVENTS))
		return 0;
	rc = qsb__pipe(ends, err);
	if (rc)
		return rc;
	sandbox->events = ends[0];
	starting->events = ends[1];
	return 0;
}

static int open_policy(struct starting *starting, struct qsb_error *err)
{
	const char *text = starting->options->policy_json;

	if (!text)
		return 0;
	starting->policy = qsb__memory_file(text, strlen(text), err);
	return starting->policy < 0 ? starting->policy : 0;
}

static int write_words(struct starting *starting, struct qsb_error *err)
{
	const struct qsb_spawn_options *options = starting->options;
	size_t argument_count = 0;

	while (options->argv && options->argv[argument_count])
		argument_count++;
	starting->words = calloc(OPTION_WORDS + 2 * options->pass_count + argument_count, sizeof(*starting->words));
	starting->numbers = calloc(OWN_DESCRIPTORS + options->pass_count, sizeof(*starting->numbers));
	if (!starting->words || !starting->numbers)
		return qsb__fail_memory(err, "spawn");
	add(starting, "qiming-sandbox");
	add(starting, "run");
	add_descriptor(starting, "--result-fd", starting->result);
	add_descriptor(starting, "--control-fd", starting->control);
	add_descriptor(starting, "--events-fd", starting->events);
	add_descriptor(starting, "--policy-fd", starting->policy);
	for (size_t i = 0; i < options->pass_count; i++)
		add_descriptor(starting, "--pass-fd", options->pass_fds[i]);
	add_option(starting, "--workspace", options->workspace);
	add_option(starting, "--cwd", options->cwd);
	add_option(starting, "--backend", options->backend);
	if (options->flags & QSB_SPAWN_CAPTURE)
		add(starting, "--capture");
	if (options->flags & QSB_SPAWN_TTY)
		add(starting, "--tty");
	if (options->flags & QSB_SPAWN_ASK_NETWORK)
		add(starting, "--ask-network");
	add_option(starting, "-c", options->command);
	add(starting, "--");
	for (size_t i = 0; i < argument_count; i++)
		add(starting, options->argv[i]);
	return 0;
}

static int start_program(struct starting *starting, struct qsb_error *err)
{
	const struct qsb_spawn_options *options = starting->options;
	QSB_CLEANUP_FREE int *keep = calloc(OWN_DESCRIPTORS + options->pass_count, sizeof(*keep));
	const int own[] = {starting->result, starting->control, starting->events, starting->policy};
	char program[QSB__PROGRAM_PATH];
	struct qsb__child child = {
		.program = program,
		.argv = starting->words,
		.environment = (char *const *)(uintptr_t)options->environment,
		.stdio = {starting->stdio[0], starting->stdio[1], starting->stdio[2]},
		.keep = keep,
	};
	int rc = qsb__program_find(program, options->program, err);

	if (rc)
		return rc;
	if (!keep)
		return qsb__fail_memory(err, "spawn");
	for (int i = 0; i < OWN_DESCRIPTORS; i++)
		if (own[i] >= 0)
			keep[child.keep_count++] = own[i];
	for (size_t i = 0; i < options->pass_count; i++)
		keep[child.keep_count++] = options->pass_fds[i];
	return qsb__child_start(&starting->sandbox->pid, &child, err);
}

/* Written before the program runs: it looks for it before it makes the terminal. */
static int order_size(const struct starting *starting, struct qsb_error *err)
{
	const struct qsb_spawn_options *options = starting->options;

	if (options->rows == 0 && options->columns == 0)
		return 0;
	return qsb_sandbox_resize(starting->sandbox, options->rows, options->columns, err);
}

static int check_options(const struct qsb_spawn_options *options, struct qsb_error *err)
{
	if (!options->argv == !options->command)
		return qsb__fail(err, QSB_E_INVALID, "spawn", "give either argv or command");
	if (options->argv && !options->argv[0])
		return qsb__fail(err, QSB_E_INVALID, "spawn", "argv names no command");
	if ((options->flags & QSB_SPAWN_ASK_NETWORK) && !(options->flags & QSB_SPAWN_EVENTS))
		return qsb__fail(err, QSB_E_INVALID, "spawn",
				 "QSB_SPAWN_ASK_NETWORK asks by an event: it needs QSB_SPAWN_EVENTS too");
	for (size_t i = 0; i < options->pass_count; i++)
		if (options->pass_fds[i] < 3)
			return qsb__fail(err, QSB_E_INVALID, "spawn",
					 "pass_fds are descriptors above 2; use stdin_fd, stdout_fd "
					 "and stderr_fd");
	return 0;
}

int qsb__sandbox_spawn(struct qsb_sandbox **out, const struct qsb_spawn_options *options, struct qsb_error *err)
{
	struct qsb_sandbox *sandbox = calloc(1, sizeof(*sandbox));
	QSB_CLEANUP(clear_starting)
	struct starting starting = {.options = options,
				    .sandbox = sandbox,
				    .stdio = {-1, -1, -1},
				    .policy = -1,
				    .events = -1,
				    .control = -1,
				    .result = -1};
	int rc;

	*out = NULL;
	if (!sandbox)
		return qsb__fail_memory(err, "spawn");
	*sandbox = (struct qsb_sandbox){.stream = {-1, -1, -1}, .events = -1, .control = -1, .result = -1};
	rc = check_options(options, err);
	if (rc == 0)
		rc = open_streams(&starting, err);
	if (rc == 0)
		rc = open_channels(&starting, err);
	if (rc == 0)
		rc = order_size(&starting, err);
	if (rc == 0)
		rc = open_policy(&starting, err);
	if (rc == 0)
		rc = write_words(&starting, err);
	if (rc == 0)
		rc = start_program(&starting, err);
	if (rc)
		qsb_sandbox_free(sandbox);
	else
		*out = sandbox;
	return rc;
}

int64_t qsb_sandbox_pid(const struct qsb_sandbox *sandbox)
{
	return sandbox->pid;
}

int qsb_sandbox_fd(const struct qsb_sandbox *sandbox, int which)
{
	if (which >= QSB_FD_STDIN && which <= QSB_FD_STDERR)
		return sandbox->stream[which];
	if (which == QSB_FD_EVENTS)
		return sandbox->events;
	return which == QSB_FD_RESULT ? sandbox->result : -1;
}

int qsb_sandbox_take_fd(struct qsb_sandbox *sandbox, int which)
{
	if (which >= QSB_FD_STDIN && which <= QSB_FD_STDERR)
		return qsb__take_fd(&sandbox->stream[which]);
	return which == QSB_FD_EVENTS ? qsb__take_fd(&sandbox->events) : -1;
}

static int send_order(struct qsb_sandbox *sandbox, const char *order, struct qsb_error *err)
{
	if (sandbox->waited)
		return qsb__fail(err, QSB_E_STATE, "control", "the sandbox has ended and was waited for");
	return qsb__channel_send(sandbox->control, order, strlen(order), err);
}

int qsb_sandbox_kill(struct qsb_sandbox *sandbox, int signal_number, struct qsb_error *err)
{
	char order[40];

	if (signal_number < 1 || signal_number > 64)
		return qsb__fail(err, QSB_E_RANGE, "kill", "%d is not the number of a signal", signal_number);
	snprintf(order, sizeof(order), "{\"kill\":%d}\n", signal_number);
	return send_order(sandbox, order, err);
}

int qsb_sandbox_resize(struct qsb_sandbox *sandbox, unsigned rows, unsigned columns, struct qsb_error *err)
{
	char order[60];

	if (rows < 1 || columns < 1 || rows > UINT16_MAX || columns > UINT16_MAX)
		return qsb__fail(err, QSB_E_RANGE, "resize", "%u rows and %u columns are no terminal", rows, columns);
	snprintf(order, sizeof(order), "{\"resize\":[%u,%u]}\n", rows, columns);
	return send_order(sandbox, order, err);
}

int qsb_sandbox_approve(struct qsb_sandbox *sandbox, uint32_t id, int answer, struct qsb_error *err)
{
	static const char *const words[] = {
		[QSB_APPROVE_DENY] = "deny", [QSB_APPROVE_ONCE] = "allow-once", [QSB_APPROVE_RUN] = "allow-run"};
	char order[80];

	if (answer < QSB_APPROVE_DENY || answer > QSB_APPROVE_RUN)
		return qsb__fail(err, QSB_E_RANGE, "approve", "%d is none of QSB_APPROVE_*", answer);
	snprintf(order, sizeof(order), "{\"approve\":{\"id\":%u,\"answer\":\"%s\"}}\n", id, words[answer]);
	return send_order(sandbox, order, err);
}

static int fail_without_answer(int status, struct qsb_error *err)
{
	if (status < 0)
		return qsb__fail(err, QSB_E_PROTOCOL, "result",
				 "the program was ended by signal %d before it could answer", -status);
	return qsb__fail(err, QSB_E_PROTOCOL, "result", "the program ended with status %d and without an answer",
			 status);
}

static void read_answer(struct qsb_sandbox *sandbox, bool wait)
{
	if (!sandbox->answered)
		sandbox->answered = qsb__descriptor_read(sandbox->result, &sandbox->answer, wait, &sandbox->unreadable);
}

int qsb_sandbox_poll(struct qsb_sandbox *sandbox, struct qsb_error *err)
{
	if (sandbox->waited)
		return qsb__fail(err, QSB_E_STATE, "wait", "the sandbox was waited for already");
	read_answer(sandbox, false);
	if (sandbox->answered < 0 && err)
		*err = sandbox->unreadable;
	return sandbox->answered;
}

int qsb_sandbox_wait_json(struct qsb_sandbox *sandbox, char **out, size_t *length, struct qsb_error *err)
{
	int status = 0;
	int waited;

	*out = NULL;
	*length = 0;
	if (sandbox->waited)
		return qsb__fail(err, QSB_E_STATE, "wait", "the sandbox was waited for already");
	read_answer(sandbox, true);
	/* An answer that could not be read must not leave a command behind. */
	if (sandbox->answered < 0) {
		qsb__child_signal(sandbox->pid, 9, NULL);
		if (err)
			*err = sandbox->unreadable;
	}
	waited = qsb__child_wait(sandbox->pid, &status, sandbox->answered < 0 ? NULL : err);
	sandbox->waited = true;
	if (sandbox->answered < 0 || waited)
		return sandbox->answered < 0 ? sandbox->answered : waited;
	if (sandbox->answer.length == 0)
		return fail_without_answer(status, err);
	*length = sandbox->answer.length;
	*out = QSB_TAKE(sandbox->answer.data);
	return 0;
}

void qsb_sandbox_free(struct qsb_sandbox *sandbox)
{
	int status;

	if (!sandbox)
		return;
	if (sandbox->pid > 0 && !sandbox->waited) {
		/* The program's end is the end of every process below it. */
		qsb__child_signal(sandbox->pid, 9, NULL);
		qsb__child_wait(sandbox->pid, &status, NULL);
	}
	for (int i = 0; i < 3; i++)
		close_at(&sandbox->stream[i]);
	close_at(&sandbox->events);
	close_at(&sandbox->control);
	close_at(&sandbox->result);
	free(sandbox->answer.data);
	free(sandbox);
}
