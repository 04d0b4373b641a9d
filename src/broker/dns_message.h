/* DNS messages: the question of a client, and our answer to it. Pure; reads hostile bytes. RFC 1035, 6891, 8914. */
#ifndef QSB_BROKER_DNS_MESSAGE_H
#define QSB_BROKER_DNS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QSB__DNS_NAME_MAX = 256, QSB__DNS_HEADER = 12, QSB__DNS_PLAIN_MAX = 512, QSB__DNS_ANSWER_MAX = 1232 };
enum { QSB__DNS_A = 1, QSB__DNS_PTR = 12, QSB__DNS_AAAA = 28, QSB__DNS_IN = 1 };
enum {
	QSB__DNS_OK = 0,
	QSB__DNS_FORMAT_ERROR = 1,
	QSB__DNS_SERVER_FAILURE = 2,
	QSB__DNS_NO_NAME = 3,
	QSB__DNS_NOT_IMPLEMENTED = 4,
	QSB__DNS_REFUSED = 5
};

struct qsb__dns_query {
	char name[QSB__DNS_NAME_MAX]; /* lower case, no trailing dot, "" = the root */
	uint16_t type, class;
	bool edns;
	size_t answer_max;    /* what the client takes by UDP, 512 to QSB__DNS_ANSWER_MAX */
	size_t question_size; /* of header and question */
};

/*
 * One whole message. 0, or a code to answer with (FORMAT_ERROR, NOT_IMPLEMENTED, REFUSED for a name with bytes that no
 * host name has: nothing of it may be handed on), or -1: no answer at all (too short, or itself an answer).
 * Exactly one question, opcode QUERY, no compression in it, labels up to 63 and names up to 253 bytes; additional
 * records are walked only to find the OPT record, within bounds.
 */
int qsb__dns_query_parse(const uint8_t *bytes, size_t length, struct qsb__dns_query *out);

struct qsb__dns_answer {
	int code;         /* QSB__DNS_* */
	bool has_address; /* to A: address4, to AAAA: address6 */
	uint8_t address[16];
	const char *pointer; /* to PTR: the name, NULL = none */
	uint32_t ttl;        /* seconds */
	const char *why;     /* said as an extended error (15 "Blocked") to a client that speaks EDNS, NULL = nothing */
};

/* Writes the answer to `query`, whose message is given too (its id and question are repeated). An answer larger than
 * `size` becomes a truncated one (TC). Returns its size, 0 = no room at all. */
size_t qsb__dns_answer_write(const uint8_t *message, const struct qsb__dns_query *query,
			     const struct qsb__dns_answer *answer, uint8_t *out, size_t size);

/* An answer to a message that could not be read: header only, with a code. `length` >= QSB__DNS_HEADER. */
size_t qsb__dns_error_write(const uint8_t *message, int code, uint8_t *out, size_t size);

/* "5.0.18.198.in-addr.arpa" and "….ip6.arpa" to an address of family 4 or 6 (bytes as on the wire). */
bool qsb__dns_reverse_name(const char *name, int *family, uint8_t *bytes);

#endif
