/* /etc/hosts as the broker reads it. */
#include "broker/host_table.h"

#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

static struct qsb__host_table *table_of(const char *text, size_t length)
{
	char path[] = "/tmp/test-host-table-XXXXXX";
	int fd = mkstemp(path);
	struct qsb__host_table *table;

	if (fd < 0 || write(fd, text, length) != (ssize_t)length)
		exit(1);
	close(fd);
	table = qsb__host_table_read(path);
	unlink(path);
	return table;
}

/* "192.0.2.1 ::1", in the order they come. */
static const char *addresses(const struct qsb__host_table *table, const char *name)
{
	static char text[300];
	struct qsb__address found[4];
	size_t count = qsb__host_table_find(table, name, found, 4);

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			memcpy(text + strlen(text), " ", 2);
		qsb__address_format(&found[i], text + strlen(text));
	}
	return text;
}

static bool any(void *data, const char *name)
{
	return true;
}

static bool is_that(void *data, const char *name)
{
	return strcmp(name, data) == 0;
}

static const char *name_of(const struct qsb__host_table *table, const char *text, const char *wanted)
{
	struct qsb__address address;

	qsb__address_parse(text, strlen(text), &address);
	return qsb__host_table_name(table, &address, wanted ? is_that : any, (void *)(uintptr_t)wanted);
}

static void test_table(void)
{
	static const char text[] = "# nothing\n"
				   "192.0.2.1\tOne.Test. uno  # a comment\r\n"
				   "  2001:db8::1 one.test\n"
				   "\n"
				   "192.0.2.2\n"
				   "fe80::1%lo zoned\n"
				   "nonsense two\n"
				   "192.0.2.3 bad_%name ok.test b\xC3\xBC"
				   "cher.test\n"
				   "::ffff:192.0.2.4 mapped\n"
				   "192.0.2.9 one.test last";
	struct qsb__host_table *table = table_of(text, sizeof(text) - 1);

	tap_is_text(addresses(table, "one.test"), "192.0.2.1 2001:db8::1 192.0.2.9",
		    "a name has all its addresses, in the file's order");
	tap_is_text(addresses(table, "uno"), "192.0.2.1", "so has the second name of a line");
	tap_is_text(addresses(table, "zoned"), "", "an address of one interface is left out");
	tap_is_text(addresses(table, "two"), "", "what is no address has no names");
	tap_is_text(addresses(table, "ok.test"), "192.0.2.3", "a name that is none does not spoil its line");
	tap_is_text(addresses(table, "xn--bcher-kva.test"), "192.0.2.3", "other letters are written in ASCII");
	tap_is_text(addresses(table, "mapped"), "192.0.2.4", "a mapped address is what it is on the wire");
	tap_is_text(addresses(table, "last"), "192.0.2.9", "the last line needs no end");
	tap_is_text(addresses(table, "a"), "", "a name that is not there has none");
	tap_is_text(addresses(table, "zzz"), "", "nor has one behind all others");
	tap_is_text(name_of(table, "192.0.2.1", NULL), "one.test", "an address has its first name");
	tap_is_text(name_of(table, "192.0.2.1", "uno"), "uno", "or the one that is wanted");
	tap_ok(!name_of(table, "192.0.2.1", "other"), "or none of them");
	tap_ok(!name_of(table, "192.0.2.7", NULL), "another address has no name");
	qsb__host_table_free(table);
}

static void test_odd_files(void)
{
	static const char with_nul[] = "192.0.2.1 one\n192.0.2.2 t\0o\n";
	struct qsb__host_table *table = qsb__host_table_read("/nowhere/hosts");

	tap_is_text(addresses(table, "one"), "", "no file is an empty table");
	qsb__host_table_free(table);
	table = table_of("", 0);
	tap_is_text(addresses(table, "one"), "", "so is an empty one");
	qsb__host_table_free(table);
	table = qsb__host_table_read("/");
	tap_is_text(addresses(table, "one"), "", "and a folder");
	qsb__host_table_free(table);
	table = table_of(with_nul, sizeof(with_nul) - 1);
	tap_is_text(addresses(table, "one"), "192.0.2.1", "a byte that no text has ends the file, not us");
	qsb__host_table_free(table);
}

static void test_large(void)
{
	enum { LINES = 50000 };
	char *text = malloc(LINES * 40);
	size_t length = 0;
	struct qsb__host_table *table;

	for (unsigned i = 0; i < LINES; i++)
		length += (size_t)snprintf(text + length, 40, "10.%u.%u.%u host-%u.test\n", i >> 16, i >> 8 & 255,
					   i & 255, i);
	table = table_of(text, length);
	tap_is_text(addresses(table, "host-0.test"), "10.0.0.0", "a large table has its first name");
	tap_is_text(addresses(table, "host-49999.test"), "10.0.195.79", "and its last");
	qsb__host_table_free(table);
	free(text);
}

int main(void)
{
	test_table();
	test_odd_files();
	test_large();
	return tap_done();
}
