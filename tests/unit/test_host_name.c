#include "broker/host_name.h"
#include "broker/parse.h"
#include "core/domain.h"
#include "plan/hosts.h"

#include "tap.h"

static const struct {
	const char *text, *canonical;
} good[] = {
	{"example.com", "example.com"},
	{"EXAMPLE.Com.", "example.com"},
	{"_dns.example.com", "_dns.example.com"},
	{"-odd-.example.com", "-odd-.example.com"},
	{"localhost", "localhost"},
	{"3com.com", "3com.com"},
	{"1.2.3.4.example.com", "1.2.3.4.example.com"},
	{"0x7f.example", "0x7f.example"},
	{"0xg", "0xg"},
	{"192.0.2.1", "192.0.2.1"},
	{"192.0.2.1.", "192.0.2.1"},
	{"127.1", "127.0.0.1"},
	{"127.1.", "127.0.0.1"},
	{"2130706433", "127.0.0.1"},
	{"0x7f000001", "127.0.0.1"},
	{"0X7F000001", "127.0.0.1"},
	{"0177.0.0.1", "127.0.0.1"},
	{"0", "0.0.0.0"},
	{"::", "::"},
	{"::1", "::1"},
	{"0:0:0:0:0:0:0:1", "::1"},
	{"::ffff:127.0.0.1", "127.0.0.1"},
	{"::FFFF:7F00:1", "127.0.0.1"},
	{"64:ff9b::127.0.0.1", "64:ff9b::7f00:1"},
	{"2002:7f00:1::", "2002:7f00:1::"},
	{"b\xC3\xBC"
	 "cher.Example",
	 "xn--bcher-kva.example"},
	{"B\xC3\xBC"
	 "CHER.example",
	 "xn--bcher-kva.example"},
	{"xn--bcher-kva.example", "xn--bcher-kva.example"},
};

static const char *const bad[] = {
	"",
	".",
	"..",
	".example.com",
	"example..com",
	"example.com..",
	"a b",
	"a\tb",
	"a%2eb",
	"a%00b",
	"a/b",
	"a\\b",
	"a:80",
	"a@b",
	"a*b",
	"*",
	"*.example.com",
	"[::1]",
	"[",
	"fe80::1%eth0",
	"fe80::1%25eth0",
	"::1.",
	"1::2::3",
	":::",
	"127.0.0.1:80",
	"1.2.3.4.5",
	"1.2.3.256",
	"256.1.1.1",
	"4294967296",
	"08.1.1.1",
	"example.123",
	"example.0x7f",
	"127.0.0.1..",
	"127..1",
	"a\x01",
	"a\x7F",
	"b\xFC"
	"cher.example",
	"a\xC0\x80",
	/* what programs read as dots: 127。0。0。1 and example．com */
	"127\xE3\x80\x82"
	"0\xE3\x80\x82"
	"0\xE3\x80\x82"
	"1",
	"example\xEF\xBC\x8E"
	"com",
	"example\xEF\xBD\xA1"
	"com",
	"b\xC3\xBC%2e",
};

static void test_tables(void)
{
	char out[QSB__HOST_MAX];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		bool taken = qsb__host_name_canonical(good[i].text, strlen(good[i].text), out);

		tap_ok(taken && strcmp(out, good[i].canonical) == 0, "%s is written %s, got %s", good[i].text,
		       good[i].canonical, taken ? out : "(refused)");
		tap_ok(qsb__host_name_canonical(good[i].canonical, strlen(good[i].canonical), out) &&
			       strcmp(out, good[i].canonical) == 0,
		       "the canonical form %s stays as it is", good[i].canonical);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(!qsb__host_name_canonical(bad[i], strlen(bad[i]), out) && out[0] == '\0',
		       "the %zuth text that is no host is refused and leaves nothing", i + 1);
}

static void test_nul(void)
{
	char out[QSB__HOST_MAX];

	tap_ok(!qsb__host_name_canonical("allowed.com\0.evil", 17, out), "a NUL in a name is refused");
	tap_ok(!qsb__host_name_canonical("127.0.0.1\0", 10, out), "a NUL behind an address is refused");
	tap_ok(!qsb__host_name_canonical("b\xC3\xBC\0.evil", 9, out), "a NUL in a name with other letters is refused");
	tap_ok(qsb__host_name_canonical("a.example:80", 9, out) && strcmp(out, "a.example") == 0,
	       "no more than the length is read");
}

