#include "broker/tls_hello.h"

#include <stdlib.h>

#include "captured_hellos.h"
#include "tap.h"

/* A hello being put together: the message, or the extensions in it. */
struct text {
	uint8_t bytes[20000];
	size_t size;
};

static enum qsb__parse parse_exactly(const uint8_t *bytes, size_t length, struct qsb__tls_hello *out)
{
	uint8_t *copy = malloc(length ? length : 1);
	enum qsb__parse verdict;

	memcpy(copy, bytes, length);
	verdict = qsb__tls_hello_parse(copy, length, out);
	free(copy);
	return verdict;
}

static void put(struct text *text, const void *bytes, size_t size)
{
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
}

static void put_number(struct text *text, size_t value, size_t width)
{
	while (width-- > 0)
		text->bytes[text->size++] = (uint8_t)(value >> (8 * width));
}

static void put_name(struct text *list, unsigned type, const char *name, size_t size)
{
	put_number(list, type, 1);
	put_number(list, size, 2);
	put(list, name, size);
}

static void put_extension(struct text *extensions, unsigned type, const void *bytes, size_t size)
{
	put_number(extensions, type, 2);
	put_number(extensions, size, 2);
	put(extensions, bytes, size);
}

static void put_server_name(struct text *extensions, const char *name, size_t size)
{
	struct text list = {.size = 0}, extension = {.size = 0};

	put_name(&list, 0, name, size);
	put_number(&extension, list.size, 2);
	put(&extension, list.bytes, list.size);
	put_extension(extensions, 0, extension.bytes, extension.size);
}

/* A ClientHello with its header; NULL = without extensions. */
static void make_message(struct text *message, const struct text *extensions)
{
	static const uint8_t random[32], fixed[] = {0, 0, 4, 0x13, 1, 0x13, 2, 1, 0};

	message->size = 0;
	put_number(message, 1, 1);
	put_number(message, 2 + 32 + sizeof(fixed) + (extensions ? 2 + extensions->size : 0), 3);
	put_number(message, 0x0303, 2);
	put(message, random, sizeof(random));
	put(message, fixed, sizeof(fixed));
	if (!extensions)
		return;
	put_number(message, extensions->size, 2);
	put(message, extensions->bytes, extensions->size);
}

/* The message in records of at most `most` bytes. */
static void make_records(struct text *out, const struct text *message, size_t most)
{
	out->size = 0;
	for (size_t at = 0; at < message->size; at += most) {
		size_t left = message->size - at, size = left < most ? left : most;

		put_number(out, 0x160301, 3);
		put_number(out, size, 2);
		put(out, message->bytes + at, size);
	}
}

static enum qsb__parse parse_extensions(const struct text *extensions, struct qsb__tls_hello *out)
{
	static struct text message, records;

	make_message(&message, extensions);
	make_records(&records, &message, 16384);
	return parse_exactly(records.bytes, records.size, out);
}

static void test_captured(void)
{
	struct qsb__tls_hello hello;

	for (size_t i = 0; i < sizeof(captured_hellos) / sizeof(captured_hellos[0]); i++) {
		size_t size = captured_hellos[i].size;
		bool more = true;

		for (size_t at = 0; at < size; at++)
			more &= parse_exactly(captured_hellos[i].bytes, at, &hello) == QSB__PARSE_MORE;
		tap_ok(more, "the hello of %s needs every byte of it", captured_hellos[i].client);
		tap_ok(parse_exactly(captured_hellos[i].bytes, size, &hello) == QSB__PARSE_DONE,
		       "the hello of %s is read", captured_hellos[i].client);
		tap_is_text(hello.name, captured_hellos[i].name, "and names its server");
	}
}

