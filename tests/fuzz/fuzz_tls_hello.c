/* The first bytes of a TLS client: the name in them does not depend on how they are cut into records. */
#include "broker/tls_hello.h"

#include "core/address.h"

#include "expect.h"

static char name[QSB__HOST_MAX]; /* of the last hello that was whole */

static enum qsb__parse parse_hello(const uint8_t *data, size_t length, size_t *size)
{
	uint8_t *copy = exact_copy(data, length);
	struct qsb__tls_hello hello;
	enum qsb__parse verdict = qsb__tls_hello_parse(copy, length, &hello);
	struct qsb__address address;

	free(copy);
	*size = length;
	expect((verdict == QSB__PARSE_BAD) == (hello.why != NULL));
	expect(verdict == QSB__PARSE_DONE || hello.name[0] == '\0');
	if (verdict == QSB__PARSE_DONE && hello.name[0]) {
		expect_host(hello.name);
		expect(!qsb__address_parse(hello.name, strlen(hello.name), &address));
	}
	memcpy(name, hello.name, sizeof(name));
	return verdict;
}

/* The bytes that the verdict needs: a hello does not say its size. */
static size_t needed(const uint8_t *data, size_t length)
{
	size_t low = 0, high = length, size;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (parse_hello(data, middle, &size) == QSB__PARSE_MORE)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The same message in records of `most` bytes. */
static size_t cut(const uint8_t *data, size_t length, size_t most, uint8_t *out)
{
	size_t used = 0, in_record = 0;
	uint8_t *header = NULL;

	for (size_t at = 0; at < length;) {
		size_t size = (size_t)data[at + 3] << 8 | data[at + 4];

		at += 5;
		for (size_t i = 0; i < size; i++, at++) {
			if (!header || in_record == most) {
				header = out + used;
				memcpy(header, data, 3);
				used += 5;
				in_record = 0;
			}
			out[used++] = data[at];
			in_record++;
			header[3] = (uint8_t)(in_record >> 8);
			header[4] = (uint8_t)in_record;
		}
	}
	return used;
}

static void expect_same_in_pieces(const uint8_t *data, size_t length, size_t most)
{
	uint8_t *pieces = malloc(6 * length + 5);
	char wanted[QSB__HOST_MAX];
	size_t size, used;

	expect(pieces != NULL);
	memcpy(wanted, name, sizeof(wanted));
	used = cut(data, length, most, pieces);
	if (used <= QSB__TLS_HELLO_MAX)
		expect(parse_hello(pieces, used, &size) == QSB__PARSE_DONE && strcmp(name, wanted) == 0);
	free(pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t length = needed(data, size), ignored;
	enum qsb__parse verdict = parse_hello(data, size, &ignored);
	uint8_t alert[7];

	for (size_t at = 0; at < size; at += size / 64 + 1)
		expect(parse_hello(data, at, &ignored) == (at < length ? QSB__PARSE_MORE : verdict));
	if (verdict == QSB__PARSE_DONE) {
		expect(parse_hello(data, length, &ignored) == QSB__PARSE_DONE);
		expect_same_in_pieces(data, length, 1);
		parse_hello(data, length, &ignored);
		expect_same_in_pieces(data, length, 100);
	}
	expect(qsb__tls_alert_write(49, alert, size % 8) == (size % 8 == sizeof(alert) ? sizeof(alert) : 0));
	return 0;
}
