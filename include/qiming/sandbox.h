/*
 * libqsandbox: run a command of an AI agent in a sandbox on this machine.
 *
 * The library never forks, never writes to stderr, never exits. It reads policies, makes the plan of what the
 * operating system is asked to enforce, explains it, and starts the program `qiming-sandbox`, which does the rest.
 *
 * Every function that can fail returns 0 or a negative QSB_E_* and, where `err` is not NULL, fills it in.
 * No function keeps a pointer that the caller passed in. Objects may be used by one thread at a time.
 */
#ifndef QIMING_SANDBOX_H
#define QIMING_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define QSB_API
#else
#define QSB_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define QSB_VERSION_MAJOR 0
#define QSB_VERSION_MINOR 1
#define QSB_VERSION_PATCH 0
#define QSB_VERSION       "0.1.0"

/* What went wrong, as a class. The sentence for a person stands in qsb_error.message. */
enum {
	QSB_E_MEMORY = -1,      /* no memory */
	QSB_E_OS = -2,          /* a call to the operating system failed: os_code says how */
	QSB_E_INVALID = -3,     /* an argument or a policy value has the wrong type or form */
	QSB_E_RANGE = -4,       /* a number outside its range */
	QSB_E_UNKNOWN = -5,     /* an unknown key, option, preset or back end */
	QSB_E_NOT_FOUND = -6,   /* a named file or folder is not there */
	QSB_E_UNSUPPORTED = -7, /* this host or this build cannot enforce what was asked: nothing ran */
	QSB_E_DENIED = -8,      /* the managed policy or a project's trust forbids it */
	QSB_E_PROTOCOL = -9,    /* the program's answer could not be understood */
	QSB_E_STATE = -10       /* a call out of order: waited twice, killed after the end */
};

/*
 * The details of a failure, owned by the caller. Plain bytes without pointers: it works out of memory and travels
 * between processes in one write.
 */
struct qsb_error {
	int code;          /* QSB_E_*, 0 = none */
	int os_code;       /* errno, 0 = not from the operating system */
	char where[64];    /* the step or the policy path: "mounts", "/filesystem/denyWrite/2" */
	char message[400]; /* one sentence, no newline, UTF-8 */
};

/* Frees a string that a function of this library gave out. NULL is allowed. */
QSB_API void qsb_string_free(char *text);

/* The version of the library that runs: "0.1.0". Static. */
QSB_API const char *qsb_version(void);

/*
 * The policy: what a command may do. Keys are named by their JSON pointer ("/limits/memory"); the manual lists them,
 * and qsb_policy_schema_json describes them for programs.
 */
struct qsb_policy;

/*
 * A policy with a preset's values: "read-only", "workspace" (also for NULL), "workspace-online", "locked-down",
 * "full-access". The caller frees *out with qsb_policy_free.
 *   QSB_E_UNKNOWN  no such preset
 */
QSB_API int qsb_policy_new(struct qsb_policy **out, const char *preset, struct qsb_error *err);

/*
 * The policy that `qiming-sandbox run` would use in `workspace` (NULL = the current folder): the preset, the user's
 * file, the project's file, all bounded by the machine's managed file. With `policy_file` (may be NULL) that file
 * stands instead of the user's and the project's. The caller frees *out with qsb_policy_free.
 *   QSB_E_NOT_FOUND  the workspace or the named file is not there
 *   QSB_E_INVALID    a file is not a policy: err->where is the JSON pointer of the place
 *   QSB_E_DENIED     the managed file can be changed by others than root
 */
QSB_API int qsb_policy_load(struct qsb_policy **out, const char *workspace, const char *policy_file,
			    struct qsb_error *err);

/*
 * Lays a JSON policy of `length` bytes over the present one: what it names wins, lists that deny are added to. On
 * failure the policy may hold a part of it and is only good for qsb_policy_free.
 *   QSB_E_INVALID, QSB_E_RANGE, QSB_E_UNKNOWN  err->where is the JSON pointer of the place
 */
QSB_API int qsb_policy_merge_json(struct qsb_policy *policy, const char *json, size_t length, struct qsb_error *err);

/*
 * Sets one key to a value in the form of the command line: sizes are bytes or "512k", "2g"; times are seconds or "90s",
 * "5m", "1h"; limits take "none"; booleans are "true" and "false". A list gets the value added.
 *   QSB_E_UNKNOWN               no such key; the message suggests the nearest one
 *   QSB_E_INVALID, QSB_E_RANGE  the message shows the accepted forms
 */
QSB_API int qsb_policy_set(struct qsb_policy *policy, const char *pointer, const char *value, struct qsb_error *err);

/* The whole policy as JSON that qsb_policy_merge_json takes. The caller frees *out with qsb_string_free. */
QSB_API int qsb_policy_get_json(const struct qsb_policy *policy, char **out, struct qsb_error *err);

