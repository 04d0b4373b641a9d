/* Paths: whatever comes in, an absolute path is clean, stays so, and lies where it says. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int holds)
{
	if (!holds)
		abort();
}

static void check_clean(const char *path)
{
	size_t length = strlen(path);

	expect(path[0] == '/' && length < QSB__PATH_MAX);
	expect(!strstr(path, "//") && !strstr(path, "/./"));
	expect(length == 1 || path[length - 1] != '/');
	expect(length < 2 || strcmp(path + length - 2, "/.") != 0);
}

static void check_parent(const char *path)
{
	char folder[QSB__PATH_MAX];
	size_t length = qsb__path_parent(path);

	if (!length)
		return;
	memcpy(folder, path, length);
	folder[length] = '\0';
	expect(qsb__path_inside(path, folder, false) && qsb__path_compare(folder, path, false) < 0);
	expect(qsb__path_compare(path, folder, false) > 0 && !qsb__path_inside(folder, path, false));
	expect(qsb__path_join(folder, folder, qsb__path_name(path)) && strcmp(folder, path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qsb__path_base base = {.home = "/home/a", .folder = "/work/p"};
	QSB_CLEANUP_FREE char *text = malloc(size + 1);
	char path[QSB__PATH_MAX], again[QSB__PATH_MAX];
	struct qsb_error err;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (qsb__path_absolute(path, text, &base, &err) == 0) {
		check_clean(path);
		expect(qsb__path_absolute(again, path, &base, &err) == 0 && strcmp(path, again) == 0);
		check_parent(path);
		qsb__path_fold_dots(path);
		check_clean(path);
		expect(!qsb__path_has_dots(path));
	}
	base.windows = true;
	if (qsb__path_absolute(path, text, &base, &err) == 0) {
		expect(!strchr(path, '\\') && !strstr(path, "//"));
		qsb__path_fold_dots(path);
	}
	return 0;
}
