/* One DNS message: what is taken is answered by a message that a reader of its own finds well formed. */
#include "broker/dns_message.h"

#include <stdio.h>

#include "expect.h"

struct found {
	unsigned answers, options;
	size_t data_size; /* of the last answer */
};

static unsigned read16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* The size of a name: labels, or one pointer to the question. */
static size_t name_size(const uint8_t *bytes, size_t length, size_t at)
{
	size_t start = at;

	expect(at < length);
	if (bytes[at] == 0xC0) {
		expect(at + 1 < length && bytes[at + 1] == QSB__DNS_HEADER);
		return 2;
	}
	while (bytes[at] != 0) {
		expect(bytes[at] < 64);
		at += 1U + bytes[at];
		expect(at < length);
	}
	return at + 1 - start;
}

static size_t read_record(const uint8_t *bytes, size_t length, size_t at, struct found *found)
{
	size_t name = name_size(bytes, length, at), size;
	const uint8_t *fixed = bytes + at + name;

	expect(at + name + 10 <= length);
	size = read16(fixed + 8);
	expect(at + name + 10 + size <= length);
	if (read16(fixed) == 41) {
		found->options++;
		expect(name == 1 && (size == 0 || (size >= 6 && read16(fixed + 10) == 15 &&
						   read16(fixed + 12) == size - 4 && read16(fixed + 14) == 15)));
	} else {
		found->answers++;
		found->data_size = size;
		if (read16(fixed) == QSB__DNS_PTR)
			expect(name_size(bytes, length, at + name + 10) == size);
	}
	return at + name + 10 + size;
}

/* Reads our answer; it must end where its last record does. */
static void expect_well_formed(const uint8_t *bytes, size_t length, const struct qsb__dns_query *query,
			       struct found *found)
{
	unsigned records = read16(bytes + 6) + read16(bytes + 8) + read16(bytes + 10);
	size_t at = query->question_size;

	memset(found, 0, sizeof(*found));
	expect(length >= at && bytes[2] & 0x80 && read16(bytes + 4) == 1);
	expect(QSB__DNS_HEADER + name_size(bytes, length, QSB__DNS_HEADER) + 4 == at);
	while (records-- > 0)
		at = read_record(bytes, length, at, found);
	expect(at == length && found->answers == read16(bytes + 6) && found->options == read16(bytes + 10));
}

static void try_answer(const uint8_t *message, const struct qsb__dns_query *query, const struct qsb__dns_answer *answer,
		       size_t size)
{
	uint8_t *out = malloc(size ? size : 1);
	size_t written;
	struct found found;

	expect(out != NULL);
	written = qsb__dns_answer_write(message, query, answer, out, size);
	expect(written <= size && (written > 0 || size < query->question_size));
	if (written > 0) {
		expect_well_formed(out, written, query, &found);
		expect(memcmp(out, message, 2) == 0 && (out[3] & 15) == answer->code);
		expect(memcmp(out + QSB__DNS_HEADER, message + QSB__DNS_HEADER,
			      query->question_size - QSB__DNS_HEADER) == 0);
		expect(size < QSB__DNS_PLAIN_MAX || (found.options == 1) == query->edns);
		expect(!(out[2] & 2) || found.answers == 0);
		if (answer->code != QSB__DNS_OK)
			expect(found.answers == 0);
		else if (size == QSB__DNS_ANSWER_MAX && query->class == QSB__DNS_IN && query->type == QSB__DNS_A)
			expect(found.answers == answer->has_address && (!found.answers || found.data_size == 4));
	}
	free(out);
}

static void try_answers(const uint8_t *message, const struct qsb__dns_query *query)
{
	const struct qsb__dns_answer answers[] = {
		{.code = QSB__DNS_OK, .has_address = true, .address = {198, 18, 0, 5}, .ttl = 60},
		{.code = QSB__DNS_OK, .pointer = "www.example.com", .ttl = 60},
		{.code = QSB__DNS_OK, .pointer = query->name},
		{.code = QSB__DNS_OK, .pointer = "a..b"},
		{.code = QSB__DNS_OK},
		{.code = QSB__DNS_NO_NAME, .why = "no rule allows it"},
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		for (size_t size = 0; size < 160; size += 7)
			try_answer(message, query, &answers[i], query->question_size + size - 14);
		try_answer(message, query, &answers[i], query->answer_max);
		try_answer(message, query, &answers[i], QSB__DNS_ANSWER_MAX);
	}
}

static void try_reverse(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	uint8_t bytes[16];
	int family = 0;

	expect(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (qsb__dns_reverse_name(text, &family, bytes)) {
		char again[32];

		expect(family == 4 || family == 6);
		snprintf(again, sizeof(again), "%u.%u.%u.%u.in-addr.arpa", bytes[3], bytes[2], bytes[1], bytes[0]);
		expect(family == 6 ? strlen(text) == 72 : strcmp(text, again) == 0);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = exact_copy(data, size), error[QSB__DNS_HEADER];
	struct qsb__dns_query query;
	int code = qsb__dns_query_parse(copy, size, &query);

	expect(code == -1 || (code >= 0 && code <= QSB__DNS_REFUSED));
	if (code == QSB__DNS_OK) {
		if (query.name[0])
			expect_host(query.name);
		expect(query.question_size <= size && query.answer_max >= QSB__DNS_PLAIN_MAX &&
		       query.answer_max <= QSB__DNS_ANSWER_MAX);
		try_answers(copy, &query);
	} else if (code > 0) {
		expect(query.name[0] == '\0');
		expect(qsb__dns_error_write(copy, code, error, sizeof(error)) == sizeof(error));
		expect(memcmp(error, copy, 2) == 0 && error[2] & 0x80 && (error[3] & 15) == code);
		expect(qsb__dns_error_write(copy, code, error, sizeof(error) - 1) == 0);
	}
	free(copy);
	try_reverse(data, size);
	return 0;
}
