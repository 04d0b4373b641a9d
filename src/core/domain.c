#include "core/domain.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <qiming/sandbox.h>

#include "core/address.h"
#include "core/punycode.h"

enum { NAME_MAX_BYTES = 253, LABEL_MAX_BYTES = 63 };

struct parse {
	char *out; /* QSB__DOMAIN_MAX bytes */
	char *why;
	size_t why_size;
};

static int refuse(const struct parse *parse, const char *format, const char *part, size_t length)
{
	char quoted[161];

	snprintf(quoted, sizeof(quoted), "%.*s", (int)(length < 160 ? length : 160), part);
	snprintf(parse->why, parse->why_size, format, quoted);
	return QSB_E_INVALID;
}

static int refuse_text(const struct parse *parse, const char *format, const char *part)
{
	return refuse(parse, format, part, strlen(part));
}

/* Decimal digits without a sign or leading zeros. */
static bool read_decimal(const char *text, size_t length, unsigned most, unsigned *out)
{
	unsigned value = 0;

	if (length == 0 || length > 5 || (text[0] == '0' && length > 1))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	*out = value;
	return value <= most;
}

/* Appends ":port" to the canonical text. `text` is what follows the colon. */
static int add_port(const struct parse *parse, const char *text)
{
	size_t used = strlen(parse->out);
	unsigned port;

	if (!read_decimal(text, strlen(text), 65535, &port) || port == 0)
		return refuse_text(parse, "the port must be from 1 to 65535, such as example.com:443, not \"%s\"",
				   text);
	snprintf(parse->out + used, QSB__DOMAIN_MAX - used, ":%u", port);
	return 0;
}

/* "address" or "address/bits", without a port. Fills in `out`. 1 = not an address at all. */
static int add_address(const struct parse *parse, const char *text, size_t length)
{
	const char *slash = memchr(text, '/', length);
	size_t size = slash ? (size_t)(slash - text) : length;
	bool was_mapped = memchr(text, ':', size) != NULL;
	struct qsb__address address;
	unsigned bits = 0, most;

	if (!qsb__address_parse(text, size, &address))
		return 1;
	was_mapped = was_mapped && address.family == 4;
	most = address.family == 6 || was_mapped ? 128 : 32;
	if (slash && !read_decimal(slash + 1, length - size - 1, most, &bits))
		return refuse_text(parse, "a range ends with the number of its leading bits, such as %s",
				   "192.0.2.0/24");
	if (slash && was_mapped && bits < 96)
		return refuse_text(parse, "a range of mapped addresses is written as the IPv4 range itself, such as %s",
				   "192.0.2.0/24");
	if (slash) {
		bits -= was_mapped ? 96 : 0;
		qsb__address_mask(&address, bits);
	}
	qsb__address_format(&address, parse->out);
	if (slash)
		snprintf(parse->out + strlen(parse->out), 8, "/%u", bits);
	return 0;
}

/* "[2001:db8::1]", "[2001:db8::1]:443", "[2001:db8::/32]:443" */
static int parse_brackets(const struct parse *parse, const char *text)
{
	const char *close = strchr(text, ']');
	char address[QSB__DOMAIN_MAX];
	int code = 1;

	if (close && (!close[1] || close[1] == ':') && memchr(text, ':', (size_t)(close - text)))
		code = add_address(parse, text + 1, (size_t)(close - text - 1));
	if (code == 1)
		return refuse_text(parse, "an IPv6 address with a port is written %s", "[2001:db8::1]:443");
	if (code || !close[1])
		return code;
	if (strchr(parse->out, ':')) {
		snprintf(address, sizeof(address), "[%.60s]", parse->out);
		memcpy(parse->out, address, strlen(address) + 1);
	}
	return add_port(parse, close + 2);
}

static bool is_name_byte(unsigned char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
	       byte == '-' || byte == '_';
}

static int check_label(const struct parse *parse, const char *label, size_t length)
{
	if (length == 0)
		return refuse_text(parse, "a name has no empty part: write %s", "example.com");
	if (memchr(label, '*', length))
		return refuse_text(parse, "a * may only be the whole first part of a name: write %s", "*.example.com");
	if (length > LABEL_MAX_BYTES)
		return refuse(parse, "a part of a name has at most 63 bytes: \"%s\" has more", label, length);
	if (label[0] == '-' || label[length - 1] == '-')
		return refuse(parse, "a part of a name does not begin or end with '-': \"%s\"", label, length);
	for (size_t i = 0; i < length; i++)
		if (!is_name_byte((unsigned char)label[i]))
			return refuse(
				parse,
				"a name is made of letters, digits, '-' and '.', unlike \"%s\"; write one such as "
				"example.com",
				label, length);
	return 0;
}

/* Programs take a name whose last part is a number for an address, each in its own way. */
static int refuse_number(const struct parse *parse, const char *name, size_t length)
{
	char text[QSB__ADDRESS_TEXT];
	struct qsb__address meant;

	if (!qsb__address_parse_loose(name, length, &meant))
		return refuse(
			parse,
			"\"%s\" ends in a number like an address, and is none: write four parts from 0 to 255, such as "
			"192.0.2.1",
			name, length);
	qsb__address_format(&meant, text);
	return refuse_text(parse, "an address is written in full: %s", text);
}

static bool ends_in_number(const char *name, size_t length)
{
	size_t at = length, digits;

	while (at > 0 && name[at - 1] != '.')
		at--;
	digits = strspn(name + at, "0123456789");
	if (length - at > 1 && name[at] == '0' && (name[at + 1] | 0x20) == 'x')
		digits = 2 + strspn(name + at + 2, "0123456789abcdefABCDEF");
	return at + digits >= length && length > at;
}

