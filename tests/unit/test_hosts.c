/* The network rules as they are asked: names, ports, addresses, and addresses inside addresses. */
#include <stdlib.h>

#include "core/domain.h"
#include "plan/hosts.h"
#include "tap.h"

enum { MANY = 16384 };

/* Rules as a policy gives them: in any spelling, separated by blanks; '!' in front denies. */
struct rules {
	struct qsb__plan plan;
	char texts[16][QSB__DOMAIN_MAX];
	char *allowed[17], *denied[17];
	struct qsb__hosts *hosts;
};

static void make(struct rules *rules, const char *list)
{
	char copy[512], why[300], *rest = NULL;
	size_t count = 0, allowed = 0, denied = 0;

	memset(rules, 0, sizeof(*rules));
	snprintf(copy, sizeof(copy), "%s", list);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		bool denies = word[0] == '!';

		if (qsb__domain_canonical(word + denies, rules->texts[count], why, sizeof(why)) != 0) {
			tap_ok(false, "%s is a rule (%s)", word, why);
			continue;
		}
		if (denies)
			rules->denied[denied++] = rules->texts[count++];
		else
			rules->allowed[allowed++] = rules->texts[count++];
	}
	rules->plan.network = QSB__NETWORK_FILTERED;
	rules->plan.allowed_domains = rules->allowed;
	rules->plan.denied_domains = rules->denied;
	rules->hosts = qsb__hosts_new(&rules->plan);
}

static void judge(const struct rules *rules, const struct qsb__address *address, unsigned port,
		  const struct qsb__host_judgement *name, struct qsb__host_judgement *out)
{
	const struct qsb__host_address asked = {.address = *address, .port = port};

	qsb__hosts_judge_address(rules->hosts, &asked, name, out);
}

static void clear(struct rules *rules)
{
	qsb__hosts_free(rules->hosts);
}

static char letter(enum qsb__host_answer answer)
{
	return answer == QSB__HOST_ALLOWED ? 'a' : answer == QSB__HOST_DENIED ? 'd' : 'u';
}

static void check(const char *list, const char *host, char got, char wanted, const char *rule)
{
	const char *verb = wanted == 'a' ? "allow" : wanted == 'd' ? "refuse" : "do not know";

	if (!tap_ok(got == wanted, "[%s] %s %s", list, verb, host))
		printf("# it was: %c by %s\n", got, rule);
}

/* ---- names ---- */

