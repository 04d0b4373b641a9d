/* One run: launch, limits, streams, events, result. Used by the program only (src/cli). */
#ifndef QSB_SUPERVISOR_RUN_H
#define QSB_SUPERVISOR_RUN_H

#include "backend/backend.h"
#include "broker/broker.h"

/* Exit statuses of `qiming-sandbox run` that are not the command's own. */
enum { QSB__EXIT_TIMEOUT = 124, QSB__EXIT_SANDBOX = 125, QSB__EXIT_NOT_EXECUTABLE = 126, QSB__EXIT_NOT_FOUND = 127 };

struct qsb__run_request {
	const struct qsb__backend *backend;
	const struct qsb__plan *plan;
	char *const *argv;  /* NULL-terminated, at least one */
	bool capture;       /* keep stdout and stderr for the result instead of passing the caller's streams on */
	bool tty;           /* give the command a pseudo-terminal of its own */
	int events_fd;      /* JSON lines, -1 = none */
	int control_fd;     /* JSON lines in: {"kill":9}, {"resize":[rows,columns]}; -1 = none */
	int network_log_fd; /* JSON lines of the connections, -1 = none */
	bool ask_network;   /* connections to a name under no rule wait for {"approve":…} on control_fd */
	uint64_t ask_ms;    /* how long */
	bool count_traffic; /* somebody reads what the result says of the network */
	const int *pass_fds;
	size_t pass_count;
	const struct qsb__touch_listener *touches; /* told of what plan->watched names; NULL = nobody */
	/* Told of every connection of a filtered network; NULL = nobody. */
	void (*connected)(void *context, const struct qsb__broker_event *event);
	void *connected_context;
};

struct qsb__capture {
	char *data; /* head and tail, with a line between them that says how much was left out */
	size_t length;
	bool truncated;
};

/* Of all connections that ended or were refused. */
struct qsb__traffic {
	uint64_t connections, denied, failed; /* `denied` and `failed` are among the connections */
	uint64_t sent, received;              /* bytes from the command, and to it */
	uint64_t left_out;                    /* that the broker could not tell of */
};

struct qsb__result {
	int exit_code;      /* as `run` exits */
	int signal;         /* the command died of it, 0 = none */
	int exec_errno;     /* why the command could not be executed (exit code 126 or 127), 0 = it ran */
	bool die_of_signal; /* end by `signal` as the command did: whoever shares our terminal looks at that */
	bool timed_out;
	bool out_of_memory;
	struct qsb__capture out, err;
	uint64_t duration_ms, user_ms, system_ms, max_rss_bytes, processes;
	struct qsb__denial *denials;
	size_t denial_count, denials_left_out;
	struct qsb__finding *findings;
	size_t finding_count, findings_left_out;
	bool has_broker;
	bool broker_lost;              /* it ended before the command: from then on there was no network */
	struct qsb_error broker_error; /* what it said of that; code 0 = nothing */
	struct qsb__traffic traffic;   /* all of it with count_traffic, else only what was refused */
	uint64_t log_lost;             /* lines that the network log does not have */
	int log_error;                 /* errno of it, 0 = its reader was too slow */
	const char *learned_file;      /* the policy that was written, borrowed; NULL = none */
	size_t learned_entries;
	const struct qsb__backend *backend;
	const struct qsb__plan *plan;
	char limit_by[9][16]; /* in the order of qsb__limit_names */
	char enforced[8][32]; /* in the order of qsb__restriction_names */
	char reported[4][16]; /* in the order of qsb__report_names */
};

/* memory cpus timeout processes openFiles output tmpSize fileSize diskReserve */
extern const char *const qsb__limit_names[9];

/* What a limit of memory held by a watch leaves out: no process shows these pages, only a control group counts them. */
#define QSB__UNWATCHED_MEMORY "memory in socket and pipe buffers, and in descriptors on their way"

/*
 * Runs the command and waits for its end. 0: the command ran, or could not be executed (exit code 126 or 127).
 * Negative: the sandbox failed, err says why, and the command never ran (or was ended because a restriction was lost).
 */
int qsb__run(const struct qsb__run_request *request, struct qsb__result *result, struct qsb_error *err);
void qsb__result_clear(struct qsb__result *result);

/* The result as one line of JSON, design.md's fields; the caller frees it. NULL = no memory. */
char *qsb__result_json(const struct qsb__result *result);
/* The same fields for a run that did not happen: exitCode 125 and "error": {code, where, message}. */
char *qsb__failure_json(const struct qsb_error *err);

#endif
