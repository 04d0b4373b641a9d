#include "broker/dns_message.h"

#include <stdlib.h>

#include "tap.h"

struct message {
	uint8_t bytes[2000];
	size_t size;
};

static const uint8_t opt[] = {0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0}; /* EDNS, 4096 bytes */

static void put(struct message *message, const void *bytes, size_t size)
{
	memcpy(message->bytes + message->size, bytes, size);
	message->size += size;
}

static void put_name(struct message *message, const char *name)
{
	while (*name) {
		size_t label = strcspn(name, ".");

		message->bytes[message->size++] = (uint8_t)label;
		put(message, name, label);
		name += label + (name[label] == '.');
	}
	message->bytes[message->size++] = 0;
}

static void make_query(struct message *message, const char *name, unsigned type)
{
	const uint8_t end[] = {0, (uint8_t)type, 0, QSB__DNS_IN};

	message->size = 0;
	put(message, "\x12\x34\1\0\0\1\0\0\0\0\0\0", QSB__DNS_HEADER);
	put_name(message, name);
	put(message, end, sizeof(end));
}

static void add_record(struct message *message, const void *bytes, size_t size)
{
	put(message, bytes, size);
	message->bytes[11]++;
}

static int parse(const struct message *message, struct qsb__dns_query *out)
{
	uint8_t *copy = malloc(message->size ? message->size : 1);
	int code;

	memcpy(copy, message->bytes, message->size);
	code = qsb__dns_query_parse(copy, message->size, out);
	free(copy);
	return code;
}

static void test_questions(void)
{
	static const struct {
		const char *name, *wanted;
		unsigned type;
	} rows[] = {
		{"www.example.com", "www.example.com", QSB__DNS_A},
		{"WWW.exAMPle.com", "www.example.com", QSB__DNS_AAAA},
		{"_sip._tcp.example.com", "_sip._tcp.example.com", 33},
		{"5.0.18.198.in-addr.arpa", "5.0.18.198.in-addr.arpa", QSB__DNS_PTR},
		{"localhost", "localhost", QSB__DNS_A},
		{"", "", 2},
	};
	struct qsb__dns_query query;
	struct message message;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_query(&message, rows[i].name, rows[i].type);
		tap_ok(parse(&message, &query) == QSB__DNS_OK && strcmp(query.name, rows[i].wanted) == 0 &&
			       query.type == rows[i].type && query.class == QSB__DNS_IN,
		       "a question for \"%s\" is read", rows[i].name);
		tap_ok(query.question_size == message.size && query.answer_max == QSB__DNS_PLAIN_MAX && !query.edns,
		       "and needs a plain answer");
	}
}

static void test_cut(void)
{
	struct qsb__dns_query query;
	struct message message;
	size_t whole;

	make_query(&message, "www.example.com", QSB__DNS_A);
	add_record(&message, opt, sizeof(opt));
	whole = message.size;
	for (message.size = 0; message.size < whole; message.size++)
		tap_ok(parse(&message, &query) == (message.size < QSB__DNS_HEADER ? -1 : QSB__DNS_FORMAT_ERROR) &&
			       query.name[0] == '\0',
		       "the first %zu bytes of a message are none", message.size);
	tap_ok(parse(&message, &query) == QSB__DNS_OK, "all of them are one");
	put(&message, "", 1);
	tap_ok(parse(&message, &query) == QSB__DNS_FORMAT_ERROR, "one byte more is too many");
}

static void test_headers(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t value;
		int code;
	} rows[] = {
		{"an answer gets no answer", 2, 0x81, -1},
		{"an inverse query is not implemented", 2, 0x08, QSB__DNS_NOT_IMPLEMENTED},
		{"a notification is not implemented", 2, 0x20, QSB__DNS_NOT_IMPLEMENTED},
		{"an update is not implemented", 2, 0x28, QSB__DNS_NOT_IMPLEMENTED},
		{"a truncated query is refused", 2, 0x03, QSB__DNS_FORMAT_ERROR},
		{"no question is refused", 5, 0, QSB__DNS_FORMAT_ERROR},
		{"two questions are refused", 5, 2, QSB__DNS_FORMAT_ERROR},
		{"257 questions are refused", 4, 1, QSB__DNS_FORMAT_ERROR},
		{"a query with an answer is refused", 7, 1, QSB__DNS_FORMAT_ERROR},
		{"a query with an authority is refused", 9, 1, QSB__DNS_FORMAT_ERROR},
		{"an additional record that is not there is refused", 11, 1, QSB__DNS_FORMAT_ERROR},
		{"65,280 that are not there are refused", 10, 255, QSB__DNS_FORMAT_ERROR},
		{"other flags change nothing", 3, 0x30, QSB__DNS_OK},
	};
	struct qsb__dns_query query;
	struct message message;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_query(&message, "a.example", QSB__DNS_A);
		message.bytes[rows[i].at] = rows[i].value;
		tap_is_number(parse(&message, &query), rows[i].code, rows[i].what);
	}
}

