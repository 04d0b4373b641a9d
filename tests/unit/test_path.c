#include "core/path.h"

#include "tap.h"

static const struct qsb__path_base unix_base = {.home = "/home/a", .folder = "/work/p"};
static const struct qsb__path_base windows_base = {.home = "C:/Users/a", .folder = "C:/work", .windows = true};

static void absolute(const struct qsb__path_base *base, const char *text, const char *expected)
{
	struct qsb_error err = {0};
	char out[QSB__PATH_MAX] = "";

	if (qsb__path_absolute(out, text, base, &err))
		tap_ok(false, "%s becomes %s, got: %s", text, expected, err.message);
	else
		tap_ok(strcmp(out, expected) == 0, "%s becomes %s, got %s", text, expected, out);
}

static void test_absolute(void)
{
	struct qsb_error err = {0};
	char out[QSB__PATH_MAX], longest[QSB__PATH_MAX + 10];
	struct qsb__path_base nobody = {.folder = "/"};

	absolute(&unix_base, ".", "/work/p");
	absolute(&unix_base, "x", "/work/p/x");
	absolute(&unix_base, "./x//y/./z/", "/work/p/x/y/z");
	absolute(&unix_base, "/", "/");
	absolute(&unix_base, "///", "/");
	absolute(&unix_base, "/a/../b", "/a/../b");
	absolute(&unix_base, "~", "/home/a");
	absolute(&unix_base, "~/x", "/home/a/x");
	absolute(&unix_base, "./~x", "/work/p/~x");
	absolute(&unix_base, "a\\b", "/work/p/a\\b");
	absolute(&unix_base, "C:/x", "/work/p/C:/x");
	absolute(&unix_base, "\xFF\xFE", "/work/p/\xFF\xFE");
	absolute(&windows_base, "C:\\Users\\b\\", "C:/Users/b");
	absolute(&windows_base, "d:/x", "d:/x");
	absolute(&windows_base, "x\\y", "C:/work/x/y");
	absolute(&windows_base, "~\\.ssh", "C:/Users/a/.ssh");
	tap_ok(qsb__path_absolute(out, "a\nb\"c'", &unix_base, &err) == 0 && strcmp(out, "/work/p/a\nb\"c'") == 0,
	       "newlines and quotes are data");
	tap_is_number(qsb__path_absolute(out, "", &unix_base, &err), QSB_E_INVALID, "an empty path is refused");
	tap_is_number(qsb__path_absolute(out, "~bob/x", &unix_base, &err), QSB_E_INVALID,
		      "another user's ~ is refused");
	tap_ok(strstr(err.message, "./~bob/x") != NULL, "and the message says how a file of that name is written");
	tap_is_number(qsb__path_absolute(out, "~/x", &nobody, &err), QSB_E_INVALID,
		      "~ without a home folder is refused");
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[QSB__PATH_MAX - 1] = '\0';
	tap_is_number(qsb__path_absolute(out, longest, &unix_base, &err), 0, "a path of 4095 bytes is one");
	tap_is_text(out, longest, "and comes out whole");
	longest[QSB__PATH_MAX - 1] = 'x';
	longest[QSB__PATH_MAX] = '\0';
	tap_is_number(qsb__path_absolute(out, longest, &unix_base, &err), QSB_E_RANGE,
		      "a path of 4096 bytes is too long");
	longest[QSB__PATH_MAX - 4] = '\0';
	tap_is_number(qsb__path_absolute(out, longest + 1, &unix_base, &err), QSB_E_RANGE,
		      "a relative path that gets too long is refused");
}

static void folded(const char *text, const char *expected)
{
	char path[200];

	snprintf(path, sizeof(path), "%s", text);
	qsb__path_fold_dots(path);
	tap_ok(strcmp(path, expected) == 0, "%s folds to %s, got %s", text, expected, path);
}

static void test_dots(void)
{
	folded("/a/../b", "/b");
	folded("/a/b/../../c", "/c");
	folded("/..", "/");
	folded("/../../a", "/a");
	folded("/a/..", "/");
	folded("/a/b/..", "/a");
	folded("/a..b/..c", "/a..b/..c");
	folded("C:/a/../../b", "C:/b");
	tap_ok(qsb__path_has_dots("/a/../b") && qsb__path_has_dots("..") && qsb__path_has_dots("/a/.."),
	       "a .. component is seen");
	tap_ok(!qsb__path_has_dots("/a..b/..c/d.."), "dots inside a name are none");
}

static void test_order(void)
{
	tap_ok(qsb__path_compare("/a", "/a/b", false) < 0, "a folder comes before what lies in it");
	tap_ok(qsb__path_compare("/a/b", "/a.b", false) < 0, "what lies in a folder comes before its neighbour");
	tap_ok(qsb__path_compare("/a/b", "/a-b", false) < 0, "also before a neighbour whose next byte is below '/'");
	tap_ok(qsb__path_compare("/", "/a", false) < 0 && qsb__path_compare("/", "C:/a", false) < 0,
	       "the root comes first");
	tap_ok(qsb__path_compare("/A", "/a", true) == 0 && qsb__path_compare("/A", "/a", false) != 0,
	       "case counts, or not");
	tap_ok(qsb__path_compare("/a\x80", "/a\x01", false) > 0, "bytes compare without a sign");
	tap_ok(qsb__path_inside("/a/b", "/a", false) && qsb__path_inside("/a", "/a", false),
	       "inside, and the folder itself");
	tap_ok(!qsb__path_inside("/ab", "/a", false) && !qsb__path_inside("/a", "/a/b", false),
	       "a longer name is not inside");
	tap_ok(qsb__path_inside("/x", "/", false) && qsb__path_inside("C:/x", "/", false), "everything is inside /");
	tap_ok(qsb__path_inside("/A/b", "/a", true) && !qsb__path_inside("/A/b", "/a", false),
	       "inside without regard to case");
	tap_is_text(qsb__path_below("/a/b/c", "/a"), "b/c", "the part below a folder");
	tap_is_text(qsb__path_below("/a/b", "/"), "a/b", "the part below /");
	tap_is_text(qsb__path_below("/a", "/a"), "", "nothing is below the path itself");
	tap_is_text(qsb__path_name("/a/b"), "b", "the last component");
	tap_is_number((long long)qsb__path_parent("/a/b"), 2, "the parent of /a/b is /a");
	tap_is_number((long long)qsb__path_parent("/a"), 1, "the parent of /a is /");
	tap_is_number((long long)qsb__path_parent("/"), 0, "/ has no parent");
}

static void test_join(void)
{
	char out[QSB__PATH_MAX], longest[QSB__PATH_MAX];

	tap_ok(qsb__path_join(out, "/a", "b/c") && strcmp(out, "/a/b/c") == 0, "two parts are joined");
	tap_ok(qsb__path_join(out, "/", "b") && strcmp(out, "/b") == 0, "the root adds no second slash");
	tap_ok(qsb__path_join(out, "/a", "") && strcmp(out, "/a") == 0, "an empty part adds nothing");
	tap_ok(qsb__path_join(out, out, "x") && strcmp(out, "/a/x") == 0, "the result may be the first part's storage");
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	tap_ok(!qsb__path_join(out, "/a", longest), "too long is told");
}

int main(void)
{
	test_absolute();
	test_dots();
	test_order();
	test_join();
	return tap_done();
}
