/* What the files of the supervisor share: one run in progress. */
#ifndef QSB_SUPERVISOR_INTERNAL_H
#define QSB_SUPERVISOR_INTERNAL_H

#include <uv.h>

#include "broker/broker.h"
#include "supervisor/capture.h"
#include "supervisor/run.h"

enum { QSB__STREAM_BUFFER = 64 * 1024 };

struct qsb__supervisor;

/* One direction of bytes: from a descriptor to the result, to another descriptor, or both. */
struct qsb__stream {
	struct qsb__supervisor *supervisor;
	int from, to;             /* to: -1 = only kept */
	int from_ready, to_ready; /* what is polled in their place */
	bool from_pollable, to_pollable, reading, open;
	uv_poll_t source, sink;
	uv_idle_t pump;             /* instead of `source`, for a plain file */
	struct qsb__keeper *keeper; /* NULL = not kept */
	uint64_t limit, passed;     /* of what goes to `to`; 0 = no limit */
	struct qsb__keeper rest;    /* the end of what was over the limit */
	bool keeps_rest;
	char *buffer;
	size_t length, offset; /* what `to` did not take yet */
	void (*ended)(struct qsb__stream *stream);
};

/* The command's own pipe, in front of a caller's that others read as well: see input.c. */
struct qsb__input {
	int from, to;           /* its ends; to: -1 = the command has the caller's own standard input, or is done */
	int nowhere;            /* /dev/null */
	int source_fd, sink_fd; /* what is polled in place of the caller's pipe and of `to` */
	bool watched;
	size_t ahead; /* bytes copied to the command and still in the caller's pipe */
	uv_poll_t source, sink;
};

/* A line of JSON for somebody who may be slow: bounded, never waited for. */
struct qsb__line_queue {
	int fd;
	char *text;
	size_t length, room;
	unsigned long left_out;
	int os_error; /* the last write that failed */
	bool polled;
	uv_poll_t poll;
};

struct qsb__supervisor {
	const struct qsb__run_request *request;
	struct qsb__result *result;
	struct qsb__sandbox *sandbox;
	struct qsb__launch launch;
	uv_loop_t loop;

	uv_poll_t status, calls, signals, control, terminal_in;
	bool calls_polled;
	uv_timer_t timeout, grace, watch;
	int signals_fd;
	bool shares_terminal; /* the command is in our session: the terminal's signals reach it by themselves */

	struct qsb__outcome outcome;
	bool ended; /* outcome is valid */
	bool started;
	int early_signal; /* came before there was a command to have it */
	int ended_by;     /* a signal that asked us, and so the command, to end */
	uv_timer_t linger;

	struct qsb__stream out, err, in; /* `in` and `out` carry a pseudo-terminal's bytes, too */
	struct qsb__keeper kept_out, kept_err;
	int pipes[2][2];
	bool terminal_raw;
	struct qsb__input input;

	uint64_t start_ns;
	uint64_t disk_free_at_start;
	struct qsb__line_queue events;
	char control_text[4096];
	size_t control_length;

	struct qsb__broker broker;
	bool broker_serves; /* its events are awaited */
	bool broker_told;   /* that the command is over */
	uv_poll_t broker_poll;
	uv_timer_t broker_bound;
	struct qsb_error broker_error; /* code 0 = none */
	struct qsb__line_queue log;
	uint64_t log_lost; /* lines that could not be written */
};

/* streams.c */
/* Writes what was kept of the rest, behind a line that says how much is missing. */
bool qsb__stream_finish(struct qsb__stream *stream);
int qsb__stream_start(struct qsb__stream *stream, struct qsb__supervisor *supervisor, int from, int to);
/* Something is still to be read or written. */
bool qsb__stream_is_busy(const struct qsb__stream *stream);
/* Nothing more is read; `drop` also what is still to be written. */
void qsb__stream_close(struct qsb__stream *stream, bool drop);
void qsb__stream_stop(struct qsb__stream *stream);

/* run.c: a stream has become idle; the run may be over. */
void qsb__supervisor_settle(struct qsb__supervisor *supervisor);
/* A signal for the command; one that comes before the command runs is kept for it. */
void qsb__supervisor_signal(struct qsb__supervisor *supervisor, int number);
/* Ends the whole tree on somebody's order: the result is that of the signal `number`. */
void qsb__supervisor_kill(struct qsb__supervisor *supervisor, int number);

