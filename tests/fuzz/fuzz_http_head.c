/*
 * A connection's first bytes as an HTTP request, as an authority, as a body and as a server's answer. What is taken
 * means the same after we wrote it anew, and nothing in it can be taken for a second host or another body.
 */
#include "broker/http_head.h"

#include <stdio.h>

#include "broker/http_line.h"

#include "expect.h"

static const char secret[] = "Basic dXNlcjpwYXNz";

static enum qsb__parse parse_head(const uint8_t *data, size_t length, size_t *size)
{
	uint8_t *copy = exact_copy(data, length);
	struct qsb__http_head head;
	enum qsb__parse verdict = qsb__http_head_parse((const char *)copy, length, &head);

	*size = head.size;
	expect((verdict == QSB__PARSE_BAD) == (head.why != NULL));
	expect((verdict == QSB__PARSE_BAD) == (head.status != 0));
	if (verdict == QSB__PARSE_DONE)
		expect(qsb__http_is_request((const char *)copy, length) == 1);
	free(copy);
	return verdict;
}

static enum qsb__parse parse_status(const uint8_t *data, size_t length, size_t *size)
{
	uint8_t *copy = exact_copy(data, length);
	unsigned status;
	enum qsb__parse verdict = qsb__http_status_parse((const char *)copy, length, &status, size);

	expect(verdict != QSB__PARSE_DONE || (status >= 100 && status <= 999));
	free(copy);
	return verdict;
}

static enum qsb__parse parse_kind(const uint8_t *data, size_t length, size_t *size)
{
	uint8_t *copy = exact_copy(data, length);
	int is = qsb__http_is_request((const char *)copy, length);

	free(copy);
	*size = length;
	return is < 0 ? QSB__PARSE_MORE : is ? QSB__PARSE_DONE : QSB__PARSE_BAD;
}

/* As expect_steady, for verdicts that do not tell what they needed. */
static void expect_kept(parse_prefix *parse, const uint8_t *data, size_t length)
{
	size_t size, step = length / 96 + 1;
	enum qsb__parse before = QSB__PARSE_MORE, verdict;

	for (size_t at = 0; at <= length; at += step) {
		verdict = parse(data, at, &size);
		expect(before == QSB__PARSE_MORE || verdict == before);
		before = verdict;
	}
}

/* How many headers of the head begin with this, which is in lower case. */
static int count_fields(const char *bytes, size_t size, const char *start)
{
	struct qsb__http_text rest = {bytes, size}, line;
	const char *why;
	int count = 0;

	/* The request line first: its method may look like a header's name. */
	qsb__http_line_cut(&rest, &line, &why);
	while (qsb__http_line_cut(&rest, &line, &why) == QSB__PARSE_DONE)
		count += qsb__http_begins(line, start);
	return count;
}

static void expect_no_hop(const char *bytes, size_t size, const struct qsb__http_head *head)
{
	expect(count_fields(bytes, size, "host:") <= 1);
	expect(count_fields(bytes, size, "connection:") == 1);
	expect(count_fields(bytes, size, "te:") == 0);
	expect(count_fields(bytes, size, "keep-alive:") == 0);
	expect(head->upgrade || count_fields(bytes, size, "upgrade:") == 0);
}

static void expect_same(const char *bytes, const struct qsb__http_head *head, bool absolute)
{
	const struct qsb__http_onward onward = {.host = head->host, .port = head->port, .authorization = secret};
	size_t room = 2 * head->size + 1024, size;
	char *out = malloc(room), *tight;
	struct qsb__http_head again;

	expect(out != NULL);
	size = qsb__http_head_write(bytes, head, absolute ? &onward : NULL, out, room);
	expect(size > 0);
	tight = malloc(size);
	expect(tight != NULL);
	expect(qsb__http_head_write(bytes, head, absolute ? &onward : NULL, tight, size) == size);
	expect(qsb__http_head_write(bytes, head, absolute ? &onward : NULL, tight, size - 1) == 0);
	if (size < QSB__HTTP_HEAD_MAX) {
		expect(qsb__http_head_parse(out, size, &again) == QSB__PARSE_DONE && again.size == size);
		expect(strcmp(again.host, head->host) == 0 && again.minor == head->minor);
		expect((again.port ? again.port : 80) == (head->port ? head->port : 80));
		expect(again.chunked == head->chunked && again.has_length == head->has_length);
		expect(again.length == head->length && again.upgrade == head->upgrade);
		expect((again.form == QSB__HTTP_ABSOLUTE) == absolute);
		expect(count_fields(out, size, "proxy-") == absolute);
		expect_no_hop(out, size, head);
	}
	free(tight);
	free(out);
}

static void try_head(const uint8_t *data, size_t size)
{
	struct qsb__http_head head;

	expect_steady(parse_head, data, size);
	if (qsb__http_head_parse((const char *)data, size, &head) != QSB__PARSE_DONE)
		return;
	expect(head.host[0] || head.minor == 0);
	if (head.host[0])
		expect_host(head.host);
	expect(head.target_at + head.target_size < head.size && !(head.chunked && head.has_length));
	if (head.form == QSB__HTTP_AUTHORITY) {
		char out[64];

		expect(head.port > 0 && !head.chunked && head.length == 0);
		expect(qsb__http_head_write((const char *)data, &head, NULL, out, sizeof(out)) == 0);
		return;
	}
	expect_same((const char *)data, &head, false);
	if (head.host[0])
		expect_same((const char *)data, &head, true);
}

static void try_authority(const uint8_t *data, size_t size)
{
	char host[QSB__HOST_MAX], again[QSB__HOST_MAX], text[QSB__HOST_MAX + 16];
	unsigned port, port_again;

	if (!qsb__http_authority_parse((const char *)data, size, host, &port)) {
		expect(host[0] == '\0' && port == 0);
		return;
	}
	expect_host(host);
	expect(port <= 65535);
	snprintf(text, sizeof(text), port ? "%s%s%s:%u" : "%s%s%s", strchr(host, ':') ? "[" : "", host,
		 strchr(host, ':') ? "]" : "", port);
	expect(qsb__http_authority_parse(text, strlen(text), again, &port_again));
	expect(strcmp(host, again) == 0 && port == port_again);
}

/* A body ends at the same byte however it arrives. */
static void try_body(const uint8_t *data, size_t size, const struct qsb__http_head *head)
{
	struct qsb__http_body whole, pieces;
	size_t taken, at = 0;

	qsb__http_body_init(&whole, head);
	qsb__http_body_init(&pieces, head);
	taken = qsb__http_body_take(&whole, (const char *)data, size);
	expect(taken <= size && (whole.done || whole.bad || taken == size) && !(whole.done && whole.bad));
	while (at < size && !pieces.done && !pieces.bad)
		at += qsb__http_body_take(&pieces, (const char *)data + at, 1);
	expect(at == taken && pieces.done == whole.done && pieces.bad == whole.bad);
	expect(qsb__http_body_take(&pieces, (const char *)data, whole.done || whole.bad ? size : 0) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct qsb__http_head chunked = {.chunked = true};
	const struct qsb__http_head counted = {.has_length = true, .length = size / 2};

	try_head(data, size);
	expect_kept(parse_kind, data, size);
	expect_steady(parse_status, data, size);
	try_authority(data, size);
	try_body(data, size, &chunked);
	try_body(data, size, &counted);
	return 0;
}
