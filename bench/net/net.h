/*
 * The network's measurements: a server and a client that do as little as a server and a client can, so that what stands
 * between them is what is measured. Both speak just enough HTTP/1.1 for any proxy to read.
 *
 * The server answers   GET /data/N    with N bytes
 *                      GET /hold      with one byte at once and one after the next /release
 *                      GET /release   with one byte
 * A TLS hello before the request is read and thrown away: what follows it is the same plain request, which nobody
 * between the two can tell from a record.
 */
#ifndef QSB_BENCH_NET_NET_H
#define QSB_BENCH_NET_NET_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

enum { CHUNK = 256 * 1024 };

/* How a client comes to the server. */
struct way {
	const char *kind; /* "plain", "name", "tls", "get", "connect", "socks" */
	const char *host;
	const char *port;
	const char *authorization; /* for the proxy, as its protocol wants it; NULL = none */
	struct sockaddr_in to;     /* where the connection goes: server, stand-in address or proxy */
};

/*
 * WAY HOST PORT [PROXY [AUTHORIZATION]]. Asks the resolver, once, for "name" and "tls". PROXY is a port of the
 * loopback, or the variable with the proxy's address. -1 = said on stderr why not.
 */
int way_init(struct way *way, char **argv);

/* A connection on which the request for `path` has been sent, a proxy's own answers read. -1 with errno. */
int way_ask(const struct way *way, const char *path);

/* Reads up to and with the first byte of the answer's body; what came after it is thrown away, its size returned. */
int64_t read_to_body(int fd);

int write_all(int fd, const void *bytes, size_t size);
int read_all(int fd, void *bytes, size_t size);

/* The address that a resolver gives for a name (A). -1 = none. */
int look_up(const char *name, struct in_addr *out);

/* A TLS client's hello that names `host`. Returns its size, 0 = no room. */
size_t write_hello(const char *host, uint8_t *out, size_t size);

/* One client that asks for this many bytes, and how long it took from the connect to the last byte. */
int measure_data(struct way *way, int64_t bytes);

/* Connect, request, first byte of the answer; again and again. */
int measure_connect(struct way *way, int count);

/* `held` connections open at once, then `serial` one after another; a pause after each, in which memory can be read. */
int measure_crowd(struct way *way, int held, int serial, int pause_ms);

/*
 * A network and a mount namespace of the caller's own, with loopback, every port free to bind, and `hosts` as its
 * /etc/hosts. -1 = said on stderr why not.
 */
int make_world(const char *hosts);

/* Goes into the namespaces of a process that made a world, as the same user, and becomes the command. */
int enter_world(const char *pid, char **argv);

/* Serves these ports of 127.0.0.1 for ever; says "ready" when it does. */
int serve(char **ports);

#endif
