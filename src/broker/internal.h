/* What the files of the broker share: the process, and one connection through it. */
#ifndef QSB_BROKER_INTERNAL_H
#define QSB_BROKER_INTERNAL_H

#include <netinet/in.h>

#include <uv.h>

#include "broker/broker.h"
#include "broker/host_name.h"
#include "broker/http_head.h"
#include "broker/stand_ins.h"
#include "broker/socks.h"
#include "broker/upstream.h"
#include "os/mover.h"
#include "broker/porter.h"
#include "plan/hosts.h"

enum {
	QSB__CONNECTIONS_MAX = 4096,     /* and fewer where descriptors are few */
	QSB__ACCEPTED_AT_ONCE = 64,      /* of one listener, before others have their turn */
	QSB__HEADS_BYTES_MAX = 32 << 20, /* of both sides' first bytes, all connections together */
	QSB__ADDRESSES_MAX = 16,         /* of one name that are looked at */
	QSB__STAND_IN_TTL = 60,          /* seconds */
	QSB__SILENCE_MS = 300            /* a side that said nothing for so long waits for the other */
};

struct qsb__broker_run;
struct qsb__connection;
struct qsb__resolver;
struct qsb__reporter;
struct qsb__publisher;
struct qsb__approvals;

/* A listening socket of the sandbox's network. */
struct qsb__entrance {
	struct qsb__broker_run *run;
	enum qsb__listener kind;
	unsigned port;
	int fd;
	uv_poll_t poll;
};

/* One broker process. Its parts live as long as it does. */
struct qsb__broker_run {
	const struct qsb__plan *plan;
	struct qsb__broker_options options;
	struct qsb__hosts *hosts;
	uv_loop_t loop;
	uv_poll_t launch;
	uv_check_t idle; /* ends the process when all is told */
	uv_timer_t last_words;
	uv_timer_t pause;                 /* until more clients are taken */
	int launch_fd, events_fd, own_fd; /* own_fd: asks the kernel which addresses are this machine's */
	struct qsb__entrance *entrances[QSB__HANDOVER_MAX * 2];
	size_t entrance_count;
	struct qsb__stand_ins *stand_ins;
	struct qsb__resolver *resolver;
	struct qsb__reporter *reporter;
	struct qsb__publisher *publisher; /* NULL = no port is published */
	struct qsb__approvals *approvals;
	struct qsb__movers *movers;
	struct qsb__upstream upstream;
	struct qsb__connection *connections; /* a list */
	size_t connection_count, connections_max, heads_bytes;
	bool accepting, finishing;
};

/* What a direction of a relay waits for. */
enum qsb__need {
	QSB__NEED_READ,  /* from the side the bytes come from */
	QSB__NEED_WRITE, /* to the other */
	QSB__NEED_NONE,  /* it is over, or waits for the other direction */
	QSB__NEED_GO_ON, /* inside relay.c: the next step's turn */
	QSB__NEED_GONE,  /* inside relay.c: who the bytes come from broke */
	QSB__NEED_END    /* inside relay.c: who they go to broke, or the connection is closed */
};

enum { QSB__RELAY_UP = 1U << 0, QSB__RELAY_DOWN = 1U << 1 };

/* One direction of a relay. */
struct qsb__flow {
	struct qsb__mover mover;
	enum qsb__need need;
	bool ended;     /* `from` gave its last byte */
	bool shut;      /* `to` was told so, or is gone */
	uint64_t bytes; /* given to `to` */
};

/* What is known of the client's own bytes, and so how they go on. */
enum qsb__gate {
	QSB__GATE_SHUT, /* not known yet: bytes wait in `head` */
	QSB__GATE_WORD, /* a word so far, of no protocol that we know: as they come, unless it becomes a request */
	QSB__GATE_OPEN, /* as they come */
	QSB__GATE_HTTP, /* one request, then nothing more */
	QSB__GATE_DONE  /* the request is over */
};

typedef void (*qsb__step)(struct qsb__connection *connection);

