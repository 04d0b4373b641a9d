/* What is said to a proxy behind us, and what it may answer. */
#include "broker/upstream.h"

#include <stdlib.h>

#include "tap.h"

static void test_urls(void)
{
	static const struct {
		const char *url, *host;
		unsigned port;
		enum qsb__upstream_kind kind;
		const char *authorization;
	} good[] = {
		{"http://proxy.test:3128", "proxy.test", 3128, QSB__UPSTREAM_HTTP, ""},
		{"http://proxy.test", "proxy.test", 80, QSB__UPSTREAM_HTTP, ""},
		{"http://proxy.test:3128/path?query#part", "proxy.test", 3128, QSB__UPSTREAM_HTTP, ""},
		{"socks5://Proxy.Test.", "proxy.test", 1080, QSB__UPSTREAM_SOCKS5, ""},
		{"socks5h://127.0.0.1:9050", "127.0.0.1", 9050, QSB__UPSTREAM_SOCKS5, ""},
		{"http://[2001:db8::1]:3128", "2001:db8::1", 3128, QSB__UPSTREAM_HTTP, ""},
		{"http://a:b@proxy.test:1", "proxy.test", 1, QSB__UPSTREAM_HTTP, "Basic YTpi"},
		{"http://a@proxy.test:1", "proxy.test", 1, QSB__UPSTREAM_HTTP, "Basic YTo="},
		{"http://a:b@c@proxy.test:1", "proxy.test", 1, QSB__UPSTREAM_HTTP, "Basic YTpiQGM="},
		{"http://a:%40%3a%2F@proxy.test:1", "proxy.test", 1, QSB__UPSTREAM_HTTP, "Basic YTpAOi8="},
	};
	static const char *const bad[] = {
		"https://proxy.test",  "ftp://proxy.test", "proxy.test:3128",     "http://",      "http://a:%0@p.test",
		"http://a:%00@p.test", "http://p.test:0",  "http://p.test:65536", "http://a b:1", "http://[::1"};
	struct qsb__upstream upstream;
	struct qsb_error err;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		tap_ok(qsb__upstream_parse(good[i].url, &upstream, &err) == 0 && upstream.kind == good[i].kind &&
			       strcmp(upstream.host, good[i].host) == 0 && upstream.port == good[i].port &&
			       strcmp(upstream.authorization, good[i].authorization) == 0,
		       "%s is a proxy", good[i].url);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(qsb__upstream_parse(bad[i], &upstream, &err) != 0 && err.message[0], "%s is none", bad[i]);
	tap_ok(qsb__upstream_parse(NULL, &upstream, &err) == 0 && upstream.kind == QSB__UPSTREAM_NONE, "none is none");
	qsb__upstream_parse("http://name:secret@bad host:1", &upstream, &err);
	tap_ok(!strstr(err.message, "secret"), "an error does not tell the password");
}

enum { OUT = 600 };

static size_t socks(const struct qsb__upstream *upstream, enum qsb__upstream_step step, const char *host, unsigned port,
		    uint8_t *out)
{
	const struct qsb__upstream_target target = {host, port};

	return qsb__upstream_socks_write(upstream, step, &target, out, OUT);
}

static void test_longest_login(void)
{
	char url[700], user[257];
	struct qsb__upstream upstream;
	struct qsb_error err;
	uint8_t out[OUT];

	memset(user, 'u', sizeof(user));
	user[255] = '\0';
	snprintf(url, sizeof(url), "socks5://%s:%s@proxy.test", user, user);
	tap_is_number(qsb__upstream_parse(url, &upstream, &err), 0, "a user and a password have 255 letters each");
	tap_is_number((long long)strlen(upstream.authorization), 6 + 684, "all of them are in the header");
	tap_is_number((long long)socks(&upstream, QSB__UPSTREAM_LOGIN, "", 0, out), 513, "and in what SOCKS is told");
	user[255] = 'u';
	user[256] = '\0';
	snprintf(url, sizeof(url), "socks5://%s@proxy.test", user);
	tap_ok(qsb__upstream_parse(url, &upstream, &err) != 0, "one more is refused");
}

