#include "core/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Table 3-7 of the Unicode standard: the second byte's range keeps out overlong forms, surrogates and what lies above
 * U+10FFFF. */
size_t qsb__utf8_length(const char *text, size_t left)
{
	const unsigned char *at = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xBF;
	size_t length;

	if (left == 0)
		return 0;
	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xC2 || at[0] > 0xF4)
		return 0;
	length = at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
	if (left < length)
		return 0;
	if (at[0] == 0xE0)
		low = 0xA0;
	else if (at[0] == 0xED)
		high = 0x9F;
	else if (at[0] == 0xF0)
		low = 0x90;
	else if (at[0] == 0xF4)
		high = 0x8F;
	if (at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if (at[i] < 0x80 || at[i] > 0xBF)
			return 0;
	return length;
}

bool qsb__utf8_is_control(const char *at, size_t length)
{
	const unsigned char *byte = (const unsigned char *)at;

	if (length == 1)
		return byte[0] < 0x20 || byte[0] == 0x7F;
	if (length == 2)
		return (byte[0] == 0xC2 && byte[1] < 0xA0) || (byte[0] == 0xD8 && byte[1] == 0x9C); /* U+061C */
	if (length != 3 || byte[0] != 0xE2)
		return false;
	/* U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069 */
	return byte[1] == 0x80 ? byte[2] == 0x8E || byte[2] == 0x8F || (byte[2] >= 0xA8 && byte[2] <= 0xAE)
			       : byte[1] == 0x81 && byte[2] >= 0xA6 && byte[2] <= 0xA9;
}

char *qsb__utf8_repair(const char *data, size_t length, size_t *out_length)
{
	static const char replacement[] = "\xEF\xBF\xBD";
	char *out;
	size_t bad = 0, used = 0;

	for (size_t at = 0, step; at < length; at += step ? step : 1) {
		step = qsb__utf8_length(data + at, length - at);
		bad += step == 0;
	}
	out = malloc(length + 2 * bad + 1);
	if (!out)
		return NULL;
	for (size_t at = 0; at < length;) {
		size_t step = qsb__utf8_length(data + at, length - at);

		memcpy(out + used, step ? data + at : replacement, step ? step : 3);
		used += step ? step : 3;
		at += step ? step : 1;
	}
	out[used] = '\0';
	*out_length = used;
	return out;
}