/* The code for a question whose name stands there as it is on the wire. */
static int parse_name(const void *wire, size_t size)
{
	struct qsb__dns_query query;
	struct message message;
	int code;

	make_query(&message, "", QSB__DNS_A);
	message.size = QSB__DNS_HEADER;
	put(&message, wire, size);
	put(&message, "\0\1\0\1", 4);
	code = parse(&message, &query);
	return code && query.name[0] ? -2 : code;
}

static void test_names(void)
{
	static const struct {
		const char *what, *wire;
		size_t size;
		int code;
	} rows[] = {
		{"a pointer to itself", "\xC0\x0C", 2, QSB__DNS_FORMAT_ERROR},
		{"a pointer behind a label", "\3www\xC0\x0C", 6, QSB__DNS_FORMAT_ERROR},
		{"a label of 64 bytes", "\x40", 1, QSB__DNS_FORMAT_ERROR},
		{"an extended label", "\x41\1", 2, QSB__DNS_FORMAT_ERROR},
		{"a name without end", "\3www", 4, QSB__DNS_FORMAT_ERROR},
		{"a NUL in a label", "\5a\0com\0", 7, QSB__DNS_REFUSED},
		{"a dot in a label", "\5a.com\0", 7, QSB__DNS_REFUSED},
		{"a percent sign", "\5a%com\0", 7, QSB__DNS_REFUSED},
		{"a star", "\1*\3com\0", 7, QSB__DNS_REFUSED},
		{"a blank", "\5a com\0", 7, QSB__DNS_REFUSED},
		{"bytes beyond ASCII",
		 "\5a\xC3\xBC"
		 "om\0",
		 7, QSB__DNS_REFUSED},
		{"an address",
		 "\3"
		 "127\1"
		 "0\1"
		 "0\1"
		 "1\0",
		 11, QSB__DNS_REFUSED},
		{"an address in a loose form",
		 "\4"
		 "0x7f\1"
		 "1\0",
		 8, QSB__DNS_REFUSED},
		{"a name that ends in a number",
		 "\1a\3"
		 "123\0",
		 7, QSB__DNS_REFUSED},
		{"a name with a number in front",
		 "\3"
		 "123\1a\0",
		 7, QSB__DNS_OK},
	};
	uint8_t longest[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_is_number(parse_name(rows[i].wire, rows[i].size), rows[i].code, rows[i].what);
	memset(longest, 'a', sizeof(longest));
	longest[0] = longest[64] = longest[128] = 63;
	longest[192] = 61;
	longest[254] = 0;
	tap_is_number(parse_name(longest, 255), QSB__DNS_OK, "a name of 253 bytes is one");
	longest[192] = 62;
	longest[254] = 'a';
	longest[255] = 0;
	tap_is_number(parse_name(longest, 256), QSB__DNS_FORMAT_ERROR, "a name of 254 bytes is none");
}

static void test_edns(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t value;
		int code;
		size_t answer_max;
	} rows[] = {
		{"a client that takes 4,096 bytes gets ours", 3, 0x10, QSB__DNS_OK, QSB__DNS_ANSWER_MAX},
		{"one that takes 1,024 gets them", 3, 0x04, QSB__DNS_OK, 1024},
		{"one that takes 0 gets 512", 3, 0, QSB__DNS_OK, QSB__DNS_PLAIN_MAX},
		{"flags are no matter", 7, 0x80, QSB__DNS_OK, QSB__DNS_ANSWER_MAX},
		{"another version is refused", 6, 1, QSB__DNS_FORMAT_ERROR, 0},
		{"options that are not there are refused", 10, 1, QSB__DNS_FORMAT_ERROR, 0},
	};
	struct qsb__dns_query query;
	struct message message;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int code;

		make_query(&message, "a.example", QSB__DNS_A);
		add_record(&message, opt, sizeof(opt));
		message.bytes[message.size - sizeof(opt) + rows[i].at] = rows[i].value;
		code = parse(&message, &query);
		tap_ok(code == rows[i].code && (code || (query.edns && query.answer_max == rows[i].answer_max)), "%s",
		       rows[i].what);
	}
	make_query(&message, "a.example", QSB__DNS_A);
	add_record(&message, "\xC0\x0C\0\xFA\0\xFF\0\0\0\0\0\3abc", 15);
	add_record(&message, opt, sizeof(opt));
	tap_ok(parse(&message, &query) == QSB__DNS_OK && query.edns, "the OPT record may stand behind another");
	add_record(&message, opt, sizeof(opt));
	tap_is_number(parse(&message, &query), QSB__DNS_FORMAT_ERROR, "two OPT records are refused");
	make_query(&message, "a.example", QSB__DNS_A);
	add_record(&message, "\1a\0\0\x29\x10\0\0\0\0\0\0\0", 13);
	tap_is_number(parse(&message, &query), QSB__DNS_FORMAT_ERROR, "an OPT record of a name is refused");
	make_query(&message, "a.example", QSB__DNS_A);
	add_record(&message, "\xC0", 1);
	tap_is_number(parse(&message, &query), QSB__DNS_FORMAT_ERROR, "half a pointer is refused");
}