/* The JSON Schema (draft 2020-12) of a policy. The caller frees *out with qsb_string_free. */
QSB_API int qsb_policy_schema_json(char **out, struct qsb_error *err);

/* NULL is allowed. */
QSB_API void qsb_policy_free(struct qsb_policy *policy);

/*
 * The plan: what the operating system is asked to enforce on this machine for one policy and one workspace. Making it
 * starts nothing and changes nothing.
 */
struct qsb_plan;

/*
 * `workspace` and `cwd` (where the command starts) may be NULL: the current folder. The caller frees *out with
 * qsb_plan_free. The policy is not needed after the call.
 *   QSB_E_NOT_FOUND  the workspace is not there
 */
QSB_API int qsb_plan_new(struct qsb_plan **out, const struct qsb_policy *policy, const char *workspace, const char *cwd,
			 struct qsb_error *err);

/* The plan as text, one step a line. The caller frees *out with qsb_string_free. */
QSB_API int qsb_plan_print(const struct qsb_plan *plan, char **out, struct qsb_error *err);

/*
 * What a command may do with a path, and which rule decides, as JSON:
 * {"path", "resolved", "read": bool, "readRule", "write": bool, "writeRule", "fix"}.
 * A relative path starts at the current folder. The caller frees *out with qsb_string_free.
 */
QSB_API int qsb_plan_explain_path_json(const struct qsb_plan *plan, const char *path, char **out,
				       struct qsb_error *err);

/*
 * What the policy says of a host, "example.com", "10.0.0.1" or either with ":port", as JSON:
 * {"host", "port", "allowed": bool, "rule", "fix"}. Nothing is looked up. The caller frees *out with qsb_string_free.
 *   QSB_E_INVALID  it is no host
 */
QSB_API int qsb_plan_explain_host_json(const struct qsb_plan *plan, const char *host, char **out,
				       struct qsb_error *err);

/* NULL is allowed. */
QSB_API void qsb_plan_free(struct qsb_plan *plan);

/*
 * A running sandbox. The library starts the program `qiming-sandbox` (it never forks itself) and talks to it; when the
 * program ends, by whatever, every process of the sandbox ends with it. So it does when this process ends.
 *
 * The program is looked for at: qsb_spawn_options.program; the environment variable QIMING_SANDBOX_PROGRAM; the folder
 * this library lies in (or the executable, when the library is linked statically); the folder it was installed to.
 */
struct qsb_sandbox;

/* Where a stream of the command goes, besides a descriptor number of this process. */
enum {
	QSB_STREAM_INHERIT = -1, /* this process's own stream of that number */
	QSB_STREAM_NULL = -2,    /* nowhere; reading gives end of file */
	QSB_STREAM_PIPE = -3     /* a pipe: qsb_sandbox_fd gives this process's end */
};

enum {
	QSB_SPAWN_CAPTURE = 1U << 0,    /* stdout and stderr are kept for the result (limits.output bytes of each) */
	QSB_SPAWN_TTY = 1U << 1,        /* the command has a pseudo-terminal of its own */
	QSB_SPAWN_EVENTS = 1U << 2,     /* qsb_sandbox_fd(QSB_FD_EVENTS) gives events as lines of JSON */
	QSB_SPAWN_ASK_NETWORK = 1U << 3 /* a connection to a host under no rule waits for qsb_sandbox_approve; a
					   "networkRequest" event asks: it needs QSB_SPAWN_EVENTS */
};

/* Fill it in with qsb_spawn_options_init first, so that later versions can add fields. Nothing is kept of it. */
struct qsb_spawn_options {
	size_t size;                     /* of this struct, set by qsb_spawn_options_init */
	const char *const *argv;         /* the command and its arguments, NULL-terminated; or NULL */
	const char *command;             /* instead of argv: text for /bin/sh -c */
	const char *workspace;           /* NULL = the current folder */
	const char *cwd;                 /* where it starts; NULL = the workspace, or the current folder in it */
	const struct qsb_policy *policy; /* what it may do; NULL = policy_json */
	const char *policy_json;         /* the same as text; NULL too = the files that `run` reads */
	const char *program;             /* the program's file; NULL = look for it */
	const char *backend;             /* a back end by name; NULL = the best that holds the whole policy */
	const char *const *environment;  /* "NAME=VALUE", NULL-terminated; the policy chooses from it. NULL = as here */
	int stdin_fd;                    /* a descriptor or QSB_STREAM_*; QSB_STREAM_NULL after the init */
	int stdout_fd;                   /* the same, without QSB_SPAWN_CAPTURE; QSB_STREAM_INHERIT after the init */
	int stderr_fd;
	const int *pass_fds; /* further descriptors that the command keeps under their numbers */
	size_t pass_count;
	unsigned flags; /* QSB_SPAWN_* */
	unsigned rows,
		columns; /* of the terminal that QSB_SPAWN_TTY begins with; 0 = as the caller's own, or 24 x 80 */
};

