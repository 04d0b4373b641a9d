#include "broker/socks.h"

#include <stdlib.h>

#include "tap.h"

typedef enum qsb__parse parse_message(const uint8_t *bytes, size_t length, struct qsb__socks_request *out);

/* A literal with NULs in it, and its size. */
#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

/* In a block of exactly the size, so that the sanitizer sees a read past the end. */
static enum qsb__parse parse_exactly(parse_message *parse, const uint8_t *bytes, size_t length,
				     struct qsb__socks_request *out)
{
	uint8_t *copy = malloc(length ? length : 1);
	enum qsb__parse verdict;

	memcpy(copy, bytes, length);
	verdict = parse(copy, length, out);
	free(copy);
	return verdict;
}

static void test_offer(void)
{
	struct qsb__socks_request request;
	const uint8_t offer[] = {5, 3, 2, 1, 0, 5};
	uint8_t out[10];

	for (size_t at = 0; at < 5; at++)
		tap_ok(parse_exactly(qsb__socks5_offer_parse, offer, at, &request) == QSB__PARSE_MORE,
		       "an offer of which %zu bytes are there needs more", at);
	tap_ok(qsb__socks5_offer_parse(offer, 6, &request) == QSB__PARSE_DONE && request.size == 5,
	       "an offer with method 0 among others is taken, without the byte behind it");
	tap_ok(qsb__socks5_offer_parse(BYTES("\5\2\1\2"), &request) == QSB__PARSE_BAD &&
		       request.reply == QSB__SOCKS_NO_METHOD,
	       "an offer without method 0 is refused");
	tap_ok(qsb__socks_reply_write(&request, request.reply, out) == 2 && memcmp(out, "\5\xFF", 2) == 0,
	       "and answered with 5, 255");
	tap_ok(qsb__socks5_offer_parse(BYTES("\5\0"), &request) == QSB__PARSE_BAD &&
		       request.reply == QSB__SOCKS_NO_METHOD,
	       "an offer of nothing is refused");
	tap_ok(qsb__socks5_offer_parse(BYTES("G"), &request) == QSB__PARSE_BAD && request.reply == -1,
	       "what is not SOCKS gets no answer");
}

static void test_request5(void)
{
	static const struct {
		const char *what;
		const uint8_t *bytes;
		size_t size;
		const char *host;
		unsigned port;
	} good[] = {
		{"a name", BYTES("\5\1\0\3\x0FWWW.Example.com\1\xBB"), "www.example.com", 443},
		{"a name with a dot behind it",
		 BYTES("\5\1\0\3\x0A"
		       "a.example.\0\x50"),
		 "a.example", 80},
		{"a name with other letters",
		 BYTES("\5\1\0\3\x0E"
		       "b\xC3\xBC"
		       "cher.exampl\0\x50"),
		 "xn--bcher-kva.exampl", 80},
		{"an address in a loose form",
		 BYTES("\5\1\0\3\x0A"
		       "0x7f000001\0\x50"),
		 "127.0.0.1", 80},
		{"a number",
		 BYTES("\5\1\0\3\x0A"
		       "2130706433\0\x50"),
		 "127.0.0.1", 80},
		{"an IPv6 address in words",
		 BYTES("\5\1\0\3\3"
		       "::1\0\x50"),
		 "::1", 80},
		{"an IPv4 address", BYTES("\5\1\0\1\xC0\0\2\1\xFF\xFF"), "192.0.2.1", 65535},
		{"an IPv6 address", BYTES("\5\1\0\4\x20\1\x0D\xB8\0\0\0\0\0\0\0\0\0\0\0\1\0\x50"), "2001:db8::1", 80},
		{"a mapped address", BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xFF\xFF\x7F\0\0\1\0\x50"), "127.0.0.1", 80},
	};
	struct qsb__socks_request request;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		bool more = true;

		for (size_t at = 0; at < good[i].size; at++)
			more &= parse_exactly(qsb__socks5_request_parse, good[i].bytes, at, &request) ==
				QSB__PARSE_MORE;
		tap_ok(more, "a request for %s needs every byte of it", good[i].what);
		tap_ok(parse_exactly(qsb__socks5_request_parse, good[i].bytes, good[i].size, &request) ==
				       QSB__PARSE_DONE &&
			       request.size == good[i].size && request.port == good[i].port,
		       "a request for %s is read whole", good[i].what);
		tap_is_text(request.host, good[i].host, "and the host has its one spelling");
	}
}

