#include "broker/host_name.h"
#include "broker/parse.h"

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

int main(void)
{
	test_tables();
	test_nul();
	test_lengths();
	return tap_done();
}
