/* A proxy between this machine and the world. Pure, but for the dial that uses it. */
#ifndef QSB_BROKER_UPSTREAM_H
#define QSB_BROKER_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <qiming/sandbox.h>

#include "broker/parse.h"

enum qsb__upstream_kind { QSB__UPSTREAM_NONE, QSB__UPSTREAM_HTTP, QSB__UPSTREAM_SOCKS5 };

struct qsb__upstream {
	enum qsb__upstream_kind kind;
	char host[QSB__HOST_MAX];
	unsigned port;
	bool has_login;
	char user[256], password[256]; /* percent escapes decoded */
	char authorization[800];       /* "Basic …", "" = none */
	char *const *bypass;           /* NO_PROXY entries, NULL-terminated; may be NULL */
	bool resolves;                 /* it gets names, not addresses */
};

/* "http://[user[:password]@]host[:port]" or "socks5://…". NULL or "" = none. */
int qsb__upstream_parse(const char *url, struct qsb__upstream *out, struct qsb_error *err);

/* NO_PROXY: "*", "example.com" and ".example.com" (it and below), "*.example.com", addresses, CIDR, each with an
 * optional ":port". */
bool qsb__upstream_bypasses(const struct qsb__upstream *upstream, const char *host, unsigned port);

/* The request for a tunnel. Returns its size, 0 = no room. */
size_t qsb__upstream_connect_write(const struct qsb__upstream *upstream, const char *host, unsigned port, char *out,
				   size_t size);

/* SOCKS 5 as a client: what is to be sent now. */
enum qsb__upstream_step {
	QSB__UPSTREAM_GREETING,
	QSB__UPSTREAM_LOGIN,
	QSB__UPSTREAM_REQUEST,
	QSB__UPSTREAM_CONNECTED /* nothing more */
};
struct qsb__upstream_target {
	const char *host; /* a name, or an address */
	unsigned port;
};
/* Returns the size, 0 = no room. */
size_t qsb__upstream_socks_write(const struct qsb__upstream *upstream, enum qsb__upstream_step step,
				 const struct qsb__upstream_target *target, uint8_t *out, size_t size);

struct qsb__upstream_answer {
	size_t size; /* of DONE: so many bytes were the answer */
	enum qsb__upstream_step next;
	const char *why; /* of BAD */
};
enum qsb__parse qsb__upstream_socks_read(enum qsb__upstream_step step, const uint8_t *bytes, size_t length,
					 struct qsb__upstream_answer *out);

#endif
