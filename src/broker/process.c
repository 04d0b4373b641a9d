/* The broker's process: from the fork to its end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/internal.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "os/arguments.h"
#include "os/confine.h"
#include "os/descriptors.h"
#include "os/own_address.h"

enum {
	FILES_MAX = 65536,
	FILES_RESERVED = 64,    /* listeners, name servers, questions */
	FILES_A_CONNECTION = 4, /* two sockets, and a pipe while bytes are on their way */
	LAST_WORDS_MS = 2000,
	KEPT_MAX = 1024
};

bool qsb__broker_needed(const struct qsb__plan *plan)
{
	return plan->network == QSB__NETWORK_FILTERED || (plan->publish_ports && plan->publish_ports[0]) ||
	       (plan->reach_ports && plan->reach_ports[0]);
}

/* ---- in the broker ---- */

__attribute__((noreturn)) static void say_failed(int events_fd, const struct qsb_error *err)
{
	struct qsb__broker_event event;

	memset(&event, 0, sizeof(event));
	event.kind = QSB__BROKER_FAILED;
	event.error = *err;
	send(events_fd, &event, sizeof(event), MSG_NOSIGNAL);
	_exit(1);
}

void qsb__broker_run_fail(struct qsb__broker_run *run, const struct qsb_error *err)
{
	say_failed(run->events_fd, err);
}

/* The porter is reaped first: nobody else may be there to do it. */
__attribute__((noreturn)) static void leave(struct qsb__broker_run *run)
{
	qsb__publisher_free(run->publisher);
	_exit(0);
}

static void last_words_over(uv_timer_t *timer)
{
	struct qsb__broker_run *run = timer->data;

	qsb__connection_close_all(run);
	leave(run);
}

static void leave_when_done(struct qsb__broker_run *run)
{
	qsb__connection_close_done(run);
	qsb__reporter_flush(run->reporter);
	if (!run->connections && qsb__reporter_is_idle(run->reporter))
		leave(run);
}

static void end_when_told(uv_check_t *check)
{
	leave_when_done(check->data);
}

void qsb__broker_run_finish(struct qsb__broker_run *run)
{
	if (run->finishing)
		return;
	run->finishing = true;
	qsb__entrances_poll(run, false);
	leave_when_done(run);
	uv_check_init(&run->loop, &run->idle);
	run->idle.data = run->last_words.data = run;
	uv_check_start(&run->idle, end_when_told);
	uv_timer_init(&run->loop, &run->last_words);
	uv_timer_start(&run->last_words, last_words_over, LAST_WORDS_MS, 0);
}

/* The secrets of the caller's environment are in the plan as well. */
static void wipe_environment(const struct qsb__plan *plan)
{
	qsb__program_arguments_wipe();
	for (char **entry = plan->environment; entry && *entry; entry++)
		explicit_bzero(*entry, strlen(*entry));
	environ = NULL;
}

/* Nothing of the caller's stays open here: a pipe of theirs would not end with the command. */
static int keep_descriptors(struct qsb__broker_run *run, struct qsb_error *err)
{
	int kept[KEPT_MAX], nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	size_t count = 0;

	if (nowhere < 0)
		return qsb__fail_os(err, errno, "broker", "cannot open /dev/null");
	for (int i = 0; i < 3; i++)
		if (dup2(nowhere, i) < 0)
			return qsb__fail_os(err, errno, "broker", "cannot let go of the caller's streams");
	kept[count++] = run->launch_fd;
	kept[count++] = run->events_fd;
	if (run->own_fd >= 0)
		kept[count++] = run->own_fd;
	if (run->publisher)
		count += qsb__publisher_fds(run->publisher, kept + count, KEPT_MAX - count);
	return qsb__descriptors_keep_only(kept, count, err);
}

/* A client more than there are descriptors for would break those that are served already: it waits in the queue. */
static void set_file_limit(struct qsb__broker_run *run)
{
	struct rlimit limit = {.rlim_cur = FILES_RESERVED};
	rlim_t fit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		const struct rlimit raised = {
			.rlim_cur = limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX,
			.rlim_max = limit.rlim_max,
		};

		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			limit = raised;
	}
	fit = limit.rlim_cur > FILES_RESERVED ? (limit.rlim_cur - FILES_RESERVED) / FILES_A_CONNECTION : 0;
	run->connections_max = fit > QSB__CONNECTIONS_MAX ? QSB__CONNECTIONS_MAX : fit > 1 ? (size_t)fit : 1;
}

