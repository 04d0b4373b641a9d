/* One run from launch to result. */
#include "supervisor/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "os/signals.h"
#include "supervisor/internal.h"

/* How long a command that was asked to end may take before its tree is killed. */
enum { GRACE_MS = 5000, LINGER_MS = 2000, LINGER_KILLED_MS = 200 };

static const int forwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, 0};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static bool has_output(const struct qsb__supervisor *supervisor)
{
	return qsb__stream_is_busy(&supervisor->out) || qsb__stream_is_busy(&supervisor->err);
}

static bool is_over(const struct qsb__supervisor *supervisor)
{
	return supervisor->ended && !has_output(supervisor) && !qsb__broker_is_awaited(supervisor);
}

void qsb__supervisor_settle(struct qsb__supervisor *supervisor)
{
	if (is_over(supervisor))
		uv_stop(&supervisor->loop);
}

static void drop_output(struct qsb__supervisor *supervisor)
{
	qsb__stream_close(&supervisor->out, true);
	qsb__stream_close(&supervisor->err, true);
}

static void linger_over(uv_timer_t *timer)
{
	struct qsb__supervisor *supervisor = timer->data;
	bool killed = supervisor->outcome.end == QSB__END_LOST;

	qsb__stream_close(&supervisor->out, killed);
	qsb__stream_close(&supervisor->err, killed);
}

static void note_timeout(struct qsb__supervisor *supervisor)
{
	if (!supervisor->result->timed_out)
		qsb__deny_limit(supervisor, "timeout", "/limits/timeout", "--timeout SECONDS");
	supervisor->result->timed_out = true;
}

/*
 * Every process is dead. Their last output is on its way still: it ends by itself, unless somebody outside was handed
 * the writing end, so it is not waited for without a bound. A slow reader of ours is, until the timeout, as in any
 * pipeline; but not when the command was ended at a limit: then the call returns.
 */
static void end_loop(struct qsb__supervisor *supervisor)
{
	const struct qsb__backend *backend = supervisor->request->backend;
	uint64_t limit = supervisor->request->plan->timeout_ms;

	if (supervisor->outcome.end == QSB__END_LOST)
		backend->wait_dead(supervisor->sandbox, &supervisor->outcome);
	supervisor->result->duration_ms = (now_ns() - supervisor->start_ns) / 1000000U;
	/* While we were stopped, the sandbox held the time itself. */
	if (supervisor->outcome.end == QSB__END_LOST && limit > 0 && supervisor->result->duration_ms >= limit)
		note_timeout(supervisor);
	supervisor->ended = true;
	uv_poll_stop(&supervisor->status);
	uv_timer_stop(&supervisor->grace);
	uv_timer_stop(&supervisor->watch);
	qsb__input_finish(supervisor);
	qsb__stream_close(&supervisor->in, true);
	qsb__broker_tell_end(supervisor);
	if (has_output(supervisor)) {
		supervisor->linger.data = supervisor;
		uv_timer_init(&supervisor->loop, &supervisor->linger);
		uv_timer_start(&supervisor->linger, linger_over,
			       supervisor->outcome.end == QSB__END_LOST ? LINGER_KILLED_MS : LINGER_MS, 0);
	}
	qsb__supervisor_settle(supervisor);
}

static void kill_tree(struct qsb__supervisor *supervisor)
{
	supervisor->request->backend->kill(supervisor->sandbox);
}

/* ---- what may happen while the command runs ---- */

static void timed_out(uv_timer_t *timer)
{
	struct qsb__supervisor *supervisor = timer->data;

	/* The command ended in time; only somebody who does not read keeps us. */
	if (supervisor->ended) {
		drop_output(supervisor);
		return;
	}
	note_timeout(supervisor);
	kill_tree(supervisor);
}

static void grace_over(uv_timer_t *timer)
{
	kill_tree(timer->data);
}

static void take_denials(struct qsb__supervisor *supervisor)
{
	const struct qsb__backend *backend = supervisor->request->backend;
	struct qsb__denial denial;

	while (backend->next_denial && backend->next_denial(supervisor->sandbox, &denial))
		qsb__deny(supervisor, &denial);
}

