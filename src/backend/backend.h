/*
 * A back end: one mechanism of one operating system that can hold a plan. It sees the plan and nothing else.
 *
 * The order of calls for a run: probe, check, prepare (may allocate and fail, in the supervisor), start (the command
 * begins; whatever fails after this point is told by the child in one struct qsb_error), then the supervisor waits,
 * kills and at last releases. A restriction in the plan that the back end cannot hold is an error of `check`.
 */
#ifndef QSB_BACKEND_BACKEND_H
#define QSB_BACKEND_BACKEND_H

#include "backend/denial.h"
#include "backend/finding.h"
#include "backend/touch.h"
#include "plan/plan.h"

struct qsb__sandbox; /* one prepared or running sandbox: opaque, each back end has its own */

/* How the command gets its streams and its identity; filled in by the supervisor. */
struct qsb__launch {
	char *const *argv;   /* NULL-terminated; argv[0] is looked up in PATH as execvp does */
	int stdio[3];        /* descriptors that become 0, 1 and 2; owned by the supervisor */
	const int *pass_fds; /* further descriptors that the command keeps, under their own numbers */
	size_t pass_count;
	bool foreground;  /* a process group of its own, in the foreground of the terminal at stdio[0] */
	bool new_session; /* cut off from the caller's controlling terminal */
	int broker_fd;    /* where the broker is handed the network's listeners; -1 = there is no broker */
	const struct qsb__touch_listener *listener; /* told of what plan->watched names; NULL = nobody */
	bool tty; /* a pseudo-terminal made inside becomes 0, 1 and 2; `stdio` is not used */
	unsigned short rows, columns;
};

enum qsb__end {
	QSB__END_EXITED,    /* wait status is valid */
	QSB__END_NOT_FOUND, /* the command could not be executed: os_error says why */
	QSB__END_FAILED,    /* the sandbox could not be set up: error says why; the command never ran */
	QSB__END_LOST       /* the sandbox died without an answer (killed) */
};

/* What became of the command. */
struct qsb__outcome {
	enum qsb__end end;
	int wait_status;
	int os_error;
	struct qsb_error error;
	uint64_t user_us, system_us, max_rss_bytes;
};

enum { QSB__STATUS_STOPPED = 2 };

/* One fact of a back end on this host, for doctor. */
struct qsb__probe_row {
	const char *name; /* "user namespaces" */
	bool ok, needed;  /* not ok and needed: the back end cannot be used */
	char detail[200]; /* what was found */
	char fix[200];    /* the smallest change that would help, "" = none */
};

struct qsb__probe {
	bool usable;
	struct qsb__probe_row rows[24];
	size_t count;
};

struct qsb__limits_hit {
	bool memory, processes, scratch; /* the sandbox's own file system has no room left */
};

struct qsb__backend {
	const char *name;
	const char *summary;

	/* May this host? Looks and tries; runs nothing of the caller's. */
	void (*probe)(struct qsb__probe *probe);
	/* Can every restriction of this plan be held? 0, or QSB_E_UNSUPPORTED with the cause and the fix. */
	int (*check)(const struct qsb__plan *plan, struct qsb_error *err);
	int (*prepare)(struct qsb__sandbox **out, const struct qsb__plan *plan, struct qsb_error *err);
	/* Starts the command. After it, `status_fd` becomes readable when there is an outcome to read. */
	int (*start)(struct qsb__sandbox *sandbox, const struct qsb__launch *launch, struct qsb_error *err);
	int (*status_fd)(const struct qsb__sandbox *sandbox);
	/* Reads what came on status_fd: 1 = *outcome is filled in, 0 = not yet, negative = QSB_E_*;
	 * QSB__STATUS_STOPPED = the command was stopped (Ctrl-Z), it can be continued through its group. */
	int (*read_status)(struct qsb__sandbox *sandbox, struct qsb__outcome *outcome, struct qsb_error *err);
	/* Calls of the command that the supervisor has to answer, -1 = none; `serve` handles what is waiting. */
	int (*calls_fd)(const struct qsb__sandbox *sandbox);
	void (*serve_calls)(struct qsb__sandbox *sandbox);
	/* Takes one of what was refused so far; false = no more. NULL = this back end sees no refusals. */
	bool (*next_denial)(struct qsb__sandbox *sandbox, struct qsb__denial *denial);
	/* Who has, or had, a connection at this port of the sandbox: fills in pid and process where it is known. NULL =
	 * it is not. */
	void (*name_client)(struct qsb__sandbox *sandbox, unsigned port, struct qsb__denial *denial);
	/* How many of them it had no room for. NULL = none. */
	size_t (*denials_left_out)(struct qsb__sandbox *sandbox);
	/* After wait_dead: looks at what the run left behind, once, and takes one finding; false = no more. What the
	 * plan says of findings (report, or move aside) has been done by then. NULL = this back end looks for nothing.
	 */
	bool (*next_finding)(struct qsb__sandbox *sandbox, struct qsb__finding *finding);
	/* How many places could not be looked at, or findings not be told. NULL as above. */
	size_t (*findings_left_out)(const struct qsb__sandbox *sandbox);
	/* The pseudo-terminal's outer end after a launch with `tty`, -1 = none (yet). */
	int (*tty_fd)(const struct qsb__sandbox *sandbox);
	/* Sends a signal to the command's first process. */
	int (*signal)(struct qsb__sandbox *sandbox, int number);
	/* The command's process group as a number of this side, 0 = not known. */
	int (*group)(const struct qsb__sandbox *sandbox);
	/* Ends every process of the sandbox at once. Can be called at any time, also twice. */
	void (*kill)(struct qsb__sandbox *sandbox);
	/* After a kill: returns when every process is dead; fills in what they used. */
	void (*wait_dead)(struct qsb__sandbox *sandbox, struct qsb__outcome *outcome);
	/* What it uses now; false = not known. */
	bool (*measure)(struct qsb__sandbox *sandbox, uint64_t *memory_bytes, uint64_t *processes);
	/* Whether a restriction of the plan is held: "yes", "no", or a word for what part of it is. Names are those of
	 * qsb__restriction_names. `sandbox` runs the plan, or has run it; NULL = what can be said without. */
	const char *(*enforces)(const struct qsb__plan *plan, const struct qsb__sandbox *sandbox,
				const char *restriction);
	/* Whether refusals of a kind reach next_denial: "yes", "no", "not asked". Names are those of qsb__report_names.
	 */
	const char *(*reports)(const struct qsb__plan *plan, const struct qsb__sandbox *sandbox, const char *what);
	/* What the kernel itself stopped at a limit so far. */
	void (*limits_hit)(struct qsb__sandbox *sandbox, struct qsb__limits_hit *hit);
	/* Which mechanism holds which limit: "cgroup", "rlimit", "watch", "affinity", "namespace", "none". */
	const char *(*limit_by)(const struct qsb__sandbox *sandbox, const char *limit);
	/* Kills what is left, waits for it and frees everything. NULL is allowed. */
	void (*release)(struct qsb__sandbox *sandbox);
};

/* files, network, processes, ipc, systemCalls, protectedNames, nameRules; NULL-terminated. */
extern const char *const qsb__restriction_names[];

/* files (what would change them), secretReads, calls; NULL-terminated. */
extern const char *const qsb__report_names[];

/* The back ends of this build's operating system, best first; NULL-terminated. */
extern const struct qsb__backend *const qsb__backends[];

#endif
