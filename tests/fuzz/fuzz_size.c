/* Sizes, durations, processors and counts: what is accepted is written and read back to the same value. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/size.h"
#include "core/suggest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"allowRead", "allowWrite", "memory", "none"};
	QSB_CLEANUP_FREE char *text = malloc(size + 1);
	char shown[QSB__NUMBER_TEXT_MAX];
	uint64_t value, again;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (qsb__size_parse(text, &value) == 0) {
		qsb__size_format(value, shown);
		expect(qsb__size_parse(shown, &again) == 0 && again == value);
	}
	if (qsb__cpus_parse(text, &value) == 0) {
		qsb__milli_format(value, shown);
		expect(qsb__cpus_parse(shown, &again) == 0 && again == value);
		expect(qsb__duration_parse(text, &again) == 0 && again == value);
	}
	if (qsb__count_parse(text, &value) == 0)
		expect(qsb__size_parse(text, &again) == 0 && again == value);
	qsb__duration_parse(text, &value);
	qsb__suggest(text, names, 4);
	return 0;
}