static void test_lengths(void)
{
	char name[5000], out[QSB__HOST_MAX];

	memset(name, 'a', sizeof(name));
	name[63] = '.';
	tap_ok(qsb__host_name_canonical(name, 65, out), "a label of 63 bytes is one");
	name[63] = 'a';
	name[64] = '.';
	tap_ok(!qsb__host_name_canonical(name, 66, out), "a label of 64 bytes is none");
	memset(name, 'a', sizeof(name));
	for (size_t i = 1; i < sizeof(name); i += 2)
		name[i] = '.';
	tap_ok(qsb__host_name_canonical(name, 253, out) && strlen(out) == 253, "a name of 253 bytes is one");
	tap_ok(qsb__host_name_canonical(name, 254, out) && strlen(out) == 253, "and may end with a dot");
	tap_ok(!qsb__host_name_canonical(name, 255, out), "a name of 255 bytes is none");
	tap_ok(!qsb__host_name_canonical(name, sizeof(name), out), "nor is a much longer one");
	for (size_t i = 0; i + 1 < sizeof(name); i += 2)
		memcpy(name + i, "\xC3\xBC", 2);
	tap_ok(!qsb__host_name_canonical(name, 120, out), "a label whose ASCII form is too long is refused");
}

static bool is_allowed(const char *rule, const char *host)
{
	char *allowed[] = {(char[QSB__DOMAIN_MAX]){""}, NULL}, *denied[] = {NULL}, why[300];
	const struct qsb__plan plan = {
		.network = QSB__NETWORK_FILTERED, .allowed_domains = allowed, .denied_domains = denied};
	struct qsb__host_judgement verdict = {.answer = QSB__HOST_DENIED};
	struct qsb__host_address asked = {.port = 80};
	struct qsb__hosts *hosts;

	qsb__domain_canonical(rule, allowed[0], why, sizeof(why));
	hosts = qsb__hosts_new(&plan);
	if (qsb__address_parse(host, strlen(host), &asked.address))
		qsb__hosts_judge_address(hosts, &asked, NULL, &verdict);
	else
		qsb__hosts_judge_name(hosts, host, 80, &verdict);
	qsb__hosts_free(hosts);
	return verdict.answer == QSB__HOST_ALLOWED;
}

/* What the rules say of a host as a client wrote it; a host that is none reaches no rule. */
static void test_rules(void)
{
	static const struct {
		const char *rule, *text;
		size_t size;
		bool matches;
	} rows[] = {
		{"allowed.com", "allowed.com", 11, true},
		{"allowed.com", "ALLOWED.com.", 12, true},
		{"allowed.com", "notallowed.com", 14, false},
		{"allowed.com", "allowed.com.evil", 16, false},
		{"allowed.com", "allowed.com\0.evil", 17, false},
		{"allowed.com", "allowed.com%00.evil", 19, false},
		{"allowed.com", "allowed.com..", 13, false},
		{"allowed.com", "[allowed.com]", 13, false},
		{"allowed.com", "allowed%2ecom", 13, false},
		{"allowed.com", "allowed.com:80", 14, false},
		{"allowed.com", "\xC3\xA5llowed.com", 12, false},
		{"*.allowed.com", "x.allowed.com", 13, true},
		{"*.allowed.com", ".allowed.com", 12, false},
		{"*.allowed.com", "x..allowed.com", 14, false},
		{"*.allowed.com", "xallowed.com", 12, false},
		{"xn--bcher-kva.example", "b\xC3\xBC\x63her.example", 15, true},
		{"*", "example.com", 11, true},
		{"*", "127.1", 5, false},
		{"*", "2130706433", 10, false},
		{"*", "0x7f000001", 10, false},
		{"*", "0177.1", 6, false},
		{"*", "0", 1, false},
		{"*", "::", 2, false},
		{"*", "::1", 3, false},
		{"*", "::ffff:127.0.0.1", 16, false},
		{"*", "::ffff:7f00:1", 13, false},
		{"*", "::127.0.0.1", 11, false},
		{"*", "64:ff9b::127.0.0.1", 18, false},
		{"*", "64:ff9b::a9fe:a9fe", 18, false},
		{"*", "2002:7f00:1::", 13, false},
		{"*", "64:ff9b::8.8.8.8", 16, true},
		{"*", "localhost.", 10, false},
		{"*", "x.LOCALHOST", 11, false},
		{"127.0.0.1", "0x7f.1", 6, true},
		{"::ffff:127.0.0.1", "127.1", 5, true},
	};
	char host[QSB__HOST_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_host = qsb__host_name_canonical(rows[i].text, rows[i].size, host);

		tap_ok((is_host && is_allowed(rows[i].rule, host)) == rows[i].matches, "%s %s \"%s\"", rows[i].rule,
		       rows[i].matches ? "allows" : "does not allow", rows[i].text);
	}
}

int main(void)
{
	test_tables();
	test_nul();
	test_lengths();
	test_rules();
	return tap_done();
}