/* run.c: the command's output goes through us. */
bool qsb__output_is_relayed(const struct qsb__supervisor *supervisor);

/* outcome.c: fills in the result of a run that is over. */
void qsb__outcome_note(struct qsb__supervisor *supervisor);

/* input.c: a standard input that a program above us reads as well */
void qsb__input_init(struct qsb__supervisor *supervisor);
int qsb__input_prepare(struct qsb__supervisor *supervisor, struct qsb_error *err);
int qsb__input_start(struct qsb__supervisor *supervisor, struct qsb_error *err);
void qsb__input_finish(struct qsb__supervisor *supervisor);

/* terminal.c: --tty */
void qsb__terminal_begin(struct qsb__supervisor *supervisor);
void qsb__terminal_attach(struct qsb__supervisor *supervisor, int fd);
void qsb__terminal_resize(struct qsb__supervisor *supervisor);
void qsb__terminal_end(struct qsb__supervisor *supervisor);

/* The command was stopped: so are we, until somebody continues us. */
void qsb__terminal_suspend(struct qsb__supervisor *supervisor);

/* watch.c */
void qsb__watch_start(struct qsb__supervisor *supervisor);
void qsb__watch_settle(struct qsb__supervisor *supervisor);

/* events.c */
void qsb__events_open(struct qsb__supervisor *supervisor);
void qsb__events_started(struct qsb__supervisor *supervisor);
void qsb__events_denial(struct qsb__supervisor *supervisor, const struct qsb__denial *denial);
void qsb__events_finding(struct qsb__supervisor *supervisor, const struct qsb__finding *finding);
void qsb__events_ended(struct qsb__supervisor *supervisor);
void qsb__events_close(struct qsb__supervisor *supervisor);

void qsb__events_connection(struct qsb__supervisor *supervisor, const struct qsb__broker_event *event);
void qsb__events_request(struct qsb__supervisor *supervisor, const struct qsb__broker_event *event);

/* lines.c */
void qsb__lines_open(struct qsb__line_queue *queue, uv_loop_t *loop, int fd); /* -1 = there is no reader */
bool qsb__lines_add(struct qsb__line_queue *queue, const char *line);         /* false = it was left out */
void qsb__lines_flush(struct qsb__line_queue *queue);
void qsb__lines_close(struct qsb__line_queue *queue);

/* broker.c: the process between the sandbox and the network, if the plan needs one */
void qsb__broker_init(struct qsb__supervisor *supervisor);
int qsb__broker_begin(struct qsb__supervisor *supervisor, struct qsb_error *err);
int qsb__broker_watch(struct qsb__supervisor *supervisor, struct qsb_error *err);
void qsb__broker_tell_end(struct qsb__supervisor *supervisor);
bool qsb__broker_is_awaited(const struct qsb__supervisor *supervisor);
void qsb__broker_approve(struct qsb__supervisor *supervisor, uint32_t id, enum qsb__broker_answer answer);
void qsb__broker_end(struct qsb__supervisor *supervisor);

/* broker_event.c: makes any bytes a good event: plain ASCII texts that end, numbers that can be told. false = it says
 * nothing that a broker says. */
bool qsb__broker_event_check(struct qsb__broker_event *event);

/* network_log.c: --network-log */
void qsb__network_log_open(struct qsb__supervisor *supervisor);
void qsb__network_log_add(struct qsb__supervisor *supervisor, const struct qsb__broker_event *event);
void qsb__network_log_close(struct qsb__supervisor *supervisor);

/* control.c */
void qsb__control_open(struct qsb__supervisor *supervisor);
/* The terminal's size where the first order, given already, is one; it stays to be obeyed. */
void qsb__control_first_size(const struct qsb__supervisor *supervisor, struct qsb__launch *launch);

/* findings.c: what the run left behind; every process of it is dead. */
void qsb__findings_take(struct qsb__supervisor *supervisor);

/* denials.c: one for a kind, operation and target; further ones are counted. */
void qsb__deny(struct qsb__supervisor *supervisor, const struct qsb__denial *denial);
void qsb__deny_limit(struct qsb__supervisor *supervisor, const char *operation, const char *rule,
		     const char *suggestion);

#endif
