#include "core/punycode.h"

#include <stdint.h>
#include <string.h>

#include "core/utf8.h"

enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, FIRST_BIAS = 72, FIRST_CODE = 128, LABEL_MAX = 63 };

struct label {
	uint32_t points[LABEL_MAX];
	size_t count;
};

struct text {
	char *out;
	size_t used, size;
	bool full;
};

static void put(struct text *text, char byte)
{
	if (text->used + 1 >= text->size) {
		text->full = true;
		return;
	}
	text->out[text->used++] = byte;
	text->out[text->used] = '\0';
}

/* The bytes of one UTF-8 character, 0 = none. */
static size_t decode(const char *at, const char *end, uint32_t *point)
{
	size_t size = qsb__utf8_length(at, (size_t)(end - at));

	*point = (unsigned char)*at;
	if (size > 1)
		*point &= 0xFFU >> (size + 1);
	for (size_t i = 1; i < size; i++)
		*point = *point << 6 | ((unsigned char)at[i] & 0x3FU);
	return size;
}

static bool read_label(struct label *label, const char *at, const char *end)
{
	label->count = 0;
	while (at < end) {
		size_t size = label->count < LABEL_MAX ? decode(at, end, &label->points[label->count]) : 0;

		if (size == 0)
			return false;
		label->count++;
		at += size;
	}
	return true;
}

static uint32_t adapt(uint32_t delta, uint32_t count, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / DAMP : delta / 2;
	delta += delta / count;
	while (delta > (BASE - T_MIN) * T_MAX / 2) {
		delta /= BASE - T_MIN;
		k += BASE;
	}
	return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

static void put_number(struct text *text, uint32_t value, uint32_t bias)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	for (uint32_t k = BASE;; k += BASE) {
		uint32_t threshold = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;

		if (value < threshold)
			break;
		put(text, digits[threshold + (value - threshold) % (BASE - threshold)]);
		value = (value - threshold) / (BASE - threshold);
	}
	put(text, digits[value]);
}

static uint32_t next_point(const struct label *label, uint32_t from)
{
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < label->count; i++)
		if (label->points[i] >= from && label->points[i] < least)
			least = label->points[i];
	return least;
}

static void put_label(struct text *text, const struct label *label)
{
	uint32_t n = FIRST_CODE, delta = 0, bias = FIRST_BIAS;
	size_t basic = 0, done;

	for (size_t i = 0; i < label->count; i++)
		basic += label->points[i] < FIRST_CODE;
	for (const char *prefix = basic < label->count ? "xn--" : ""; *prefix; prefix++)
		put(text, *prefix);
	for (size_t i = 0; i < label->count; i++)
		if (label->points[i] < FIRST_CODE)
			put(text, (char)label->points[i]);
	if (basic && basic < label->count)
		put(text, '-');
	/* At most 63 characters below 0x110000: no sum here can pass 32 bits. */
	for (done = basic; done < label->count; delta++, n++) {
		uint32_t next = next_point(label, n);

		delta += (next - n) * (uint32_t)(done + 1);
		n = next;
		for (size_t i = 0; i < label->count; i++) {
			delta += label->points[i] < n;
			if (label->points[i] != n)
				continue;
			put_number(text, delta, bias);
			bias = adapt(delta, (uint32_t)(done + 1), done == basic);
			delta = 0;
			done++;
		}
	}
}

bool qsb__punycode_name(const char *name, size_t length, char *out, size_t size)
{
	struct text text = {.out = out, .size = size};
	const char *end = name + length;
	struct label label;

	while (name <= end) {
		const char *dot = memchr(name, '.', (size_t)(end - name));
		const char *stop = dot ? dot : end;

		if (!read_label(&label, name, stop))
			return false;
		put_label(&text, &label);
		if (dot)
			put(&text, '.');
		name = stop + 1;
	}
	return !text.full;
}
