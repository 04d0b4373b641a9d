#include "broker/http_head.h"

#include "tap.h"

/* As many bytes as it takes to tell, and none fewer. */
static void expect_kind(int (*tell)(const char *, size_t), const char *text, size_t needed, int wanted)
{
	bool waits = true, tells = true;

	for (size_t at = 0; at < needed; at++)
		waits &= tell(text, at) == -1;
	for (size_t at = needed; at <= strlen(text); at++)
		tells &= tell(text, at) == wanted;
	tap_ok(waits && tells, "\"%.*s\" is told to be %s after %zu bytes", (int)strcspn(text, "\r\n"), text,
	       wanted ? "one" : "none", needed);
}

static void test_requests(void)
{
	expect_kind(qsb__http_is_request, "GET / HTTP/1.1\r\n", 4, 1);
	expect_kind(qsb__http_is_request, "PROPFIND / HTTP/1.1\r\n", 9, 1);
	expect_kind(qsb__http_is_request, "VERSION-CONTROL / HTTP/1.1\r\n", 16, 1);
	expect_kind(qsb__http_is_request, "GET\t/ HTTP/1.1\r\n", 4, 1);
	expect_kind(qsb__http_is_request, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 4, 1);
	expect_kind(qsb__http_is_request, "get / HTTP/1.1\r\n", 11, 1);
	expect_kind(qsb__http_is_request, "FROB /x http/1.1\r\n", 13, 1);
	expect_kind(qsb__http_is_request, "FROB http://x/ HTTP/1.1\r\n", 20, 1);
	expect_kind(qsb__http_is_request, "\r\nGET / HTTP/1.1\r\n", 6, 1);
	expect_kind(qsb__http_is_request, "\n\n\r\nGET / HTTP/1.1\r\n", 8, 1);
	expect_kind(qsb__http_is_request, "connect x:1 HTTP/1.1\r\n", 8, 1);
	expect_kind(qsb__http_is_request, "GET\v/ HTTP/1.1\r\n", 4, 1);
	expect_kind(qsb__http_is_request, "GET\f/ HTTP/1.1\r\n", 4, 1);
	expect_kind(qsb__http_is_request, "GET\r/ HTTP/1.1\r\n", 5, 1);
	expect_kind(qsb__http_is_request, "FROB /x\vHTTP/1.1\r\n", 13, 1);
	expect_kind(qsb__http_is_request, " GET / HTTP/1.1", 5, 1);
	expect_kind(qsb__http_is_request, "\r\n \tGET / HTTP/1.1", 8, 1);
	expect_kind(qsb__http_is_request, "SSH-2.0-OpenSSH_9.6\r\n", 21, 0);
	expect_kind(qsb__http_is_request, "GET\r\n", 5, 0);
	expect_kind(qsb__http_is_request, "get key\r\n", 5, 0);
	expect_kind(qsb__http_is_request, "set a /b 1\r\n", 5, 0);
	expect_kind(qsb__http_is_request, "USER /me you\r\n", 10, 0);
	expect_kind(qsb__http_is_request, "\x16\x03\x01", 1, 0);
	expect_kind(qsb__http_is_request, "*1\r\n$4\r\nPING\r\n", 4, 0);
	tap_ok(qsb__http_is_request("0032git-upload-pack /p.git\0host=a.example", 41) == 0,
	       "the protocol of git is none");
}

/* So many bytes that could still be a request are one: the parser refuses it, and nobody waits for more. */
static void test_large(void)
{
	static const char *const starts[] = {"x /", "x http://x", "\r\nx /", "  x /"};
	static char text[QSB__HTTP_HEAD_MAX];

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		memset(text, 'x', sizeof(text));
		memcpy(text, starts[i], strlen(starts[i]));
		tap_ok(qsb__http_is_request(text, sizeof(text) - 1) == -1 &&
			       qsb__http_is_request(text, sizeof(text)) == 1,
		       "64 KiB that begin with %zu bytes of another kind are told to be one", strlen(starts[i]));
	}
	memset(text, 'x', sizeof(text));
	tap_ok(qsb__http_is_request(text, 32767) == -1 && qsb__http_is_request(text, 32768) == 0,
	       "but a word of 32 KiB is no method");
	memset(text, '\n', sizeof(text));
	tap_ok(qsb__http_is_request(text, sizeof(text) - 1) == -1 && qsb__http_is_request(text, sizeof(text)) == 1,
	       "and so many empty lines");
}

static void test_status(void)
{
	static const struct {
		const char *text;
		unsigned status;
	} good[] = {
		{"HTTP/1.1 200 Connection established\r\n\r\n", 200},
		{"HTTP/1.0 200\r\nVia: x\r\n\r\n", 200},
		{"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n", 407},
		{"HTTP/1.1 503 \xC3\xBC\r\n\r\n", 503},
	};
	static const char *const bad[] = {
		"HTTP/1.1 200 OK\n\n",    "HTTP/1.1 200 OK\r\nX: y\n",
		"HTTP/1.1 200 OK\r\rx",   "HTTP/1.1 99 x\r\n\r\n",
		"HTTP/1.1 2000\r\n\r\n",  "HTTP/2 200\r\n\r\n",
		"ICY 200 OK\r\n\r\n",     "HTTP/1.1  200 OK\r\n\r\n",
		"HTTP/1.1 20x\r\n\r\n",   "\r\n",
		"HTTP/1.1 042 x\r\n\r\n",
	};
	static char endless[QSB__HTTP_HEAD_MAX];
	unsigned status;
	size_t size;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		size_t length = strlen(good[i].text);
		bool more = true;
		char text[200];

		for (size_t at = 0; at < length; at++)
			more &= qsb__http_status_parse(good[i].text, at, &status, &size) == QSB__PARSE_MORE;
		snprintf(text, sizeof(text), "%sSSH-2.0\r\n", good[i].text);
		tap_ok(more && qsb__http_status_parse(text, strlen(text), &status, &size) == QSB__PARSE_DONE &&
			       status == good[i].status && size == length,
		       "a proxy's answer with %u ends where its head does", good[i].status);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(qsb__http_status_parse(bad[i], strlen(bad[i]), &status, &size) == QSB__PARSE_BAD,
		       "the %zuth text is no answer", i + 1);
	memset(endless, 'x', sizeof(endless));
	memcpy(endless, "HTTP/1.1 200 ", 13);
	tap_ok(qsb__http_status_parse(endless, sizeof(endless) - 1, &status, &size) == QSB__PARSE_MORE,
	       "an answer below 64 KiB may go on");
	tap_ok(qsb__http_status_parse(endless, sizeof(endless), &status, &size) == QSB__PARSE_BAD,
	       "a larger one may not");
}

int main(void)
{
	test_requests();
	test_large();
	test_status();
	return tap_done();
}
