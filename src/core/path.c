#include "core/path.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"

static bool is_drive(const char *path)
{
	unsigned char letter = (unsigned char)path[0] | 0x20;

	return letter >= 'a' && letter <= 'z' && path[1] == ':';
}

bool qsb__path_is_absolute(const char *path, bool windows)
{
	if (!windows)
		return path[0] == '/';
	return path[0] == '/' || path[0] == '\\' || (is_drive(path) && (path[2] == '/' || path[2] == '\\' || !path[2]));
}

/* Appends the components of `text` to out[*length]. false = no room. */
static bool append(char *out, size_t *length, const char *text, bool windows)
{
	const char *separators = windows ? "/\\" : "/";

	while (*text) {
		size_t size = strcspn(text, separators);
		const char *part = text;

		text += size + (text[size] ? 1 : 0);
		if (size == 0 || (size == 1 && part[0] == '.'))
			continue;
		if (size + 2 > QSB__PATH_MAX - *length)
			return false;
		if (!(windows && *length == 0 && is_drive(part)))
			out[(*length)++] = '/';
		memcpy(out + *length, part, size);
		*length += size;
	}
	out[*length] = '\0';
	return true;
}

int qsb__path_absolute(char *out, const char *text, const struct qsb__path_base *base, struct qsb_error *err)
{
	const char *start = NULL;
	size_t length = 0;

	if (!*text)
		return qsb__fail(err, QSB_E_INVALID, "", "a path may not be empty; \".\" is the workspace");
	if (text[0] == '~') {
		if (text[1] && text[1] != '/' && !(base->windows && text[1] == '\\'))
			return qsb__fail(err, QSB_E_INVALID, "",
					 "%s: only ~ and ~/… are understood; write the other user's folder "
					 "in full, or ./%s for a file of that name",
					 text, text);
		if (!base->home)
			return qsb__fail(err, QSB_E_INVALID, "",
					 "%s: the home folder of this user is not known; set HOME", text);
		start = base->home;
		text++;
	} else if (!qsb__path_is_absolute(text, base->windows)) {
		start = base->folder;
	}
	out[0] = '\0';
	if ((start && !append(out, &length, start, base->windows)) || !append(out, &length, text, base->windows))
		return qsb__fail(err, QSB_E_RANGE, "", "a path longer than %d bytes: %.60s…", QSB__PATH_MAX - 1, text);
	if (length == 0)
		memcpy(out, "/", 2);
	return 0;
}

bool qsb__path_has_dots(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return true;
	return false;
}

void qsb__path_fold_dots(char *path)
{
	size_t root = path[0] == '/' ? 0 : strcspn(path, "/"); /* "C:" stays */
	size_t length = root;
	const char *part = path + root;

	while (*part) {
		size_t size = strcspn(part + 1, "/") + 1;

		if (size == 3 && part[1] == '.' && part[2] == '.') {
			while (length > root && path[--length] != '/')
				;
		} else {
			memmove(path + length, part, size);
			length += size;
		}
		part += size;
	}
	if (length == 0)
		path[length++] = '/';
	path[length] = '\0';
}

/* '/' comes before every other byte, and the end before that. */
static int weight(char byte, bool fold)
{
	if (!byte)
		return 0;
	if (byte == '/')
		return 1;
	if (fold && byte >= 'A' && byte <= 'Z')
		byte = (char)(byte + ('a' - 'A'));
	return (unsigned char)byte + 2;
}

int qsb__path_compare(const char *a, const char *b, bool fold)
{
	/* "/" is the parent of all, also of "C:/x": the leading separator carries no meaning here. */
	if (*a == '/')
		a++;
	if (*b == '/')
		b++;
	while (*a && (*a == *b || weight(*a, fold) == weight(*b, fold))) {
		a++;
		b++;
	}
	return weight(*a, fold) - weight(*b, fold);
}

bool qsb__path_inside(const char *path, const char *folder, bool fold)
{
	if (folder[0] == '/' && !folder[1])
		return true;
	for (; *folder; folder++, path++)
		if (*folder != *path && weight(*folder, fold) != weight(*path, fold))
			return false;
	return !*path || *path == '/';
}

const char *qsb__path_below(const char *path, const char *folder)
{
	if (folder[0] == '/' && !folder[1])
		return path[0] == '/' ? path + 1 : path;
	path += strlen(folder);
	return *path == '/' ? path + 1 : path;
}

const char *qsb__path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

size_t qsb__path_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash || !path[1])
		return 0;
	return slash == path ? 1 : (size_t)(slash - path);
}

bool qsb__path_join(char *out, const char *folder, const char *name)
{
	size_t first = strlen(folder), second = strlen(name);

	if (first == 1 && folder[0] == '/')
		first = 0;
	if (second == 0) {
		if (strlen(folder) >= QSB__PATH_MAX)
			return false;
		memmove(out, folder, strlen(folder) + 1);
		return true;
	}
	if (first + second + 2 > QSB__PATH_MAX)
		return false;
	memmove(out, folder, first + 1);
	out[first] = '/';
	memcpy(out + first + 1, name, second + 1);
	return true;
}