static void test_refusals5(void)
{
	static const struct {
		const char *what;
		const uint8_t *bytes;
		size_t size;
		int reply;
	} bad[] = {
		{"another version", BYTES("\4\1\0\1"), -1},
		{"BIND", BYTES("\5\2\0\1\xC0\0\2\1\0\x50"), QSB__SOCKS_NO_COMMAND},
		{"UDP ASSOCIATE", BYTES("\5\3\0\1\0\0\0\0\0\0"), QSB__SOCKS_NO_COMMAND},
		{"command 0", BYTES("\5\0"), QSB__SOCKS_NO_COMMAND},
		{"Tor's RESOLVE", BYTES("\5\xF0"), QSB__SOCKS_NO_COMMAND},
		{"a reserved byte", BYTES("\5\1\1"), QSB__SOCKS_FAILED},
		{"an unknown kind of address", BYTES("\5\1\0\2"), QSB__SOCKS_FAILED},
		{"an empty name", BYTES("\5\1\0\3\0\0\x50"), QSB__SOCKS_FAILED},
		{"a name with a NUL",
		 BYTES("\5\1\0\3\x11"
		       "allowed.com\0.evil\0\x50"),
		 QSB__SOCKS_FAILED},
		{"a name that ends with a NUL",
		 BYTES("\5\1\0\3\x0C"
		       "allowed.com\0\0\x50"),
		 QSB__SOCKS_FAILED},
		{"a name with a blank",
		 BYTES("\5\1\0\3\3"
		       "a b\0\x50"),
		 QSB__SOCKS_FAILED},
		{"a name with a percent sign",
		 BYTES("\5\1\0\3\5"
		       "a%2eb\0\x50"),
		 QSB__SOCKS_FAILED},
		{"an address in brackets",
		 BYTES("\5\1\0\3\5"
		       "[::1]\0\x50"),
		 QSB__SOCKS_FAILED},
		{"an address with a zone",
		 BYTES("\5\1\0\3\x0B"
		       "fe80::1%lo0\0\x50"),
		 QSB__SOCKS_FAILED},
		{"an empty label",
		 BYTES("\5\1\0\3\4"
		       "a..b\0\x50"),
		 QSB__SOCKS_FAILED},
		{"port 0", BYTES("\5\1\0\1\xC0\0\2\1\0\0"), QSB__SOCKS_FAILED},
	};
	struct qsb__socks_request request;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(parse_exactly(qsb__socks5_request_parse, bad[i].bytes, bad[i].size, &request) ==
				       QSB__PARSE_BAD &&
			       request.reply == bad[i].reply && request.why,
		       "%s is refused (%s)", bad[i].what, request.why ? request.why : "no reason");
}

