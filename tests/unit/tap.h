/* TAP for the C unit tests: a test's name is a sentence. */
#ifndef QSB_TESTS_TAP_H
#define QSB_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failures;

__attribute__((format(printf, 2, 3), unused)) static bool tap_ok(bool passed, const char *name, ...)
{
	va_list arguments;

	tap_count++;
	printf("%sok %d - ", passed ? "" : "not ", tap_count);
	va_start(arguments, name);
	vprintf(name, arguments);
	va_end(arguments);
	printf("\n");
	if (!passed)
		tap_failures++;
	fflush(stdout);
	return passed;
}

__attribute__((unused)) static bool tap_is_text(const char *got, const char *wanted, const char *name)
{
	bool same = got && wanted ? strcmp(got, wanted) == 0 : got == wanted;

	tap_ok(same, "%s", name);
	if (!same)
		printf("#      got: %s\n# expected: %s\n", got ? got : "(none)", wanted ? wanted : "(none)");
	return same;
}

__attribute__((unused)) static bool tap_is_number(long long got, long long wanted, const char *name)
{
	tap_ok(got == wanted, "%s", name);
	if (got != wanted)
		printf("#      got: %lld\n# expected: %lld\n", got, wanted);
	return got == wanted;
}

/* The last line of every test program's main. */
__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failures ? 1 : 0;
}

#endif
