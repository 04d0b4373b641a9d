/* Globs: a first line is the pattern, the rest the path. What matches must be found by a walk; a quoted text matches
 * itself and nothing else. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int holds)
{
	if (!holds)
		abort();
}

/* Every folder on the way to a match is worth entering. */
static void check_walk(const char *pattern, char *path, bool fold)
{
	for (char *at = path + 1; *path && *at; at++) {
		if (*at != '/' || at[-1] == '/')
			continue;
		*at = '\0';
		expect(at[1] == '\0' || strspn(at + 1, "/") == strlen(at + 1) ||
		       qsb__glob_may_hold(pattern, path, fold));
		*at = '/';
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	QSB_CLEANUP_FREE char *pattern = malloc(size + 1);
	QSB_CLEANUP_FREE char *quoted = malloc(3 * size + 4);
	char why[200], *path;

	if (!pattern || !quoted)
		return 0;
	memcpy(pattern, data, size);
	pattern[size] = '\0';
	path = pattern + strcspn(pattern, "\n");
	if (*path)
		*path++ = '\0';
	expect(qsb__glob_literal_prefix(pattern) <= strlen(pattern));
	expect(qsb__glob_quote(quoted, 3 * size + 4, path));
	expect(qsb__glob_match(quoted, path, false) && qsb__glob_match(quoted, path, true));
	for (int fold = 0; fold < 2; fold++) {
		if (!qsb__glob_match(pattern, path, fold))
			continue;
		expect(!fold || qsb__glob_match(pattern, path, true));
		check_walk(pattern, path, fold);
	}
	if (!qsb__glob_is_pattern(pattern))
		expect(!*pattern || strlen(pattern) >= QSB__GLOB_MAX ||
		       qsb__glob_check(pattern, why, sizeof(why)) == 0);
	qsb__glob_check(pattern, why, sizeof(why));
	return 0;
}
