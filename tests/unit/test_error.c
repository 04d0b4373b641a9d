#include "core/error.h"

#include <errno.h>

#include "tap.h"

int main(void)
{
	struct qsb_error err;
	char wide[500];

	tap_is_number(qsb__fail(&err, QSB_E_RANGE, "/limits/cpus", "too %s", "many"), QSB_E_RANGE,
		      "fail returns its code");
	tap_is_text(err.message, "too many", "the message is formatted");
	tap_is_text(err.where, "/limits/cpus", "where is kept");
	qsb__fail_os(&err, ENOENT, "mounts", "cannot open %s", "/a\nb");
	tap_is_text(err.message, "cannot open /a b: No such file or directory", "a newline in a path becomes a space");
	tap_is_number(err.os_code, ENOENT, "the errno is kept");
	memset(wide, 'x', sizeof(wide));
	memcpy(wide + 398, "\xE4\xB8\xAD", 4);
	qsb__fail(&err, QSB_E_OS, "", "%s", wide);
	tap_is_number((long long)strlen(err.message), 398, "a message is not cut inside a character");
	qsb__fail(&err, QSB_E_OS, "a\x1B\xFFz", "%s", "\x1B[2J \xFF \xC2\x9B \xE4\xB8\xAD");
	tap_is_text(err.message, "?[2J ? ?? \xE4\xB8\xAD", "what would steer a terminal or is not UTF-8 is replaced");
	tap_is_text(err.where, "a??z", "also in the place");
	tap_is_number(qsb__fail(NULL, QSB_E_MEMORY, "", "x"), QSB_E_MEMORY, "no error object is needed");
	return tap_done();
}
