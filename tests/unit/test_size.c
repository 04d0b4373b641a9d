#include "core/size.h"

#include <stdint.h>

#include <qiming/sandbox.h>

#include "core/suggest.h"
#include "tap.h"

static uint64_t size_of(const char *text)
{
	uint64_t value = 7;

	return qsb__size_parse(text, &value) ? UINT64_MAX - 1 : value;
}

static void sizes(void)
{
	static const char *const bad[] = {"",    " 1",  "1 ",    "-1",        "+1",   "g",    "1q",   "1kk",
					  "1.g", ".5g", "1..5g", "0x10",      "1e3",  "1.5",  "1.5b", "1g2",
					  "1_0", "1bb", "1ib",   "\xD9\xA1g", "none", "1,5g", "1G "};
	uint64_t value = 7;

	tap_is_number((long long)size_of("4096"), 4096, "a plain number is bytes");
	tap_is_number((long long)size_of("64k"), 64 * 1024, "k is 1024");
	tap_is_number((long long)size_of("2g"), 2LL << 30, "g is 2^30");
	tap_is_number((long long)size_of("1T"), 1LL << 40, "a unit may be a capital");
	tap_is_number((long long)size_of("2gb"), 2LL << 30, "gb is the same as g");
	tap_is_number((long long)size_of("2GiB"), 2LL << 30, "GiB is the same as g");
	tap_is_number((long long)size_of("1.5g"), 3LL << 29, "a fraction of a unit is exact");
	tap_is_number((long long)size_of("0.1k"), 102, "a part of a byte is cut off");
	tap_is_number((long long)size_of("0.9999999999999999999999999t"), 1099511626676LL,
		      "more digits than fit are cut off, not misread");
	tap_is_number((long long)size_of("0"), 0, "zero is a size");
	tap_is_number((long long)size_of("0000000000000000000000000001k"), 1024, "leading zeros do not overflow");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(qsb__size_parse(bad[i], &value) == QSB_E_INVALID && value == 7, "'%s' is not a size", bad[i]);
	tap_is_number(qsb__size_parse("18446744073709551615", &value), 0, "the largest number fits");
	tap_ok(value == UINT64_MAX, "and is read exactly");
	value = 7;
	tap_is_number(qsb__size_parse("18446744073709551616", &value), QSB_E_RANGE, "one more is out of range");
	tap_is_number(qsb__size_parse("16777216t", &value), QSB_E_RANGE, "a product that does not fit is out of range");
	tap_is_number(qsb__size_parse("99999999999999999999999g", &value), QSB_E_RANGE, "digits that do not fit, too");
	tap_ok(value == 7, "a refused size leaves the value as it was");
}

static void durations(void)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} good[] = {{"300", 300000}, {"1.5", 1500},     {"500ms", 500}, {"90s", 90000},    {"5m", 300000},
		    {"1h", 3600000}, {"2d", 172800000}, {"0.001", 1},   {"1.5H", 5400000}, {"0", 0}};
	static const char *const bad[] = {"", "abc", "-1", "1.5ms", "5 m", "1h30m", "5min", "inf", "nan", "1e9", "0x1"};
	uint64_t value = 7;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		tap_ok(qsb__duration_parse(good[i].text, &value) == 0 && value == good[i].ms, "'%s' is %llu ms",
		       good[i].text, (unsigned long long)good[i].ms);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_is_number(qsb__duration_parse(bad[i], &value), QSB_E_INVALID, bad[i][0] ? bad[i] : "empty");
	tap_is_number(qsb__duration_parse("99999999999999999", &value), QSB_E_RANGE,
		      "too many seconds are out of range");
}

static void processors(void)
{
	uint64_t value = 7;

	tap_ok(qsb__cpus_parse("0.5", &value) == 0 && value == 500, "half a processor is 500 thousandths");
	tap_ok(qsb__cpus_parse("2", &value) == 0 && value == 2000, "two processors are 2000 thousandths");
	tap_is_number(qsb__cpus_parse("2k", &value), QSB_E_INVALID, "processors have no unit");
	tap_ok(qsb__count_parse("512", &value) == 0 && value == 512, "a count is a whole number");
	tap_is_number(qsb__count_parse("1.5", &value), QSB_E_INVALID, "a count has no fraction");
	tap_is_number(qsb__count_parse("1k", &value), QSB_E_INVALID, "a count has no unit");
}

static void formats(void)
{
	static const uint64_t sizes[] = {
		0, 1, 1023, 1024, 1536, 3ULL << 29, 5ULL << 40, UINT64_MAX, (1ULL << 40) - 1, 10ULL << 20, 1ULL << 63};
	char text[QSB__NUMBER_TEXT_MAX];
	uint64_t back = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		qsb__size_format(sizes[i], text);
		tap_ok(qsb__size_parse(text, &back) == 0 && back == sizes[i], "%s is read back to the same size", text);
	}
	qsb__size_format(2ULL << 30, text);
	tap_is_text(text, "2g", "a size is written in its largest whole unit");
	qsb__milli_format(1500, text);
	tap_is_text(text, "1.5", "thousandths are written without idle zeros");
	qsb__milli_format(300000, text);
	tap_is_text(text, "300", "a whole number has no point");
	qsb__milli_format(1, text);
	tap_is_text(text, "0.001", "the smallest fraction is written");
}

static void suggestions(void)
{
	static const char *const names[] = {"check", "show", "init", "schema", NULL, "allowWrite", "allowRead"};
	char longest[200];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	tap_is_text(qsb__suggest("chekc", names, 7), "check", "two swapped letters are one mistake");
	tap_is_text(qsb__suggest("alowWrite", names, 7), "allowWrite", "a missing letter is seen");
	tap_is_text(qsb__suggest("ALLOWREAD", names, 7), "allowRead", "case does not count");
	tap_is_text(qsb__suggest("zzz", names, 7), NULL, "what resembles nothing gets no suggestion");
	tap_is_text(qsb__suggest("", names, 7), NULL, "an empty word gets no suggestion");
	tap_is_text(qsb__suggest(longest, names, 7), NULL, "a very long word gets no suggestion");
	tap_ok(qsb__edit_distance(longest, "a") == SIZE_MAX, "a very long word is not measured");
	tap_is_number((long long)qsb__edit_distance("kitten", "sitting"), 3, "the distance counts single edits");
}

int main(void)
{
	sizes();
	durations();
	processors();
	formats();
	suggestions();
	return tap_done();
}