static void test_bypass(void)
{
	static const struct {
		const char *entry, *host;
		unsigned port;
		bool bypassed;
	} rows[] = {
		{"*", "any.test", 1, true},
		{"example.com", "example.com", 443, true},
		{"example.com", "www.example.com", 443, true},
		{"example.com", "badexample.com", 443, false},
		{".example.com", "www.example.com", 443, true},
		{"*.example.com", "www.example.com", 443, true},
		{"EXAMPLE.com.", "www.example.com", 443, true},
		{"example.com:8080", "example.com", 8080, true},
		{"example.com:8080", "example.com", 443, false},
		{"example.com:8080", "example.com", 0, false},
		{"192.0.2.1", "192.0.2.1", 1, true},
		{"192.0.2.1", "192.0.2.10", 1, false},
		{"192.0.2.1:80", "192.0.2.1", 80, true},
		{"192.0.2.1:80", "192.0.2.1", 81, false},
		{"10.0.0.0/8", "10.9.8.7", 1, true},
		{"10.0.0.0/8", "11.9.8.7", 1, false},
		{"10.0.0.0/", "11.9.8.7", 1, false},
		{"10.0.0.0/33", "10.0.0.0", 1, false},
		{"10.0.0.0/8x", "10.0.0.1", 1, false},
		{"2001:db8::/32", "2001:db8::5", 1, true},
		{"2001:db8::/129", "2001:db8::", 1, false},
		{"::1", "::1", 1, true},
		{"[::1]", "::1", 1, true},
		{"[::1]:8080", "::1", 8080, true},
		{"[::1]:8080", "::1", 80, false},
		{".", "any.test", 1, false},
		{"", "any.test", 1, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char entry[64], *list[] = {entry, NULL};
		const struct qsb__upstream upstream = {.bypass = list};

		snprintf(entry, sizeof(entry), "%s", rows[i].entry);
		tap_ok(qsb__upstream_bypasses(&upstream, rows[i].host, rows[i].port) == rows[i].bypassed,
		       "\"%s\" %s %s:%u", rows[i].entry, rows[i].bypassed ? "is" : "is not", rows[i].host,
		       rows[i].port);
	}
}

static void test_connect(void)
{
	struct qsb__upstream upstream = {.kind = QSB__UPSTREAM_HTTP};
	char out[300];

	out[qsb__upstream_connect_write(&upstream, "a.test", 443, out, sizeof(out))] = '\0';
	tap_is_text(out, "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", "a tunnel is asked for");
	memcpy(upstream.authorization, "Basic YTpi", 11);
	out[qsb__upstream_connect_write(&upstream, "::1", 443, out, sizeof(out))] = '\0';
	tap_is_text(out, "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\nProxy-Authorization: Basic YTpi\r\n\r\n",
		    "to an address of IPv6, by somebody");
	tap_is_number((long long)qsb__upstream_connect_write(&upstream, "a.test", 443, out, 40), 0,
		      "half a request is none");
}

struct socks_answer {
	const char *what;
	unsigned step;
	const char *bytes;
	size_t length;
	enum qsb__parse parsed;
	unsigned next;
	size_t size;
};

static void check_answer(const struct socks_answer *row)
{
	uint8_t *copy = malloc(row->length ? row->length : 1);
	struct qsb__upstream_answer answer = {.next = QSB__UPSTREAM_GREETING};
	enum qsb__parse parsed;

	memcpy(copy, row->bytes, row->length);
	parsed = qsb__upstream_socks_read((enum qsb__upstream_step)row->step, copy, row->length, &answer);
	tap_ok(parsed == row->parsed &&
		       (parsed != QSB__PARSE_DONE || (answer.next == row->next && answer.size == row->size)) &&
		       (parsed != QSB__PARSE_BAD || answer.why),
	       "%s", row->what);
	free(copy);
}

static void test_socks(void)
{
	static const struct socks_answer rows[] = {
		{"no byte is too few", 0, "", 0, QSB__PARSE_MORE, 0, 0},
		{"one byte is too few", 0, "\5", 1, QSB__PARSE_MORE, 0, 0},
		{"without a login the request is next", 0, "\5\0", 2, QSB__PARSE_DONE, 2, 2},
		{"with one the login is", 0, "\5\2", 2, QSB__PARSE_DONE, 1, 2},
		{"no method is the end", 0, "\5\xFF", 2, QSB__PARSE_BAD, 0, 0},
		{"a method nobody offered is the end", 0, "\5\1", 2, QSB__PARSE_BAD, 0, 0},
		{"what is not SOCKS is the end", 0, "HT", 2, QSB__PARSE_BAD, 0, 0},
		{"a login is taken", 1, "\1\0", 2, QSB__PARSE_DONE, 2, 2},
		{"or not", 1, "\1\1", 2, QSB__PARSE_BAD, 0, 0},
		{"an answer with an address is taken, without what follows", 2, "\5\0\0\1\1\2\3\4\0\1X", 11,
		 QSB__PARSE_DONE, 3, 10},
		{"one with a name too", 2, "\5\0\0\3\2ab\0\1", 9, QSB__PARSE_DONE, 3, 9},
		{"one with an empty name too", 2, "\5\0\0\3\0\0\1", 7, QSB__PARSE_DONE, 3, 7},
		{"one with an address of IPv6 too", 2, "\5\0\0\4\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\0\1", 22,
		 QSB__PARSE_DONE, 3, 22},
		{"one that is cut off needs more", 2,
		 "\5\0\0\3\xFF"
		 "a",
		 6, QSB__PARSE_MORE, 0, 0},
		{"a refusal is the end", 2, "\5\2\0\1\0", 5, QSB__PARSE_BAD, 0, 0},
		{"with any number", 2, "\5\xFF\0\1\0", 5, QSB__PARSE_BAD, 0, 0},
		{"an address of no kind is the end", 2, "\5\0\0\2\0", 5, QSB__PARSE_BAD, 0, 0},
		{"another version is the end", 2, "\4\0\0\1\0", 5, QSB__PARSE_BAD, 0, 0},
	};
	const struct qsb__upstream_target target = {"a.test", 80};
	struct qsb__upstream upstream = {.kind = QSB__UPSTREAM_SOCKS5};
	uint8_t out[OUT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_answer(&rows[i]);
	tap_ok(socks(&upstream, QSB__UPSTREAM_GREETING, "", 0, out) == 3 && memcmp(out, "\5\1\0", 3) == 0,
	       "the greeting offers no login");
	upstream.has_login = true;
	tap_ok(socks(&upstream, QSB__UPSTREAM_GREETING, "", 0, out) == 4 && memcmp(out, "\5\2\0\2", 4) == 0, "or one");
	tap_ok(socks(&upstream, QSB__UPSTREAM_REQUEST, "a.test", 258, out) == 13 &&
		       memcmp(out, "\5\1\0\3\6a.test\1\2", 13) == 0,
	       "a name is asked for");
	tap_ok(socks(&upstream, QSB__UPSTREAM_REQUEST, "192.0.2.1", 80, out) == 10 &&
		       memcmp(out, "\5\1\0\1\xC0\0\2\1\0P", 10) == 0,
	       "an address goes as one");
	tap_is_number((long long)socks(&upstream, QSB__UPSTREAM_REQUEST, "::1", 80, out), 22, "one of IPv6 as well");
	tap_is_number((long long)qsb__upstream_socks_write(&upstream, QSB__UPSTREAM_REQUEST, &target, out, 12), 0,
		      "half a request is none");
}

int main(void)
{
	test_urls();
	test_longest_login();
	test_bypass();
	test_connect();
	test_socks();
	return tap_done();
}
