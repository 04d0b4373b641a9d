/*
 * The addon: starts the program and moves bytes and events between it and JavaScript.
 *
 * Two threads share `struct environment`. JavaScript's own never waits for the other (but for a process's number, when
 * it is asked for); it hangs orders into one list, and takes events from another. The second thread, one for each
 * environment (the main one, each worker), starts programs, reads and writes their descriptors and sees them end.
 *
 * Nothing here reads what it moves: policies, results and events are text that JavaScript makes and understands.
 */
#ifndef QSB_NODE_ADDON_H
#define QSB_NODE_ADDON_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAPI_VERSION 8
#include <node_api.h>

#include <qiming/sandbox.h>

/* -- What JavaScript hears: [id, kind, value, data] each. The numbers stand in src/channel.ts, too. ------------------
 */

enum event_kind {
	EVENT_STARTED = 0, /* value: the process's number */
	EVENT_FAILED = 1,  /* it could not be started; data: the error */
	EVENT_STDOUT = 2,  /* data: bytes */
	EVENT_STDERR = 3,
	EVENT_LINES = 4,      /* data: bytes of --events-fd */
	EVENT_STDOUT_END = 5, /* value: 0, or errno */
	EVENT_STDERR_END = 6,
	EVENT_WRITTEN = 7, /* a piece for stdin is gone; value: 0, or errno */
	EVENT_ENDED = 8    /* value: the exit status of a tool; data: the program's answer as bytes, or the error */
};

struct event {
	struct event *next;
	enum event_kind kind;
	uint32_t id;
	int32_t value;
	bool is_error; /* data holds a struct qsb_error */
	size_t length;
	char data[];
};

/* -- What JavaScript orders. ------------------------------------------------------------------------------------------
 */

enum order_kind {
	ORDER_START,
	ORDER_WRITE,
	ORDER_END_INPUT,
	ORDER_KILL,
	ORDER_RESIZE,
	ORDER_APPROVE,
	ORDER_CREDIT,
	ORDER_FORGET
};

/* Everything in it is its own. */
struct launch {
	char *program;
	char **argv;         /* of the command; of a tool: the program's own arguments */
	char **surroundings; /* "NAME=VALUE", of the moment of the call */
	char *command, *workspace, *cwd, *policy, *backend;
	int32_t stdio[3];       /* QSB_STREAM_* */
	uint32_t flags;         /* QSB_SPAWN_* */
	uint32_t rows, columns; /* of the terminal; 0 = not said */
	bool tool;              /* the program with these arguments and no protocol: explain, doctor, policy check */
};

struct order {
	struct order *next;
	enum order_kind kind;
	uint32_t id;
	uint32_t first, second; /* signal; rows, columns; request, answer; event_kind of a stream, bytes */
	struct launch *launch;
	size_t length;
	char data[];
};

/* -- One process.
 * ------------------------------------------------------------------------------------------------------ */

/* Bytes that JavaScript has not asked for more after: beyond it a stream is not read. */
enum { MOST_UNREAD = 1024 * 1024, PIECE = 256 * 1024 };

struct process;

/* A descriptor that the thread waits for. */
struct watch {
	struct process *process;
	int fd; /* -1 = none (any more) */
	bool waiting;
	void (*ready)(struct watch *watch);
};

struct source {
	struct watch watch; /* first */
	enum event_kind kind, end;
	size_t unread;
	uint64_t total;   /* bytes */
	uint64_t read_at; /* microseconds */
	bool roomy;       /* its pipe was made larger */
	bool resting;
};

struct sink {
	struct watch watch; /* first */
	struct order *pieces, *last;
	size_t offset; /* in the first piece */
	bool end;      /* after the last one */
};

struct environment;

struct process {
	struct process *next;
	struct environment *environment;
	struct qsb_sandbox *sandbox; /* NULL: a tool, or it was not started, or has ended */
	uint32_t id;
	int64_t pid;         /* 0: it was not started */
	uint64_t started_at; /* microseconds */
	struct source out, err, lines;
	struct sink in;
	struct watch end; /* the answer; of a tool: none */
	bool tool, ended, forgotten;
};

/* -- One environment of Node.
 * ------------------------------------------------------------------------------------------ */

struct environment {
	napi_threadsafe_function wake;
	napi_ref turn; /* the JavaScript function that takes events */
	uint32_t held; /* processes that keep the event loop alive */
	uint32_t last_id;