/* What the candidates of a dial are, and how they are reached: dial.c. */
struct qsb__dial;

struct qsb__connection {
	struct qsb__broker_run *run;
	struct qsb__connection *next, **at;
	enum qsb__broker_way way;
	enum qsb__listener kind;
	int client, server; /* sockets, -1 = none */
	uv_poll_t client_poll, server_poll;
	uv_timer_t timer;
	int client_events, server_events; /* what is polled */
	unsigned handles;                 /* of libuv, to be closed before the memory is given back */
	qsb__step client_ready;           /* NULL = the relay */
	qsb__step timed_out;

	bool closing, relaying, judged, allowed, failed, reported;
	bool switching; /* HTTP: asked for another protocol; the server's answer decides */
	bool answering; /* HTTP: the head of the server's answer is still to be read */
	bool absolute;  /* HTTP through an upstream proxy: the whole target in the request */
	bool tunnel;    /* the client was told that it is connected: refusals are those of the inner protocol */

	char host[QSB__HOST_MAX]; /* canonical name, or the address asked for */
	bool host_is_name;
	struct qsb__address address; /* of a host that is an address */
	unsigned port;
	char dialled[QSB__ADDRESS_TEXT];
	uint64_t began_ms, began_ns;
	struct qsb__host_judgement *verdict; /* of the host */
	const char *reason;                  /* why it failed or was refused; static text */

	uint8_t *head; /* the client's first bytes */
	size_t head_length, head_room;
	size_t word_sent; /* QSB__GATE_WORD: so much of `head` went on already */
	struct qsb__socks_request socks;
	struct qsb__http_body body;
	struct qsb__dial *dial;
	enum qsb__upstream_step upstream_step;
	char upstream_target[QSB__HOST_MAX]; /* what the proxy is asked for: the host, or its judged address */
	uint32_t request;                    /* waits for an answer with this number */

	enum qsb__gate gate;
	uint8_t *first; /* what goes to the server before anything else: a rewritten head */
	size_t first_length, first_room, first_sent;
	uint8_t *early;                               /* what the server said before the relay took over */
	size_t early_length, early_sent, early_ready; /* early_ready: while `answering`, what of it may go on */
	struct qsb__flow up, down;
	uint64_t bytes_then; /* of `down`, when the client ended */
};

/* connection.c: a client has come. Owns the descriptor from here on. */
void qsb__connection_accept(struct qsb__entrance *entrance, int fd);
struct qsb__connection *qsb__connection_new(struct qsb__broker_run *run, enum qsb__listener kind, int client);
/* The end, at whatever point: reports it, closes both sides, frees it when libuv lets go. */
void qsb__connection_close(struct qsb__connection *connection);
/* Like close, but the client sees a reset: its connection failed, it did not end. */
void qsb__connection_reset(struct qsb__connection *connection);
void qsb__connection_close_all(struct qsb__broker_run *run);
/* Those that have no more of a client's bytes to give to a server. */
void qsb__connection_close_done(struct qsb__broker_run *run);
/* A port of a loopback, from the other side: what the policy names needs no verdict. */
void qsb__connection_to_loopback(struct qsb__broker_run *run, enum qsb__broker_way way, unsigned port, int fd);
/* Reads what the client sent into `head`. 1 = more came, 0 = nothing now, -1 = the client's end, -2 = an error, or no
 * room for more. */
int qsb__connection_read_head(struct qsb__connection *connection, size_t most);
void qsb__connection_drop_head(struct qsb__connection *connection, size_t bytes);
void qsb__connection_free_head(struct qsb__connection *connection);
/* Waits for the client's bytes with `step`, and for `after_ms` with `timed_out` (0 = no limit). */
void qsb__connection_expect(struct qsb__connection *connection, qsb__step step, uint64_t after_ms, qsb__step timed_out);
void qsb__connection_timer(uv_timer_t *timer);
void qsb__connection_poll(struct qsb__connection *connection, int client_events, int server_events);
/* The server side has a socket: it is polled from here on. false = it cannot be. */
bool qsb__connection_attach(struct qsb__connection *connection, int server);

