#include "core/domain.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <qiming/sandbox.h>

enum { NAME_MAX_BYTES = 253, LABEL_MAX_BYTES = 63, ADDRESS_MAX = 64 };

static int refuse(char *why, size_t size, const char *format, const char *part)
{
	snprintf(why, size, format, part);
	return QSB_E_INVALID;
}

static bool read_decimal(const char *text, unsigned most, unsigned *out)
{
	unsigned value = 0;

	if (!*text || (text[0] == '0' && text[1]))
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (unsigned)(*text - '0');
		if (value > most)
			return false;
	}
	*out = value;
	return true;
}

static int check_port(const char *text, char *why, size_t size)
{
	unsigned port;

	if (!read_decimal(text, 65535, &port) || port == 0)
		return refuse(why, size, "the port must be from 1 to 65535, such as example.com:443, not \"%.20s\"", text);
	return 0;
}

/* 4, 6, or 0 when the text is no address. */
static int family_of(const char *text)
{
	unsigned char bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1)
		return 4;
	return inet_pton(AF_INET6, text, bytes) == 1 ? 6 : 0;
}

static int check_range(const char *text, const char *slash, char *why, size_t size)
{
	char address[ADDRESS_MAX];
	unsigned bits;
	int family;

	snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	family = family_of(address);
	if (!family)
		return refuse(why, size, "a rule names a host, not a path: write \"%.100s\"", address);
	if (!read_decimal(slash + 1, family == 4 ? 32 : 128, &bits))
		return refuse(why, size, "a range ends with the number of its leading bits, such as %s", "192.0.2.0/24");
	return 0;
}

static bool is_name_byte(unsigned char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
	       byte == '-' || byte == '_' || byte >= 0x80;
}

static int check_label(const char *label, size_t length, char *why, size_t size)
{
	if (length == 0)
		return refuse(why, size, "a name has no empty part: write %s", "example.com");
	if (length > LABEL_MAX_BYTES)
		return refuse(why, size, "a part of a name has at most 63 bytes%s", "");
	for (size_t i = 0; i < length; i++)
		if (!is_name_byte((unsigned char)label[i]))
			return refuse(why, size, "a name is made of letters, digits, '-' and '.': write %s", "example.com");
	return 0;
}

static int check_name(const char *name, size_t length, char *why, size_t size)
{
	if (length > 1 && name[length - 1] == '.')
		length--;
	if (length > NAME_MAX_BYTES)
		return refuse(why, size, "a name has at most 253 bytes%s", "");
	for (size_t at = 0; at <= length;) {
		const char *dot = memchr(name + at, '.', length - at);
		size_t end = dot ? (size_t)(dot - name) : length;
		int code = check_label(name + at, end - at, why, size);

		if (code)
			return code;
		at = end + 1;
	}
	return 0;
}

static int check_brackets(const char *text, char *why, size_t size)
{
	const char *close = strchr(text, ']');
	char address[ADDRESS_MAX];

	if (close)
		snprintf(address, sizeof(address), "%.*s", (int)(close - text - 1), text + 1);
	if (!close || family_of(address) != 6 || (close[1] && close[1] != ':'))
		return refuse(why, size, "an IPv6 address with a port is written %s", "[2001:db8::1]:443");
	return close[1] ? check_port(close + 2, why, size) : 0;
}

int qsb__domain_check(const char *text, char *why, size_t why_size)
{
	const char *scheme = strstr(text, "://"), *slash = strchr(text, '/'), *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	char host[160];

	if (!*text)
		return refuse(why, why_size, "is empty: write a name such as %s", "example.com");
	if (scheme) {
		snprintf(host, sizeof(host), "%.*s", (int)strcspn(scheme + 3, "/?#"), scheme + 3);
		return refuse(why, why_size, "a rule names a host, not a URL: write \"%.100s\"", host);
	}
	if (strpbrk(text, " \t\r\n,;"))
		return refuse(why, why_size, "one rule names one host, without blanks or commas: write %s", "example.com");
	if (text[0] == '[')
		return check_brackets(text, why, why_size);
	if (slash)
		return check_range(text, slash, why, why_size);
	if (family_of(text))
		return 0;
	if (colon && check_port(colon + 1, why, why_size))
		return QSB_E_INVALID;
	if (length == 1 && text[0] == '*')
		return 0;
	if (strncmp(text, "*.", 2) == 0)
		return check_name(text + 2, length - 2, why, why_size);
	if (text[0] == '*') {
		snprintf(host, sizeof(host), "%.*s", (int)length - 1, text + 1);
		return refuse(why, why_size, "a * stands for whole parts of a name: write \"*.%.100s\"", host);
	}
	return check_name(text, length, why, why_size);
}

int qsb__domain_canonical(const char *text, char *out, char *why, size_t why_size)
{
	int code = qsb__domain_check(text, why, why_size);
	size_t length = 0;

	if (code)
		return code;
	for (; *text && length + 1 < QSB__DOMAIN_MAX; text++)
		out[length++] = *text >= 'A' && *text <= 'Z' ? (char)(*text + 32) : *text;
	out[length] = '\0';
	return 0;
}