static int refuse_foreign(const struct parse *parse, const char *name, size_t length)
{
	char ascii[QSB__DOMAIN_MAX];

	if (!qsb__punycode_name(name, length, ascii, sizeof(ascii)))
		return refuse(parse, "a name is written in ASCII, and \"%s\" is not UTF-8 text", name, length);
	return refuse_text(parse, "a name with other letters is written in its ASCII form: \"%s\"", ascii);
}

/* A name without a star and without a port: appended to `out` in its one spelling. */
static int add_name(const struct parse *parse, const char *name, size_t length)
{
	size_t used = strlen(parse->out);

	if (length > 1 && name[length - 1] == '.')
		length--;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)name[i] >= 0x80)
			return refuse_foreign(parse, name, length);
	if (length > NAME_MAX_BYTES)
		return refuse_text(parse, "a name has at most 253 bytes%s", "");
	for (size_t at = 0; at <= length;) {
		const char *dot = memchr(name + at, '.', length - at);
		size_t end = dot ? (size_t)(dot - name) : length;
		int code = check_label(parse, name + at, end - at);

		if (code)
			return code;
		at = end + 1;
	}
	if (ends_in_number(name, length))
		return refuse_number(parse, name, length);
	for (size_t i = 0; i < length; i++)
		parse->out[used++] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
	parse->out[used] = '\0';
	return 0;
}

static int parse_host(const struct parse *parse, const char *text, size_t length)
{
	if (length == 1 && text[0] == '*') {
		memcpy(parse->out, "*", 2);
		return 0;
	}
	if (length > 1 && text[0] == '*' && text[1] == '.') {
		memcpy(parse->out, "*.", 3);
		return add_name(parse, text + 2, length - 2);
	}
	if (length > 1 && text[0] == '*' && text[1] != '*')
		return refuse(parse, "a * stands for whole parts of a name: write \"*.%s\"", text + 1, length - 1);
	if (length > 1 && text[0] == '.' && text[1] != '.')
		return refuse(parse, "the subdomains of a name are written \"*%s\"", text, length);
	return add_name(parse, text, length);
}

/* What people paste instead of a name. 0 = nothing of the kind. */
static int refuse_url(const struct parse *parse, const char *text)
{
	const char *scheme = strstr(text, "://"), *at;
	const char *host = scheme ? scheme + 3 : text;
	size_t length = strcspn(host, "/?#");

	at = memchr(host, '@', length);
	if (at) {
		length -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	if (scheme)
		return refuse(parse, "a rule names a host, not a URL: write \"%s\"", host, length);
	if (strpbrk(text, " \t\r\n,;"))
		return refuse_text(parse, "one rule names one host, without blanks or commas: write %s", "example.com");
	if (at)
		return refuse(parse, "a rule names a host, without a user: write \"%s\"", host, length);
	return 0;
}

static int parse_pattern(const struct parse *parse, const char *text)
{
	size_t length = strcspn(text, ":");
	int code = refuse_url(parse, text);

	if (code)
		return code;
	if (!*text)
		return refuse_text(parse, "is empty: write a name such as %s", "example.com");
	if (text[0] == '[')
		return parse_brackets(parse, text);
	/* A colon behind the '/' comes before a port; one in front of it is part of an IPv6 address. */
	code = memchr(text, '/', length) && text[length] ? 1 : add_address(parse, text, strlen(text));
	if (code != 1)
		return code;
	code = text[length] ? add_address(parse, text, length) : 1;
	if (code == 1 && strchr(text, ':') && strchr(text + length + 1, ':'))
		return refuse_text(parse, "\"%s\" is no IPv6 address; with a port it is written [2001:db8::1]:443",
				   text);
	if (code == 1 && memchr(text, '/', length))
		return refuse(parse, "a rule names a host, not a path: write \"%s\"", text, strcspn(text, "/"));
	if (code == 1)
		code = parse_host(parse, text, length);
	return code || !text[length] ? code : add_port(parse, text + length + 1);
}

int qsb__domain_canonical(const char *text, char *out, char *why, size_t why_size)
{
	const struct parse parse = {.out = out, .why = why, .why_size = why_size};

	out[0] = '\0';
	return parse_pattern(&parse, text);
}

int qsb__domain_check(const char *text, char *why, size_t why_size)
{
	char canonical[QSB__DOMAIN_MAX];

	return qsb__domain_canonical(text, canonical, why, why_size);
}

size_t qsb__domain_split(const char *canonical, unsigned *port)
{
	const char *colon = strrchr(canonical, ':');

	*port = 0;
	/* More than one colon without brackets is an IPv6 address. */
	if (!colon || (canonical[0] != '[' && strchr(canonical, ':') != colon))
		return strlen(canonical);
	*port = (unsigned)strtoul(colon + 1, NULL, 10);
	return (size_t)(colon - canonical);
}

/* "localhost", "127.0.0.1:80", "[::1]:80" */
static bool is_loopback(const char *canonical)
{
	unsigned port;
	size_t length = qsb__domain_split(canonical, &port), bracket = canonical[0] == '[';
	struct qsb__address address;

	if (qsb__address_parse(canonical + bracket, length - 2 * bracket, &address))
		return qsb__address_class(&address) == QSB__ADDRESS_LOOPBACK;
	return length == strlen("localhost") && memcmp(canonical, "localhost", length) == 0;
}

const char *qsb__domain_caution(const char *canonical)
{
	if (strncmp(canonical, "*.", 2) == 0 && !strchr(canonical + 2, '.'))
		return "means every name that ends so, whoever owns it";
	if (is_loopback(canonical))
		return "is the sandbox's own inside: --reach PORT leads to this machine's";
	return NULL;
}
