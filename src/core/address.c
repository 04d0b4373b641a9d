#include "core/address.h"

#include <stdio.h>
#include <string.h>

static int digit_value(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : 99;
}

/* The dotted form alone: other readers differ about leading zeros, so there are none. */
static bool parse_dotted(const char *text, const char *end, uint8_t *out)
{
	for (int part = 0; part < 4; part++) {
		const char *start = text;
		unsigned value = 0;

		while (text < end && digit_value(*text) < 10 && text - start < 3)
			value = value * 10 + (unsigned)digit_value(*text++);
		if (text == start || value > 255 || (*start == '0' && text - start > 1))
			return false;
		out[part] = (uint8_t)value;
		if (part < 3 && (text == end || *text++ != '.'))
			return false;
	}
	return text == end;
}

/* One group of up to four hexadecimal digits. */
static bool parse_group(const char **text, const char *end, uint8_t *out)
{
	const char *start = *text;
	unsigned value = 0;

	while (*text < end && digit_value(**text) < 16 && *text - start < 4)
		value = value * 16 + (unsigned)digit_value(*(*text)++);
	out[0] = (uint8_t)(value >> 8);
	out[1] = (uint8_t)value;
	return *text > start;
}

static bool parse_colons(const char *text, const char *end, uint8_t *out)
{
	size_t used = 0, gap = 0;
	bool has_gap = false;

	memset(out, 0, 16);
	if (end - text >= 2 && text[0] == ':' && text[1] == ':') {
		has_gap = true;
		text += 2;
	}
	while (text < end) {
		const char *stop = memchr(text, ':', (size_t)(end - text));

		if (!stop && memchr(text, '.', (size_t)(end - text))) {
			if (used > 12 || !parse_dotted(text, end, out + used))
				return false;
			used += 4;
			break;
		}
		if (used > 14 || !parse_group(&text, end, out + used))
			return false;
		used += 2;
		if (text == end)
			break;
		if (*text++ != ':' || text == end)
			return false;
		if (*text == ':') {
			if (has_gap)
				return false;
			has_gap = true;
			gap = used;
			text++;
		}
	}
	if (has_gap ? used > 14 : used != 16)
		return false;
	if (has_gap) {
		memmove(out + 16 - (used - gap), out + gap, used - gap);
		memset(out + gap, 0, 16 - used);
	}
	return true;
}

bool qsb__address_parse(const char *text, size_t length, struct qsb__address *out)
{
	static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};
	const char *end = text + length;

	memset(out, 0, sizeof(*out));
	out->family = 4;
	if (parse_dotted(text, end, out->bytes))
		return true;
	out->family = 6;
	if (!memchr(text, ':', length) || !parse_colons(text, end, out->bytes))
		return false;
	if (memcmp(out->bytes, mapped, sizeof(mapped)) == 0) {
		out->family = 4;
		memmove(out->bytes, out->bytes + 12, 4);
		memset(out->bytes + 4, 0, 12);
	}
	return true;
}

/* A number as C writes it: decimal, 0octal, 0xhexadecimal. */
static bool parse_number(const char *text, const char *end, uint64_t *out)
{
	int base = 10;

	if (end - text > 1 && text[0] == '0') {
		base = (text[1] | 0x20) == 'x' ? 16 : 8;
		text += base == 16 ? 2 : 1;
	}
	if (text == end && base != 16)
		return false;
	for (*out = 0; text < end; text++) {
		if (digit_value(*text) >= base)
			return false;
		*out = *out * (unsigned)base + (unsigned)digit_value(*text);
		if (*out > UINT32_MAX)
			return false;
	}
	return true;
}

bool qsb__address_parse_loose(const char *text, size_t length, struct qsb__address *out)
{
	const char *end = text + length;
	uint64_t value = 0, part;
	unsigned parts = 0;

	while (parts < 4 && text < end) {
		const char *dot = memchr(text, '.', (size_t)(end - text));
		const char *stop = dot ? dot : end;
		unsigned last_bits = 32 - 8 * parts; /* the last part fills what is left */

		if (text == stop || !parse_number(text, stop, &part) || (dot ? part > 255 : part >> last_bits))
			return false;
		value |= dot ? part << (24 - 8 * parts) : part;
		parts++;
		if (!dot)
			break;
		text = dot + 1;
		if (text == end || parts == 4)
			return false;
	}
	if (parts == 0)
		return false;
	memset(out, 0, sizeof(*out));
	out->family = 4;
	for (int i = 0; i < 4; i++)
		out->bytes[i] = (uint8_t)(value >> (24 - 8 * i));
	return true;
}