static const struct {
	const char *rules, *name;
	unsigned port;
	char answer;
	const char *rule; /* a part of it; NULL = whatever */
} names[] = {
	{"example.com", "example.com", 443, 'a', "/network/allowedDomains: example.com"},
	{"Example.COM.", "example.com", 443, 'a', "allowedDomains: example.com"},
	{"example.com", "www.example.com", 443, 'u', "no entry means it"},
	{"example.com", "notexample.com", 443, 'u', NULL},
	{"example.com", "example.com.evil", 443, 'u', NULL},
	{"example.com", "example.comx", 443, 'u', NULL},
	{"example.com", "example.co", 443, 'u', NULL},
	{"example.com", "com", 443, 'u', NULL},
	{"*.example.com", "www.example.com", 443, 'a', "*.example.com"},
	{"*.example.com", "a.b.example.com", 443, 'a', NULL},
	{"*.example.com", "example.com", 443, 'u', NULL},
	{"*.example.com", "notexample.com", 443, 'u', NULL},
	{"*.example.com", "www.example.com.evil", 443, 'u', NULL},
	{"example.com:443", "example.com", 443, 'a', NULL},
	{"example.com:443", "example.com", 80, 'u', NULL},
	{"example.com:443 example.com:8443", "example.com", 8443, 'a', "example.com:8443"},
	{"example.com:443 example.com:8443", "example.com", 0, 'a', NULL},
	{"*.example.com:443", "x.example.com", 80, 'u', NULL},
	{"* example.com", "example.com", 443, 'a', "allowedDomains: example.com"},
	{"* *.example.com *.b.example.com", "a.b.example.com", 443, 'a', "*.b.example.com"},
	{"*", "example.com", 1, 'a', "allowedDomains: *"},
	{"*:443", "example.com", 80, 'u', NULL},
	{"*:443", "example.com", 443, 'a', NULL},
	{"*:443", "example.com", 0, 'a', NULL},
	{"*", "localhost", 80, 'd', "built-in"},
	{"*", "x.localhost", 80, 'd', "built-in"},
	{"*", "x.localhost", 0, 'd', "built-in"},
	{"*", "notlocalhost", 80, 'a', NULL},
	{"*", "localhost.com", 80, 'a', NULL},
	{"localhost", "localhost", 80, 'a', NULL},
	{"*.localhost", "x.localhost", 80, 'a', NULL},
	{"*.localhost", "localhost", 80, 'd', NULL},
	{"* localhost:80", "localhost", 0, 'a', NULL},
	{"* localhost:80", "localhost", 81, 'd', NULL},
	{"", "example.com", 443, 'u', NULL},
	{"* !example.com", "example.com", 443, 'd', "/network/deniedDomains: example.com"},
	{"example.com !example.com", "example.com", 443, 'd', NULL},
	{"* !*.example.com", "www.example.com", 443, 'd', "deniedDomains: *.example.com"},
	{"www.example.com !*.example.com", "www.example.com", 443, 'd', NULL},
	{"* !*.example.com", "example.com", 443, 'a', NULL},
	{"example.com !example.com:25", "example.com", 443, 'a', NULL},
	{"example.com !example.com:25", "example.com", 25, 'd', NULL},
	{"example.com !example.com:25", "example.com", 0, 'a', NULL},
	{"example.com:25 !example.com:25", "example.com", 0, 'd', NULL},
	{"example.com:25 example.com:80 !example.com:25", "example.com", 0, 'a', NULL},
	{"example.com !*", "example.com", 443, 'd', "deniedDomains: *"},
	{"example.com !*", "example.com", 0, 'd', NULL},
	{"example.com !*:25", "example.com", 25, 'd', NULL},
	{"example.com !*:25", "example.com", 443, 'a', NULL},
	{"xn--bcher-kva.example", "xn--bcher-kva.example", 443, 'a', NULL},
	{"192.0.2.1", "example.com", 443, 'u', NULL},
	{"0.0.0.0/0 ::/0", "example.com", 443, 'u', NULL},
};

static void test_names(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct qsb__host_judgement got;
		struct rules rules;
		char shown[300];

		make(&rules, names[i].rules);
		qsb__hosts_judge_name(rules.hosts, names[i].name, names[i].port, &got);
		snprintf(shown, sizeof(shown), "%s at port %u", names[i].name, names[i].port);
		check(names[i].rules, shown, letter(got.answer), names[i].answer, got.rule);
		if (names[i].rule && !tap_ok(strstr(got.rule, names[i].rule) != NULL, "[%s] the rule is \"%s\"",
					     names[i].rules, names[i].rule))
			printf("# it was: %s\n", got.rule);
		clear(&rules);
	}
}

/* ---- addresses ---- */

