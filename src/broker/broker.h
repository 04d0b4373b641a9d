/*
 * The broker: a process of our own that is the only way out of a sandbox with a filtered network. It reads hostile
 * bytes, so it is confined itself (Landlock, a system call filter, no files, no secrets of the caller's environment)
 * and what it says is bounded and checked by the supervisor.
 *
 * Its life: qsb__broker_start before the sandbox is made; the sandbox's first process hands the listening sockets over
 * by `launch_fd` and waits for one byte there before the command begins; events come out of `events_fd`; when the
 * command is over, qsb__broker_finish lets it tell what it counted; qsb__broker_free ends and reaps it.
 */
#ifndef QSB_BROKER_BROKER_H
#define QSB_BROKER_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/denial.h"
#include "plan/plan.h"

/* What a listening socket that was made in the sandbox's network is for. */
enum qsb__listener {
	QSB__LISTENER_TRANSPARENT, /* the address a client asked for is the socket's own name; loopback is no target */
	QSB__LISTENER_HTTP_PROXY,
	QSB__LISTENER_SOCKS,
	QSB__LISTENER_DNS_UDP, /* a datagram socket with IP_PKTINFO and IPV6_RECVPKTINFO set */
	QSB__LISTENER_DNS_TCP,
	QSB__LISTENER_REACH,    /* leads to the host's loopback, the same port */
	QSB__LISTENER_NAMESPACE /* no listener: the network namespace itself, where published ports are connected to */
};

/*
 * The packet on launch_fd (SOCK_SEQPACKET): this struct, and `count` descriptors with it (SCM_RIGHTS). More packets may
 * follow until one with `last`. The answer is one byte 1 when all of them are served, and the end when it failed.
 */
enum { QSB__HANDOVER_MAX = 128 };
struct qsb__handover {
	uint32_t count;
	bool last;
	uint8_t kinds[QSB__HANDOVER_MAX];  /* enum qsb__listener */
	uint16_t ports[QSB__HANDOVER_MAX]; /* REACH: the port */
};

enum qsb__broker_event_kind {
	QSB__BROKER_FAILED,     /* error: it cannot serve; the command must not run (on) */
	QSB__BROKER_CONNECTION, /* one is over, or was refused */
	QSB__BROKER_LOOKUP,     /* a name was refused by the resolver */
	QSB__BROKER_REQUEST     /* waits for an answer: id, host, port */
};

/* By which way a client came. */
enum qsb__broker_way {
	QSB__WAY_DIRECT,
	QSB__WAY_HTTP,    /* HTTP read by us, direct or through the proxy port */
	QSB__WAY_CONNECT, /* HTTP CONNECT */
	QSB__WAY_SOCKS,
	QSB__WAY_DNS,
	QSB__WAY_REACH,
	QSB__WAY_PUBLISH
};

/* One message on events_fd (SOCK_SEQPACKET), all of it plain bytes; strings end with a NUL. */
struct qsb__broker_event {
	uint32_t kind; /* enum qsb__broker_event_kind */
	uint32_t way;  /* enum qsb__broker_way */
	uint32_t id;   /* REQUEST */
	bool allowed;
	bool failed; /* allowed, and yet nothing came of it: `reason` says why (not found, refused, timed out) */
	uint16_t port;
	uint16_t client_port;    /* of the sandbox's end, 0 = not known */
	uint64_t time_ms;        /* when it began, since the epoch */
	uint64_t duration_ms;    /* CONNECTION */
	uint64_t sent, received; /* bytes from the command, to the command */
	uint64_t left_out;       /* events before this one that nobody read */
	char host[256];          /* canonical name or address that was asked for */
	char address[46];        /* that was dialled, "" = none */
	char rule[432];          /* "/network/allowedDomains: *.example.com" */
	char suggestion[432];    /* "--allow-domain example.com", "" = none */
	char reason[200];        /* for people */
	struct qsb_error error;  /* FAILED */
};

/* What the caller of a run says of a REQUEST; the order on events_fd the other way. */
enum qsb__broker_answer { QSB__ANSWER_DENY, QSB__ANSWER_ONCE, QSB__ANSWER_RUN };
struct qsb__broker_order {
	uint32_t id;
	uint32_t answer; /* enum qsb__broker_answer */
};

struct qsb__broker_options {
	const struct qsb__plan *plan;
	bool ask;        /* connections to a name under no rule wait for an answer */
	bool report_all; /* events of allowed connections too, not only of refused ones */
	uint64_t ask_ms; /* how long they wait */
};

struct qsb__broker {
	pid_t pid;
	int launch_fd; /* for the sandbox's first process; closed by qsb__broker_launched */
	int events_fd; /* non-blocking, readable when there are events, at its end when the broker is dead */
};

/* Does this plan need one? A filtered network, ports to reach or to publish. */
bool qsb__broker_needed(const struct qsb__plan *plan);

/*
 * Opens the ports to publish on the host's loopback and starts the process.
 *   QSB_E_OS  a port is taken: the message names it; no process
 */
int qsb__broker_start(struct qsb__broker *broker, const struct qsb__broker_options *options, struct qsb_error *err);

/* The sandbox has its copy of launch_fd. */
void qsb__broker_launched(struct qsb__broker *broker);

/* 1 = *event is filled in, 0 = nothing now, -1 = the broker is gone. */
int qsb__broker_read(struct qsb__broker *broker, struct qsb__broker_event *event);

void qsb__broker_answer(struct qsb__broker *broker, uint32_t id, enum qsb__broker_answer answer);

/* The command is over: the broker tells what it still has, then events_fd ends. */
void qsb__broker_finish(struct qsb__broker *broker);

/* Kills it if it still runs, reaps it, closes everything. Also good for zeroes with -1 descriptors. */
void qsb__broker_free(struct qsb__broker *broker);

#endif
