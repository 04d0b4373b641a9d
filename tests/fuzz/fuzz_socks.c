/* The first bytes of a SOCKS client, read as each of its messages. */
#include "broker/socks.h"

#include "expect.h"

typedef enum qsb__parse parse_message(const uint8_t *bytes, size_t length, struct qsb__socks_request *out);

static void expect_reply(const struct qsb__socks_request *request, int reply)
{
	uint8_t out[10];
	size_t size = qsb__socks_reply_write(request, reply, out);

	expect(request->version == 4
		       ? size == 8 && out[0] == 0 && (out[1] == 90) == (reply == QSB__SOCKS_OK)
		       : (size == 10 || size == 2) && out[0] == 5 && (out[1] == 0) == (reply == QSB__SOCKS_OK));
}

static enum qsb__parse parse(parse_message *message, const uint8_t *data, size_t length, size_t *size)
{
	uint8_t *copy = exact_copy(data, length);
	struct qsb__socks_request request;
	enum qsb__parse verdict = message(copy, length, &request);

	free(copy);
	*size = request.size;
	if (verdict == QSB__PARSE_BAD) {
		expect(request.why != NULL && request.reply != QSB__SOCKS_OK);
		expect_reply(&request, request.reply);
	}
	if (verdict == QSB__PARSE_DONE && message != qsb__socks5_offer_parse) {
		expect(request.port > 0 && request.port <= 65535);
		expect_host(request.host);
		expect_reply(&request, QSB__SOCKS_OK);
	}
	return verdict;
}

static enum qsb__parse parse_offer(const uint8_t *data, size_t length, size_t *size)
{
	return parse(qsb__socks5_offer_parse, data, length, size);
}

static enum qsb__parse parse_request5(const uint8_t *data, size_t length, size_t *size)
{
	return parse(qsb__socks5_request_parse, data, length, size);
}

static enum qsb__parse parse_request4(const uint8_t *data, size_t length, size_t *size)
{
	return parse(qsb__socks4_request_parse, data, length, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	expect_steady(parse_offer, data, size);
	expect_steady(parse_request5, data, size);
	expect_steady(parse_request4, data, size);
	return 0;
}