/* target.c: host and port are known: judges, asks, dials. */
/* The host that an address means: the name it stands for, which is told, or the address itself. */
bool qsb__target_take_host(struct qsb__connection *connection, const struct qsb__address *address);
void qsb__target_address(struct qsb__connection *connection, const struct qsb__address *address, unsigned port);
void qsb__target_host(struct qsb__connection *connection, const char *host, unsigned port);
void qsb__target_judge(struct qsb__connection *connection);
/* The host is an address under no rule: a name that this machine's own table gives it takes its place. */
void qsb__target_take_own_name(struct qsb__connection *connection);
/* An address under the rules of this run; `name` as in qsb__hosts_judge_address. */
void qsb__target_judge_address(struct qsb__connection *connection, const struct qsb__address *address,
			       const struct qsb__host_judgement *name, struct qsb__host_judgement *out);
void qsb__target_answered(struct qsb__connection *connection, enum qsb__broker_answer answer);

/* first_bytes.c: what the client's own bytes say: may they go to this host? */
void qsb__first_bytes_await(struct qsb__connection *connection);
/* Looks at `head` once more: 1 = the gate is decided, 0 = more bytes are needed, -1 = refused, all is done. */
int qsb__first_bytes_look(struct qsb__connection *connection);
/* Undecided, and a client of another protocol may have said all it has to say for now. */
bool qsb__first_bytes_are_a_word(const struct qsb__connection *connection);
/* The same for a request whose head was read already. */
int qsb__first_bytes_take_request(struct qsb__connection *connection, const struct qsb__http_head *head);

/* proxy.c: clients that ask by HTTP or SOCKS. */
void qsb__proxy_http_begin(struct qsb__connection *connection);
void qsb__proxy_socks_begin(struct qsb__connection *connection);
/* Tells such a client that it is connected. false = it is gone. */
bool qsb__proxy_say_connected(struct qsb__connection *connection);

/* dial.c: reaches what was judged. Ends in the relay or in a refusal. */
void qsb__dial_begin(struct qsb__connection *connection);
void qsb__dial_cancel(struct qsb__connection *connection);
/* upstream_dial.c: a proxy is connected; `target` is what it is asked for. Ends in qsb__dial_done or a refusal. */
void qsb__upstream_begin(struct qsb__connection *connection, const char *target);
/* The server side is ready for the client's bytes. */
void qsb__dial_done(struct qsb__connection *connection);
/* Room for `length` bytes of `first`. false = none is left. */
bool qsb__connection_new_first(struct qsb__connection *connection, size_t length);
void qsb__connection_free_first(struct qsb__connection *connection);
/* What the server says: kept behind what is, and dropped from its beginning. */
void qsb__connection_drop_early(struct qsb__connection *connection, size_t bytes);
bool qsb__connection_keep_early(struct qsb__connection *connection, const void *bytes, size_t length);
/* relay.c: both sides are there. */
void qsb__relay_begin(struct qsb__connection *connection);
/* Some of QSB__RELAY_* can go on. */
void qsb__relay_run(struct qsb__connection *connection, unsigned directions);
/* One side's socket is broken; what came from it before can still be taken. */
void qsb__relay_fail(struct qsb__connection *connection, bool server);
void qsb__relay_clear(struct qsb__connection *connection);

/* answer.c: reads the head of the server's answer into `early`. GO_ON: some of it may go on, or all that comes. */
enum qsb__need qsb__answer_read(struct qsb__connection *connection);

/* refuse.c: in the words of the client's protocol, then the end. */
void qsb__refuse_by_rule(struct qsb__connection *connection);
void qsb__refuse_bad(struct qsb__connection *connection, int status, const char *why);
void qsb__refuse_unreachable(struct qsb__connection *connection, const char *why, bool timed_out);