#define QSB_SPAWN_OPTIONS_SIZE sizeof(struct qsb_spawn_options)

/* Use as qsb_spawn_options_init(&options, QSB_SPAWN_OPTIONS_SIZE). */
QSB_API void qsb_spawn_options_init(struct qsb_spawn_options *options, size_t size);

/*
 * Starts a command. That the call succeeds means that the program runs; whether the sandbox could be made, the wait
 * says. The caller frees *out with qsb_sandbox_free.
 *   QSB_E_INVALID    neither or both of argv and command; a descriptor that is not open
 *   QSB_E_NOT_FOUND  the program was not found: the message says where it was looked for
 *   QSB_E_OS         it could not be started
 */
QSB_API int qsb_sandbox_spawn(struct qsb_sandbox **out, const struct qsb_spawn_options *options, struct qsb_error *err);

/* The program's process. The command's own processes have numbers of their own, inside. */
QSB_API int64_t qsb_sandbox_pid(const struct qsb_sandbox *sandbox);

enum {
	QSB_FD_STDIN = 0, /* this process's end of the pipes */
	QSB_FD_STDOUT = 1,
	QSB_FD_STDERR = 2,
	QSB_FD_EVENTS = 3,
	QSB_FD_RESULT = 4 /* readable when qsb_sandbox_poll has something to do: for event loops; not to be read from */
};

/* A descriptor, borrowed until qsb_sandbox_free; -1 = there is none. */
QSB_API int qsb_sandbox_fd(const struct qsb_sandbox *sandbox, int which);

/* The same, but the caller closes it. For the end of a pipe; QSB_FD_RESULT cannot be taken (-1). */
QSB_API int qsb_sandbox_take_fd(struct qsb_sandbox *sandbox, int which);

/*
 * Sends a signal to the command; SIGKILL (9) ends every process of the sandbox at once. A sandbox that has ended is no
 * error as long as it was not waited for.
 *   QSB_E_STATE  it was waited for already
 */
QSB_API int qsb_sandbox_kill(struct qsb_sandbox *sandbox, int signal_number, struct qsb_error *err);

/* Tells a command with QSB_SPAWN_TTY the size of its terminal. */
QSB_API int qsb_sandbox_resize(struct qsb_sandbox *sandbox, unsigned rows, unsigned columns, struct qsb_error *err);

enum {
	QSB_APPROVE_DENY = 0,
	QSB_APPROVE_ONCE = 1, /* the connections that wait for this answer */
	QSB_APPROVE_RUN = 2   /* these, and every later one of this run to that host and port */
};

/*
 * Answers the event {"event":"networkRequest","id":…,"host":…,"port":…} of a sandbox with QSB_SPAWN_ASK_NETWORK. An id
 * that waits no longer is no error. Without an answer the connection is refused after 60 seconds.
 *   QSB_E_RANGE  `answer` is none of QSB_APPROVE_*
 *   QSB_E_STATE  it was waited for already
 */
QSB_API int qsb_sandbox_approve(struct qsb_sandbox *sandbox, uint32_t id, int answer, struct qsb_error *err);

/* A name and what stands for it. */
struct qsb_pair {
	const char *name;
	const char *value;
};

/* Something the sandbox refused, or a limit that was reached. Strings are never NULL. */
struct qsb_denial {
	const char *kind; /* "limit", "file", "network", "call" */
	/* Of files "create", "write", "remove", "rename", "link", "change" (mode, owner, times, attributes), "read",
	 * "list", "enter"; of the network "connect", "lookup"; the call's name; the limit's. */
	const char *operation;
	/* A path, a host, what a call asked for; "" = none. A folder with "/" and "*" behind it stands for further
	 * names in it. */
	const char *target;
	const char *detail;     /* what of the target; "" = all of it */
	const char *rule;       /* as `explain` says it: a JSON pointer, an option, a built-in list; "" = none */
	const char *process;    /* name; "" = unknown */
	const char *suggestion; /* an option or a policy line that would allow it; "" = none */
	const char *time;       /* of the first one: "2026-01-31T12:00:00.000Z" */
	int64_t pid;            /* inside the sandbox, 0 = unknown */
	uint64_t count;         /* how often */
};

/*
 * Something that the run left behind and that other programs would run or trust: a hook or a dangerous setting in a git
 * folder that it made, or that it wrote into one that was there and that no rule held. What the policy allows by name
 * is none. Strings are never NULL.
 */
struct qsb_finding {
	const char *kind;   /* "gitHook", "gitConfig" */
	const char *path;   /* the file, on the host */
	const char *what;   /* the hook's name; the keys: "core.fsmonitor, alias.x and 3 more" */
	const char *reason; /* "git runs the program that it names" */
	/* Where it was put out of reach: PATH.quarantined, or with a number behind; "" = it is where it was. */
	const char *moved_to;
	const char *error; /* why it could not be moved; "" = nothing went wrong */
};

