#include "broker/upstream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/http_head.h"
#include "core/address.h"
#include "core/error.h"

enum { SOCKS_VERSION = 5, LOGIN_METHOD = 2, NO_METHOD = 0xff };

static int hex(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit |= 0x20;
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Decodes "%41". false = not a text that fits. */
static bool decode(const char *text, size_t length, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < length; i++, used++) {
		if (used + 1 >= size)
			return false;
		out[used] = text[i];
		if (text[i] != '%')
			continue;
		if (i + 2 >= length || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0)
			return false;
		out[used] = (char)(hex(text[i + 1]) * 16 + hex(text[i + 2]));
		if (!out[used])
			return false;
		i += 2;
	}
	out[used] = '\0';
	return true;
}

static void encode_base64(const char *text, char *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i += 3) {
		unsigned bits = (unsigned)(unsigned char)text[i] << 16;

		bits |= i + 1 < length ? (unsigned)(unsigned char)text[i + 1] << 8 : 0;
		bits |= i + 2 < length ? (unsigned)(unsigned char)text[i + 2] : 0;
		*out++ = digits[bits >> 18];
		*out++ = digits[bits >> 12 & 63];
		*out++ = i + 1 < length ? digits[bits >> 6 & 63] : '=';
		*out++ = i + 2 < length ? digits[bits & 63] : '=';
	}
	*out = '\0';
}

static bool parse_login(const char *text, size_t length, struct qsb__upstream *out)
{
	const char *colon = memchr(text, ':', length);
	size_t user = colon ? (size_t)(colon - text) : length;
	char login[sizeof(out->user) + sizeof(out->password)];

	if (!decode(text, user, out->user, sizeof(out->user)) ||
	    (colon && !decode(colon + 1, length - user - 1, out->password, sizeof(out->password))))
		return false;
	out->has_login = true;
	snprintf(login, sizeof(login), "%s:%s", out->user, out->password);
	memcpy(out->authorization, "Basic ", 7);
	encode_base64(login, out->authorization + 6);
	return true;
}

int qsb__upstream_parse(const char *url, struct qsb__upstream *out, struct qsb_error *err)
{
	const char *authority, *at;
	size_t length;

	memset(out, 0, sizeof(*out));
	if (!url || !*url)
		return 0;
	out->kind = strncmp(url, "http://", 7) == 0       ? QSB__UPSTREAM_HTTP
		    : strncmp(url, "socks5://", 9) == 0   ? QSB__UPSTREAM_SOCKS5
		    : strncmp(url, "socks5h://", 10) == 0 ? QSB__UPSTREAM_SOCKS5
							  : QSB__UPSTREAM_NONE;
	if (out->kind == QSB__UPSTREAM_NONE)
		return qsb__fail(err, QSB_E_UNSUPPORTED, "/network/upstreamProxy",
				 "a proxy is written http://HOST:PORT or socks5://HOST:PORT");
	authority = strstr(url, "://") + 3;
	length = strcspn(authority, "/?#");
	at = memchr(authority, '@', length);
	for (const char *later = at; later; later = memchr(later + 1, '@', length - (size_t)(later + 1 - authority)))
		at = later;
	if (at && !parse_login(authority, (size_t)(at - authority), out))
		return qsb__fail(err, QSB_E_INVALID, "/network/upstreamProxy",
				 "the proxy's user or password is not readable: write special letters as %%40");
	if (at) {
		length -= (size_t)(at + 1 - authority);
		authority = at + 1;
	}
	if (!qsb__http_authority_parse(authority, length, out->host, &out->port))
		return qsb__fail(err, QSB_E_INVALID, "/network/upstreamProxy", "\"%.*s\" is no host and port",
				 (int)(length < 200 ? length : 200), authority);
	if (!out->port)
		out->port = out->kind == QSB__UPSTREAM_HTTP ? 80 : 1080;
	return 0;
}

/* ---- NO_PROXY ---- */

static bool address_bypasses(const char *entry, size_t length, const struct qsb__address *address)
{
	const char *slash = memchr(entry, '/', length);
	struct qsb__address range;
	size_t size = slash ? (size_t)(slash - entry) : length;
	unsigned long bits = 128, most;
	char *end = NULL;

	if (!slash && size > 2 && entry[0] == '[' && entry[size - 1] == ']') {
		entry++;
		size -= 2;
	}
	if (!qsb__address_parse(entry, size, &range))
		return false;
	most = range.family == 4 ? 32 : 128;
	/* "10.0.0.0/" is no range, least of all the one of all addresses. */
	if (slash) {
		bits = slash[1] >= '0' && slash[1] <= '9' ? strtoul(slash + 1, &end, 10) : most + 1;
		if (bits > most || end != entry + length)
			return false;
	}
	return qsb__address_in_range(address, &range, (unsigned)(bits < most ? bits : most));
}

static bool name_bypasses(const char *entry, size_t length, const char *host)
{
	size_t host_length = strlen(host);

	if (length > 1 && entry[length - 1] == '.')
		length--;
	while (length > 0 && (*entry == '*' || *entry == '.')) {
		entry++;
		length--;
	}
	if (length == 0 || host_length < length || strncasecmp(host + host_length - length, entry, length) != 0)
		return false;
	return host_length == length || host[host_length - length - 1] == '.';
}

/* The colon before a port: the only one, or the one behind a bracket. More of them are an IPv6 address. */
static const char *port_of(const char *entry)
{
	const char *bracket = strchr(entry, ']'), *colon = strchr(bracket ? bracket : entry, ':');

	return colon && !strchr(colon + 1, ':') ? colon : NULL;
}

