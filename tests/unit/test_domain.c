#include "core/address.h"
#include "core/domain.h"
#include "core/punycode.h"

#include "tap.h"

struct good {
	const char *text, *canonical;
};

static const struct good good[] = {
	{"example.com", "example.com"},
	{"EXAMPLE.Com.", "example.com"},
	{"*.Example.com", "*.example.com"},
	{"*.example.com:443", "*.example.com:443"},
	{"*", "*"},
	{"*:8443", "*:8443"},
	{"localhost", "localhost"},
	{"_dns.example.com", "_dns.example.com"},
	{"xn--bcher-kva.example", "xn--bcher-kva.example"},
	{"example.com:1", "example.com:1"},
	{"example.com:65535", "example.com:65535"},
	{"3com.com", "3com.com"},
	{"1.2.3.4.example.com", "1.2.3.4.example.com"},
	{"192.0.2.1", "192.0.2.1"},
	{"192.0.2.1:443", "192.0.2.1:443"},
	{"192.0.2.77/24", "192.0.2.0/24"},
	{"192.0.2.77/24:443", "192.0.2.0/24:443"},
	{"0.0.0.0/0", "0.0.0.0/0"},
	{"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
	{"[2001:db8::1]", "2001:db8::1"},
	{"[2001:db8::1]:443", "[2001:db8::1]:443"},
	{"[2001:db8::ffff/32]:443", "[2001:db8::/32]:443"},
	{"2001:db8:ffff::/32", "2001:db8::/32"},
	{"::", "::"},
	{"::/0", "::/0"},
	{"::1", "::1"},
	{"1::", "1::"},
	{"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
	{"1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"},
	{"::ffff:127.0.0.1", "127.0.0.1"},
	{"::ffff:7f00:1", "127.0.0.1"},
	{"::ffff:10.1.2.3/104", "10.0.0.0/8"},
	{"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
};

struct bad {
	const char *text, *hint; /* a part of the message */
};

static const struct bad bad[] = {
	{"", "is empty"},
	{"https://example.com/x", "write \"example.com\""},
	{"https://user:pass@example.com:8443/x", "write \"example.com:8443\""},
	{"user@example.com", "write \"example.com\""},
	{"example.com/path", "write \"example.com\""},
	{"a b", "without blanks"},
	{"a,b", "without blanks or commas"},
	{"*x.com", "\"*.x.com\""},
	{".example.com", "\"*.example.com\""},
	{"**.example.com", "first part"},
	{"a.*.com", "first part"},
	{"*.*.com", "first part"},
	{"*.", "empty part"},
	{"a..b", "empty part"},
	{".", "empty part"},
	{"example.com..", "empty part"},
	{"example.com:0", "1 to 65535"},
	{"example.com:65536", "1 to 65535"},
	{"example.com:", "1 to 65535"},
	{"example.com:0443", "1 to 65535"},
	{"example.com:https", "1 to 65535"},
	{"example.com:-1", "1 to 65535"},
	{"-a.com", "'-'"},
	{"a%2e.com", "letters, digits"},
	{"a\\b.com", "letters, digits"},
	{"127.1", "127.0.0.1"},
	{"2130706433", "127.0.0.1"},
	{"0x7f000001", "127.0.0.1"},
	{"0x7f.1", "127.0.0.1"},
	{"0177.0.0.1", "127.0.0.1"},
	{"0", "0.0.0.0"},
	{"1.2.3", "1.2.0.3"},
	{"127.0.0.1.", "127.0.0.1"},
	{"256.1.1.1", "none"},
	{"1.2.3.4.5", "none"},
	{"example.123", "none"},
	{"*.1.2.3.4", "1.2.3.4"},
	{"192.0.2.0/33", "leading bits"},
	{"192.0.2.0/", "leading bits"},
	{"2001:db8::/129", "leading bits"},
	{"::ffff:10.0.0.0/8", "IPv4 range"},
	{"2001:db8::1:443:1:1:1:1:1:1", "IPv6"},
	{"[2001:db8::1", "[2001:db8::1]:443"},
	{"[192.0.2.1]:443", "[2001:db8::1]:443"},
	{"[2001:db8::1]443", "[2001:db8::1]:443"},
	{"[2001:db8::1]:0", "1 to 65535"},
	{"[fe80::1%25eth0]", "[2001:db8::1]:443"},
	{"1::2::3", "IPv6"},
	{"b\xC3\xBC"
	 "cher.example",
	 "\"xn--bcher-kva.example\""},
	{"*.b\xC3\xBC"
	 "cher.example",
	 "\"xn--bcher-kva.example\""},
	{"b\xFC"
	 "cher.example",
	 "not UTF-8"},
};

static void test_tables(void)
{
	char out[QSB__DOMAIN_MAX], why[300];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		why[0] = '\0';
		if (qsb__domain_canonical(good[i].text, out, why, sizeof(why)))
			tap_ok(false, "%s is a pattern (%s)", good[i].text, why);
		else
			tap_ok(strcmp(out, good[i].canonical) == 0, "%s is written %s, got %s", good[i].text,
			       good[i].canonical, out);
		tap_ok(qsb__domain_canonical(good[i].canonical, out, why, sizeof(why)) == 0 &&
			       strcmp(out, good[i].canonical) == 0,
		       "the canonical form %s stays as it is", good[i].canonical);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(why, "(accepted)");
		tap_ok(qsb__domain_check(bad[i].text, why, sizeof(why)) != 0 && strstr(why, bad[i].hint),
		       "\"%s\" is refused with the hint %s, got: %s", bad[i].text, bad[i].hint, why);
	}
}

static void test_lengths(void)
{
	char name[400], why[300];

	memset(name, 'a', sizeof(name));
	memcpy(name + 63, ".com", 5);
	tap_is_number(qsb__domain_check(name, why, sizeof(why)), 0, "a label of 63 bytes is one");
	memset(name, 'a', 64);
	memcpy(name + 64, ".com", 5);
	tap_ok(qsb__domain_check(name, why, sizeof(why)) != 0, "a label of 64 bytes is none");
	for (int i = 0; i < 253; i++)
		name[i] = i % 2 ? '.' : 'a';
	name[253] = '\0';
	tap_is_number(qsb__domain_check(name, why, sizeof(why)), 0, "a name of 253 bytes is one");
	memcpy(name + 253, "a", 2);
	memcpy(name + 254, ".b", 3);
	tap_ok(qsb__domain_check(name, why, sizeof(why)) != 0, "a longer name is none");
}

static void test_punycode(void)
{
	/* RFC 3492, section 7.1: (I) Russian, (A) Arabic; and the everyday ones. */
	static const struct good names[] = {
		{"\xE4\xBE\x8B\xE5\xAD\x90.\xE6\xB5\x8B\xE8\xAF\x95", "xn--fsqu00a.xn--0zwm56d"},
		{"m\xC3\xBCnchen.de", "xn--mnchen-3ya.de"},
		{"\xD0\xBF\xD0\xBE\xD1\x87\xD0\xB5\xD0\xBC\xD1\x83\xD0\xB6\xD0\xB5\xD0\xBE\xD0\xBD\xD0\xB8\xD0\xBD\xD0"
		 "\xB5"
		 "\xD0\xB3\xD0\xBE\xD0\xB2\xD0\xBE\xD1\x80\xD1\x8F\xD1\x82\xD0\xBF\xD0\xBE\xD1\x80\xD1\x83\xD1\x81\xD1"
		 "\x81"
		 "\xD0\xBA\xD0\xB8",
		 "xn--b1abfaaepdrnnbgefbadotcwatmq2g4l"},
	};
	char out[QSB__DOMAIN_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		out[0] = '\0';
		qsb__punycode_name(names[i].text, strlen(names[i].text), out, sizeof(out));
		tap_is_text(out, names[i].canonical, "a name with other letters has its ASCII form");
	}
	tap_ok(!qsb__punycode_name("\xC0\x80", 2, out, sizeof(out)), "an overlong character is no text");
	tap_ok(!qsb__punycode_name("\xED\xA0\x80", 3, out, sizeof(out)), "a surrogate is no text");
	tap_ok(!qsb__punycode_name("b\xC3\xBC", 3, out, 6), "too little room is told");
}

static void test_cautions(void)
{
	static const struct {
		const char *pattern;
		bool has_one;
	} rows[] = {
		{"*.com", true},        {"localhost", true},   {"localhost:80", true},      {"127.0.0.1", true},
		{"127.8.9.1:80", true}, {"::1", true},         {"[::1]:80", true},          {"*.example.com", false},
		{"example.com", false}, {"10.0.0.1", false},   {"[2001:db8::1]:80", false}, {"*", false},
		{"0.0.0.0/0", false},   {"localhosts", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_ok((qsb__domain_caution(rows[i].pattern) != NULL) == rows[i].has_one, "%s is%s cautioned about",
		       rows[i].pattern, rows[i].has_one ? "" : " not");
}

int main(void)
{
	test_tables();
	test_cautions();
	test_lengths();
	test_punycode();
	return tap_done();
}
