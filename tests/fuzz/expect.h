/* What every fuzzer of the broker's parsers holds them to. */
#ifndef QSB_TESTS_EXPECT_H
#define QSB_TESTS_EXPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "broker/host_name.h"
#include "broker/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

/* A host in its one spelling: nothing to be read in two ways, and the same when it is read again. */
__attribute__((unused)) static void expect_host(const char *host)
{
	char again[QSB__HOST_MAX];

	expect(strlen(host) > 0 && strlen(host) <= 253);
	expect(strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.:") == strlen(host));
	expect(qsb__host_name_canonical(host, strlen(host), again) && strcmp(host, again) == 0);
}

/* Parses the first `length` bytes, in a block of exactly that size; *size is what was read of them when DONE. */
typedef enum qsb__parse parse_prefix(const uint8_t *data, size_t length, size_t *size);

/* More bytes never take back a verdict, and one that needs them all is not given before they are there. */
__attribute__((unused)) static void expect_steady(parse_prefix *parse, const uint8_t *data, size_t length)
{
	size_t size, whole_size, step = length / 96 + 1;
	enum qsb__parse whole = parse(data, length, &whole_size), verdict;

	expect(whole != QSB__PARSE_DONE || (whole_size > 0 && whole_size <= length));
	for (size_t at = 0; at < length; at += step) {
		verdict = parse(data, at, &size);
		if (verdict == QSB__PARSE_MORE)
			expect(whole != QSB__PARSE_DONE || at < whole_size);
		else
			expect(verdict == whole);
		if (verdict == QSB__PARSE_DONE)
			expect(size == whole_size && at >= size);
	}
	if (whole == QSB__PARSE_DONE) {
		expect(parse(data, whole_size, &size) == QSB__PARSE_DONE && size == whole_size);
		expect(parse(data, whole_size - 1, &size) == QSB__PARSE_MORE);
	}
}

/* A copy without a byte to spare, so that a read past the end is seen. Freed by the caller. */
__attribute__((unused)) static uint8_t *exact_copy(const uint8_t *data, size_t length)
{
	uint8_t *copy = malloc(length ? length : 1);

	expect(copy != NULL);
	if (length)
		memcpy(copy, data, length);
	return copy;
}

#endif