static const struct {
	const char *rules, *address;
	char literal;  /* asked for by itself */
	char resolved; /* an allowed name led there: "names.example" is added to the rules, or "*" is among them */
} addresses[] = {
	{"192.0.2.1", "192.0.2.1", 'a', 'a'},
	{"192.0.2.1", "192.0.2.2", 'u', 'a'},
	{"", "192.0.2.1", 'u', 'a'},
	{"*", "192.0.2.1", 'a', 'a'},
	{"*", "2001:db8::1", 'a', 'a'},
	/* this machine */
	{"*", "127.0.0.1", 'd', 'd'},
	{"*", "127.255.255.254", 'd', 'd'},
	{"*", "0.0.0.0", 'd', 'd'},
	{"*", "0.1.2.3", 'd', 'd'},
	{"*", "::", 'd', 'd'},
	{"*", "::1", 'd', 'd'},
	{"*", "::ffff:127.0.0.1", 'd', 'd'},
	{"*", "::127.0.0.1", 'd', 'd'},
	{"*", "::ffff:0:127.0.0.1", 'd', 'd'},
	{"*", "64:ff9b::127.0.0.1", 'd', 'd'},
	{"*", "64:ff9b:1::127.0.0.1", 'd', 'd'},
	{"*", "64:ff9b:1:7f00:0:100::", 'd', 'd'}, /* a prefix of 48 bits */
	{"*", "64:ff9b:1:0:7f:0:100:0", 'd', 'd'}, /* of 64 bits */
	{"*", "64:ff9b:1:7f:0:1::", 'd', 'd'},     /* of 56 bits */
	{"*", "2002:7f00:1::", 'd', 'd'},
	{"*", "2001:0:c000:201:0:0:80ff:fffe", 'd', 'd'}, /* Teredo: the bits of 127.0.0.1 turned over */
	{"*", "2001:0:7f00:1::", 'd', 'd'},               /* its server */
	{"127.0.0.1", "127.0.0.1", 'a', 'a'},
	{"127.0.0.1", "127.0.0.2", 'd', 'd'},
	{"127.0.0.0/8", "127.0.0.2", 'a', 'a'},
	{"0.0.0.0/0", "127.0.0.1", 'd', 'd'},
	{"::/0", "::1", 'd', 'd'},
	{"0.0.0.0/0", "192.0.2.7", 'a', 'a'},
	{"127.0.0.1", "64:ff9b::127.0.0.1", 'a', 'a'},
	{"127.0.0.1", "::ffff:127.0.0.1", 'a', 'a'},
	{"127.0.0.1", "2002:7f00:1::", 'd', 'd'},
	{"64:ff9b::/96", "64:ff9b::127.0.0.1", 'd', 'd'},
	{"64:ff9b::/96", "64:ff9b::192.0.2.1", 'a', 'a'},
	{"::1", "::1", 'a', 'a'},
	/* link-local */
	{"*", "169.254.1.1", 'd', 'd'},
	{"*", "fe80::1", 'd', 'd'},
	{"169.254.0.0/16", "169.254.1.1", 'a', 'a'},
	{"fe80::/10", "fe80::1", 'a', 'a'},
	/* metadata */
	{"*", "169.254.169.254", 'd', 'd'},
	{"169.254.0.0/16", "169.254.169.254", 'd', 'd'},
	{"169.254.169.254", "169.254.169.254", 'a', 'a'},
	{"169.254.169.254/32", "169.254.169.254", 'a', 'a'},
	{"169.254.169.254/31", "169.254.169.254", 'd', 'd'},
	{"*", "64:ff9b::169.254.169.254", 'd', 'd'},
	{"*", "64:ff9b:1::169.254.169.254", 'd', 'd'},
	{"64:ff9b:1::/48", "64:ff9b:1::169.254.169.254", 'd', 'd'},
	{"*", "2002:a9fe:a9fe::1", 'd', 'd'},
	{"*", "::ffff:169.254.169.254", 'd', 'd'},
	{"*", "169.254.170.2", 'd', 'd'},
	{"*", "100.100.100.200", 'd', 'd'},
	{"100.64.0.0/10", "100.100.100.200", 'd', 'd'},
	{"*", "168.63.129.16", 'd', 'd'},
	{"*", "192.0.0.192", 'd', 'd'},
	{"*", "fd00:ec2::254", 'd', 'd'},
	{"fd00::/8", "fd00:ec2::254", 'd', 'd'},
	{"fd00:ec2::254", "fd00:ec2::254", 'a', 'a'},
	/* private networks: not what "*" means, and what a name means that is listed */
	{"*", "10.1.2.3", 'u', 'd'},
	{"*", "172.16.0.1", 'u', 'd'},
	{"*", "172.31.255.255", 'u', 'd'},
	{"*", "172.32.0.1", 'a', 'a'},
	{"*", "192.168.0.1", 'u', 'd'},
	{"*", "100.64.0.1", 'u', 'd'},
	{"*", "100.127.255.255", 'u', 'd'},
	{"*", "fc00::1", 'u', 'd'},
	{"*", "fd12::1", 'u', 'd'},
	{"*", "fec0::1", 'u', 'd'},
	{"*", "64:ff9b::10.0.0.1", 'u', 'd'},
	{"*", "64:ff9b:1::192.0.2.1", 'u', 'd'},
	{"*", "2002:a00:1::1", 'u', 'd'},
	{"* 10.0.0.0/8", "10.1.2.3", 'a', 'a'},
	{"* 10.0.0.0/8", "64:ff9b::10.1.2.3", 'a', 'a'},
	{"* 10.0.0.0/8", "2002:a00:1::1", 'u', 'd'},
	{"", "10.1.2.3", 'u', 'a'},
	{"", "fd12::1", 'u', 'a'},
	{"", "64:ff9b:1::192.0.2.1", 'u', 'a'},
	{"", "127.0.0.1", 'd', 'd'},
	{"", "169.254.169.254", 'd', 'd'},
	{"", "0.0.0.0", 'd', 'd'},
	{"", "::1", 'd', 'd'},
	/* no host at all */
	{"*", "224.0.0.1", 'd', 'd'},
	{"*", "239.255.255.250", 'd', 'd'},
	{"*", "255.255.255.255", 'd', 'd'},
	{"*", "240.0.0.1", 'd', 'd'},
	{"*", "ff02::1", 'd', 'd'},
	{"*", "198.18.0.1", 'd', 'd'},
	{"*", "192.0.0.1", 'd', 'd'},
	{"*", "100::1", 'd', 'd'},
	{"*", "4000::1", 'd', 'd'},
	{"198.18.0.0/15", "198.19.0.1", 'a', 'a'},
	/* carriers of public addresses */
	{"*", "64:ff9b::192.0.2.1", 'a', 'a'},
	{"*", "2002:c000:201::1", 'a', 'a'},
	/* denials */
	{"* !192.0.2.1", "192.0.2.1", 'd', 'd'},
	{"192.0.2.1 !192.0.2.0/24", "192.0.2.1", 'd', 'd'},
	{"192.0.2.0/24 !192.0.2.1", "192.0.2.2", 'a', 'a'},
	{"* !192.0.2.1", "64:ff9b::192.0.2.1", 'd', 'd'},
	{"* !192.0.2.1", "2002:c000:201::1", 'd', 'd'},
	{"* !192.0.2.1", "::ffff:192.0.2.1", 'd', 'd'},
	{"64:ff9b:1::/48 !192.0.2.1", "64:ff9b:1::192.0.2.1", 'd', 'd'},
	{"64:ff9b:1::/48 !192.0.2.1", "64:ff9b:1:c000:2:100::", 'd', 'd'},
	{"* !192.0.2.1", "2001:0:102:304:0:0:3fff:fdfe", 'd', 'd'},
	{"* !2001:db8::/32", "2001:db8:1::1", 'd', 'd'},
	{"127.0.0.1 !127.0.0.0/8", "127.0.0.1", 'd', 'd'},
	{"192.0.2.1 !*", "192.0.2.1", 'd', 'd'},
	{"* !0.0.0.0/0", "192.0.2.1", 'd', 'd'},
	{"* !0.0.0.0/0", "2001:db8::1", 'a', 'a'},
	/* ports: all are asked at 443 */
	{"192.0.2.1:443", "192.0.2.1", 'a', 'a'},
	{"192.0.2.1:80", "192.0.2.1", 'u', 'a'},
	{"10.0.0.0/8:443 10.0.0.0/8:80", "10.0.0.1", 'a', 'a'},
	{"* 10.0.0.0/8:80", "10.0.0.1", 'u', 'd'},
	{"* 10.0.0.0/16:80 10.0.0.0/8:443", "10.0.0.1", 'a', 'a'},
	{"[2001:db8::/32]:443", "2001:db8:1::1", 'a', 'a'},
	{"[2001:db8::1]:80", "2001:db8::1", 'u', 'a'},
	{"*:80", "192.0.2.1", 'u', 'u'},
	{"127.0.0.1:80", "127.0.0.1", 'd', 'd'},
	{"* !192.0.2.1:25", "192.0.2.1", 'a', 'a'},
	{"* !192.0.2.1:443", "192.0.2.1", 'd', 'd'},
	{"* !*:443", "192.0.2.1", 'd', 'd'},
};

