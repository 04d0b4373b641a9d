/* One process from its start to its end, on the thread. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "addon.h"
#include "os/child.h"

/* What has no memory even to tell of it is ended: a process that nobody hears of must not run on. */
static void tell(struct process *process, struct event *event)
{
	if (event)
		queue_event(process->environment, event);
	else if (process->pid > 0 && !process->ended)
		qsb__child_signal(process->pid, SIGKILL, NULL);
}

static void tell_end(struct process *process, const char *answer, size_t length, int status)
{
	struct event *event = event_new(process, EVENT_ENDED, answer, length);

	process->ended = true;
	if (event)
		event->value = status;
	tell(process, event);
}

static void end_sandbox(struct process *process)
{
	struct qsb_error err = {.code = 0};
	char *answer = NULL;
	size_t length = 0;
	int rc = qsb_sandbox_wait_json(process->sandbox, &answer, &length, &err);

	process->end.fd = -1;
	qsb_sandbox_free(process->sandbox);
	process->sandbox = NULL;
	/* Every process below it is dead: what is left in the pipes is all there will be, and heard first. */
	source_finish(&process->lines);
	source_finish(&process->out);
	source_finish(&process->err);
	if (rc == 0) {
		tell_end(process, answer, length, 0);
	} else {
		process->ended = true;
		tell(process, event_of_error(process, EVENT_ENDED, &err));
	}
	qsb_string_free(answer);
}

static void end_ready(struct watch *watch)
{
	struct process *process = watch->process;
	struct qsb_error err = {.code = 0};

	if (qsb_sandbox_poll(process->sandbox, &err) == 0)
		return;
	watch_set(watch, EPOLLIN, false);
	end_sandbox(process);
}

void process_settle(struct process *process)
{
	int status = 0;

	if (!process->tool || process->ended || process->out.watch.fd >= 0 || process->err.watch.fd >= 0)
		return;
	qsb__child_wait(process->pid, &status, NULL);
	tell_end(process, NULL, 0, status);
}

static void open_streams(struct process *process)
{
	sink_open(&process->in, process);
	source_open(&process->out, process, EVENT_STDOUT, EVENT_STDOUT_END);
	source_open(&process->err, process, EVENT_STDERR, EVENT_STDERR_END);
	source_open(&process->lines, process, EVENT_LINES, EVENT_LINES);
	process->end.process = process;
	process->end.ready = end_ready;
	watch_set(&process->end, EPOLLIN, true);
}

static void note_started(struct environment *environment, struct process *process, uint32_t id)
{
	pthread_mutex_lock(&environment->lock);
	if (process) {
		process->next = environment->processes;
		environment->processes = process;
	}
	environment->started_through = id;
	pthread_cond_broadcast(&environment->started);
	pthread_mutex_unlock(&environment->lock);
}

void process_start(struct environment *environment, struct order *order, uint64_t now)
{
	struct process *process = calloc(1, sizeof(*process));
	struct process nobody = {.environment = environment, .id = order->id};
	struct qsb_error err = {.code = QSB_E_MEMORY, .where = "spawn", .message = "no memory"};
	int rc = QSB_E_MEMORY;

	if (process) {
		process->environment = environment;
		process->id = order->id;
		process->tool = order->launch->tool;
		process->started_at = now;
		process->in.watch.fd = process->out.watch.fd = process->err.watch.fd = -1;
		process->lines.watch.fd = process->end.fd = -1;
		rc = start_program(process, order->launch, &err);
	}
	if (rc) {
		free(process);
		note_started(environment, NULL, order->id);
		queue_event(environment, event_of_error(&nobody, EVENT_FAILED, &err));
	} else {
		struct event *event = event_new(process, EVENT_STARTED, NULL, 0);

		if (event)
			event->value = (int32_t)process->pid;
		tell(process, event);
		note_started(environment, process, order->id);
		open_streams(process);
	}
	order_free(order);
}