/* reporter.c: what the supervisor hears. Bounded: what it does not read is counted. */
struct qsb__reporter *qsb__reporter_new(struct qsb__broker_run *run);
void qsb__report_connection(struct qsb__connection *connection);
void qsb__report_lookup(struct qsb__broker_run *run, const char *name, const struct qsb__host_judgement *verdict,
			unsigned client_port);
bool qsb__report_request(struct qsb__connection *connection, uint32_t id);
void qsb__reporter_flush(struct qsb__reporter *reporter);
bool qsb__reporter_is_idle(const struct qsb__reporter *reporter);

/* approvals.c: connections that wait for somebody's word. */
struct qsb__approvals *qsb__approvals_new(struct qsb__broker_run *run);
/* Was this host and port allowed for the whole run? */
bool qsb__approvals_have(const struct qsb__approvals *approvals, const char *host, unsigned port);
void qsb__approvals_ask(struct qsb__connection *connection);
void qsb__approvals_answer(struct qsb__approvals *approvals, uint32_t id, enum qsb__broker_answer answer);
void qsb__approvals_forget(struct qsb__connection *connection);

/* resolver.c: names to addresses, by the host's own files and servers. */
struct qsb__lookup;
struct qsb__found {
	int code; /* 0; 1 = there is no such name; 2 = no answer could be had */
	size_t count;
	struct qsb__address addresses[QSB__ADDRESSES_MAX];
};
typedef void (*qsb__found_fn)(void *data, const struct qsb__found *found);
struct qsb__resolver *qsb__resolver_new(struct qsb__broker_run *run, struct qsb_error *err);
/* Calls `found` later or at once. `*lookup` is set before, and can be cancelled until then; it is not touched after. */
void qsb__resolver_ask(struct qsb__resolver *resolver, const char *name, qsb__found_fn found, void *data,
		       struct qsb__lookup **lookup);
void qsb__lookup_cancel(struct qsb__lookup *lookup);
/* A name that the host's own table (/etc/hosts) gives this address, and that is wanted. NULL = none. */
const char *qsb__resolver_own_name(const struct qsb__resolver *resolver, const struct qsb__address *address,
				   bool (*wanted)(void *data, const char *name), void *data);

/* dns_server.c */
bool qsb__dns_serve_udp(struct qsb__entrance *entrance);
void qsb__dns_accept(struct qsb__broker_run *run, int fd);

/* publish.c: ports of the host's loopback that lead inside. Opened in the supervisor, so that a port that is taken is
 * an error before anything runs. */
struct qsb__publisher *qsb__publisher_new(const struct qsb__plan *plan, struct qsb_error *err);
void qsb__publisher_free(struct qsb__publisher *publisher);
int qsb__publisher_start_porter(struct qsb__publisher *publisher, struct qsb_error *err);
/* Connections, which are taken when the entrances are polled, end in the network namespace of that descriptor. */
int qsb__publisher_serve(struct qsb__publisher *publisher, struct qsb__broker_run *run, int namespace_fd,
			 struct qsb_error *err);
void qsb__publisher_poll(struct qsb__publisher *publisher, bool accepting);
/* A fresh socket in the sandbox's network, -1 = none. */
int qsb__publisher_socket(struct qsb__publisher *publisher, int family);
/* All descriptors, for who closes all others; returns how many. */
size_t qsb__publisher_fds(const struct qsb__publisher *publisher, int *out, size_t most);

/* handover.c: the sandbox's listening sockets come in. */
int qsb__handover_begin(struct qsb__broker_run *run, struct qsb_error *err);
/* Takes clients, or leaves them in the queues: at the listeners and at published ports. */
void qsb__entrances_poll(struct qsb__broker_run *run, bool accepting);
/* The next client of a listener, -1 = none now. Without descriptors all listeners rest for a while. */
int qsb__accept_next(struct qsb__broker_run *run, int listener);

/* process.c: the command is over: what is open is closed and told, then the process ends. */
void qsb__broker_run_finish(struct qsb__broker_run *run);
/* It cannot serve: says why and ends. */
__attribute__((noreturn)) void qsb__broker_run_fail(struct qsb__broker_run *run, const struct qsb_error *err);

#endif