static void check_address(size_t i, bool by_name)
{
	struct qsb__host_judgement name, got;
	struct qsb__address address;
	struct rules rules;
	char list[400], shown[300];

	snprintf(list, sizeof(list), "%s%s", addresses[i].rules,
		 by_name && !strchr(addresses[i].rules, '*') ? " names.example" : "");
	make(&rules, list);
	if (!qsb__address_parse(addresses[i].address, strlen(addresses[i].address), &address))
		tap_ok(false, "%s is an address", addresses[i].address);
	qsb__hosts_judge_name(rules.hosts, "names.example", 443, &name);
	judge(&rules, &address, 443, by_name ? &name : NULL, &got);
	snprintf(shown, sizeof(shown), "%s%s", by_name ? "a name at " : "", addresses[i].address);
	check(list, shown, letter(got.answer), by_name ? addresses[i].resolved : addresses[i].literal, got.rule);
	clear(&rules);
}

/* The kernel's own form of a mapped address, which no text has. */
static void test_mapped(void)
{
	static const struct qsb__address mapped = {.family = 6, .bytes = {[10] = 0xFF, [11] = 0xFF, 127, 0, 0, 1}};
	struct qsb__host_judgement got;
	struct rules rules;

	make(&rules, "*");
	judge(&rules, &mapped, 443, NULL, &got);
	tap_ok(got.answer == QSB__HOST_DENIED, "a mapped address of family 6 is what is in it");
	clear(&rules);
	make(&rules, "127.0.0.1");
	judge(&rules, &mapped, 443, NULL, &got);
	tap_ok(got.answer == QSB__HOST_ALLOWED, "also for an entry that allows it");
	clear(&rules);
}