static void test_records(void)
{
	static struct text extensions, message, records;
	static const uint8_t filler[1800];
	struct qsb__tls_hello hello;

	put_extension(&extensions, 0x0A0A, "", 0);
	put_extension(&extensions, 51, filler, sizeof(filler));
	put_server_name(&extensions, "WWW.Example.com.", 16);
	make_message(&message, &extensions);
	for (size_t most = 1; most < message.size; most = 3 * most + 1) {
		bool more = true;

		make_records(&records, &message, most);
		for (size_t at = 0; at < records.size; at += 1 + records.size / 500)
			more &= parse_exactly(records.bytes, at, &hello) == QSB__PARSE_MORE;
		tap_ok(more && parse_exactly(records.bytes, records.size, &hello) == QSB__PARSE_DONE &&
			       strcmp(hello.name, "www.example.com") == 0,
		       "a hello in records of %zu bytes is read", most);
	}
	memcpy(records.bytes + records.size, "\x17\3\3", 3);
	tap_ok(parse_exactly(records.bytes, records.size + 3, &hello) == QSB__PARSE_DONE,
	       "what follows the hello is not looked at");
	make_message(&message, NULL);
	make_records(&records, &message, 16384);
	tap_ok(parse_exactly(records.bytes, records.size, &hello) == QSB__PARSE_DONE && hello.name[0] == '\0',
	       "a hello without extensions names nobody");
}

static void test_names(void)
{
	static const struct {
		const char *what, *name;
		size_t size;
	} bad[] = {
		{"an empty name", "", 0},
		{"a NUL in the name", "allowed.com\0.evil", 17},
		{"a NUL behind the name", "allowed.com\0", 12},
		{"an address", "127.0.0.1", 9},
		{"an address in a loose form", "0x7f000001", 10},
		{"an IPv6 address", "::1", 3},
		{"an address in brackets", "[::1]", 5},
		{"a percent sign", "a%2eb", 5},
		{"a port", "a.example:443", 13},
		{"a blank", "a b", 3},
		{"a star", "*.example", 9},
		{"an empty label", "a..example", 10},
		{"two dots behind the name", "a.example..", 11},
		{"raw text beyond ASCII", "b\xC3\xBC.example", 11},
	};
	static struct text extensions;
	struct qsb__tls_hello hello;
	char name[300];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		extensions.size = 0;
		put_server_name(&extensions, bad[i].name, bad[i].size);
		tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_BAD && hello.why && !hello.name[0],
		       "%s is refused (%s)", bad[i].what, hello.why ? hello.why : "no reason");
	}
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = i % 2 ? '.' : 'a';
	extensions.size = 0;
	put_server_name(&extensions, name, 253);
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_DONE && strlen(hello.name) == 253,
	       "a name of 253 bytes is taken");
	extensions.size = 0;
	put_server_name(&extensions, name, 255);
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_BAD, "a longer one is refused");
}

static void test_extensions(void)
{
	static struct text extensions, list, extension;
	struct qsb__tls_hello hello;

	put_server_name(&extensions, "a.example", 9);
	put_server_name(&extensions, "a.example", 9);
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_BAD, "two server_name extensions are refused");
	put_name(&list, 0, "a.example", 9);
	put_name(&list, 0, "b.example", 9);
	put_number(&extension, list.size, 2);
	put(&extension, list.bytes, list.size);
	extensions.size = 0;
	put_extension(&extensions, 0, extension.bytes, extension.size);
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_BAD, "two names in one extension are refused");
	list.size = 0;
	put_name(&list, 1, "a.example", 9);
	extension.size = 0;
	put_number(&extension, list.size, 2);
	put(&extension, list.bytes, list.size);
	extensions.size = 0;
	put_extension(&extensions, 0, extension.bytes, extension.size);
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_BAD, "a name of an unknown kind is refused");
	extensions.size = 0;
	put_extension(&extensions, 0, "", 0);
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_BAD, "an empty server_name extension is refused");
	extensions.size = 0;
	put_extension(&extensions, 0, "\0\0", 2);
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_BAD, "an empty list of names is refused");
	extensions.size = 0;
	put_extension(&extensions, 0, "\0\5\0\0\2ab", 7);
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_DONE && strcmp(hello.name, "ab") == 0,
	       "a list of the right length is taken");
	extensions.size = 0;
	put_extension(&extensions, 0, "\0\5\0\0\2abc", 8);
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_BAD, "bytes behind the list are refused");
	extensions.size = 0;
	put_extension(&extensions, 0, "\0\6\0\0\2ab", 7);
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_BAD, "a list longer than its extension is refused");
	extensions.size = 0;
	put_extension(&extensions, 0, "\0\5\0\0\3ab", 7);
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_BAD, "a name longer than its list is refused");
	extensions.size = 0;
	put_extension(&extensions, 5, "abc", 3);
	extensions.bytes[3] = 4;
	tap_ok(parse_extensions(&extensions, &hello) == QSB__PARSE_BAD,
	       "an extension longer than all of them is refused");
}

