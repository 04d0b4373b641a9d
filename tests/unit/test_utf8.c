#include "core/utf8.h"

#include <stdlib.h>

#include "tap.h"

static void is_repaired(const char *bytes, const char *wanted, const char *name)
{
	size_t length;
	char *clean = qsb__utf8_repair(bytes, strlen(bytes), &length);

	tap_is_text(clean, wanted, name);
	free(clean);
}

int main(void)
{
	size_t length;
	char *clean;

	is_repaired("plain \xE4\xB8\xAD\xE6\x96\x87 \xF0\x9F\x98\x80",
		    "plain \xE4\xB8\xAD\xE6\x96\x87 \xF0\x9F\x98\x80", "UTF-8 stays as it is");
	is_repaired("a\xFF"
		    "b",
		    "a\xEF\xBF\xBD"
		    "b",
		    "a stray byte is replaced");
	is_repaired("\xE4\xB8", "\xEF\xBF\xBD\xEF\xBF\xBD", "each byte of a cut character is replaced");
	is_repaired("\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD", "an overlong form is no character");
	is_repaired("\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", "a surrogate is no character");
	is_repaired("\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD",
		    "nothing lies above U+10FFFF");
	clean = qsb__utf8_repair("a\0b", 3, &length);
	tap_ok(length == 3 && memcmp(clean, "a\0b", 3) == 0, "a NUL is a character");
	free(clean);
	return tap_done();
}
