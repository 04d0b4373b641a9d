#include "broker/http_head.h"

#include <stdlib.h>

#include "tap.h"

static enum qsb__parse parse_exactly(const char *bytes, size_t length, struct qsb__http_head *out)
{
	char *copy = malloc(length ? length : 1);
	enum qsb__parse verdict;

	memcpy(copy, bytes, length);
	verdict = qsb__http_head_parse(copy, length, out);
	free(copy);
	return verdict;
}

static const struct {
	const char *what, *text, *host;
	unsigned port;
	enum qsb__http_form form;
} good[] = {
	{"a plain request", "GET /a?b HTTP/1.1\r\nHost: www.example.com\r\n\r\n", "www.example.com", 0,
	 QSB__HTTP_ORIGIN},
	{"a host in capitals with a dot", "GET / HTTP/1.1\r\nHOST:WWW.Example.Com.:8080 \t\r\n\r\n", "www.example.com",
	 8080, QSB__HTTP_ORIGIN},
	{"an address", "GET / HTTP/1.1\r\nHost: 192.0.2.1:81\r\n\r\n", "192.0.2.1", 81, QSB__HTTP_ORIGIN},
	{"an IPv6 address", "GET / HTTP/1.1\r\nHost: [2001:DB8:0::1]:81\r\n\r\n", "2001:db8::1", 81, QSB__HTTP_ORIGIN},
	{"a mapped address", "GET / HTTP/1.1\r\nHost: [::ffff:127.0.0.1]\r\n\r\n", "127.0.0.1", 0, QSB__HTTP_ORIGIN},
	{"127.1", "GET / HTTP/1.1\r\nHost: 127.1\r\n\r\n", "127.0.0.1", 0, QSB__HTTP_ORIGIN},
	{"2130706433", "GET / HTTP/1.1\r\nHost: 2130706433\r\n\r\n", "127.0.0.1", 0, QSB__HTTP_ORIGIN},
	{"0x7f000001", "GET / HTTP/1.1\r\nHost: 0x7f000001:80\r\n\r\n", "127.0.0.1", 80, QSB__HTTP_ORIGIN},
	{"0", "GET / HTTP/1.1\r\nHost: 0\r\n\r\n", "0.0.0.0", 0, QSB__HTTP_ORIGIN},
	{"HTTP/1.0 without a host", "GET / HTTP/1.0\r\n\r\n", "", 0, QSB__HTTP_ORIGIN},
	{"HTTP/1.0 with a host", "GET / HTTP/1.0\r\nHost: a.example\r\n\r\n", "a.example", 0, QSB__HTTP_ORIGIN},
	{"an absolute target", "GET http://A.example:8080/x HTTP/1.1\r\nHost: a.example:8080\r\n\r\n", "a.example",
	 8080, QSB__HTTP_ABSOLUTE},
	{"the port of http left out on one side", "GET http://a.example:80/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
	 "a.example", 80, QSB__HTTP_ABSOLUTE},
	{"and on the other", "GET HTTP://a.example HTTP/1.1\r\nHost: A.EXAMPLE.:80\r\n\r\n", "a.example", 0,
	 QSB__HTTP_ABSOLUTE},
	{"an absolute target of HTTP/1.0", "GET http://a.example/ HTTP/1.0\r\n\r\n", "a.example", 0,
	 QSB__HTTP_ABSOLUTE},
	{"CONNECT", "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", "a.example", 443,
	 QSB__HTTP_AUTHORITY},
	{"CONNECT without the port in Host", "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", "a.example",
	 443, QSB__HTTP_AUTHORITY},
	{"CONNECT of HTTP/1.0 to an address", "CONNECT [::1]:22 HTTP/1.0\r\n\r\n", "::1", 22, QSB__HTTP_AUTHORITY},
	{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n", "a.example", 0, QSB__HTTP_ASTERISK},
	{"a method of somebody's own", "x-frob! / HTTP/1.1\r\nHost: a.example\r\n\r\n", "a.example", 0,
	 QSB__HTTP_ORIGIN},
	{"text beyond ASCII in a header", "GET / HTTP/1.1\r\nHost: a.example\r\nX: b\xC3\xBC\r\n\r\n", "a.example", 0,
	 QSB__HTTP_ORIGIN},
	{"an empty header", "GET / HTTP/1.1\r\nX:\r\nHost: a.example\r\n\r\n", "a.example", 0, QSB__HTTP_ORIGIN},
};

#define LINE "GET / HTTP/1.1\r\n"
#define HOST "Host: a.example\r\n"

static const struct {
	const char *what, *text, *why;
	int status;
} bad[] = {
	{"no Host", LINE "\r\n", "no Host", 400},
	{"two Hosts", LINE HOST "Host: b.example\r\n\r\n", "two Host", 400},
	{"the same Host twice", LINE HOST HOST "\r\n", "two Host", 400},
	{"two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\n" HOST "hOST: b.example\r\n\r\n", "two Host", 400},
	{"an empty Host", LINE "Host:\r\n\r\n", "Host header that is no host", 400},
	{"two hosts in one", LINE "Host: a.example, b.example\r\n\r\n", "is no host", 400},
	{"a Host with a percent sign", LINE "Host: a%2eexample\r\n\r\n", "is no host", 400},
	{"a Host in brackets that is no address", LINE "Host: [a.example]\r\n\r\n", "is no host", 400},
	{"an IPv4 address in brackets", LINE "Host: [127.0.0.1]\r\n\r\n", "is no host", 400},
	{"an IPv6 address without brackets", LINE "Host: ::1\r\n\r\n", "is no host", 400},
	{"a zone", LINE "Host: [fe80::1%25lo]\r\n\r\n", "is no host", 400},
	{"an open bracket", LINE "Host: [::1\r\n\r\n", "is no host", 400},
	{"a port behind a bracket without colon", LINE "Host: [::1]80\r\n\r\n", "is no host", 400},
	{"an empty label", LINE "Host: a..example\r\n\r\n", "is no host", 400},
	{"two trailing dots", LINE "Host: a.example..\r\n\r\n", "is no host", 400},
	{"port 0", LINE "Host: a.example:0\r\n\r\n", "is no host", 400},
	{"port 65536", LINE "Host: a.example:65536\r\n\r\n", "is no host", 400},
	{"an empty port", LINE "Host: a.example:\r\n\r\n", "is no host", 400},
	{"a port with a sign", LINE "Host: a.example:+80\r\n\r\n", "is no host", 400},
	{"a port with a zero in front", LINE "Host: a.example:080\r\n\r\n", "is no host", 400},
	{"a user in Host", LINE "Host: u@a.example\r\n\r\n", "is no host", 400},
	{"a path in Host", LINE "Host: a.example/x\r\n\r\n", "is no host", 400},
	{"a blank in Host", LINE "Host: a.example b.example\r\n\r\n", "is no host", 400},
	{"a Host beyond ASCII", LINE "Host: b\xC3\xBC.example\r\n\r\n", "is no host", 400},
	{"a Host that ends in a number", LINE "Host: a.1\r\n\r\n", "is no host", 400},
	{"a Host unlike the target", "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n", "differs", 400},
	{"a port unlike the target's", "GET http://a.example/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n", "differs", 400},
	{"a Host unlike CONNECT's", "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n", "differs", 400},
	{"a port unlike CONNECT's", "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:80\r\n\r\n", "differs", 400},
	{"a Host unlike the target in HTTP/1.0", "GET http://a.example/ HTTP/1.0\r\nHost: b.example\r\n\r\n", "differs",
	 400},
	{"an absolute target without Host", "GET http://a.example/ HTTP/1.1\r\n\r\n", "no Host", 400},
	{"a length and a coding", LINE HOST "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", "both", 400},
	{"a coding and a length", LINE HOST "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n", "both", 400},
	{"two lengths", LINE HOST "Content-Length: 4\r\nContent-Length: 5\r\n\r\n", "two Content-Length", 400},
	{"the same length twice", LINE HOST "Content-Length: 4\r\ncontent-length: 4\r\n\r\n", "two Content-Length",
	 400},
	{"two lengths in one", LINE HOST "Content-Length: 4, 4\r\n\r\n", "no number", 400},
	{"a length with a sign", LINE HOST "Content-Length: +4\r\n\r\n", "no number", 400},
	{"a negative length", LINE HOST "Content-Length: -1\r\n\r\n", "no number", 400},
	{"a hexadecimal length", LINE HOST "Content-Length: 0x4\r\n\r\n", "no number", 400},
	{"an octal length", LINE HOST "Content-Length: 010\r\n\r\n", "no number", 400},
	{"an empty length", LINE HOST "Content-Length: \r\n\r\n", "no number", 400},
	{"a length with a blank", LINE HOST "Content-Length: 4 4\r\n\r\n", "no number", 400},
	{"a length beyond 64 bits", LINE HOST "Content-Length: 18446744073709551617\r\n\r\n", "too large", 400},
	{"gzip", LINE HOST "Transfer-Encoding: gzip\r\n\r\n", "other than chunked", 501},
	{"gzip and chunked", LINE HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", "other than chunked", 501},
	{"chunked twice", LINE HOST "Transfer-Encoding: chunked, chunked\r\n\r\n", "other than chunked", 501},
	{"identity", LINE HOST "Transfer-Encoding: identity\r\n\r\n", "other than chunked", 501},
	{"no coding", LINE HOST "Transfer-Encoding:\r\n\r\n", "other than chunked", 501},
	{"a coding in quotes", LINE HOST "Transfer-Encoding: \"chunked\"\r\n\r\n", "other than chunked", 501},
	{"a coding with a vertical tab", LINE HOST "Transfer-Encoding: \vchunked\r\n\r\n", "control byte", 400},
	{"two codings", LINE HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
	 "two Transfer-Encoding", 400},
	{"a coding in HTTP/1.0", "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", "in HTTP/1.0", 400},
	{"a coding in disguise", LINE HOST "Transfer_Encoding: chunked\r\n\r\n", "disguise", 400},
	{"a length in disguise", LINE HOST "content_LENGTH: 4\r\n\r\n", "disguise", 400},
	{"a folded line", LINE "X: y\r\n " HOST "\r\n", "folded", 400},
	{"a line folded by a tab", LINE "X: y\r\n\t" HOST "\r\n", "folded", 400},
	{"a folded line behind the request line", LINE " " HOST "\r\n", "folded", 400},
	{"a blank before the colon", LINE "Host : a.example\r\n\r\n", "before the colon", 400},
	{"a tab before the colon", LINE "Host\t: a.example\r\n\r\n", "before the colon", 400},
	{"a blank in a name", LINE HOST "X Y: z\r\n\r\n", "header name", 400},
	{"a byte beyond ASCII in a name", LINE HOST "X\xC3\xBC: z\r\n\r\n", "header name", 400},
	{"an empty name", LINE HOST ": z\r\n\r\n", "without a name", 400},
	{"a line without a colon", LINE HOST "X\r\n\r\n", "without a colon", 400},
	{"a bare LF behind the request line", "GET / HTTP/1.1\nHost: a.example\r\n\r\n", "LF without CR", 400},
	{"a bare LF behind a header", LINE "Host: a.example\n\r\n", "LF without CR", 400},
	{"a bare LF at the end", LINE HOST "\n", "LF without CR", 400},
	{"a bare CR", LINE "X: y\rHost: a.example\r\n\r\n", "CR without LF", 400},
	{"two CRs", LINE HOST "\r\r\n", "CR without LF", 400},
	{"a control byte", LINE HOST "X: \x01\r\n\r\n", "control byte", 400},
	{"a DEL", LINE HOST "X: \x7F\r\n\r\n", "control byte", 400},
	{"an empty line in front", "\r\n" LINE HOST "\r\n", "empty line", 400},
	{"a blank in front", " " LINE HOST "\r\n", "method", 400},
	{"a byte beyond ASCII in the target", "GET /\xC3\xBC HTTP/1.1\r\n" HOST "\r\n", "target", 400},
	{"a tab in the target", "GET /\tx HTTP/1.1\r\n" HOST "\r\n", "target", 400},
	{"a blank in the target", "GET /a b HTTP/1.1\r\n" HOST "\r\n", "target", 400},
	{"two blanks", "GET  / HTTP/1.1\r\n" HOST "\r\n", "target", 400},
	{"a blank behind the version", "GET / HTTP/1.1 \r\n" HOST "\r\n", "version", 400},
	{"HTTP/0.9", "GET /\r\n", "not method, target and version", 400},
	{"a request line of one word", "GET\r\n", "not method, target and version", 400},
	{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "version", 505},
	{"HTTP/1.2", "GET / HTTP/1.2\r\n" HOST "\r\n", "version", 505},
	{"HTTP/3", "GET / HTTP/3\r\n" HOST "\r\n", "version", 505},
	{"HTTP/01.1", "GET / HTTP/01.1\r\n" HOST "\r\n", "version", 400},
	{"http in small letters", "GET / http/1.1\r\n" HOST "\r\n", "version", 400},
	{"a method with a colon", "GE:T / HTTP/1.1\r\n" HOST "\r\n", "method", 400},
	{"a user in the target", "GET http://a.example@b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n", "user", 400},
	{"an empty user in the target", "GET http://@a.example/ HTTP/1.1\r\n" HOST "\r\n", "user", 400},
	{"a user in CONNECT", "CONNECT u:p@a.example:443 HTTP/1.1\r\n" HOST "\r\n", "user", 400},
	{"https in the target", "GET https://a.example/ HTTP/1.1\r\n" HOST "\r\n", "neither", 400},
	{"ftp in the target", "GET ftp://a.example/ HTTP/1.1\r\n" HOST "\r\n", "neither", 400},
	{"a target without a path or scheme", "GET a.example HTTP/1.1\r\n" HOST "\r\n", "neither", 400},
	{"a target with one slash", "GET http:/a.example HTTP/1.1\r\n" HOST "\r\n", "neither", 400},
	{"an empty authority", "GET http:///x HTTP/1.1\r\n" HOST "\r\n", "whose host is none", 400},
	{"a backslash in the authority", "GET http://a.example\\@b.example/ HTTP/1.1\r\n" HOST "\r\n", "user", 400},
	{"a backslash behind the host", "GET http://a.example\\.b.example/ HTTP/1.1\r\n" HOST "\r\n",
	 "whose host is none", 400},
	{"a percent sign in the authority", "GET http://a%2eexample/ HTTP/1.1\r\n" HOST "\r\n", "whose host is none",
	 400},
	{"a fragment", "GET /#x HTTP/1.1\r\n" HOST "\r\n", "fragment", 400},
	{"a fragment behind the authority", "GET http://a.example#@b.example/ HTTP/1.1\r\n" HOST "\r\n", "fragment",
	 400},
	{"CONNECT without a port", "CONNECT a.example HTTP/1.1\r\n" HOST "\r\n", "without a port", 400},
	{"CONNECT with a URL", "CONNECT http://a.example:80/ HTTP/1.1\r\n" HOST "\r\n", "whose host is none", 400},
	{"CONNECT with a path", "CONNECT / HTTP/1.1\r\n" HOST "\r\n", "whose host is none", 400},
	{"CONNECT to port 0", "CONNECT a.example:0 HTTP/1.1\r\n" HOST "\r\n", "whose host is none", 400},
	{"CONNECT in small letters", "connect a.example:443 HTTP/1.1\r\n" HOST "\r\n", "neither", 400},
	{"CONNECT with a length", "CONNECT a.example:443 HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n",
	 "CONNECT with a body", 400},
	{"CONNECT with chunks", "CONNECT a.example:443 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
	 "CONNECT with a body", 400},
	{"* for GET", "GET * HTTP/1.1\r\n" HOST "\r\n", "without OPTIONS", 400},
	{"Connection: host", LINE HOST "Connection: close, Host\r\n\r\n", "what the message needs", 400},
	{"Connection: content-length", LINE HOST "Connection: Content-Length\r\n\r\n", "what the message needs", 400},
	{"Connection: transfer-encoding", LINE HOST "Connection: transfer-encoding\r\n\r\n", "what the message needs",
	 400},
	{"a Connection of no names", LINE HOST "Connection: a b\r\n\r\n", "no list of names", 400},
};

static void test_tables(void)
{
	struct qsb__http_head head;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		size_t size = strlen(good[i].text);
		bool more = true;

		for (size_t at = 0; at < size; at++)
			more &= parse_exactly(good[i].text, at, &head) == QSB__PARSE_MORE;
		tap_ok(more, "%s needs every byte of it", good[i].what);
		tap_ok(parse_exactly(good[i].text, size, &head) == QSB__PARSE_DONE && head.size == size &&
			       head.form == good[i].form && head.port == good[i].port &&
			       strcmp(head.host, good[i].host) == 0,
		       "%s is read (%s)", good[i].what, head.why ? head.why : head.host);
		tap_ok(qsb__http_is_request(good[i].text, size) == 1, "and is seen to be a request");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t size = strlen(bad[i].text);
		bool taken = false;

		for (size_t at = 0; at < size; at++)
			taken |= parse_exactly(bad[i].text, at, &head) == QSB__PARSE_DONE;
		tap_ok(!taken && parse_exactly(bad[i].text, size, &head) == QSB__PARSE_BAD && head.why &&
			       strstr(head.why, bad[i].why) && head.status == bad[i].status && !head.host[0],
		       "%s is refused (%s, %d)", bad[i].what, head.why ? head.why : "taken", head.status);
	}
}

static void test_nul(void)
{
	static const char in_name[] = LINE "Host: allowed.com\0.evil\r\n\r\n";
	static const char in_line[] = "GET /\0 HTTP/1.1\r\n" HOST "\r\n";
	struct qsb__http_head head;

	tap_ok(qsb__http_head_parse(in_name, sizeof(in_name) - 1, &head) == QSB__PARSE_BAD, "a NUL in Host is refused");
	tap_ok(qsb__http_head_parse(in_line, sizeof(in_line) - 1, &head) == QSB__PARSE_BAD,
	       "a NUL in the request line is refused");
}

static void test_body_of(const char *fields, bool chunked, bool has_length, unsigned long long length)
{
	struct qsb__http_head head;
	char text[300];

	snprintf(text, sizeof(text), "POST / HTTP/1.1\r\n" HOST "%s\r\n", fields);
	tap_ok(qsb__http_head_parse(text, strlen(text), &head) == QSB__PARSE_DONE && head.chunked == chunked &&
		       head.has_length == has_length && head.length == length,
	       "the body of a request with \"%.*s\" is understood", (int)strcspn(fields, "\r"), fields);
}

static void test_upgrade_of(const char *fields, bool upgrade)
{
	struct qsb__http_head head;
	char text[300];

	snprintf(text, sizeof(text), LINE HOST "%s\r\n", fields);
	tap_ok(qsb__http_head_parse(text, strlen(text), &head) == QSB__PARSE_DONE && head.upgrade == upgrade,
	       "a request with \"%.*s\" %s another protocol", (int)strcspn(fields, "\r"), fields,
	       upgrade ? "asks for" : "does not ask for");
}

static void test_fields(void)
{
	test_body_of("", false, false, 0);
	test_body_of("Content-Length: 0\r\n", false, true, 0);
	test_body_of("Content-Length: 123456789012345678\r\n", false, true, 123456789012345678);
	test_body_of("Transfer-Encoding: \t ChunkeD \r\n", true, false, 0);
	test_upgrade_of("Connection: Upgrade\r\nUpgrade: websocket\r\n", true);
	test_upgrade_of("Upgrade: websocket\r\nConnection: keep-alive, ,UPGRADE\r\n", true);
	test_upgrade_of("Upgrade: websocket\r\n", false);
	test_upgrade_of("Connection: Upgrade\r\n", false);
	test_upgrade_of("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n", false);
	test_upgrade_of("Connection: Upgrade\r\nUpgrade: websocket, H2C\r\n", false);
	test_upgrade_of("Connection: Upgrade\r\nUpgrade: TLS/1.3\r\n", false);
	test_upgrade_of("Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: HTTP/2.0\r\n", false);
}

static void test_old_upgrade(void)
{
	static const char text[] = "GET / HTTP/1.0\r\n" HOST "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n";
	static const char connect[] =
		"CONNECT a.example:443 HTTP/1.1\r\n" HOST "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n";
	struct qsb__http_head head;

	tap_ok(qsb__http_head_parse(text, strlen(text), &head) == QSB__PARSE_DONE && !head.upgrade,
	       "HTTP/1.0 knows no upgrade");
	tap_ok(qsb__http_head_parse(connect, strlen(connect), &head) == QSB__PARSE_DONE && !head.upgrade,
	       "nor does CONNECT");
}

static void test_sizes(void)
{
	static char text[QSB__HTTP_HEAD_MAX + 100];
	struct qsb__http_head head;
	size_t start = strlen(LINE HOST "X: ");

	memset(text, 'x', sizeof(text));
	memcpy(text, LINE HOST "X: ", start);
	memcpy(text + QSB__HTTP_HEAD_MAX - 4, "\r\n\r\n", 4);
	tap_ok(parse_exactly(text, QSB__HTTP_HEAD_MAX, &head) == QSB__PARSE_DONE, "a head of 64 KiB is taken");
	tap_ok(parse_exactly(text, QSB__HTTP_HEAD_MAX - 1, &head) == QSB__PARSE_MORE, "until then it may go on");
	text[QSB__HTTP_HEAD_MAX - 4] = 'x';
	memcpy(text + QSB__HTTP_HEAD_MAX - 3, "\r\n\r\n", 4);
	tap_ok(parse_exactly(text, QSB__HTTP_HEAD_MAX, &head) == QSB__PARSE_BAD && head.status == 431,
	       "a larger one is refused with 431");
	tap_ok(parse_exactly(text, sizeof(text), &head) == QSB__PARSE_BAD && head.status == 431,
	       "also when all of it is there");
	memset(text, 'x', sizeof(text));
	memcpy(text, "GET /", 5);
	tap_ok(parse_exactly(text, sizeof(text), &head) == QSB__PARSE_BAD && head.status == 414,
	       "a request line without end is refused with 414");
	start = strlen(LINE HOST "Connection: ");
	memcpy(text, LINE HOST "Connection: ", start);
	for (size_t i = 0; i < 33; i++)
		memcpy(text + start + 2 * i, "a,", 2);
	memcpy(text + start + 66, "\r\n\r\n", 4);
	tap_ok(parse_exactly(text, start + 70, &head) == QSB__PARSE_BAD, "33 names in Connection are refused");
	memcpy(text + start + 64, "\r\n\r\n", 4);
	tap_ok(parse_exactly(text, start + 68, &head) == QSB__PARSE_DONE, "32 are taken");
}

static void test_pipelined(void)
{
	static const char text[] = LINE HOST "\r\n" LINE "Host: b.example\r\n\r\n";
	struct qsb__http_head head;

	tap_ok(qsb__http_head_parse(text, sizeof(text) - 1, &head) == QSB__PARSE_DONE &&
		       head.size == strlen(LINE HOST "\r\n") && strcmp(head.host, "a.example") == 0,
	       "a second request is no part of the first");
}

static void test_authority(void)
{
	static const struct {
		const char *text, *host;
		unsigned port;
	} rows[] = {
		{"a.example", "a.example", 0},
		{"A.Example.:443", "a.example", 443},
		{"1.2.3.4:65535", "1.2.3.4", 65535},
		{"[::1]", "::1", 0},
		{"[::1]:1", "::1", 1},
		{"[::ffff:1.2.3.4]:8", "1.2.3.4", 8},
	};
	static const char *const none[] = {"",       ":80",    "a:b:80",          "::1",          "[]",      "[]:80",
					   "[::1]:", "[::1]x", "a.example:99999", "a.example:1x", "[[::1]]", "]:["};
	char host[QSB__HOST_MAX];
	unsigned port;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_ok(qsb__http_authority_parse(rows[i].text, strlen(rows[i].text), host, &port) &&
			       strcmp(host, rows[i].host) == 0 && port == rows[i].port,
		       "%s is a host and a port", rows[i].text);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		tap_ok(!qsb__http_authority_parse(none[i], strlen(none[i]), host, &port) && !host[0] && !port,
		       "\"%s\" is none", none[i]);
}

int main(void)
{
	test_tables();
	test_nul();
	test_fields();
	test_old_upgrade();
	test_sizes();
	test_pipelined();
	test_authority();
	return tap_done();
}