/* Every length field of a good hello, made larger or smaller, leaves something over or missing. */
static void test_lengths(void)
{
	/* Where they stand: message, session, ciphers, compressions, extensions; the record's own is the next test. */
	static const size_t places[] = {8, 43, 45, 50, 53, 57, 59, 62};
	static struct text extensions, message, records;
	struct qsb__tls_hello hello;

	put_server_name(&extensions, "a.example", 9);
	make_message(&message, &extensions);
	make_records(&records, &message, 16384);
	tap_ok(parse_exactly(records.bytes, records.size, &hello) == QSB__PARSE_DONE, "the hello itself is good");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		records.bytes[places[i]]++;
		tap_ok(parse_exactly(records.bytes, records.size, &hello) != QSB__PARSE_DONE,
		       "a larger length at %zu is not taken", places[i]);
		records.bytes[places[i]] -= 2;
		tap_ok(parse_exactly(records.bytes, records.size, &hello) == QSB__PARSE_BAD,
		       "a smaller length at %zu is refused", places[i]);
		records.bytes[places[i]]++;
	}
	records.bytes[4]++;
	tap_ok(parse_exactly(records.bytes, records.size, &hello) == QSB__PARSE_BAD,
	       "a record with more than the hello is refused");
	records.bytes[4] -= 2;
	tap_ok(parse_exactly(records.bytes, records.size, &hello) != QSB__PARSE_DONE,
	       "a record with less is not taken");
}

/* Is a hello taken whose parts behind the random bytes are these? */
static bool takes_parts(const void *parts, size_t size)
{
	static const uint8_t random[32];
	static struct text message, records;
	struct qsb__tls_hello hello;

	message.size = 0;
	put_number(&message, 1, 1);
	put_number(&message, 2 + sizeof(random) + size, 3);
	put_number(&message, 0x0303, 2);
	put(&message, random, sizeof(random));
	put(&message, parts, size);
	make_records(&records, &message, 16384);
	return parse_exactly(records.bytes, records.size, &hello) == QSB__PARSE_DONE;
}

static void test_parts(void)
{
	uint8_t session[33 + 7] = {32};

	memcpy(session + 33, "\0\2\x13\1\1\0", 6);
	tap_ok(takes_parts(session, 39), "a session of 32 bytes is taken");
	session[0] = 33;
	memcpy(session + 34, "\0\2\x13\1\1\0", 6);
	tap_ok(!takes_parts(session, 40), "one of 33 bytes is refused");
	tap_ok(takes_parts("\0\0\2\x13\1\1\0", 7), "a hello without session is taken");
	tap_ok(!takes_parts("\0\0\0\1\0", 5), "one without ciphers is refused");
	tap_ok(!takes_parts("\0\0\3\x13\1\x13\1\0", 8), "as is half a cipher");
	tap_ok(!takes_parts("\0\0\2\x13\1\0", 6), "one without a compression is refused");
	tap_ok(takes_parts("\0\0\2\x13\1\1\0\0\0", 9), "extensions may be none");
	tap_ok(!takes_parts("\0\0\2\x13\1\1\0\0", 8), "half their length is refused");
	tap_ok(!takes_parts("\0\0\2\x13\1\1\0\0\0x", 10), "a byte behind them is refused");
	tap_ok(!takes_parts("\0\0\2\x13\1\1\0\0\4\0\x17\0", 12), "extensions that are not whole are refused");
}