static void calls_ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__supervisor *supervisor = handle->data;
	const struct qsb__backend *backend = supervisor->request->backend;

	backend->serve_calls(supervisor->sandbox);
	take_denials(supervisor);
	if (backend->calls_fd(supervisor->sandbox) < 0)
		uv_poll_stop(handle);
}

/* The command runs: its calls can be answered, its terminal can be connected. */
static void begin_serving(struct qsb__supervisor *supervisor)
{
	const struct qsb__backend *backend = supervisor->request->backend;
	int calls = backend->calls_fd(supervisor->sandbox);
	int terminal = backend->tty_fd(supervisor->sandbox);

	if (calls >= 0 && !supervisor->calls_polled) {
		supervisor->calls.data = supervisor;
		supervisor->calls_polled =
			uv_poll_init(&supervisor->loop, &supervisor->calls, calls) == 0 &&
			uv_poll_start(&supervisor->calls, UV_READABLE | UV_DISCONNECT, calls_ready) == 0;
		/* Nobody would answer: the command would hang in its first connect. */
		if (!supervisor->calls_polled)
			kill_tree(supervisor);
	}
	if (terminal >= 0)
		qsb__terminal_attach(supervisor, terminal);
	if (!supervisor->started && calls >= 0) {
		supervisor->started = true;
		qsb__events_started(supervisor);
		if (supervisor->early_signal)
			backend->signal(supervisor->sandbox, supervisor->early_signal);
	}
}

static void status_ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__supervisor *supervisor = handle->data;
	struct qsb_error err;
	int code = supervisor->request->backend->read_status(supervisor->sandbox, &supervisor->outcome, &err);

	if (code == QSB__STATUS_STOPPED) {
		qsb__terminal_suspend(supervisor);
		return;
	}
	if (code == 0) {
		begin_serving(supervisor);
		return;
	}
	if (code < 0) {
		supervisor->outcome.end = QSB__END_FAILED;
		supervisor->outcome.error = err;
	}
	end_loop(supervisor);
}

void qsb__supervisor_signal(struct qsb__supervisor *supervisor, int number)
{
	if (!supervisor->started)
		supervisor->early_signal = number;
	else
		supervisor->request->backend->signal(supervisor->sandbox, number);
}

void qsb__supervisor_kill(struct qsb__supervisor *supervisor, int number)
{
	supervisor->ended_by = number;
	kill_tree(supervisor);
}

static void forward(struct qsb__supervisor *supervisor, const struct qsb__signal *signal)
{
	bool ends = signal->number == SIGTERM || signal->number == SIGHUP || signal->number == SIGINT ||
		    signal->number == SIGQUIT;

	/* A key of the terminal we share reached the command as well: it decides what that means. */
	if (signal->from_terminal && supervisor->shares_terminal)
		return;
	/* Only a reader who does not read keeps us. */
	if (supervisor->ended && ends) {
		drop_output(supervisor);
		return;
	}
	qsb__supervisor_signal(supervisor, signal->number);
	if (!ends)
		return;
	supervisor->ended_by = signal->number;
	/* Asked twice, or not obeyed in time. */
	if (uv_is_active((uv_handle_t *)&supervisor->grace))
		kill_tree(supervisor);
	else
		uv_timer_start(&supervisor->grace, grace_over, GRACE_MS, 0);
}

static void signals_ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__supervisor *supervisor = handle->data;
	struct qsb__signal signal;

	while (qsb__signals_read(supervisor->signals_fd, &signal)) {
		if (signal.number != SIGWINCH)
			forward(supervisor, &signal);
		else if (supervisor->request->tty)
			qsb__terminal_resize(supervisor);
	}
}

/* ---- before ---- */

static bool any_terminal(void)
{
	return isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
}