static int make_parts(struct qsb__broker_run *run, struct qsb_error *err)
{
	int code = qsb__upstream_parse(run->plan->upstream_proxy, &run->upstream, err);

	if (code != 0)
		return code;
	run->upstream.bypass = run->plan->upstream_bypass;
	run->upstream.resolves = run->plan->upstream_resolves;
	if (uv_loop_init(&run->loop) != 0)
		return qsb__fail_memory(err, "broker");
	run->hosts = qsb__hosts_new(run->plan);
	run->stand_ins = qsb__stand_ins_new();
	run->movers = qsb__movers_new();
	run->approvals = qsb__approvals_new(run);
	run->reporter = qsb__reporter_new(run);
	run->resolver = qsb__resolver_new(run, err);
	if (!run->resolver)
		return QSB_E_OS;
	if (!run->hosts || !run->stand_ins || !run->movers || !run->approvals || !run->reporter)
		return qsb__fail_memory(err, "broker");
	return qsb__handover_begin(run, err);
}

static int set_up(struct qsb__broker_run *run, struct qsb_error *err)
{
	int code;

	setsid();
	/* splice(2) has no flag against it. */
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, "qsb-broker");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return qsb__fail_os(err, errno, "broker", "cannot follow the supervisor's death");
	run->own_fd = qsb__own_address_open();
	code = keep_descriptors(run, err);
	if (code == 0 && run->publisher)
		code = qsb__publisher_start_porter(run->publisher, err);
	if (code != 0)
		return code;
	set_file_limit(run);
	code = make_parts(run, err);
	wipe_environment(run->plan);
	return code == 0 ? qsb__confine_server(err) : code;
}

__attribute__((noreturn)) static void live(struct qsb__broker_run *run)
{
	struct qsb_error err;

	if (set_up(run, &err) != 0)
		say_failed(run->events_fd, &err);
	for (;;)
		uv_run(&run->loop, UV_RUN_DEFAULT);
}

/* ---- in the supervisor ---- */

static int make_sockets(struct qsb__broker *broker, int *launch, int *events, struct qsb_error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return qsb__fail_os(err, errno, "broker", "cannot make a socket pair");
	broker->launch_fd = ends[0];
	*launch = ends[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		return qsb__fail_os(err, errno, "broker", "cannot make a socket pair");
	broker->events_fd = ends[0];
	*events = ends[1];
	return 0;
}

int qsb__broker_start(struct qsb__broker *broker, const struct qsb__broker_options *options, struct qsb_error *err)
{
	struct qsb__broker_run *run = calloc(1, sizeof(*run));
	QSB_CLEANUP_FD int launch = -1, events = -1;
	int code = 0;

	broker->pid = 0;
	broker->launch_fd = broker->events_fd = -1;
	if (!run)
		return qsb__fail_memory(err, "broker");
	run->plan = options->plan;
	run->options = *options;
	if (options->plan->publish_ports && options->plan->publish_ports[0]) {
		run->publisher = qsb__publisher_new(options->plan, err);
		code = run->publisher ? 0 : QSB_E_OS;
	}
	if (code == 0)
		code = make_sockets(broker, &launch, &events, err);
	if (code == 0) {
		run->launch_fd = launch;
		run->events_fd = events;
		broker->pid = fork();
		if (broker->pid == 0)
			live(run);
		if (broker->pid < 0)
			code = qsb__fail_os(err, errno, "broker", "cannot start the broker");
	}
	qsb__publisher_free(run->publisher);
	free(run);
	if (code != 0)
		qsb__broker_free(broker);
	return code;
}

void qsb__broker_launched(struct qsb__broker *broker)
{
	if (broker->launch_fd >= 0)
		close(qsb__take_fd(&broker->launch_fd));
}

int qsb__broker_read(struct qsb__broker *broker, struct qsb__broker_event *event)
{
	ssize_t length;

	if (broker->events_fd < 0)
		return -1;
	length = recv(broker->events_fd, event, sizeof(*event), MSG_DONTWAIT);
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return length == (ssize_t)sizeof(*event) ? 1 : -1;
}

void qsb__broker_answer(struct qsb__broker *broker, uint32_t id, enum qsb__broker_answer answer)
{
	const struct qsb__broker_order order = {.id = id, .answer = answer};

	/* A broker that does not read has its connections wait, and they end by themselves. */
	if (broker->events_fd >= 0)
		send(broker->events_fd, &order, sizeof(order), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void qsb__broker_finish(struct qsb__broker *broker)
{
	if (broker->events_fd >= 0)
		shutdown(broker->events_fd, SHUT_WR);
}

void qsb__broker_free(struct qsb__broker *broker)
{
	qsb__broker_launched(broker);
	if (broker->events_fd >= 0)
		close(qsb__take_fd(&broker->events_fd));
	if (broker->pid > 0) {
		kill(broker->pid, SIGKILL);
		while (waitpid(broker->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	broker->pid = 0;
}