static void test_not_hellos(void)
{
	static const struct {
		const char *what;
		uint8_t bytes[10];
		size_t size;
	} bad[] = {
		{"a request of HTTP", {'G'}, 1},
		{"a hello of SSL 2", {0x80, 0x2E, 1, 3, 1}, 5},
		{"an alert", {21, 3, 1, 0, 2}, 5},
		{"application data", {23, 3, 3}, 3},
		{"version 2 in the record", {22, 2}, 2},
		{"version 3.5 in the record", {22, 3, 5}, 3},
		{"a record of no bytes", {22, 3, 1, 0, 0}, 5},
		{"a record of more than 16 KiB", {22, 3, 1, 0x40, 1}, 5},
		{"a ServerHello", {22, 3, 1, 0, 100, 2}, 6},
		{"a hello of more than 16 KiB", {22, 3, 1, 0x40, 0, 1, 0, 0x40, 2}, 9},
		{"a hello of 16 MiB", {22, 3, 1, 0x40, 0, 1, 0xFF, 0xFF, 0xFF}, 9},
	};
	static uint8_t many[QSB__TLS_HELLO_MAX];
	struct qsb__tls_hello hello;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(parse_exactly(bad[i].bytes, bad[i].size, &hello) == QSB__PARSE_BAD && hello.why,
		       "%s is refused (%s)", bad[i].what, hello.why ? hello.why : "no reason");
	/* One byte a record, and a hello that never ends. */
	for (size_t at = 0; at < sizeof(many); at++)
		many[at] = (uint8_t) "\x16\3\1\0\1"[at % 6];
	many[5] = 1;
	many[17] = 0x3F;
	tap_ok(parse_exactly(many, sizeof(many) - 1, &hello) == QSB__PARSE_MORE, "a hello below the limit may go on");
	tap_ok(parse_exactly(many, sizeof(many), &hello) == QSB__PARSE_BAD, "one that has reached it may not");
}

static void test_largest(void)
{
	static struct text extensions, message, records;
	static const uint8_t filler[16384];
	struct qsb__tls_hello hello;

	put_server_name(&extensions, "a.example", 9);
	make_message(&message, &extensions);
	put_extension(&extensions, 21, filler, 16384 - message.size - 4);
	make_message(&message, &extensions);
	make_records(&records, &message, 16384);
	tap_ok(records.size == QSB__TLS_HELLO_MAX &&
		       parse_exactly(records.bytes, records.size, &hello) == QSB__PARSE_DONE,
	       "a hello that fills one record is taken");
}

static void test_alert(void)
{
	uint8_t out[7];

	tap_ok(qsb__tls_alert_write(49, out, sizeof(out)) == 7 && memcmp(out, "\x15\3\3\0\2\2\x31", 7) == 0,
	       "an alert is fatal and says why");
	tap_ok(qsb__tls_alert_write(49, out, 6) == 0, "an alert needs its room");
}

static void test_record(void)
{
	static const struct {
		uint8_t bytes[2];
		size_t length;
		int wanted;
	} rows[] = {
		{{0}, 0, -1},    {{22}, 1, 1},    {{22, 9}, 2, 1}, {{21}, 1, -1}, {{21, 3}, 2, 1}, {{20, 3}, 2, 1},
		{{23, 3}, 2, 1}, {{24, 3}, 2, 1}, {{21, 0}, 2, 0}, {{19}, 1, 0},  {{25, 3}, 2, 0}, {{'G', 3}, 2, 0},
	};
	bool right = true;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		right &= qsb__tls_is_record(rows[i].bytes, rows[i].length) == rows[i].wanted;
	tap_ok(right, "a record of whatever kind is told to be one of TLS by its first two bytes");
}

int main(void)
{
	test_record();
	test_captured();
	test_records();
	test_names();
	test_extensions();
	test_lengths();
	test_parts();
	test_not_hellos();
	test_largest();
	test_alert();
	return tap_done();
}
