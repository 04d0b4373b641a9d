/* The head of an HTTP/1.x request: read strictly, so that it can mean one thing only. Pure. RFC 9110, 9112. */
#ifndef QSB_BROKER_HTTP_HEAD_H
#define QSB_BROKER_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/parse.h"

enum { QSB__HTTP_HEAD_MAX = 65536, QSB__HTTP_METHOD_MAX = 32768 /* no server takes so long a one */ };

enum qsb__http_form {
	QSB__HTTP_ORIGIN,    /* GET /path */
	QSB__HTTP_ABSOLUTE,  /* GET http://host/path */
	QSB__HTTP_AUTHORITY, /* CONNECT host:port */
	QSB__HTTP_ASTERISK   /* OPTIONS * */
};

struct qsb__http_head {
	enum qsb__http_form form;
	char host[QSB__HOST_MAX]; /* canonical: lower case, no trailing dot, an address in its shortest form without
				     brackets; of the target where it has one, else of the Host header; "" = HTTP/1.0
				     without either */
	unsigned port;            /* 0 = not said */
	unsigned minor;           /* HTTP/1.minor: 0 or 1 */
	size_t size;              /* of the head, with its last empty line */
	size_t target_at, target_size; /* where the request target stands in the bytes */
	size_t path_at; /* ABSOLUTE: where the path begins in the bytes (== end of target: an empty one) */
	bool chunked;
	bool has_length;
	uint64_t length; /* of the body */
	bool upgrade;    /* asks for another protocol (Connection: upgrade with an Upgrade header), and for none that
			    would hide further requests: not for h2c, HTTP or TLS */
	const char *why; /* of QSB__PARSE_BAD: a phrase for people: "two Host headers" */
	int status;      /* of QSB__PARSE_BAD: the status to answer with: 400, 414, 431, 501, 505 */
};

/*
 * The bytes so far. `length` may be beyond the head. BAD is whatever could mean two things: no or two Host headers
 * (HTTP/1.1), a Host that differs from the target's authority, Content-Length with Transfer-Encoding, two lengths, a
 * length that is not plain digits, a coding other than one "chunked", Transfer-Encoding in HTTP/1.0, folded lines, a
 * blank before the colon or in a name, a bare CR, a bare LF, NUL or another control byte, bytes above 0x7e in the
 * request line, an empty name, user information in the authority, a scheme other than http in an absolute target, a
 * fragment, CONNECT with a body or without a port, an authority that is no host (percent, brackets without an address,
 * empty labels, port 0 or above 65535), an address in a loose form ("127.1", "0x7f000001": comes out as the address it
 * is, canonical), HTTP/2 and other versions, a head of more than QSB__HTTP_HEAD_MAX bytes.
 */
enum qsb__parse qsb__http_head_parse(const char *bytes, size_t length, struct qsb__http_head *out);

/*
 * Do the bytes begin a request? 1 yes, 0 no, -1 too few to tell. A method of the registry (GET, POST, PROPFIND …) and
 * a blank; or any other word, a target and " HTTP/", since there are servers that take every method. What lenient
 * servers read as a blank (a tab, VT, FF, a bare CR) is one here too, and what they skip in front of it (empty lines,
 * blanks) is skipped; the parser refuses them. Whatever the parser takes is one, and never are more than
 * QSB__HTTP_HEAD_MAX bytes too few.
 */
int qsb__http_is_request(const char *bytes, size_t length);

/* Too few bytes to tell: are they the beginning of a method of the registry? */
bool qsb__http_may_become_method(const char *bytes, size_t length);

/* A proxy behind us, that a request goes on to. */
struct qsb__http_onward {
	const char *host; /* what the proxy is asked for: the host and port that were judged, whatever the head says */
	unsigned port;
	const char *authorization; /* the value of Proxy-Authorization, NULL = none */
};

/*
 * Writes the head as it goes on: target in origin form; in absolute form with `onward`, which may be NULL. The headers
 * are as they were, in their order, without those that end here (Connection and what it names, Keep-Alive, Proxy-*, TE,
 * HTTP2-Settings, Upgrade unless `upgrade`); then "Connection: close" (or upgrade). A head without Host header gets one
 * where its target or `onward` has a host. CONNECT is not written: 0. HTTP/1.0 stays 1.0. Returns the bytes written,
 * 0 = no room. Never drops Host, Content-Length or Transfer-Encoding, also when Connection names them: that is BAD in
 * the parser.
 */
size_t qsb__http_head_write(const char *bytes, const struct qsb__http_head *head, const struct qsb__http_onward *onward,
			    char *out, size_t size);

/* An authority "host[:port]", "[v6][:port]", "1.2.3.4": strict, canonical. port = 0 where it has none. */
bool qsb__http_authority_parse(const char *text, size_t length, char *host, unsigned *port);

/* Follows a request's body. Start with zeroes, then chunked or remaining from the head. */
struct qsb__http_body {
	bool chunked, done, bad;
	uint64_t remaining; /* of the body, or of the chunk */
	unsigned state;     /* the parser's own */
	unsigned line;      /* bytes of a chunk's or trailer's line so far */
};
void qsb__http_body_init(struct qsb__http_body *body, const struct qsb__http_head *head);
/* How many of these bytes belong to the body. `done` when it is complete; `bad` for a chunk that is not plain
 * (no hex digits, more than 16, a bare LF, a line over 4096 bytes). */
size_t qsb__http_body_take(struct qsb__http_body *body, const char *bytes, size_t length);

/* The head of a server's answer, or a proxy's. DONE: `status` and the head's `size` are filled in. Up to 64 KiB. */
enum qsb__parse qsb__http_status_parse(const char *bytes, size_t length, unsigned *status, size_t *size);

#endif