/* The answer that is expected, as it stands behind the question. */
static void expect_answer(const char *what, const struct message *message, const struct qsb__dns_answer *answer,
			  const void *wanted, size_t wanted_size)
{
	struct qsb__dns_query query;
	uint8_t out[QSB__DNS_ANSWER_MAX];
	size_t size;

	parse(message, &query);
	size = qsb__dns_answer_write(message->bytes, &query, answer, out, sizeof(out));
	tap_ok(size == query.question_size + wanted_size && memcmp(out + query.question_size, wanted, wanted_size) == 0,
	       "%s", what);
	tap_ok(memcmp(out, message->bytes, 2) == 0 && out[2] == 0x81 && out[3] == (0x80 | answer->code) &&
		       memcmp(out + 12, message->bytes + 12, query.question_size - 12) == 0,
	       "with the id, the question and the code");
	tap_ok(out[5] == 1 && out[9] == 0 && out[11] == query.edns, "and the right counts");
}

static void test_answers(void)
{
	struct qsb__dns_answer answer = {.has_address = true, .address = {198, 18, 0, 5}, .ttl = 0x01020304};
	struct message message;

	make_query(&message, "www.example.com", QSB__DNS_A);
	expect_answer("an address is the answer to A", &message, &answer, "\xC0\x0C\0\1\0\1\1\2\3\4\0\4\xC6\x12\0\5",
		      16);
	make_query(&message, "www.example.com", QSB__DNS_AAAA);
	expect_answer("sixteen bytes are the answer to AAAA", &message, &answer,
		      "\xC0\x0C\0\x1C\0\1\1\2\3\4\0\x10\xC6\x12\0\5\0\0\0\0\0\0\0\0\0\0\0\0", 28);
	make_query(&message, "www.example.com", 16);
	expect_answer("another type has no answer", &message, &answer, "", 0);
	make_query(&message, "www.example.com", QSB__DNS_A);
	message.bytes[message.size - 1] = 3;
	expect_answer("nor has another class", &message, &answer, "", 0);
	answer.code = QSB__DNS_NO_NAME;
	make_query(&message, "www.example.com", QSB__DNS_A);
	expect_answer("a name that is none has no address", &message, &answer, "", 0);
	add_record(&message, opt, sizeof(opt));
	expect_answer("EDNS is answered with EDNS", &message, &answer, "\0\0\x29\4\xD0\0\0\0\0\0\0", 11);
	answer.why = "no rule";
	expect_answer("and a refusal in words", &message, &answer,
		      "\0\0\x29\4\xD0\0\0\0\0\0\x0D\0\x0F\0\x09\0\x0Fno rule", 24);
	make_query(&message, "www.example.com", QSB__DNS_A);
	expect_answer("which a client without EDNS does not get", &message, &answer, "", 0);
	answer = (struct qsb__dns_answer){.pointer = "a.example", .ttl = 1};
	make_query(&message, "5.0.18.198.in-addr.arpa", QSB__DNS_PTR);
	expect_answer("a name is the answer to PTR", &message, &answer,
		      "\xC0\x0C\0\x0C\0\1\0\0\0\1\0\x0B\1a\7example\0", 23);
	answer.pointer = "a..example";
	expect_answer("a name that cannot be written is none", &message, &answer, "", 0);
}

