#include "core/json_string.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/utf8.h"

static int hex_digit(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

/* Four digits at `at`, -1 = they are not. The text ends with a quote that was found, so they can be looked at in order.
 */
static int read_hex(const char *at)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(at[i]);

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

static char *write_utf8(char *to, unsigned code)
{
	if (code < 0x80) {
		*to++ = (char)code;
		return to;
	}
	if (code < 0x800) {
		*to++ = (char)(0xC0 | code >> 6);
	} else {
		if (code < 0x10000) {
			*to++ = (char)(0xE0 | code >> 12);
		} else {
			*to++ = (char)(0xF0 | code >> 18);
			*to++ = (char)(0x80 | (code >> 12 & 0x3F));
		}
		*to++ = (char)(0x80 | (code >> 6 & 0x3F));
	}
	*to++ = (char)(0x80 | (code & 0x3F));
	return to;
}

/* "\uXXXX" at `at`, also a pair of them; *length is what it takes. 0 = not one. */
static unsigned read_code(const char *at, size_t *length)
{
	int high = read_hex(at + 2), low;

	*length = 6;
	if (high <= 0 || (high >= 0xDC00 && high < 0xE000))
		return 0;
	if (high < 0xD800 || high >= 0xE000)
		return (unsigned)high;
	if (at[6] != '\\' || at[7] != 'u')
		return 0;
	low = read_hex(at + 8);
	*length = 12;
	if (low < 0xDC00 || low >= 0xE000)
		return 0;
	return 0x10000 + ((unsigned)(high - 0xD800) << 10) + (unsigned)(low - 0xDC00);
}

/* One escape at *at, written to *to; what is written is never longer than what is read. */
static const char *read_escape(char **at, char **to)
{
	static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	const char *letter = (*at)[1] ? strchr(letters, (*at)[1]) : NULL;
	size_t length = 2;
	unsigned code;

	if (letter) {
		*(*to)++ = bytes[letter - letters];
	} else if ((*at)[1] == 'u') {
		code = read_code(*at, &length);
		if (!code)
			return "the escape \\u is not one of a character that a text may have";
		*to = write_utf8(*to, code);
	} else {
		return "there is no such escape: \\ is written \\\\";
	}
	*at += length;
	return NULL;
}

/* A byte that does not stand for itself and is no escape. */
static const char *read_strange(char **at, const char *end, char **to)
{
	size_t length = qsb__utf8_length(*at, (size_t)(end - *at));

	if ((unsigned char)**at < 0x20)
		return "a control character in a text is written as an escape, such as \\u000a";
	if (length == 0)
		return "the text is not valid UTF-8";
	memmove(*to, *at, length);
	*to += length;
	*at += length;
	return NULL;
}

/* How many bytes from `at` stand for themselves in a string; eight are judged at once. Each term sets the top
 * bit of a byte that is below 0x20, a quote, a backslash or above ASCII; a borrow can only set more. */
static size_t plain_bytes(const char *at, const char *end)
{
	static const uint64_t ones = 0x0101010101010101;
	const char *start = at;
	uint64_t word;

	for (; (size_t)(end - at) >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		if (((word - ones * 0x20) | ((word ^ ones * '"') - ones) | ((word ^ ones * '\\') - ones) | word) &
		    ones * 0x80)
			break;
	}
	while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' && *at != '\\')
		at++;
	return (size_t)(at - start);
}

const char *qsb__json_string_read(char **at, char *end, const char **out)
{
	char *to = ++*at;
	const char *reason = NULL;

	*out = to;
	while (!reason) {
		size_t plain = plain_bytes(*at, end);

		if (to != *at)
			memmove(to, *at, plain);
		to += plain;
		*at += plain;
		if (*at >= end)
			return "the text breaks off inside a string";
		if (**at == '"')
			break;
		reason = **at == '\\' ? read_escape(at, &to) : read_strange(at, end, &to);
	}
	if (!reason) {
		++*at;
		*to = '\0';
	}
	return reason;
}
