/* The first message of a TLS client, as far as it names a server. Pure; reads hostile bytes. RFC 8446, 6066. */
#ifndef QSB_BROKER_TLS_HELLO_H
#define QSB_BROKER_TLS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/parse.h"

enum { QSB__TLS_HANDSHAKE = 22, QSB__TLS_HELLO_MAX = 16384 + 5 };

struct qsb__tls_hello {
	char name[QSB__HOST_MAX]; /* lower case, no trailing dot; "" = the client named none */
	const char *why;          /* of QSB__PARSE_BAD: a phrase for people */
};

/*
 * Do the bytes begin a record of TLS? 1 yes, 0 no, -1 too few to tell. Not only a handshake's: servers skip an alert or
 * a cipher change in front of the hello, and the parser refuses it.
 */
int qsb__tls_is_record(const uint8_t *bytes, size_t length);

/*
 * The bytes so far, from the first one of the connection. A hello may be spread over several records. BAD: not a
 * handshake, not a ClientHello, a length that does not fit the one around it, two server_name extensions, two names
 * in one, an empty one, one with a byte no host name has (NUL among them) or longer than 253, an address in its
 * place, more than QSB__TLS_HELLO_MAX bytes.
 */
enum qsb__parse qsb__tls_hello_parse(const uint8_t *bytes, size_t length, struct qsb__tls_hello *out);

/* A fatal alert record (7 bytes) for a client whose hello was refused: 49 access_denied, 112 unrecognized_name,
 * 80 internal_error. */
size_t qsb__tls_alert_write(uint8_t description, uint8_t *out, size_t size);

#endif