static void test_room(void)
{
	struct qsb__dns_answer answer = {.has_address = true, .why = "no rule"};
	struct qsb__dns_query query;
	struct message message;
	uint8_t out[QSB__DNS_ANSWER_MAX];
	size_t question, bare;

	make_query(&message, "www.example.com", QSB__DNS_A);
	add_record(&message, opt, sizeof(opt));
	parse(&message, &query);
	question = query.question_size;
	bare = question + 16 + 11; /* with a record and an empty OPT record */
	tap_is_number((long long)qsb__dns_answer_write(message.bytes, &query, &answer, out, bare + 13),
		      (long long)bare + 13, "an answer may fill its room");
	tap_ok(qsb__dns_answer_write(message.bytes, &query, &answer, out, bare + 12) == bare && !(out[2] & 2),
	       "the words are left out first");
	tap_ok(qsb__dns_answer_write(message.bytes, &query, &answer, out, bare - 1) == question + 11 && out[2] & 2 &&
		       out[7] == 0 && out[11] == 1,
	       "a record without room makes a truncated answer");
	tap_ok(qsb__dns_answer_write(message.bytes, &query, &answer, out, question) == question && out[2] & 2 &&
		       out[11] == 0,
	       "which may be the question alone");
	tap_is_number((long long)qsb__dns_answer_write(message.bytes, &query, &answer, out, question - 1), 0,
		      "less than the question is no room");
	tap_ok(qsb__dns_error_write(message.bytes, QSB__DNS_FORMAT_ERROR, out, 12) == 12 &&
		       memcmp(out, "\x12\x34\x81\x81\0\0\0\0\0\0\0\0", 12) == 0,
	       "an error is a header with the id");
	tap_is_number((long long)qsb__dns_error_write(message.bytes, QSB__DNS_FORMAT_ERROR, out, 11), 0,
		      "and needs the room of one");
}

static void test_long_reason(void)
{
	struct qsb__dns_answer answer = {.code = QSB__DNS_NO_NAME};
	struct qsb__dns_query query;
	struct message message;
	uint8_t out[QSB__DNS_ANSWER_MAX];
	char why[400];
	size_t size;

	make_query(&message, "a.example", QSB__DNS_A);
	add_record(&message, opt, sizeof(opt));
	parse(&message, &query);
	for (size_t i = 0; i + 2 < sizeof(why); i += 2)
		memcpy(why + i, "\xC3\xBC", 3);
	answer.why = why;
	size = qsb__dns_answer_write(message.bytes, &query, &answer, out, sizeof(out));
	tap_ok(size == query.question_size + 11 + 6 + 254 && out[size - 1] == 0xBC,
	       "a long reason is cut at a whole character");
}

static void test_reverse(void)
{
	static const char six[] = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa";
	static const char *const bad[] = {
		"",
		"in-addr.arpa",
		".in-addr.arpa",
		"18.198.in-addr.arpa",
		"0.18.198.in-addr.arpa",
		"1.5.0.18.198.in-addr.arpa",
		"05.0.18.198.in-addr.arpa",
		"256.0.18.198.in-addr.arpa",
		"5..18.198.in-addr.arpa",
		"5.0.18.198.in-addr.arpa.evil",
		"5.0.18.198.xin-addr.arpa",
		"a.0.18.198.in-addr.arpa",
		"ip6.arpa",
		"1.0.ip6.arpa",
		"10.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
		"g.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
		"1.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
	};
	uint8_t bytes[16];
	int family = 0;

	tap_ok(qsb__dns_reverse_name("5.0.18.198.in-addr.arpa", &family, bytes) && family == 4 &&
		       memcmp(bytes, "\xC6\x12\0\5", 4) == 0,
	       "a reverse name is an IPv4 address");
	tap_ok(qsb__dns_reverse_name(six, &family, bytes) && family == 6 &&
		       memcmp(bytes, "\x20\1\x0D\xB8\0\0\0\0\0\0\0\0\0\0\0\1", 16) == 0,
	       "or an IPv6 address");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(!qsb__dns_reverse_name(bad[i], &family, bytes), "\"%s\" is none", bad[i]);
}

int main(void)
{
	test_questions();
	test_cut();
	test_headers();
	test_names();
	test_edns();
	test_answers();
	test_room();
	test_long_reason();
	test_reverse();
	return tap_done();
}
