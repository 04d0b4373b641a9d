/* The address of an upstream proxy: what is one, what it means, and that its password is not shown. */
#include <qiming/sandbox.h>

#include "core/proxy_url.h"
#include "tap.h"

static const struct {
	const char *text;
	enum qsb__proxy_kind kind;
	const char *user, *password, *host;
	unsigned port;
} good[] = {
	{"http://proxy.example:3128", QSB__PROXY_HTTP, "", "", "proxy.example", 3128},
	{"http://proxy.example", QSB__PROXY_HTTP, "", "", "proxy.example", 80},
	{"HTTP://Proxy.Example./", QSB__PROXY_HTTP, "", "", "proxy.example", 80},
	{"socks5://127.0.0.1", QSB__PROXY_SOCKS5, "", "", "127.0.0.1", 1080},
	{"socks5h://[::1]:9", QSB__PROXY_SOCKS5, "", "", "::1", 9},
	{"http://ada:secret@10.0.0.1:8080", QSB__PROXY_HTTP, "ada", "secret", "10.0.0.1", 8080},
	{"http://ada@proxy.example", QSB__PROXY_HTTP, "ada", "", "proxy.example", 80},
	{"http://a%40b:p%3a%2F%25@proxy.example:1", QSB__PROXY_HTTP, "a@b", "p:/%", "proxy.example", 1},
	{"http://ada:se@cret@proxy.example", QSB__PROXY_HTTP, "ada", "se@cret", "proxy.example", 80},
	{"http://ada:a:b@proxy.example", QSB__PROXY_HTTP, "ada", "a:b", "proxy.example", 80},
};

/* With a part of what is said. None of them may show "hidden". */
static const char *const bad[][2] = {
	{"", "http://"},
	{"proxy.example:3128", "http://"},
	{"ftp://proxy.example", "http://"},
	{"https://ada:hidden@proxy.example", "TLS"},
	{"http://", "host"},
	{"http://:3128", "host"},
	{"http://proxy.example:0", "port"},
	{"http://proxy.example:65536", "port"},
	{"http://proxy.example:http", "port"},
	{"http://proxy.example/path", "path"},
	{"http://a b", "host"},
	{"http://*.example.com", "one host"},
	{"http://10.0.0.0/8", "path"},
	{"http://ada:hidden", "port"},
	{"http://:hidden@proxy.example", "user"},
	{"http://ada:hidden%4@proxy.example", "%40"},
	{"http://ada:hidden%zz@proxy.example", "%40"},
	{"http://ada:hidden%0d%0a@proxy.example", "%40"},
	{"http://ada:hidden%00@proxy.example", "%40"},
	{"http://ada:hid/den@proxy.example", "%40"},
	{"http://ada:hidden\r\n@proxy.example", "%40"},
	{"http://ada:hidden\xc2\x85@proxy.example", "%40"},
};

static const char *const hidden[][2] = {
	{"http://ada:secret@h:1", "http://ada:***@h:1"},
	{"http://ada:se@cret@h", "http://ada:***@h"},
	{"ada:secret@h:1", "ada:***@h:1"},
	{"http://ada@h:1", "http://ada@h:1"},
	{"http://h:1", "http://h:1"},
	{"none", "none"},
};

int main(void)
{
	struct qsb__proxy_url url;
	char why[300], text[2000];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		tap_ok(qsb__proxy_url_parse(good[i].text, &url, why, sizeof(why)) == 0 && url.kind == good[i].kind &&
			       strcmp(url.user, good[i].user) == 0 && strcmp(url.password, good[i].password) == 0 &&
			       strcmp(url.host, good[i].host) == 0 && url.port == good[i].port,
		       "%s is a proxy", good[i].text);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = '\0';
		tap_ok(qsb__proxy_check(bad[i][0], why, sizeof(why)) == QSB_E_INVALID && strstr(why, bad[i][1]) &&
			       !strstr(why, "hidden"),
		       "bad proxy %zu is none, and it says: %s", i, why);
	}
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "http://", 7);
	tap_ok(qsb__proxy_check(text, why, sizeof(why)) == QSB_E_INVALID, "a very long one is none");
	memcpy(text + 200, ":p@h", 5);
	tap_ok(qsb__proxy_check(text, why, sizeof(why)) == 0, "a long user is one");
	tap_ok(qsb__proxy_check("none", why, sizeof(why)) == 0 &&
		       qsb__proxy_check("environment", why, sizeof(why)) == 0,
	       "two words are good too");
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		qsb__proxy_url_hide(hidden[i][0], text, sizeof(text));
		tap_is_text(text, hidden[i][1], "a password is not shown");
	}
	return tap_done();
}