void qsb__address_mask(struct qsb__address *address, unsigned bits)
{
	for (unsigned i = 0; i < sizeof(address->bytes); i++) {
		unsigned kept = bits > 8 * i ? bits - 8 * i : 0;

		if (kept < 8)
			address->bytes[i] &= (uint8_t)(0xFF00U >> kept);
	}
}

bool qsb__address_in_range(const struct qsb__address *address, const struct qsb__address *range, unsigned bits)
{
	struct qsb__address a = *address, b = *range;

	qsb__address_mask(&a, bits);
	qsb__address_mask(&b, bits);
	return a.family == b.family && memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

struct special {
	const char *range;
	unsigned bits;
	enum qsb__address_class class;
};

/* The first range that holds it decides: single hosts stand before the networks around them. RFC 6890 with its
 * registries; the addresses by which clouds tell a machine its credentials. Networks for documentation are public. */
static const struct special special4[] = {
	{"169.254.169.254", 32, QSB__ADDRESS_METADATA}, /* nearly every cloud */
	{"169.254.170.2", 32, QSB__ADDRESS_METADATA},   /* containers at Amazon */
	{"169.254.170.23", 32, QSB__ADDRESS_METADATA},  {"169.254.0.23", 32, QSB__ADDRESS_METADATA}, /* Tencent */
	{"100.100.100.200", 32, QSB__ADDRESS_METADATA},                                              /* Alibaba */
	{"168.63.129.16", 32, QSB__ADDRESS_METADATA},                                                /* Azure */
	{"192.0.0.192", 32, QSB__ADDRESS_METADATA},                                                  /* Oracle */
	{"127.0.0.0", 8, QSB__ADDRESS_LOOPBACK},        {"0.0.0.0", 8, QSB__ADDRESS_UNSPECIFIED},
	{"169.254.0.0", 16, QSB__ADDRESS_LINK_LOCAL},   {"10.0.0.0", 8, QSB__ADDRESS_PRIVATE},
	{"100.64.0.0", 10, QSB__ADDRESS_PRIVATE},       {"172.16.0.0", 12, QSB__ADDRESS_PRIVATE},
	{"192.168.0.0", 16, QSB__ADDRESS_PRIVATE},      {"192.0.0.0", 24, QSB__ADDRESS_RESERVED},
	{"198.18.0.0", 15, QSB__ADDRESS_RESERVED},      {"224.0.0.0", 4, QSB__ADDRESS_MULTICAST},
	{"240.0.0.0", 4, QSB__ADDRESS_RESERVED},
};
static const struct special special6[] = {
	{"fd00:ec2::254", 128, QSB__ADDRESS_METADATA}, /* Amazon */
	{"fd00:ec2::23", 128, QSB__ADDRESS_METADATA},
	{"fd20:ce::254", 128, QSB__ADDRESS_METADATA}, /* Google */
	{"::1", 128, QSB__ADDRESS_LOOPBACK},
	{"::", 128, QSB__ADDRESS_UNSPECIFIED},
	{"fe80::", 10, QSB__ADDRESS_LINK_LOCAL},
	{"fc00::", 7, QSB__ADDRESS_PRIVATE},
	{"fec0::", 10, QSB__ADDRESS_PRIVATE},
	{"64:ff9b:1::", 48, QSB__ADDRESS_PRIVATE}, /* a network's own translator: it may lead anywhere */
	{"64:ff9b::", 96, QSB__ADDRESS_PUBLIC},
	{"ff00::", 8, QSB__ADDRESS_MULTICAST},
	{"2001:2::", 48, QSB__ADDRESS_RESERVED},
	{"2000::", 3, QSB__ADDRESS_PUBLIC},
	{"::", 0, QSB__ADDRESS_RESERVED},
};

static bool is_in(const struct qsb__address *address, const char *range, unsigned bits)
{
	struct qsb__address start;

	return qsb__address_parse(range, strlen(range), &start) && qsb__address_in_range(address, &start, bits);
}

static enum qsb__address_class class_of_itself(const struct qsb__address *address)
{
	const struct special *rows = address->family == 4 ? special4 : special6;
	size_t count =
		address->family == 4 ? sizeof(special4) / sizeof(special4[0]) : sizeof(special6) / sizeof(special6[0]);

	for (size_t i = 0; i < count; i++)
		if (is_in(address, rows[i].range, rows[i].bits))
			return rows[i].class;
	return QSB__ADDRESS_PUBLIC;
}

static bool is_mapped(const struct qsb__address *address)
{
	static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};

	return address->family == 6 && memcmp(address->bytes, mapped, sizeof(mapped)) == 0;
}

