#include "broker/http_head.h"

#include "tap.h"

#define HOST "Host: a.example\r\n"
#define END  "Connection: close\r\n\r\n"

static const struct {
	const char *what, *text, *direct, *absolute;
} rows[] = {
	{"a plain request", "GET /a?b HTTP/1.1\r\n" HOST "X-A:  b\tc \r\n\r\n",
	 "GET /a?b HTTP/1.1\r\n" HOST "X-A:  b\tc \r\n" END,
	 "GET http://a.example/a?b HTTP/1.1\r\n" HOST "X-A:  b\tc \r\nProxy-Authorization: secret\r\n" END},
	{"a port", "GET / HTTP/1.1\r\nHost: A.Example.:81\r\n\r\n", "GET / HTTP/1.1\r\nHost: A.Example.:81\r\n" END,
	 "GET http://a.example:81/ HTTP/1.1\r\nHost: A.Example.:81\r\nProxy-Authorization: secret\r\n" END},
	{"an absolute target", "GET http://a.example:81/x HTTP/1.1\r\nHost: a.example:81\r\n\r\n",
	 "GET /x HTTP/1.1\r\nHost: a.example:81\r\n" END,
	 "GET http://a.example:81/x HTTP/1.1\r\nHost: a.example:81\r\nProxy-Authorization: secret\r\n" END},
	{"an absolute target without path", "GET http://a.example HTTP/1.1\r\n" HOST "\r\n",
	 "GET / HTTP/1.1\r\n" HOST END,
	 "GET http://a.example/ HTTP/1.1\r\n" HOST "Proxy-Authorization: secret\r\n" END},
	{"an absolute target with a query only", "GET http://a.example?q HTTP/1.1\r\n" HOST "\r\n",
	 "GET /?q HTTP/1.1\r\n" HOST END,
	 "GET http://a.example/?q HTTP/1.1\r\n" HOST "Proxy-Authorization: secret\r\n" END},
	{"an absolute target without Host", "GET http://[::1]:81/x HTTP/1.0\r\nX: y\r\n\r\n",
	 "GET /x HTTP/1.0\r\nHost: [::1]:81\r\nX: y\r\n" END,
	 "GET http://[::1]:81/x HTTP/1.0\r\nHost: [::1]:81\r\nX: y\r\nProxy-Authorization: secret\r\n" END},
	{"OPTIONS *", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "OPTIONS * HTTP/1.1\r\n" HOST END,
	 "OPTIONS http://a.example HTTP/1.1\r\n" HOST "Proxy-Authorization: secret\r\n" END},
	{"OPTIONS of a whole server", "OPTIONS http://a.example HTTP/1.1\r\n" HOST "\r\n",
	 "OPTIONS * HTTP/1.1\r\n" HOST END,
	 "OPTIONS http://a.example HTTP/1.1\r\n" HOST "Proxy-Authorization: secret\r\n" END},
	{"HTTP/1.0 without any host", "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\n" END, NULL},
	{"what ends at each hop",
	 "GET / HTTP/1.1\r\nKeep-Alive: 5\r\nProxy-Authorization: mine\r\nProxy-Connection: x\r\nproxy-x: y\r\n"
	 "X-Hop: 1\r\nX-Hope: 2\r\nTE: trailers\r\nUpgrade: websocket\r\nHTTP2-Settings: AAM\r\n" HOST
	 "Connection: x-hop, keep-alive\r\nX-hop: 3\r\nTrailer: t\r\nTransfer-Encoding: chunked\r\n\r\n",
	 "GET / HTTP/1.1\r\nX-Hope: 2\r\n" HOST "Trailer: t\r\nTransfer-Encoding: chunked\r\n" END,
	 "GET http://a.example/ HTTP/1.1\r\nX-Hope: 2\r\n" HOST "Trailer: t\r\nTransfer-Encoding: chunked\r\n"
	 "Proxy-Authorization: secret\r\n" END},
	{"an upgrade",
	 "GET / HTTP/1.1\r\n" HOST "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nKeep-Alive: 5\r\n\r\n",
	 "GET / HTTP/1.1\r\n" HOST "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n",
	 "GET http://a.example/ HTTP/1.1\r\n" HOST
	 "Upgrade: websocket\r\nProxy-Authorization: secret\r\nConnection: upgrade\r\n\r\n"},
	{"an upgrade to HTTP/2",
	 "GET / HTTP/1.1\r\n" HOST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n\r\n",
	 "GET / HTTP/1.1\r\n" HOST END,
	 "GET http://a.example/ HTTP/1.1\r\n" HOST "Proxy-Authorization: secret\r\n" END},
	{"a body", "POST / HTTP/1.1\r\ncontent-length: 3\r\n" HOST "\r\nabc",
	 "POST / HTTP/1.1\r\ncontent-length: 3\r\n" HOST END,
	 "POST http://a.example/ HTTP/1.1\r\ncontent-length: 3\r\n" HOST "Proxy-Authorization: secret\r\n" END},
};

static void expect_written(const char *text, const struct qsb__http_head *head, bool absolute, const char *wanted)
{
	const struct qsb__http_onward onward = {.host = head->host, .port = head->port, .authorization = "secret"};
	char out[1000];
	size_t size = qsb__http_head_write(text, head, absolute ? &onward : NULL, out, sizeof(out) - 1);

	out[size] = '\0';
	tap_is_text(size ? out : NULL, wanted, absolute ? "it goes on to a proxy" : "it goes on to a server");
	if (size)
		tap_ok(qsb__http_head_write(text, head, absolute ? &onward : NULL, out, size) == size &&
			       qsb__http_head_write(text, head, absolute ? &onward : NULL, out, size - 1) == 0,
		       "and needs exactly its room");
}

static void test_rows(void)
{
	struct qsb__http_head head;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tap_ok(qsb__http_head_parse(rows[i].text, strlen(rows[i].text), &head) == QSB__PARSE_DONE, "%s is read",
		       rows[i].what);
		expect_written(rows[i].text, &head, false, rows[i].direct);
		expect_written(rows[i].text, &head, true, rows[i].absolute);
	}
}

static void test_caller(void)
{
	static const char plain[] = "GET / HTTP/1.0\r\n\r\n";
	static const char connect[] = "CONNECT a.example:443 HTTP/1.0\r\n\r\n";
	const struct qsb__http_onward injected = {.host = "b.example", .authorization = "a\r\nHost: c.example"};
	const struct qsb__http_onward web = {.host = "::1", .port = 80};
	const struct qsb__http_onward bare = {.host = "b.example", .port = 443};
	struct qsb__http_head head;
	char out[200];
	size_t size;

	qsb__http_head_parse(plain, strlen(plain), &head);
	size = qsb__http_head_write(plain, &head, &bare, out, sizeof(out) - 1);
	out[size] = '\0';
	tap_is_text(out, "GET http://b.example:443/ HTTP/1.0\r\nHost: b.example:443\r\n" END,
		    "a proxy is asked for what was judged");
	size = qsb__http_head_write(plain, &head, &web, out, sizeof(out) - 1);
	out[size] = '\0';
	tap_is_text(out, "GET http://[::1]/ HTTP/1.0\r\nHost: [::1]\r\n" END, "without the port that http has");
	tap_ok(qsb__http_head_write(plain, &head, &injected, out, sizeof(out)) == 0,
	       "a secret that is no line is not written");
	qsb__http_head_parse(connect, strlen(connect), &head);
	tap_ok(qsb__http_head_write(connect, &head, &bare, out, sizeof(out)) == 0, "CONNECT does not go on");
}

int main(void)
{
	test_rows();
	test_caller();
	return tap_done();
}
