#include "core/proxy_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <qiming/sandbox.h>
static int refuse(char *why, size_t why_size, const char *reason)
{
	snprintf(why, why_size, "%s", reason);
	return QSB_E_INVALID;
}

static int hex_value(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* A control byte would end up in a header of ours. */
static bool decode(const char *text, size_t length, char out[QSB__PROXY_WORD])
{
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		int byte = (unsigned char)text[i];

		if (byte >= 0x7F || strchr("/?#", byte))
			return false;
		if (byte == '%') {
			int high = i + 2 < length ? hex_value(text[i + 1]) : -1;
			int low = i + 2 < length ? hex_value(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return false;
			byte = high * 16 + low;
			i += 2;
		}
		if (byte < 0x20 || byte == 0x7F || used + 1 == QSB__PROXY_WORD)
			return false;
		out[used++] = (char)byte;
	}
	out[used] = '\0';
	return true;
}

static int parse_scheme(const char **text, struct qsb__proxy_url *out, char *why, size_t why_size)
{
	static const struct {
		const char *text;
		enum qsb__proxy_kind kind;
		unsigned port;
	} schemes[] = {
		{"http://", QSB__PROXY_HTTP, 80},
		{"socks5://", QSB__PROXY_SOCKS5, 1080},
		{"socks5h://", QSB__PROXY_SOCKS5, 1080},
	};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t length = strlen(schemes[i].text);

		if (strncasecmp(*text, schemes[i].text, length) != 0)
			continue;
		out->kind = schemes[i].kind;
		out->port = schemes[i].port;
		*text += length;
		return 0;
	}
	if (strncasecmp(*text, "https://", 8) == 0)
		return refuse(why, why_size,
			      "a proxy that is itself spoken to in TLS (https://) is not supported; if it takes plain "
			      "connections, write http://host:port");
	return refuse(why, why_size,
		      "must be http://[user:password@]host:port, socks5://[user:password@]host:port, environment or "
		      "none");
}

static int parse_user(const char **text, struct qsb__proxy_url *out, char *why, size_t why_size)
{
	const char *at = strrchr(*text, '@');
	const char *colon = at ? memchr(*text, ':', (size_t)(at - *text)) : NULL;
	const char *end = colon ? colon : at;

	if (!at)
		return 0;
	if (end == *text)
		return refuse(why, why_size, "has no user before its @: write http://user:password@host:port");
	if (!decode(*text, (size_t)(end - *text), out->user) ||
	    (colon && !decode(colon + 1, (size_t)(at - colon - 1), out->password)))
		return refuse(why, why_size,
			      "the user and the password have at most 255 bytes each; special characters are written "
			      "as % and two hexadecimal digits, such as %40 for @ and %2F for /");
	*text = at + 1;
	return 0;
}

static int parse_host(const char *text, struct qsb__proxy_url *out, char *why, size_t why_size)
{
	char host[QSB__DOMAIN_MAX], canonical[QSB__DOMAIN_MAX], reason[200];
	size_t length = strlen(text), bracket;
	unsigned port;

	if (length && text[length - 1] == '/')
		length--;
	if (length == 0 || length >= sizeof(host))
		return refuse(why, why_size, "names no host: write http://host:port");
	snprintf(host, sizeof(host), "%.*s", (int)length, text);
	if (strpbrk(host, "/?#"))
		return refuse(why, why_size, "a proxy has no path: write http://host:port");
	/* The reason would show what stands there, and that may be a password whose @ was forgotten. */
	if (qsb__domain_canonical(host, canonical, reason, sizeof(reason)))
		return refuse(why, why_size,
			      "has no good host and port: write http://host:port, with a name or an address and a port "
			      "from 1 to 65535");
	if (strpbrk(canonical, "*/"))
		return refuse(why, why_size, "a proxy is one host: write http://host:port");
	length = qsb__domain_split(canonical, &port);
	bracket = canonical[0] == '[' ? 1 : 0;
	snprintf(out->host, sizeof(out->host), "%.*s", (int)(length - 2 * bracket), canonical + bracket);
	out->port = port ? port : out->port;
	return 0;
}

int qsb__proxy_url_parse(const char *text, struct qsb__proxy_url *out, char *why, size_t why_size)
{
	int code;

	memset(out, 0, sizeof(*out));
	if (strlen(text) >= QSB__PROXY_URL_MAX)
		return refuse(why, why_size, "is longer than 1023 bytes");
	code = parse_scheme(&text, out, why, why_size);
	if (!code)
		code = parse_user(&text, out, why, why_size);
	return code ? code : parse_host(text, out, why, why_size);
}

int qsb__proxy_check(const char *text, char *why, size_t why_size)
{
	struct qsb__proxy_url url;

	if (strcmp(text, "none") == 0 || strcmp(text, "environment") == 0)
		return 0;
	return qsb__proxy_url_parse(text, &url, why, why_size);
}

void qsb__proxy_url_hide(const char *text, char *out, size_t size)
{
	const char *scheme = strstr(text, "://");
	const char *start = scheme ? scheme + 3 : text;
	const char *at = strrchr(start, '@');
	const char *colon = at ? memchr(start, ':', (size_t)(at - start)) : NULL;

	if (colon)
		snprintf(out, size, "%.*s:***%s", (int)(colon - text), text, at);
	else
		snprintf(out, size, "%s", text);
}
