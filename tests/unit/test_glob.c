#include "core/glob.h"

#include "tap.h"

struct row {
	const char *pattern, *path;
	bool matches;
};

static const struct row rows[] = {
	{"*.pem", "a.pem", true},
	{"*.pem", "x/a.pem", false},
	{"*.pem", ".pem", true},
	{"*", ".hidden", true},
	{"*", "a/b", false},
	{"**", "a/b/c", true},
	{"**", "", true},
	{"**/*.pem", "a.pem", true},
	{"**/*.pem", "x/y/a.pem", true},
	{"**/*.pem", "x/y/a.pem/z", false},
	{"/a/**", "/a", true},
	{"/a/**", "/a/b/c", true},
	{"/a/**", "/ab", false},
	{"/a/**/z", "/a/z", true},
	{"/a/**/z", "/a/b/c/z", true},
	{"/a/**/b/**/z", "/a/x/b/y/b/w/z", true},
	{"/a/**/b/**/z", "/a/x/c/y/w/z", false},
	{"**/a/**/a/b", "a/a/a/a/b", true},
	{"**/a/*/b", "a/a/x/b", true},
	{"a**b", "axxb", true},
	{"a**b", "ax/xb", false},
	{"a?c", "abc", true},
	{"a?c", "a/c", false},
	{"a?c", "ac", false},
	{"?", "\xC3\xA9", true},
	{"?", "\xF0\x9F\x98\x80", true},
	{"?", "\xFF", true},
	{"??", "\xC3\xA9", false},
	{"[abc]", "b", true},
	{"[a-c]x", "bx", true},
	{"[a-c]x", "dx", false},
	{"[!a-c]x", "dx", true},
	{"[^a-c]x", "dx", true},
	{"[!a-c]x", "bx", false},
	{"[!a]", "/", false},
	{"[]]", "]", true},
	{"[!]]", "a", true},
	{"[a-]", "-", true},
	{"[-a]", "-", true},
	{"[*]", "*", true},
	{"[*]", "x", false},
	{"[?]", "?", true},
	{"[[]", "[", true},
	{"[\xC3\xA0-\xC3\xAF]", "\xC3\xA9", true},
	{"[abc", "a", false},
	{"[abc", "[abc", false},
	{"*a*b*c*", "xxaxxbxxcxx", true},
	{"*a*b*c*", "xxaxxcxxbxx", false},
	{"*.tar.*", "a.tar.tar.gz", true},
	{"a/b", "a/b", true},
	{"a//b", "a/b", true},
	{"a/b/", "a/b", true},
	{"/a", "a", false},
	{"a", "/a", false},
	{"", "", true},
	{"a", "", false},
	{"C:/Users/*/x", "C:/Users/b/x", true},
	{"\\*", "\\x", true},
};

static void test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_ok(qsb__glob_match(rows[i].pattern, rows[i].path, false) == rows[i].matches, "%s %s %s",
		       rows[i].pattern, rows[i].matches ? "matches" : "does not match",
		       rows[i].path[0] == '\xFF' ? "a byte" : rows[i].path);
	tap_ok(qsb__glob_match("*.PEM", "a.pem", true) && !qsb__glob_match("*.PEM", "a.pem", false),
	       "case counts, or not");
	tap_ok(qsb__glob_match("a\nb*", "a\nb\nc", false), "newlines are data");
	tap_ok(qsb__glob_match("[A-C]", "b", true) && qsb__glob_match("[a-c]", "B", true),
	       "case counts in a class, or not");
}

static void test_checks(void)
{
	char why[200], longest[QSB__GLOB_MAX + 1];

	tap_is_number(qsb__glob_check("a/[b/c]", why, sizeof(why)), -1, "a class does not reach over a slash");
	tap_is_number(qsb__glob_check("[", why, sizeof(why)), -1, "an open class is refused");
	tap_is_number(qsb__glob_check("", why, sizeof(why)), -1, "an empty pattern is refused");
	tap_is_number(qsb__glob_check("a/*/[b]", why, sizeof(why)), 0, "a good pattern is none of these");
	memset(longest, 'a', sizeof(longest));
	longest[QSB__GLOB_MAX] = '\0';
	tap_is_number(qsb__glob_check(longest, why, sizeof(why)), -1, "a pattern that is too long is refused");
	tap_ok(qsb__glob_is_pattern("a*") && qsb__glob_is_pattern("?") && qsb__glob_is_pattern("[") &&
		       !qsb__glob_is_pattern("a]b"),
	       "patterns are told from paths");
}

static void test_walks(void)
{
	char quoted[50];

	tap_ok(qsb__glob_may_hold("/a/*/c", "/a", false) && qsb__glob_may_hold("/a/*/c", "/a/b", false),
	       "a folder on the way is worth a walk");
	tap_ok(!qsb__glob_may_hold("/a/*/c", "/a/b/c", false) && !qsb__glob_may_hold("/a/*/c", "/x", false),
	       "the end of the pattern is not, nor a folder beside it");
	tap_ok(qsb__glob_may_hold("**/x", "a/b/c", false), "below ** everything is");
	tap_is_number((long long)qsb__glob_literal_prefix("/a/b*c/d"), 2, "the part without wildcards is /a");
	tap_is_number((long long)qsb__glob_literal_prefix("/*"), 1, "or the root");
	tap_is_number((long long)qsb__glob_literal_prefix("*.pem"), 0, "or nothing");
	tap_is_number((long long)qsb__glob_literal_prefix("src/[ab]"), 3, "or a relative folder");
	tap_ok(qsb__glob_quote(quoted, sizeof(quoted), "a[b*?") && strcmp(quoted, "a[[]b[*][?]") == 0 &&
		       qsb__glob_match(quoted, "a[b*?", false),
	       "a quoted text matches itself");
	tap_ok(!qsb__glob_quote(quoted, 8, "abcdefgh"), "too little room is told");
}

/* Not a measure of time but of work: a matcher that tries every combination would not end within years. */
static void test_hostile(void)
{
	char pattern[600], path[4000];
	size_t at = 0;

	for (int i = 0; i < 100; i++)
		at += (size_t)sprintf(pattern + at, "*a");
	sprintf(pattern + at, "*b");
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	tap_ok(!qsb__glob_match(pattern, path, false), "a hundred stars end");
	at = 0;
	for (int i = 0; i < 100; i++)
		at += (size_t)sprintf(pattern + at, "**/a/");
	sprintf(pattern + at, "b");
	for (size_t i = 1; i < sizeof(path); i += 2)
		path[i] = '/';
	path[sizeof(path) - 1] = '\0';
	tap_ok(!qsb__glob_match(pattern, path, false), "a hundred double stars end");
}

int main(void)
{
	test_rows();
	test_checks();
	test_walks();
	test_hostile();
	return tap_done();
}
