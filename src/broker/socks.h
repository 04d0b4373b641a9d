/* SOCKS 5 (RFC 1928) and 4a requests of a client. Pure; reads hostile bytes. */
#ifndef QSB_BROKER_SOCKS_H
#define QSB_BROKER_SOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/parse.h"

enum {
	QSB__SOCKS_OK,
	QSB__SOCKS_FAILED,
	QSB__SOCKS_DENIED,
	QSB__SOCKS_UNREACHABLE,
	QSB__SOCKS_NO_COMMAND,
	QSB__SOCKS_NO_METHOD /* to an offer of methods: two bytes, 5 and 255 */
};

struct qsb__socks_request {
	int version;              /* 4 or 5 */
	char host[QSB__HOST_MAX]; /* canonical name, or address in its shortest form */
	unsigned port;
	size_t size; /* of what was read, when DONE */
	const char *why;
	int reply; /* of BAD: QSB__SOCKS_* to answer with; -1 = no answer, just close */
};

/*
 * SOCKS 5 begins with the offer of methods: DONE with `size` when it is whole; BAD without method 0 (none),
 * NO_METHOD.
 * The answer is the two bytes 5, 0.
 */
enum qsb__parse qsb__socks5_offer_parse(const uint8_t *bytes, size_t length, struct qsb__socks_request *out);

/* The request: CONNECT only (BIND and UDP ASSOCIATE are BAD, NO_COMMAND); a name with a NUL or another byte that no
 * host name has, an empty name, port 0: BAD. A name that is an address in any form is that address. */
enum qsb__parse qsb__socks5_request_parse(const uint8_t *bytes, size_t length, struct qsb__socks_request *out);

/* The whole of SOCKS 4 and 4a; the user's id is ignored, up to 255 bytes. */
enum qsb__parse qsb__socks4_request_parse(const uint8_t *bytes, size_t length, struct qsb__socks_request *out);

/* The answer in the request's version. Returns its size. `out` holds 10 bytes. */
size_t qsb__socks_reply_write(const struct qsb__socks_request *request, int reply, uint8_t *out);

#endif