size_t qsb__address_inner(const struct qsb__address *address, struct qsb__address out[QSB__ADDRESS_INNER_MAX],
			  bool *same)
{
	/* Where the four bytes lie; a local translator's prefix can end at any of RFC 6052's lengths. `same`: a packet
	 * to the one is a packet to the other. */
	static const struct {
		const char *range;
		uint8_t bits, at[4], flip;
		bool same;
	} forms[] = {
		{"64:ff9b::", 96, {12, 13, 14, 15}, 0, true},   {"64:ff9b:1::", 48, {12, 13, 14, 15}, 0, false},
		{"64:ff9b:1::", 48, {9, 10, 11, 12}, 0, false}, {"64:ff9b:1::", 48, {7, 9, 10, 11}, 0, false},
		{"64:ff9b:1::", 48, {6, 7, 9, 10}, 0, false},   {"2002::", 16, {2, 3, 4, 5}, 0, false},
		{"2001::", 32, {12, 13, 14, 15}, 0xFF, false}, /* Teredo: the client, and its server */
		{"2001::", 32, {4, 5, 6, 7}, 0, false},         {"::ffff:0:0:0", 96, {12, 13, 14, 15}, 0, true},
		{"::", 96, {12, 13, 14, 15}, 0, true},
	};
	size_t count = 0;

	*same = is_mapped(address);
	if (*same) {
		out[0] = (struct qsb__address){.family = 4};
		memcpy(out[0].bytes, address->bytes + 12, 4);
		return 1;
	}
	if (address->family != 6 || class_of_itself(address) == QSB__ADDRESS_LOOPBACK)
		return 0;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && count < QSB__ADDRESS_INNER_MAX; i++) {
		struct qsb__address inner = {.family = 4};

		if (!is_in(address, forms[i].range, forms[i].bits))
			continue;
		for (size_t k = 0; k < 4; k++)
			inner.bytes[k] = address->bytes[forms[i].at[k]] ^ forms[i].flip;
		/* Of several readings, one that begins with 0 is not what was meant. */
		if (forms[i].bits == 48 && inner.bytes[0] == 0)
			continue;
		*same = forms[i].same;
		out[count++] = inner;
	}
	return count;
}

enum qsb__address_class qsb__address_class(const struct qsb__address *address)
{
	struct qsb__address inner[QSB__ADDRESS_INNER_MAX];
	bool same;
	size_t count = qsb__address_inner(address, inner, &same);
	enum qsb__address_class worst = is_mapped(address) ? QSB__ADDRESS_PUBLIC : class_of_itself(address);

	for (size_t i = 0; i < count; i++) {
		enum qsb__address_class class = class_of_itself(&inner[i]);

		if (class > worst)
			worst = class;
	}
	return worst;
}

const char *qsb__address_class_name(enum qsb__address_class class)
{
	static const char *const names[] = {"public address",    "private address",     "reserved address",
					    "multicast address", "unspecified address", "link-local address",
					    "loopback address",  "metadata address"};

	return names[class];
}

void qsb__address_format(const struct qsb__address *address, char *out)
{
	const uint8_t *bytes = address->bytes;
	unsigned groups[8], best = 8, best_length = 1;
	char *at = out, *end = out + QSB__ADDRESS_TEXT;

	if (address->family == 4) {
		snprintf(out, QSB__ADDRESS_TEXT, "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2], bytes[3]);
		return;
	}
	for (unsigned i = 0; i < 8; i++, bytes += 2)
		groups[i] = (unsigned)bytes[0] << 8 | bytes[1];
	/* The longest run of two zero groups or more, the first of equals, becomes "::". */
	for (unsigned i = 0; i < 8; i++) {
		unsigned length = 0;

		while (i + length < 8 && groups[i + length] == 0)
			length++;
		if (length > best_length) {
			best = i;
			best_length = length;
		}
	}
	*at = '\0';
	for (unsigned i = 0; i < 8; i++) {
		if (i == best) {
			at += snprintf(at, (size_t)(end - at), "::");
			i += best_length - 1;
			continue;
		}
		at += snprintf(at, (size_t)(end - at), "%s%x", i && at[-1] != ':' ? ":" : "", groups[i]);
	}
}
