#include "core/size.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <strings.h>

#include <qiming/sandbox.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit sizes[] = {
	{"", 1},
	{"b", 1},
	{"k", 1ULL << 10},
	{"kb", 1ULL << 10},
	{"kib", 1ULL << 10},
	{"m", 1ULL << 20},
	{"mb", 1ULL << 20},
	{"mib", 1ULL << 20},
	{"g", 1ULL << 30},
	{"gb", 1ULL << 30},
	{"gib", 1ULL << 30},
	{"t", 1ULL << 40},
	{"tb", 1ULL << 40},
	{"tib", 1ULL << 40},
	{NULL, 0},
};

static const struct unit durations[] = {
	{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60ULL * 1000}, {"h", 3600ULL * 1000}, {"d", 24ULL * 3600 * 1000},
	{NULL, 0},
};

static const struct unit thousandths[] = {{"", 1000}, {NULL, 0}};
static const struct unit ones[] = {{"", 1}, {NULL, 0}};

/* A number in decimal digits: whole + fraction / 10^9. */
struct decimal {
	uint64_t whole;
	uint64_t billionths;
	bool has_point;
	bool too_large;
};

static bool is_digit(char character)
{
	return character >= '0' && character <= '9';
}

/* Returns where the number ends, NULL = there is none. */
static const char *read_decimal(const char *at, struct decimal *number)
{
	uint64_t place = 100000000;

	*number = (struct decimal){0};
	if (!is_digit(*at))
		return NULL;
	for (; is_digit(*at); at++) {
		if (__builtin_mul_overflow(number->whole, 10U, &number->whole) ||
		    __builtin_add_overflow(number->whole, (unsigned)(*at - '0'), &number->whole))
			number->too_large = true;
	}
	if (*at != '.')
		return at;
	number->has_point = true;
	if (!is_digit(*++at))
		return NULL;
	for (; is_digit(*at); at++, place /= 10)
		number->billionths += (uint64_t)(*at - '0') * place;
	return at;
}

static int read_number(const char *text, const struct unit *units, uint64_t *out)
{
	struct decimal number;
	const char *rest = read_decimal(text, &number);
	uint64_t value;

	if (!rest)
		return QSB_E_INVALID;
	while (units->name && strcasecmp(units->name, rest) != 0)
		units++;
	if (!units->name || (number.has_point && units->factor == 1))
		return QSB_E_INVALID;
	if (number.too_large || __builtin_mul_overflow(number.whole, units->factor, &value))
		return QSB_E_RANGE;
	/* Factors reach 2^40, billionths 2^30: divide in two steps, so that the product stays in 64 bits. */
	if (__builtin_add_overflow(value,
				   units->factor / 1000000000 * number.billionths +
					   units->factor % 1000000000 * number.billionths / 1000000000,
				   &value))
		return QSB_E_RANGE;
	*out = value;
	return 0;
}

int qsb__size_parse(const char *text, uint64_t *bytes)
{
	return read_number(text, sizes, bytes);
}

int qsb__duration_parse(const char *text, uint64_t *ms)
{
	return read_number(text, durations, ms);
}

int qsb__cpus_parse(const char *text, uint64_t *milli)
{
	return read_number(text, thousandths, milli);
}

int qsb__count_parse(const char *text, uint64_t *count)
{
	return read_number(text, ones, count);
}

void qsb__size_format(uint64_t bytes, char out[QSB__NUMBER_TEXT_MAX])
{
	static const char suffix[] = {'t', 'g', 'm', 'k'};

	for (unsigned i = 0; i < sizeof(suffix); i++) {
		uint64_t factor = 1ULL << (40 - 10 * i);

		if (bytes && bytes % factor == 0) {
			snprintf(out, QSB__NUMBER_TEXT_MAX, "%" PRIu64 "%c", bytes / factor, suffix[i]);
			return;
		}
	}
	snprintf(out, QSB__NUMBER_TEXT_MAX, "%" PRIu64, bytes);
}

void qsb__milli_format(uint64_t value, char out[QSB__NUMBER_TEXT_MAX])
{
	int length = snprintf(out, QSB__NUMBER_TEXT_MAX, "%" PRIu64, value / 1000);

	if (value % 1000 == 0)
		return;
	length += snprintf(out + length, QSB__NUMBER_TEXT_MAX - (size_t)length, ".%03u", (unsigned)(value % 1000));
	while (out[length - 1] == '0')
		out[--length] = '\0';
}