/* The terminal is ours to hand on: we are in its foreground, and not one part of a pipeline that shares it. */
static bool has_foreground(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* Output goes through us only when somebody wants it kept or bounded: else the command has the caller's own streams. */
bool qsb__output_is_relayed(const struct qsb__supervisor *supervisor)
{
	const struct qsb__run_request *request = supervisor->request;

	return !request->tty && (request->capture || (request->plan->output_asked && request->plan->output_bytes > 0));
}

static int make_pipes(struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	for (int i = 0; i < 2; i++) {
		/* Non-blocking: the command can open its end for reading as well, and take a byte away that we have
		 * been told of. */
		if (pipe2(supervisor->pipes[i], O_CLOEXEC) != 0 ||
		    fcntl(supervisor->pipes[i][0], F_SETFL, O_NONBLOCK) != 0)
			return qsb__fail_os(err, errno, "streams", "cannot make a pipe");
		supervisor->launch.stdio[1 + i] = supervisor->pipes[i][1];
	}
	return 0;
}

static int relay(struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	const struct qsb__run_request *request = supervisor->request;
	struct qsb__stream *streams[] = {&supervisor->out, &supervisor->err};
	struct qsb__keeper *keepers[] = {&supervisor->kept_out, &supervisor->kept_err};

	for (int i = 0; i < 2; i++) {
		streams[i]->keeper = request->capture ? keepers[i] : NULL;
		streams[i]->limit = request->capture ? 0 : request->plan->output_bytes;
		close(qsb__take_fd(&supervisor->pipes[i][1]));
		if (qsb__stream_start(streams[i], supervisor, supervisor->pipes[i][0], request->capture ? -1 : 1 + i) !=
		    0)
			return qsb__fail_memory(err, "streams");
	}
	return 0;
}

static int set_up(struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	const struct qsb__run_request *request = supervisor->request;
	struct qsb__launch *launch = &supervisor->launch;
	int code;

	supervisor->signals_fd = qsb__signals_open(forwarded);
	if (supervisor->signals_fd < 0)
		return qsb__fail_os(err, -supervisor->signals_fd, "signals", "cannot take the signals");
	launch->argv = request->argv;
	launch->pass_fds = request->pass_fds;
	launch->pass_count = request->pass_count;
	launch->tty = request->tty;
	launch->listener = request->touches;
	launch->new_session = !request->tty && !any_terminal();
	launch->foreground = !request->tty && has_foreground();
	supervisor->shares_terminal = !launch->new_session && !request->tty && !launch->foreground;
	for (int i = 0; i < 3; i++)
		launch->stdio[i] = i;
	qsb__keeper_init(&supervisor->kept_out, request->plan->output_bytes, false);
	qsb__keeper_init(&supervisor->kept_err, request->plan->output_bytes, false);
	if (request->tty)
		qsb__terminal_begin(supervisor);
	else
		/* The command could have the terminal stop whoever writes from the background (stty tostop): us. */
		signal(SIGTTOU, SIG_IGN);
	code = qsb__input_prepare(supervisor, err);
	return code == 0 && qsb__output_is_relayed(supervisor) ? make_pipes(supervisor, err) : code;
}

static int poll_handle(struct qsb__supervisor *supervisor, uv_poll_t *handle, int fd, uv_poll_cb ready)
{
	handle->data = supervisor;
	return uv_poll_init(&supervisor->loop, handle, fd) == 0 && uv_poll_start(handle, UV_READABLE, ready) == 0 ? 0
														  : -1;
}

static int watch_over(struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	const struct qsb__plan *plan = supervisor->request->plan;
	int code;

	if (poll_handle(supervisor, &supervisor->status, supervisor->request->backend->status_fd(supervisor->sandbox),
			status_ready) != 0 ||
	    poll_handle(supervisor, &supervisor->signals, supervisor->signals_fd, signals_ready) != 0)
		return qsb__fail(err, QSB_E_OS, "launch", "cannot set up the event loop");
	uv_timer_init(&supervisor->loop, &supervisor->timeout);
	uv_timer_init(&supervisor->loop, &supervisor->grace);
	supervisor->timeout.data = supervisor->grace.data = supervisor;
	if (plan->timeout_ms)
		uv_timer_start(&supervisor->timeout, timed_out, plan->timeout_ms, 0);
	qsb__events_open(supervisor);
	qsb__control_open(supervisor);
	qsb__watch_start(supervisor);
	code = qsb__broker_watch(supervisor, err);
	if (code == 0)
		code = qsb__input_start(supervisor, err);
	return code == 0 && qsb__output_is_relayed(supervisor) ? relay(supervisor, err) : code;
}

/* ---- after ---- */

static void close_handle(uv_handle_t *handle, void *unused)
{
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void close_loop(uv_loop_t *loop)
{
	uv_walk(loop, close_handle, NULL);
	uv_run(loop, UV_RUN_DEFAULT);
	uv_loop_close(loop);
}

static void tear_down(struct qsb__supervisor *supervisor)
{
	qsb__terminal_end(supervisor);
	qsb__stream_stop(&supervisor->out);
	qsb__stream_stop(&supervisor->err);
	qsb__stream_stop(&supervisor->in);
	qsb__events_close(supervisor);
	qsb__input_finish(supervisor);
	qsb__network_log_close(supervisor);
	close_loop(&supervisor->loop);
	qsb__broker_end(supervisor);
	supervisor->request->backend->release(supervisor->sandbox);
	for (int i = 0; i < 4; i++)
		if (supervisor->pipes[i / 2][i % 2] >= 0)
			close(supervisor->pipes[i / 2][i % 2]);
	qsb__signals_close(supervisor->signals_fd);
}

/* A restriction was lost, or never held: whatever the command did until then, this is not its result. */
static int judge_end(const struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	const struct qsb__outcome *outcome = &supervisor->outcome;

	/* It knows better what it could not do than the sandbox that waited for it. */
	if (outcome->end == QSB__END_FAILED && supervisor->broker_error.code) {
		if (err)
			*err = supervisor->broker_error;
		return supervisor->broker_error.code;
	}
	if (outcome->end == QSB__END_FAILED) {
		if (err)
			*err = outcome->error;
		return outcome->error.code;
	}
	if (outcome->end == QSB__END_LOST && !supervisor->started && !supervisor->result->timed_out &&
	    !supervisor->ended_by)
		return qsb__fail(err, QSB_E_OS, "launch",
				 "the sandbox's first process was killed before the command began");
	return 0;
}

static int run_loop(struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	const struct qsb__backend *backend = supervisor->request->backend;
	int code = qsb__broker_begin(supervisor, err);

	if (code == 0)
		code = backend->prepare(&supervisor->sandbox, supervisor->request->plan, err);
	supervisor->start_ns = now_ns();
	if (code == 0)
		code = backend->start(supervisor->sandbox, &supervisor->launch, err);
	if (code == 0)
		code = watch_over(supervisor, err);
	if (code != 0)
		return code;
	while (!is_over(supervisor))
		uv_run(&supervisor->loop, UV_RUN_DEFAULT);
	return judge_end(supervisor, err);
}

int qsb__run(const struct qsb__run_request *request, struct qsb__result *result, struct qsb_error *err)
{
	struct qsb__supervisor *supervisor = calloc(1, sizeof(*supervisor));
	int code;

	if (!supervisor)
		return qsb__fail_memory(err, "launch");
	memset(result, 0, sizeof(*result));
	result->backend = request->backend;
	result->plan = request->plan;
	supervisor->request = request;
	supervisor->result = result;
	supervisor->events.fd = supervisor->signals_fd = -1;
	memset(supervisor->pipes, -1, sizeof(supervisor->pipes));
	qsb__input_init(supervisor);
	qsb__broker_init(supervisor);
	if (uv_loop_init(&supervisor->loop) != 0) {
		free(supervisor);
		return qsb__fail_memory(err, "launch");
	}
	code = set_up(supervisor, err);
	if (code == 0)
		code = run_loop(supervisor, err);
	if (code == 0) {
		take_denials(supervisor);
		qsb__outcome_note(supervisor);
		qsb__findings_take(supervisor);
		/* Of a call that was still being refused when its caller was killed. */
		take_denials(supervisor);
		if (request->backend->denials_left_out)
			result->denials_left_out += request->backend->denials_left_out(supervisor->sandbox);
		qsb__events_ended(supervisor);
	}
	tear_down(supervisor);
	free(supervisor);
	return code;
}

void qsb__result_clear(struct qsb__result *result)
{
	free(result->out.data);
	free(result->err.data);
	free(result->denials);
	free(result->findings);
	memset(result, 0, sizeof(*result));
}