/* How a command ended. Everything belongs to the result and lives until qsb_result_free. */
struct qsb_result {
	int exit_code;     /* the command's own; 128 + n for a signal; 124 timeout; 126 not executable; 127 not found */
	int timed_out;     /* 1 = limits.timeout passed */
	int out_of_memory; /* 1 = limits.memory was reached */
	const char *signal; /* the command died of it: "SIGTERM"; "" = none */

	const char *stdout_data, *stderr_data; /* with QSB_SPAWN_CAPTURE: UTF-8, NUL-terminated; else "" */
	size_t stdout_length, stderr_length;   /* bytes */
	int stdout_truncated, stderr_truncated;

	uint64_t duration_ms;        /* wall clock */
	uint64_t user_ms, system_ms; /* processor time of all processes */
	uint64_t max_rss_bytes;      /* of the largest process */
	uint64_t processes;          /* most at one time; 0 = not known */

	const struct qsb_denial *denials;
	size_t denial_count;
	uint64_t denials_left_out; /* how many there were beyond those */

	/* Looked for where the command's file calls are answered (filesystem.protectNewNames, reportDenials); the
	 * policy's filesystem.gitFindings says whether they are moved. A repository whose settings were moved works
	 * on with git's defaults, and without its remotes. */
	const struct qsb_finding *findings;
	size_t finding_count;
	uint64_t findings_left_out; /* beyond those, moved like them, or places that could not be looked at */

	const char *backend;             /* the mechanism that held the policy */
	const struct qsb_pair *enforced; /* "files" -> "true"; "false", or a word for what part of it is */
	size_t enforced_count;
	const struct qsb_pair *not_enforced; /* what the policy asks for and is not held -> the rule that asks */
	size_t not_enforced_count;
	const struct qsb_pair *limits_by; /* which mechanism held which limit: "memory" -> "cgroup" */
	size_t limits_by_count;
	/* Which refusals `denials` would have: "files", "secretReads", "calls" -> "true", "false", "some" of them, or
	 * "not asked". */
	const struct qsb_pair *reported;
	size_t reported_count;

	const char *json; /* the result as the program wrote it */
};

/*
 * Waits until the command has ended. Where stdout or stderr is QSB_STREAM_PIPE, read them to their end first: a command
 * whose pipe is full does not end. The caller frees *out with qsb_result_free.
 *   QSB_E_UNSUPPORTED …  the sandbox failed and the command never ran: err says why, in the program's words
 *   QSB_E_PROTOCOL       the program ended without an answer (it was killed)
 *   QSB_E_STATE          it was waited for already
 */
QSB_API int qsb_sandbox_wait(struct qsb_sandbox *sandbox, struct qsb_result **out, struct qsb_error *err);

/*
 * Reads what has come of the program's answer, and does not wait: for event loops, whenever QSB_FD_RESULT is readable.
 * 0: more is to come. 1: the answer is whole, and a wait returns at once. Negative: so does it, with this error.
 */
QSB_API int qsb_sandbox_poll(struct qsb_sandbox *sandbox, struct qsb_error *err);

/*
 * A wait that gives the answer as the program wrote it, `*length` bytes of JSON with a NUL behind them: the result, or
 * {"exitCode":125,"error":{"code","errno","where","message"}} where the command never ran. For languages that read JSON
 * by themselves. The caller frees *out with qsb_string_free.
 *   QSB_E_PROTOCOL  the program ended without an answer (it was killed)
 *   QSB_E_STATE     it was waited for already
 */
QSB_API int qsb_sandbox_wait_json(struct qsb_sandbox *sandbox, char **out, size_t *length, struct qsb_error *err);

/* NULL is allowed. */
QSB_API void qsb_result_free(struct qsb_result *result);

/* Ends every process of a sandbox that still runs, waits for the program, and frees it. NULL is allowed. */
QSB_API void qsb_sandbox_free(struct qsb_sandbox *sandbox);

/*
 * Can a command be run in a sandbox on this machine? Tries it, with a command that does nothing under the preset
 * "read-only". `program` as in qsb_spawn_options, or NULL.
 *   0                    yes
 *   QSB_E_UNSUPPORTED …  no: err has the cause and the smallest fix
 */
QSB_API int qsb_is_available(const char *program, struct qsb_error *err);

/*
 * What this machine can enforce, why not, and what would help: the JSON of `qiming-sandbox doctor --json`. The caller
 * frees *out with qsb_string_free.
 */
QSB_API int qsb_doctor_json(const char *program, char **out, struct qsb_error *err);

#ifdef __cplusplus
}
#endif

#endif
