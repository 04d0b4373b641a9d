#include "broker/dns_message.h"

#include <string.h>

#include "broker/host_name.h"
#include "broker/parse.h"

enum { LABEL_MAX_BYTES = 63, WIRE_NAME_MAX = 255, TYPE_OPT = 41, RECORD_FIXED = 10 };

static unsigned read16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* The name at `at`, without compression: its size on the wire, 0 = none. `odd` = with a byte that no host has. */
static size_t read_name(const uint8_t *at, size_t left, char *out, bool *odd)
{
	size_t used = 0, size = 0;

	*odd = false;
	while (size < left && at[size] != 0) {
		size_t label = at[size];

		if (label > LABEL_MAX_BYTES || label >= left - size || size + 1 + label >= WIRE_NAME_MAX)
			return 0;
		if (used > 0)
			out[used++] = '.';
		for (size_t i = size + 1; i <= size + label; i++) {
			uint8_t byte = at[i] >= 'A' && at[i] <= 'Z' ? at[i] | 0x20 : at[i];

			*odd |= !((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
				  byte == '_');
			out[used++] = (char)byte;
		}
		size += 1 + label;
	}
	out[used] = '\0';
	return size < left ? size + 1 : 0;
}

/* The size of a record's name, which is not read and may be compressed. 0 = not whole. */
static size_t skip_name(const uint8_t *at, size_t left)
{
	size_t size = 0;

	while (size < left && at[size] != 0) {
		if (at[size] >> 6 == 3)
			return left - size >= 2 ? size + 2 : 0;
		if (at[size] > LABEL_MAX_BYTES || at[size] >= left - size)
			return 0;
		size += 1U + at[size];
	}
	return size < left ? size + 1 : 0;
}

static size_t clamp_answer(size_t wanted)
{
	if (wanted < QSB__DNS_PLAIN_MAX)
		return QSB__DNS_PLAIN_MAX;
	return wanted > QSB__DNS_ANSWER_MAX ? QSB__DNS_ANSWER_MAX : wanted;
}

/* Walks the additional records up to the end of the message. */
static int read_additional(const uint8_t *at, size_t left, unsigned count, struct qsb__dns_query *out)
{
	while (count-- > 0) {
		size_t name = skip_name(at, left), size;

		if (name == 0 || left - name < RECORD_FIXED)
			return QSB__DNS_FORMAT_ERROR;
		size = name + RECORD_FIXED + read16(at + name + 8);
		if (size > left)
			return QSB__DNS_FORMAT_ERROR;
		if (read16(at + name) == TYPE_OPT) {
			/* Once, for the root, and version 0: others we do not speak. */
			if (out->edns || name != 1 || at[name + 5] != 0)
				return QSB__DNS_FORMAT_ERROR;
			out->edns = true;
			out->answer_max = clamp_answer(read16(at + name + 2));
		}
		at += size;
		left -= size;
	}
	return left == 0 ? QSB__DNS_OK : QSB__DNS_FORMAT_ERROR;
}

/* A name that programs take for an address, or nearly, is no name to look up. */
static bool is_lookup_name(const char *name)
{
	char host[QSB__HOST_MAX];

	return name[0] == '\0' || (qsb__host_name_canonical(name, strlen(name), host) && strcmp(host, name) == 0 &&
				   strspn(name, "0123456789.") != strlen(name));
}

int qsb__dns_query_parse(const uint8_t *bytes, size_t length, struct qsb__dns_query *out)
{
	bool odd;
	size_t name;
	int code;

	memset(out, 0, sizeof(*out));
	if (length < QSB__DNS_HEADER || bytes[2] & 0x80)
		return -1;
	if ((bytes[2] >> 3 & 15) != 0)
		return QSB__DNS_NOT_IMPLEMENTED;
	/* One question, neither answers nor authorities, not truncated. */
	if (bytes[2] & 2 || read16(bytes + 4) != 1 || read16(bytes + 6) != 0 || read16(bytes + 8) != 0)
		return QSB__DNS_FORMAT_ERROR;
	name = read_name(bytes + QSB__DNS_HEADER, length - QSB__DNS_HEADER, out->name, &odd);
	if (name == 0 || length - QSB__DNS_HEADER - name < 4) {
		out->name[0] = '\0';
		return QSB__DNS_FORMAT_ERROR;
	}
	out->question_size = QSB__DNS_HEADER + name + 4;
	out->type = (uint16_t)read16(bytes + out->question_size - 4);
	out->class = (uint16_t)read16(bytes + out->question_size - 2);
	out->answer_max = QSB__DNS_PLAIN_MAX;
	code = read_additional(bytes + out->question_size, length - out->question_size, read16(bytes + 10), out);
	if (code == QSB__DNS_OK && (odd || !is_lookup_name(out->name)))
		code = QSB__DNS_REFUSED;
	if (code != QSB__DNS_OK)
		out->name[0] = '\0';
	return code;
}

/* The bytes of a number without a leading zero, at most `most`; -1 = none. Moves *at behind it. */
static int take_decimal(const char **at)
{
	const char *start = *at;
	int value = 0;

	while (**at >= '0' && **at <= '9' && *at - start < 3)
		value = value * 10 + (*(*at)++ - '0');
	return *at == start || value > 255 || (*start == '0' && *at - start > 1) ? -1 : value;
}

static int take_nibble(const char **at)
{
	static const char digits[] = "0123456789abcdef";
	const char *digit = **at ? strchr(digits, **at) : NULL;

	if (!digit)
		return -1;
	(*at)++;
	return (int)(digit - digits);
}

bool qsb__dns_reverse_name(const char *name, int *family, uint8_t *bytes)
{
	size_t length = strlen(name);
	bool is4 = length > 13 && strcmp(name + length - 13, ".in-addr.arpa") == 0;
	size_t parts = is4 ? 4 : 32;

	if (!is4 && (length < 9 || strcmp(name + length - 9, ".ip6.arpa") != 0))
		return false;
	memset(bytes, 0, is4 ? 4 : 16);
	/* The last part of the address stands first. */
	for (size_t i = parts; i-- > 0;) {
		int value = is4 ? take_decimal(&name) : take_nibble(&name);

		if (value < 0 || *name++ != '.')
			return false;
		if (is4)
			bytes[i] = (uint8_t)value;
		else
			bytes[i / 2] |= (uint8_t)(i % 2 ? value : value << 4);
	}
	*family = is4 ? 4 : 6;
	return strcmp(name, is4 ? "in-addr.arpa" : "ip6.arpa") == 0;
}