static void test_own(void)
{
	static const struct qsb__host_address own = {
		.address = {.family = 4, .bytes = {192, 0, 2, 1}}, .port = 80, .own = true};
	struct qsb__host_judgement name, got;
	struct rules rules;

	make(&rules, "* names.example");
	qsb__hosts_judge_name(rules.hosts, "names.example", 80, &name);
	qsb__hosts_judge_address(rules.hosts, &own, NULL, &got);
	tap_ok(got.answer == QSB__HOST_DENIED && strstr(got.rule, "own address"), "\"*\" does not mean this host");
	qsb__hosts_judge_address(rules.hosts, &own, &name, &got);
	tap_ok(got.answer == QSB__HOST_DENIED, "nor does an allowed name");
	tap_is_text(got.fix, "--allow-domain 192.0.2.1", "it says how that address could be allowed");
	clear(&rules);
	make(&rules, "192.0.2.1");
	qsb__hosts_judge_address(rules.hosts, &own, NULL, &got);
	tap_ok(got.answer == QSB__HOST_ALLOWED, "an entry that names the host's own address does");
	clear(&rules);
}

static void test_words(void)
{
	struct qsb__host_judgement name, got;
	struct qsb__address address;
	struct rules rules;

	make(&rules, "* listed.example:443 !bad.example");
	qsb__hosts_judge_name(rules.hosts, "any.example", 443, &name);
	tap_ok(name.by_star, "a name that only \"*\" allows is marked");
	qsb__address_parse("64:ff9b::a9fe:a9fe", 18, &address);
	judge(&rules, &address, 443, &name, &got);
	tap_is_text(got.rule, "built-in: metadata address, as it means 169.254.169.254", "it says what is inside");
	qsb__address_parse("::1", 3, &address);
	judge(&rules, &address, 8080, &name, &got);
	tap_is_text(got.rule, "built-in: loopback address", "it says what an address is");
	tap_is_text(got.fix, "--reach 8080", "the host's loopback is reached by its port");
	qsb__hosts_judge_name(rules.hosts, "listed.example", 443, &name);
	tap_ok(!name.by_star, "a listed name is not marked, although \"*\" means it too");
	qsb__hosts_judge_name(rules.hosts, "bad.example", 443, &got);
	tap_is_text(got.fix, "take bad.example out of /network/deniedDomains", "a denial says what to take out");
	qsb__address_parse("192.0.2.1", 9, &address);
	judge(&rules, &address, 443, &got, &got);
	tap_ok(got.answer == QSB__HOST_DENIED, "a good address does not mend a denied name");
	clear(&rules);
	make(&rules, "listed.example:443");
	qsb__hosts_judge_name(rules.hosts, "listed.example", 80, &got);
	tap_is_text(got.fix, "--allow-domain listed.example:80", "a name with a port gets the other port suggested");
	qsb__hosts_judge_name(rules.hosts, "other.example", 80, &got);
	tap_is_text(got.fix, "--allow-domain other.example", "another name gets itself suggested");
	clear(&rules);
}

