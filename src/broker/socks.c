#include "broker/socks.h"

#include <string.h>

#include "broker/host_name.h"
#include "core/address.h"

enum { CONNECT = 1, BY_ADDRESS4 = 1, BY_NAME = 3, BY_ADDRESS6 = 4, NO_METHOD = 0xFF, TEXT_MAX = 255 };

static enum qsb__parse refuse(struct qsb__socks_request *out, int reply, const char *why)
{
	out->reply = reply;
	out->why = why;
	return QSB__PARSE_BAD;
}

static void begin(struct qsb__socks_request *out, int version)
{
	memset(out, 0, sizeof(*out));
	out->version = version;
	out->reply = -1;
}

/* The address in its shortest form, an IPv4 one inside IPv6 as what it is on the wire. */
static void set_address(struct qsb__socks_request *out, const uint8_t *bytes, int family)
{
	struct qsb__address address = {.family = family};
	char text[QSB__ADDRESS_TEXT];

	memcpy(address.bytes, bytes, family == 4 ? 4 : 16);
	qsb__address_format(&address, text);
	qsb__host_name_canonical(text, strlen(text), out->host);
}

static enum qsb__parse finish(struct qsb__socks_request *out, const uint8_t *port, size_t size)
{
	out->port = (unsigned)port[0] << 8 | port[1];
	out->size = size;
	return out->port ? QSB__PARSE_DONE : refuse(out, QSB__SOCKS_FAILED, "a connection to port 0");
}

enum qsb__parse qsb__socks5_offer_parse(const uint8_t *bytes, size_t length, struct qsb__socks_request *out)
{
	size_t methods;

	begin(out, 5);
	if (length > 0 && bytes[0] != 5)
		return refuse(out, -1, "not SOCKS 5");
	if (length < 2)
		return QSB__PARSE_MORE;
	methods = bytes[1];
	if (length < 2 + methods)
		return QSB__PARSE_MORE;
	out->size = 2 + methods;
	if (!memchr(bytes + 2, 0, methods))
		return refuse(out, QSB__SOCKS_NO_METHOD, "no offer to go without authentication");
	return QSB__PARSE_DONE;
}

enum qsb__parse qsb__socks5_request_parse(const uint8_t *bytes, size_t length, struct qsb__socks_request *out)
{
	size_t size;

	begin(out, 5);
	if (length > 0 && bytes[0] != 5)
		return refuse(out, -1, "not SOCKS 5");
	if (length > 1 && bytes[1] != CONNECT)
		return refuse(out, QSB__SOCKS_NO_COMMAND, "a SOCKS command other than CONNECT");
	if (length > 2 && bytes[2] != 0)
		return refuse(out, QSB__SOCKS_FAILED, "a reserved byte that is not zero");
	if (length > 3 && bytes[3] != BY_ADDRESS4 && bytes[3] != BY_NAME && bytes[3] != BY_ADDRESS6)
		return refuse(out, QSB__SOCKS_FAILED, "an unknown kind of address");
	if (length < 5)
		return QSB__PARSE_MORE;
	size = bytes[3] == BY_NAME ? 1U + bytes[4] : bytes[3] == BY_ADDRESS4 ? 4 : 16;
	if (length < 4 + size + 2)
		return QSB__PARSE_MORE;
	if (bytes[3] != BY_NAME)
		set_address(out, bytes + 4, bytes[3] == BY_ADDRESS4 ? 4 : 6);
	else if (!qsb__host_name_canonical((const char *)bytes + 5, size - 1, out->host))
		return refuse(out, QSB__SOCKS_FAILED, "a name that is no host");
	return finish(out, bytes + 4 + size, 4 + size + 2);
}

/* The text that ends with a NUL at *at, which is moved behind it. */
static enum qsb__parse take_text(const uint8_t *bytes, size_t length, size_t *at, size_t *text_size)
{
	size_t left = length - *at;
	const uint8_t *end = memchr(bytes + *at, 0, left < TEXT_MAX + 1 ? left : TEXT_MAX + 1);

	if (!end)
		return left > TEXT_MAX ? QSB__PARSE_BAD : QSB__PARSE_MORE;
	*text_size = (size_t)(end - bytes) - *at;
	*at += *text_size + 1;
	return QSB__PARSE_DONE;
}

enum qsb__parse qsb__socks4_request_parse(const uint8_t *bytes, size_t length, struct qsb__socks_request *out)
{
	enum { FIXED = 8 };
	static const uint8_t zeroes[3];
	size_t at = FIXED, text_size, text_at;
	enum qsb__parse result;

	begin(out, 4);
	if (length > 0 && bytes[0] != 4)
		return refuse(out, -1, "not SOCKS 4");
	if (length > 1 && bytes[1] != CONNECT)
		return refuse(out, QSB__SOCKS_NO_COMMAND, "a SOCKS command other than CONNECT");
	if (length < FIXED)
		return QSB__PARSE_MORE;
	result = take_text(bytes, length, &at, &text_size);
	if (result != QSB__PARSE_DONE)
		return result == QSB__PARSE_MORE ? result : refuse(out, QSB__SOCKS_FAILED, "a user's id without end");
	if (memcmp(bytes + 4, zeroes, sizeof(zeroes)) != 0 || bytes[7] == 0) {
		set_address(out, bytes + 4, 4);
		return finish(out, bytes + 2, at);
	}
	text_at = at;
	result = take_text(bytes, length, &at, &text_size);
	if (result != QSB__PARSE_DONE)
		return result == QSB__PARSE_MORE ? result : refuse(out, QSB__SOCKS_FAILED, "a name without end");
	if (!qsb__host_name_canonical((const char *)bytes + text_at, text_size, out->host))
		return refuse(out, QSB__SOCKS_FAILED, "a name that is no host");
	return finish(out, bytes + 2, at);
}

size_t qsb__socks_reply_write(const struct qsb__socks_request *request, int reply, uint8_t *out)
{
	static const uint8_t codes[] = {
		[QSB__SOCKS_OK] = 0,          [QSB__SOCKS_FAILED] = 1,     [QSB__SOCKS_DENIED] = 2,
		[QSB__SOCKS_UNREACHABLE] = 4, [QSB__SOCKS_NO_COMMAND] = 7,
	};
	bool known = reply >= 0 && reply < (int)sizeof(codes);

	memset(out, 0, 10);
	if (request->version == 4) {
		out[1] = reply == QSB__SOCKS_OK ? 90 : 91;
		return 8;
	}
	out[0] = 5;
	if (reply == QSB__SOCKS_NO_METHOD) {
		out[1] = NO_METHOD;
		return 2;
	}
	out[1] = known ? codes[reply] : codes[QSB__SOCKS_FAILED];
	out[3] = BY_ADDRESS4;
	return 10;
}