	pthread_t thread;
	bool running; /* the thread */
	int epoll, orders_fd;
	struct watch rest; /* the timer of resting streams; its process is NULL */
	bool rest_is_due;
	struct order *waiting, *last_waiting; /* starts that have not had their turn; the thread's own */

	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t started;
	struct order *orders, *last_order;
	struct event *events, *last_event;
	bool woken;                               /* JavaScript will come for events */
	bool closing;                             /* the environment is going */
	uint32_t started_through, wanted_through; /* the last start; the last one whose number is waited for */
	struct process *processes;
};

/* environment.c */
struct environment *environment_new(void);
/* Ends every process and the thread. */
void environment_close(void *environment);
void environment_free(napi_env env, void *environment, void *hint);
/* The thread, and the way back from it, when there is none yet. false: thrown. */
bool environment_open(napi_env env, struct environment *environment);

/* queue.c. They take the order or the event over. */
void queue_order(struct environment *environment, struct order *order);
/* Wakes the thread. */
void queue_wake(struct environment *environment);
struct order *queue_take_orders(struct environment *environment);
/* Called on the thread. */
void queue_event(struct environment *environment, struct event *event);
/* At most `most` bytes of data, and at least one event; NULL: there are none, and the next one wakes JavaScript. */
struct event *queue_take_events(struct environment *environment, size_t most);
/* NULL: no memory. `data` may be NULL. */
struct event *event_new(const struct process *process, enum event_kind kind, const void *data, size_t length);
struct event *event_of_error(const struct process *process, enum event_kind kind, const struct qsb_error *err);
void events_free(struct event *first);
struct order *order_new(enum order_kind kind, uint32_t id, const void *data, size_t length);
void order_free(struct order *order);
void orders_free(struct order *first);

/* thread.c */
void *thread_run(void *environment);
/* Waits for the descriptor or stops doing so; `what` = EPOLLIN, EPOLLOUT. */
void watch_set(struct watch *watch, uint32_t what, bool on);
void watch_close(struct watch *watch);

/* launches.c: on the thread only. */
void launches_add(struct environment *environment, struct order *order);
/* All up to this one, now. */
void launches_through(struct environment *environment, uint32_t id);
/* Those whose turn it is: the milliseconds until another one's may be, -1 where none waits. */
int launches_go_on(struct environment *environment);

/* process.c: on the thread only, but for process_pid. */
void process_start(struct environment *environment, struct order *order, uint64_t now);
void process_obey(struct environment *environment, struct order *order);
/* Removes what has ended and is forgotten: at a moment when no event of epoll can name it any more. */
void processes_sweep(struct environment *environment);
void processes_end(struct environment *environment);
/* A stream of it has ended. */
void process_settle(struct process *process);
/* Waits until the thread has tried to start it. 0: it was not started. */
int64_t process_pid(struct environment *environment, uint32_t id);

/* stream.c: on the thread only. */
void source_open(struct source *source, struct process *process, enum event_kind kind, enum event_kind end);
void source_credit(struct source *source, size_t bytes);
void source_finish(struct source *source);
/* The timer of the resting ones is due. */
void sources_wake(struct watch *rest);
void sink_open(struct sink *sink, struct process *process);
void sink_add(struct sink *sink, struct order *piece);
void sink_finish(struct sink *sink);
void sink_clear(struct sink *sink);

/* start.c: starts the program. Fills in the process's descriptors. */
int start_program(struct process *process, const struct launch *launch, struct qsb_error *err);

/* values.c. Where they give false, an exception is thrown. */
bool value_ok(napi_env env, napi_status status);
bool value_throw(napi_env env, int code, const char *message);
bool value_environment(napi_env env, struct environment **out);
bool value_u32(napi_env env, napi_value from, uint32_t *out);
bool value_text(napi_env env, napi_value from, char **out);
/* The properties of a launch. The caller frees *out with launch_free, also after a failure. */
bool value_launch(napi_env env, napi_value from, struct launch **out);
void launch_free(struct launch *launch);
bool value_of_error(napi_env env, const struct qsb_error *err, napi_value *out);
/* The events as one array of four values each. Frees them. */
bool value_of_events(napi_env env, struct event *first, napi_value *out);

/* calls.c: what JavaScript calls. */
bool calls_define(napi_env env, napi_value exports);

#endif