/* What a program might be given, and what it means. */
static void test_spellings(void)
{
	static const struct {
		const char *text, *host;
		unsigned port;
		bool allowed;
	} rows[] = {
		{"allowed.com", "allowed.com", 443, true},
		{"ALLOWED.com.", "allowed.com", 443, true},
		{"allowed.com.:80", "allowed.com", 80, true},
		{"notallowed.com", "notallowed.com", 443, false},
		{"allowed.com.evil", "allowed.com.evil", 443, false},
		{"127.1", "127.0.0.1", 443, false},
		{"2130706433", "127.0.0.1", 443, false},
		{"0x7f000001", "127.0.0.1", 443, false},
		{"0x7f.1:80", "127.0.0.1", 80, false},
		{"0177.0.0.1", "127.0.0.1", 443, false},
		{"0", "0.0.0.0", 443, false},
		{"::", "::", 443, false},
		{"::ffff:127.0.0.1", "127.0.0.1", 443, false},
		{"[::1]:80", "::1", 80, false},
		{"64:ff9b::7f00:1", "64:ff9b::7f00:1", 443, false},
		{"b\u00fccher.example", "xn--bcher-kva.example", 443, true},
		{"xn--bcher-kva.example", "xn--bcher-kva.example", 443, true},
		{"192.0.513", "192.0.2.1", 443, true},
	};
	static const char *const bad[] = {"allowed..com", ".allowed.com",  "allowed%2ecom", "[allowed.com]", "",
					  "[127.0.0.1]",  "allowed.com:0", "a b",           "fe80::1%lo",    "*"};
	struct qsb__host_verdict verdict;
	struct rules rules;

	make(&rules, "allowed.com xn--bcher-kva.example 192.0.2.1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int code = qsb__plan_explain_host(&rules.plan, rows[i].text, &verdict, NULL);

		tap_ok(code == 0 && strcmp(verdict.host, rows[i].host) == 0 && verdict.port == rows[i].port &&
			       verdict.allowed == rows[i].allowed,
		       "%s is %s port %u, and %s", rows[i].text, rows[i].host, rows[i].port,
		       rows[i].allowed ? "allowed" : "refused");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(qsb__plan_explain_host(&rules.plan, bad[i], &verdict, NULL) == QSB_E_INVALID,
		       "\"%s\" is no host", bad[i]);
	clear(&rules);
}

/* As many as a policy may have, of every kind: each is found, and a miss is one. */
static void test_many(void)
{
	char(*texts)[48] = calloc(MANY, sizeof(*texts));
	char **list = calloc(MANY + 1, sizeof(*list));
	struct qsb__plan plan = {.network = QSB__NETWORK_FILTERED, .allowed_domains = list};
	struct qsb__hosts *hosts;
	size_t wrong = 0;

	if (!texts || !list)
		return;
	for (unsigned i = 0; i < MANY; i++) {
		list[i] = texts[i];
		if (i % 3 == 0)
			snprintf(texts[i], sizeof(texts[i]), "host%u.example", i);
		else if (i % 3 == 1)
			snprintf(texts[i], sizeof(texts[i]), "*.zone%u.example:443", i);
		else
			snprintf(texts[i], sizeof(texts[i]), "192.%u.%u.0/%u", i / 256, i % 256, 24 + i % 8);
	}
	hosts = qsb__hosts_new(&plan);
	for (unsigned i = 0; hosts && i < MANY; i++) {
		struct qsb__host_judgement got;
		struct qsb__host_address asked = {
			.address = {.family = 4, .bytes = {192, (uint8_t)(i / 256), (uint8_t)i, 0}}, .port = 443};
		char name[64];

		snprintf(name, sizeof(name), i % 3 ? "www.zone%u.example" : "host%u.example", i);
		qsb__hosts_judge_name(hosts, name, 443, &got);
		wrong += (got.answer == QSB__HOST_ALLOWED) != (i % 3 != 2);
		qsb__hosts_judge_name(hosts, i % 3 ? name + 4 : "example", 443, &got);
		wrong += got.answer == QSB__HOST_ALLOWED;
		qsb__hosts_judge_address(hosts, &asked, NULL, &got);
		wrong += (got.answer == QSB__HOST_ALLOWED) != (i % 3 == 2);
		asked.address.bytes[3] = 255;
		qsb__hosts_judge_address(hosts, &asked, NULL, &got);
		wrong += (got.answer == QSB__HOST_ALLOWED) != (i % 3 == 2 && i % 8 == 0);
	}
	tap_ok(hosts && wrong == 0, "each of %d patterns is found, and nothing else (%zu wrong)", MANY, wrong);
	qsb__hosts_free(hosts);
	free(list);
	free(texts);
}

int main(void)
{
	test_names();
	for (size_t i = 0; i < 2 * sizeof(addresses) / sizeof(addresses[0]); i++)
		check_address(i / 2, i % 2);
	test_mapped();
	test_own();
	test_words();
	test_spellings();
	test_many();
	return tap_done();
}