bool qsb__upstream_bypasses(const struct qsb__upstream *upstream, const char *host, unsigned port)
{
	struct qsb__address address;
	bool is_address = qsb__address_parse(host, strlen(host), &address);

	for (char *const *at = upstream->bypass; at && *at; at++) {
		const char *colon = port_of(*at);
		size_t length = strlen(*at);

		if (strcmp(*at, "*") == 0)
			return true;
		if (colon) {
			if (strtoul(colon + 1, NULL, 10) != port)
				continue;
			length = (size_t)(colon - *at);
		}
		if (is_address ? address_bypasses(*at, length, &address) : name_bypasses(*at, length, host))
			return true;
	}
	return false;
}

/* ---- what is said to it ---- */

size_t qsb__upstream_connect_write(const struct qsb__upstream *upstream, const char *host, unsigned port, char *out,
				   size_t size)
{
	const char *open = strchr(host, ':') ? "[" : "", *shut = strchr(host, ':') ? "]" : "";
	const char *login = upstream->authorization;
	int length = snprintf(out, size, "CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\n%s%s%s\r\n", open, host,
			      shut, port, open, host, shut, port, login[0] ? "Proxy-Authorization: " : "", login,
			      login[0] ? "\r\n" : "");

	return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

static size_t write_login(const struct qsb__upstream *upstream, uint8_t *out, size_t size)
{
	size_t user = strlen(upstream->user), password = strlen(upstream->password);

	if (user + password + 3 > size)
		return 0;
	out[0] = 1;
	out[1] = (uint8_t)user;
	memcpy(out + 2, upstream->user, user);
	out[2 + user] = (uint8_t)password;
	memcpy(out + 3 + user, upstream->password, password);
	return user + password + 3;
}

static size_t write_request(const struct qsb__upstream_target *target, uint8_t *out, size_t size)
{
	const char *host = target->host;
	size_t length = strlen(host), used = 4;
	struct qsb__address address;

	if (length + 7 > size || length > 255)
		return 0;
	out[0] = SOCKS_VERSION;
	out[1] = 1;
	out[2] = 0;
	if (qsb__address_parse(host, length, &address)) {
		out[3] = address.family == 4 ? 1 : 4;
		memcpy(out + 4, address.bytes, address.family == 4 ? 4 : 16);
		used += address.family == 4 ? 4 : 16;
	} else {
		out[3] = 3;
		out[4] = (uint8_t)length;
		memcpy(out + 5, host, length);
		used += 1 + length;
	}
	out[used] = (uint8_t)(target->port >> 8);
	out[used + 1] = (uint8_t)target->port;
	return used + 2;
}

size_t qsb__upstream_socks_write(const struct qsb__upstream *upstream, enum qsb__upstream_step step,
				 const struct qsb__upstream_target *target, uint8_t *out, size_t size)
{
	if (step == QSB__UPSTREAM_LOGIN)
		return write_login(upstream, out, size);
	if (step == QSB__UPSTREAM_REQUEST)
		return write_request(target, out, size);
	if (size < 4)
		return 0;
	out[0] = SOCKS_VERSION;
	out[1] = upstream->has_login ? 2 : 1;
	out[2] = 0;
	out[3] = LOGIN_METHOD;
	return upstream->has_login ? 4 : 3;
}

static enum qsb__parse bad(struct qsb__upstream_answer *out, const char *why)
{
	out->why = why;
	return QSB__PARSE_BAD;
}

static enum qsb__parse read_request_answer(const uint8_t *bytes, size_t length, struct qsb__upstream_answer *out)
{
	static const char *const reasons[] = {
		[1] = "the upstream proxy failed",
		[2] = "the upstream proxy does not allow it",
		[3] = "the upstream proxy has no way to the network",
		[4] = "the upstream proxy cannot reach the host",
		[5] = "the host refused the upstream proxy's connection",
	};

	if (length < 5)
		return QSB__PARSE_MORE;
	if (bytes[0] != SOCKS_VERSION)
		return bad(out, "the upstream proxy does not speak SOCKS 5");
	if (bytes[1] != 0)
		return bad(out, bytes[1] < 6 ? reasons[bytes[1]] : "the upstream proxy could not connect");
	if (bytes[3] != 1 && bytes[3] != 3 && bytes[3] != 4)
		return bad(out, "the upstream proxy's answer cannot be read");
	out->size = 6U + (bytes[3] == 1 ? 4U : bytes[3] == 4 ? 16U : 1U + bytes[4]);
	return length < out->size ? QSB__PARSE_MORE : QSB__PARSE_DONE;
}

enum qsb__parse qsb__upstream_socks_read(enum qsb__upstream_step step, const uint8_t *bytes, size_t length,
					 struct qsb__upstream_answer *out)
{
	*out = (struct qsb__upstream_answer){.next = QSB__UPSTREAM_CONNECTED};
	if (step == QSB__UPSTREAM_REQUEST)
		return read_request_answer(bytes, length, out);
	if (length < 2)
		return QSB__PARSE_MORE;
	out->size = 2;
	out->next = QSB__UPSTREAM_REQUEST;
	if (step == QSB__UPSTREAM_LOGIN)
		return bytes[1] == 0 ? QSB__PARSE_DONE : bad(out, "the upstream proxy wants another user or password");
	if (bytes[0] != SOCKS_VERSION)
		return bad(out, "the upstream proxy does not speak SOCKS 5");
	if (bytes[1] == NO_METHOD || (bytes[1] != 0 && bytes[1] != LOGIN_METHOD))
		return bad(out, "the upstream proxy wants a user and a password");
	if (bytes[1] == LOGIN_METHOD)
		out->next = QSB__UPSTREAM_LOGIN;
	return QSB__PARSE_DONE;
}
