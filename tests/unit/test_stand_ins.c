/* Names and the addresses that stand for them. */
#include "broker/stand_ins.h"

#include "tap.h"

enum { ALL = 16384, KEPT_S = 900 };

static bool leads_to(struct qsb__stand_ins *stand_ins, unsigned number, int family, const char *name, uint64_t now)
{
	struct qsb__address address;
	const char *found;

	qsb__stand_ins_address(number, family, &address);
	found = qsb__stand_ins_find(stand_ins, &address, now);
	return found && strcmp(found, name) == 0;
}

static void test_numbers(void)
{
	struct qsb__stand_ins *stand_ins = qsb__stand_ins_new();
	struct qsb__address address;
	char text[QSB__ADDRESS_TEXT];

	tap_is_number(qsb__stand_ins_number(stand_ins, "a.test", 1), 1, "the first name gets the first number");
	tap_is_number(qsb__stand_ins_number(stand_ins, "b.test", 1), 2, "another name gets another");
	tap_is_number(qsb__stand_ins_number(stand_ins, "a.test", 5), 1, "a name keeps its number");
	qsb__stand_ins_address(1, 4, &address);
	qsb__address_format(&address, text);
	tap_is_text(text, "198.18.0.1", "it is an address of 198.18.0.0/15");
	qsb__stand_ins_address(1, 6, &address);
	qsb__address_format(&address, text);
	tap_is_text(text, "fd71:6d69:6e67::1", "and one of IPv6");
	tap_ok(leads_to(stand_ins, 2, 4, "b.test", 6) && leads_to(stand_ins, 2, 6, "b.test", 6),
	       "both lead back to the name");
	qsb__stand_ins_free(stand_ins);
	qsb__stand_ins_free(NULL);
}

static void test_strangers(void)
{
	static const char *const strangers[] = {"198.18.0.0",
						"198.18.0.2",
						"198.19.255.255",
						"198.17.0.1",
						"198.20.0.1",
						"192.0.2.1",
						"fd71:6d69:6e67::",
						"fd71:6d69:6e67::2",
						"fd71:6d69:6e67::ffff:ffff",
						"fd71:6d69:6e67:0:1::1",
						"2001:db8::1"};
	struct qsb__stand_ins *stand_ins = qsb__stand_ins_new();
	struct qsb__address address;

	qsb__stand_ins_number(stand_ins, "a.test", 1);
	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
		qsb__address_parse(strangers[i], strlen(strangers[i]), &address);
		tap_ok(!qsb__stand_ins_find(stand_ins, &address, 1), "%s stands for no name", strangers[i]);
	}
	qsb__address_parse("198.19.255.255", 14, &address);
	tap_ok(qsb__stand_ins_have(&address), "an address that was not given out is still kept for names");
	qsb__address_parse("198.20.0.0", 10, &address);
	tap_ok(!qsb__stand_ins_have(&address), "its neighbour is not");
	qsb__stand_ins_free(stand_ins);
}

static unsigned give(struct qsb__stand_ins *stand_ins, unsigned i, uint64_t now)
{
	char name[32];

	snprintf(name, sizeof(name), "host-%u.test", i);
	return qsb__stand_ins_number(stand_ins, name, now);
}

static void test_full(void)
{
	struct qsb__stand_ins *stand_ins = qsb__stand_ins_new();
	unsigned wrong = 0;

	for (unsigned i = 1; i <= ALL; i++)
		wrong += give(stand_ins, i, 1000) != i;
	tap_is_number(wrong, 0, "16384 names get 16384 numbers");
	tap_ok(leads_to(stand_ins, ALL, 4, "host-16384.test", 1000) &&
		       leads_to(stand_ins, ALL, 6, "host-16384.test", 1000),
	       "the last one leads back to its name");
	tap_is_number(give(stand_ins, ALL + 1, 1000 + KEPT_S - 1), 0, "there is no room for one more within 900 s");
	tap_is_number(give(stand_ins, 1, 1000 + KEPT_S - 1), 1, "a name that has one is still answered");
	tap_is_number(give(stand_ins, ALL + 1, 1000 + KEPT_S), 2,
		      "after 900 s the first that nobody used is given anew");
	tap_ok(leads_to(stand_ins, 2, 4, "host-16385.test", 1000 + KEPT_S), "it leads to the new name");
	tap_is_number(give(stand_ins, 2, 1000 + KEPT_S), 4 - 1, "the old name gets another one");
	tap_ok(leads_to(stand_ins, 4, 4, "host-4.test", 1000 + KEPT_S), "a connection to an address uses it");
	tap_is_number(give(stand_ins, ALL + 2, 1000 + KEPT_S), 5, "so that it is not given anew");
	qsb__stand_ins_free(stand_ins);
}

int main(void)
{
	test_numbers();
	test_strangers();
	test_full();
	return tap_done();
}