static void test_request4(void)
{
	static const struct {
		const char *what;
		const uint8_t *bytes;
		size_t size;
		const char *host;
	} good[] = {
		{"an address", BYTES("\4\1\1\xBB\xC0\0\2\1me\0"), "192.0.2.1"},
		{"an address without user", BYTES("\4\1\1\xBB\xC0\0\2\1\0"), "192.0.2.1"},
		{"a name", BYTES("\4\1\1\xBB\0\0\0\1me\0Www.example.com\0"), "www.example.com"},
		{"a name that is an address",
		 BYTES("\4\1\1\xBB\0\0\0\1\0"
		       "0x7f.1\0"),
		 "127.0.0.1"},
		{"the address 0", BYTES("\4\1\1\xBB\0\0\0\0\0"), "0.0.0.0"},
	};
	struct qsb__socks_request request;
	uint8_t long_id[400] = {4, 1, 1, 187, 0, 0, 0, 1};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		bool more = true;

		for (size_t at = 0; at < good[i].size; at++)
			more &= parse_exactly(qsb__socks4_request_parse, good[i].bytes, at, &request) ==
				QSB__PARSE_MORE;
		tap_ok(more, "version 4 for %s needs every byte of it", good[i].what);
		tap_ok(parse_exactly(qsb__socks4_request_parse, good[i].bytes, good[i].size, &request) ==
				       QSB__PARSE_DONE &&
			       request.size == good[i].size && request.port == 443 &&
			       strcmp(request.host, good[i].host) == 0,
		       "version 4 for %s is read whole", good[i].what);
	}
	tap_ok(qsb__socks4_request_parse(BYTES("\5\1"), &request) == QSB__PARSE_BAD && request.reply == -1,
	       "another version gets no answer");
	tap_ok(qsb__socks4_request_parse(BYTES("\4\2"), &request) == QSB__PARSE_BAD &&
		       request.reply == QSB__SOCKS_NO_COMMAND,
	       "BIND of version 4 is refused");
	tap_ok(qsb__socks4_request_parse(BYTES("\4\1\0\0\xC0\0\2\1\0"), &request) == QSB__PARSE_BAD,
	       "port 0 of version 4 is refused");
	tap_ok(qsb__socks4_request_parse(BYTES("\4\1\0\x50\0\0\0\1\0\0"), &request) == QSB__PARSE_BAD,
	       "an empty name of version 4 is refused");
	tap_ok(qsb__socks4_request_parse(BYTES("\4\1\0\x50\0\0\0\1\0a%b\0"), &request) == QSB__PARSE_BAD,
	       "a percent sign in a name of version 4 is refused");
	memset(long_id + 8, 'u', sizeof(long_id) - 8);
	tap_ok(qsb__socks4_request_parse(long_id, 8 + 255, &request) == QSB__PARSE_MORE,
	       "a user's id of 255 bytes may end");
	tap_ok(qsb__socks4_request_parse(long_id, 8 + 256, &request) == QSB__PARSE_BAD, "a longer one is refused");
	long_id[8] = 0;
	tap_ok(qsb__socks4_request_parse(long_id, 9 + 256, &request) == QSB__PARSE_BAD, "as is a name without end");
}

static void test_replies(void)
{
	const struct qsb__socks_request four = {.version = 4}, five = {.version = 5};
	static const struct {
		int reply;
		uint8_t code4, code5;
	} rows[] = {
		{QSB__SOCKS_OK, 90, 0},          {QSB__SOCKS_FAILED, 91, 1},     {QSB__SOCKS_DENIED, 91, 2},
		{QSB__SOCKS_UNREACHABLE, 91, 4}, {QSB__SOCKS_NO_COMMAND, 91, 7}, {99, 91, 1},
	};
	uint8_t out[10];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint8_t wanted5[10] = {5, rows[i].code5, 0, 1}, wanted4[8] = {0, rows[i].code4};

		tap_ok(qsb__socks_reply_write(&five, rows[i].reply, out) == 10 && memcmp(out, wanted5, 10) == 0,
		       "reply %d of version 5 has code %u", rows[i].reply, rows[i].code5);
		tap_ok(qsb__socks_reply_write(&four, rows[i].reply, out) == 8 && memcmp(out, wanted4, 8) == 0,
		       "reply %d of version 4 has code %u", rows[i].reply, rows[i].code4);
	}
}

int main(void)
{
	test_offer();
	test_request5();
	test_refusals5();
	test_request4();
	test_replies();
	return tap_done();
}
