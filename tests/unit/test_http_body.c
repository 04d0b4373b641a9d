#include "broker/http_head.h"

#include <stdlib.h>

#include "tap.h"

/* Feeds the text in pieces; how many bytes of it are the body. */
static size_t feed(struct qsb__http_body *body, const char *text, size_t length, size_t piece)
{
	size_t taken = 0;

	while (taken < length && !body->done && !body->bad) {
		size_t left = length - taken, size = left < piece ? left : piece;
		char *copy = malloc(size);

		memcpy(copy, text + taken, size);
		size = qsb__http_body_take(body, copy, size);
		free(copy);
		taken += size;
		if (size == 0)
			break;
	}
	return taken;
}

static void test_counted(void)
{
	const struct qsb__http_head five = {.has_length = true, .length = 5}, none = {.chunked = false};
	const struct qsb__http_head zero = {.has_length = true}, endless = {.has_length = true, .length = UINT64_MAX};
	struct qsb__http_body body;

	qsb__http_body_init(&body, &none);
	tap_ok(body.done && qsb__http_body_take(&body, "GET", 3) == 0, "a request without body is over");
	qsb__http_body_init(&body, &zero);
	tap_ok(body.done && qsb__http_body_take(&body, "GET", 3) == 0, "as is one with a length of 0");
	for (size_t piece = 1; piece < 9; piece++) {
		qsb__http_body_init(&body, &five);
		tap_ok(feed(&body, "helloGET", 8, piece) == 5 && body.done && !body.bad,
		       "a body of 5 bytes ends there in pieces of %zu", piece);
	}
	qsb__http_body_init(&body, &five);
	tap_ok(feed(&body, "hell", 4, 4) == 4 && !body.done, "and not before");
	qsb__http_body_init(&body, &endless);
	tap_ok(feed(&body, "hell", 4, 4) == 4 && !body.done, "a huge length does not wrap");
}

static void test_chunks(void)
{
	static const struct {
		const char *what, *text;
	} good[] = {
		{"no chunks", "0\r\n\r\n"},
		{"one chunk", "5\r\nhello\r\n0\r\n\r\n"},
		{"two chunks", "5\r\nhello\r\n00A\r\n0123456789\r\n000\r\n\r\n"},
		{"small letters", "a\r\n0123456789\r\n0\r\n\r\n"},
		{"line ends in a chunk", "5\r\n\r\n0\r\n\r\n0\r\n\r\n"},
		{"an extension", "5;a=\"b\"\r\nhello\r\n0;c\r\n\r\n"},
		{"a trailer", "1\r\na\r\n0\r\nX-A: b\r\nC:\r\n\r\n"},
	};
	const struct qsb__http_head head = {.chunked = true};
	struct qsb__http_body body;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		size_t size = strlen(good[i].text);
		char text[100];
		bool same = true;

		snprintf(text, sizeof(text), "%sGET / HTTP/1.1", good[i].text);
		for (size_t piece = 1; piece <= strlen(text); piece++) {
			qsb__http_body_init(&body, &head);
			same &= feed(&body, text, strlen(text), piece) == size && body.done && !body.bad;
		}
		tap_ok(same, "%s end at their end, in pieces of any size", good[i].what);
		qsb__http_body_init(&body, &head);
		tap_ok(feed(&body, text, size - 1, size) == size - 1 && !body.done && !body.bad, "and not before");
	}
}

static void test_bad_chunks(void)
{
	static const struct {
		const char *what, *text;
		size_t good; /* bytes before the bad one */
	} bad[] = {
		{"no size", "\r\n", 0},
		{"an extension without a size", ";a\r\n", 0},
		{"no digits", "xyz\r\n", 0},
		{"a sign", "+5\r\n", 0},
		{"a minus", "-1\r\n", 0},
		{"0x", "0x5\r\n", 1},
		{"a blank before the size", " 5\r\n", 0},
		{"a blank behind the size", "5 \r\n", 1},
		{"17 digits", "00000000000000005\r\n", 16},
		{"a bare LF", "5\nhello\r\n", 1},
		{"a bare CR", "5\rhello\r\n", 2},
		{"a bare LF in an extension", "5;a\nb\r\n", 3},
		{"a control byte in an extension", "5;\x01\r\n", 2},
		{"a chunk that is longer than its size", "5\r\nhello0\r\n", 8},
		{"a chunk that ends with a bare LF", "5\r\nhello\n0\r\n", 8},
		{"a chunk that ends with a bare CR", "5\r\nhello\r0\r\n", 9},
		{"a last chunk that ends with a bare LF", "0\r\n\n", 3},
		{"a bare CR at the end", "0\r\n\rG", 4},
		{"a trailer with a bare LF", "0\r\nA: b\n\r\n", 7},
		{"a folded trailer", "0\r\n A: b\r\n\r\n", 3},
		{"a trailer without name", "0\r\n: b\r\n\r\n", 3},
		{"a trailer without colon", "0\r\nGET / HTTP/1.1\r\n\r\n", 6},
		{"a blank before a trailer's colon", "0\r\nA : b\r\n\r\n", 4},
	};
	const struct qsb__http_head head = {.chunked = true};
	struct qsb__http_body body;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t size = strlen(bad[i].text);
		bool same = true;

		for (size_t piece = 1; piece <= size; piece++) {
			qsb__http_body_init(&body, &head);
			same &= feed(&body, bad[i].text, size, piece) == bad[i].good && body.bad && !body.done;
		}
		tap_ok(same, "%s: bad where it stands, in pieces of any size", bad[i].what);
		tap_ok(qsb__http_body_take(&body, "0\r\n\r\n", 5) == 0 && body.bad, "and so it stays");
	}
}

static void test_limits(void)
{
	const struct qsb__http_head head = {.chunked = true};
	struct qsb__http_body body;
	char text[5000];

	memset(text, 'x', sizeof(text));
	memcpy(text, "1;", 2);
	memcpy(text + 4094, "\r\na\r\n0\r\n\r\n", 10);
	qsb__http_body_init(&body, &head);
	tap_ok(feed(&body, text, 4104, 4104) == 4104 && body.done, "a line of 4096 bytes is taken");
	text[4094] = 'x';
	memcpy(text + 4095, "\r\na\r\n0\r\n\r\n", 10);
	qsb__http_body_init(&body, &head);
	tap_ok(feed(&body, text, 4105, 4105) == 4096 && body.bad, "a longer one is refused");
	memset(text, 'x', sizeof(text));
	memcpy(text, "0\r\nX:", 5);
	qsb__http_body_init(&body, &head);
	tap_ok(feed(&body, text, sizeof(text), 7) == 4099 && body.bad, "as is a longer trailer");
	qsb__http_body_init(&body, &head);
	tap_ok(feed(&body, "FFFFFFFFFFFFFFFF\r\nabc", 21, 21) == 21 && !body.bad && !body.done,
	       "the largest size does not wrap");
}

int main(void)
{
	test_counted();
	test_chunks();
	test_bad_chunks();
	test_limits();
	return tap_done();
}
