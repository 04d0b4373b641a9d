#include "cli/learn_places.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SYSTEM_DEPTH = 2, RANDOM_LENGTH = 6, NUMBER_LENGTH = 4 };

/* Below the home; `each`: every folder in it is a program's own. */
static const struct {
	const char *path;
	bool each;
} places[] = {
	{".cache", true},
	{".local/share", true},
	{".local/state", true},
	{".npm", false},
	{".pnpm-store", false},
	{".yarn", false},
	{".bun/install/cache", false},
	{".cargo/registry", false},
	{".cargo/git", false},
	{"go/pkg", false},
	{".gradle", false},
	{".m2/repository", false},
	{".ivy2", false},
	{".nuget/packages", false},
	{".pub-cache", false},
	{".ccache", false},
	{".conan2", false},
	{".cabal/packages", false},
	{".stack", false},
	{".gem", false},
	{".composer/cache", false},
	{".cpan", false},
	{".hex", false},
	{".opam", false},
	{".terraform.d/plugin-cache", false},
};

/* Below the home: shared by programs, or a person's own. */
static const char *const shared[] = {".config",    ".cache",    ".local",  ".local/share", ".local/state",
				     ".local/bin", "bin",       ".cargo",  ".cargo/bin",   "go",
				     "go/bin",     ".m2",       "Desktop", "Documents",    "Downloads",
				     "Pictures",   "Music",     "Videos",  "Library",      ".local/lib",
				     ".nuget",     ".composer", ".bun",    ".terraform.d", NULL};

static bool is_inside(const char *path, const char *folder)
{
	return qsb__path_inside(path, folder, false);
}

/* `folder` and the first component of `path` below it. */
static bool one_below(const char *path, const char *folder, char *out)
{
	const char *rest = qsb__path_below(path, folder);
	size_t length = strlen(path) - strlen(rest) + strcspn(rest, "/");

	if (!*rest)
		return false;
	memcpy(out, path, length);
	out[length] = '\0';
	return true;
}

bool qsb__learn_known_place(const struct qsb__learn_where *where, const char *path, char *out)
{
	char folder[QSB__PATH_MAX];

	for (size_t i = 0; where->home && i < sizeof(places) / sizeof(places[0]); i++) {
		if (!qsb__path_join(folder, where->home, places[i].path) || !is_inside(path, folder))
			continue;
		if (places[i].each)
			return one_below(path, folder, out);
		memcpy(out, folder, strlen(folder) + 1);
		return true;
	}
	return is_inside(path, "/var/cache") && one_below(path, "/var/cache", out);
}

static unsigned depth_of(const char *path)
{
	unsigned depth = 0;

	for (const char *at = path; *at; at++)
		depth += *at == '/' && at[1] && at[1] != '/';
	return depth;
}

/* /usr/lib, /var/log: programs of all kinds have their files there. */
static bool is_system(const char *folder)
{
	static const char *const trees[] = {"/usr", "/var", "/boot", NULL};

	for (const char *const *tree = trees; *tree; tree++)
		if (is_inside(folder, *tree))
			return depth_of(folder) <= SYSTEM_DEPTH || is_inside(folder, "/usr/local/lib") ||
			       (is_inside(folder, "/usr/local") && depth_of(folder) == SYSTEM_DEPTH + 1);
	return false;
}

bool qsb__learn_is_wide(const struct qsb__learn_where *where, const char *folder)
{
	char path[QSB__PATH_MAX];

	if (strcmp(folder, where->workspace) == 0)
		return false;
	if (depth_of(folder) <= 1 || is_inside(where->workspace, folder) || is_system(folder))
		return true;
	if (!where->home)
		return false;
	if (is_inside(where->home, folder))
		return true;
	/* Somebody else's home. */
	if (qsb__path_parent(folder) == qsb__path_parent(where->home) &&
	    strncmp(folder, where->home, qsb__path_parent(folder)) == 0)
		return true;
	for (const char *const *name = shared; *name; name++)
		if (qsb__path_join(path, where->home, *name) && strcmp(path, folder) == 0)
			return true;
	return false;
}

static bool has_word(const char *name)
{
	static const char *const words[] = {".tmp", ".temp", "tmp-", "tmp.", "temp-", ".lock",
					    ".lck", ".part", ".swp", ".new", NULL};
	size_t length = strlen(name);

	for (const char *const *word = words; *word; word++) {
		const char *at = strstr(name, *word);
		size_t after = at ? (size_t)(at - name) + strlen(*word) : 0;

		/* ".newest" is no temporary file, ".tmp12" is one. */
		if (at && ((*word)[0] != '.' || after == length || !isalpha((unsigned char)name[after])))
			return true;
	}
	return (length > 3 && strncmp(name, "tmp", 3) == 0) || (length > 1 && name[length - 1] == '~');
}

/* mkstemp's letters ("aB3xQ9"), a process number, a hash. */
static bool is_random(const char *part, size_t length)
{
	size_t upper = 0, lower = 0, digits = 0, hex = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)part[i];

		if (!isalnum(c))
			return false;
		upper += isupper(c) != 0;
		lower += islower(c) != 0;
		digits += isdigit(c) != 0;
		hex += isxdigit(c) != 0;
	}
	if (digits == length)
		return length >= NUMBER_LENGTH;
	if (length >= RANDOM_LENGTH && upper && lower && digits)
		return true;
	return length >= (size_t)RANDOM_LENGTH + 2 && hex == length && digits;
}

bool qsb__learn_is_passing(const char *name)
{
	const char *part = name;

	if (has_word(name))
		return true;
	for (;;) {
		size_t length = strcspn(part, ".-_");

		if (is_random(part, length))
			return true;
		if (!part[length])
			return false;
		part += length + 1;
	}
}

void qsb__learn_shorten(const struct qsb__learn_where *where, const char *path, char *out)
{
	const char *lead = "";

	if (is_inside(path, where->workspace)) {
		path = qsb__path_below(path, where->workspace);
		lead = *path ? "./" : ".";
	} else if (where->home && strcmp(where->home, "/") != 0 && is_inside(path, where->home)) {
		path = qsb__path_below(path, where->home);
		lead = *path ? "~/" : "~";
	}
	snprintf(out, QSB__PATH_MAX, "%s%.*s", lead, QSB__PATH_MAX - 4, path);
}