static void send_signal(struct process *process, int number)
{
	if (process->ended)
		return;
	if (process->sandbox)
		qsb_sandbox_kill(process->sandbox, number, NULL);
	else
		qsb__child_signal(process->pid, number, NULL);
}

static void give_credit(struct process *process, enum event_kind kind, size_t bytes)
{
	struct source *const sources[] = {&process->out, &process->err, &process->lines};

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (sources[i]->kind == kind)
			source_credit(sources[i], bytes);
}

static struct process *find(struct environment *environment, uint32_t id)
{
	struct process *process = environment->processes;

	while (process && process->id != id)
		process = process->next;
	return process;
}

void process_obey(struct environment *environment, struct order *order)
{
	struct process *process = find(environment, order->id);

	switch (process ? order->kind : ORDER_START) {
	case ORDER_START: /* of a process that is not there any more */
		break;
	case ORDER_WRITE:
		sink_add(&process->in, order);
		return;
	case ORDER_END_INPUT:
		sink_finish(&process->in);
		break;
	case ORDER_KILL:
		send_signal(process, (int)order->first);
		break;
	case ORDER_RESIZE:
		if (process->sandbox)
			qsb_sandbox_resize(process->sandbox, order->first, order->second, NULL);
		break;
	case ORDER_APPROVE:
		if (process->sandbox)
			qsb_sandbox_approve(process->sandbox, order->first, (int)order->second, NULL);
		break;
	case ORDER_CREDIT:
		give_credit(process, order->first, order->second);
		break;
	case ORDER_FORGET:
		process->forgotten = true;
		break;
	}
	order_free(order);
}

static void discard(struct process *process)
{
	sink_clear(&process->in);
	watch_close(&process->out.watch);
	watch_close(&process->err.watch);
	watch_close(&process->lines.watch);
	free(process);
}

void processes_sweep(struct environment *environment)
{
	struct process **at = &environment->processes;

	while (*at) {
		struct process *process = *at;

		if (!process->forgotten || !process->ended) {
			at = &process->next;
			continue;
		}
		pthread_mutex_lock(&environment->lock);
		*at = process->next;
		pthread_mutex_unlock(&environment->lock);
		discard(process);
	}
}

void processes_end(struct environment *environment)
{
	struct process *process;
	int status;

	/* All of them first: so they end beside each other. */
	for (process = environment->processes; process; process = process->next)
		if (!process->ended)
			qsb__child_signal(process->pid, SIGKILL, NULL);
	while ((process = environment->processes) != NULL) {
		pthread_mutex_lock(&environment->lock);
		environment->processes = process->next;
		pthread_mutex_unlock(&environment->lock);
		if (process->tool && !process->ended)
			qsb__child_wait(process->pid, &status, NULL);
		process->ended = true;
		qsb_sandbox_free(process->sandbox);
		process->end.fd = -1;
		discard(process);
	}
}

static bool is_started(const struct environment *environment, uint32_t id)
{
	/* Numbers are given in the order of the starts. The difference, since they begin anew one day. */
	return (int32_t)(environment->started_through - id) >= 0;
}

int64_t process_pid(struct environment *environment, uint32_t id)
{
	const struct process *process;
	int64_t pid = 0;
	bool late;

	/* Of nobody that could be waited for. */
	if (!environment->running || (int32_t)(environment->last_id - id) < 0)
		return 0;
	pthread_mutex_lock(&environment->lock);
	late = !is_started(environment, id);
	if (late)
		environment->wanted_through = id;
	pthread_mutex_unlock(&environment->lock);
	if (late)
		queue_wake(environment);
	pthread_mutex_lock(&environment->lock);
	while (!is_started(environment, id))
		pthread_cond_wait(&environment->started, &environment->lock);
	process = find(environment, id);
	if (process)
		pid = process->pid;
	pthread_mutex_unlock(&environment->lock);
	return pid;
}
