/*
 * A folder that the host shows at a second place (a bind mount, a volume of a container) would be readable there,
 * past its mask. Each masked path gets a mask at its other places, too.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "core/error.h"

enum { TEXT_STEP = 16 * 1024, ALIASES_MAX = 4096 };

/* One line of mountinfo. */
struct place {
	const char *device; /* "254:0" */
	const char *root;   /* what part of the device it shows */
	const char *point;  /* where */
	bool is_fuse;
};

struct places {
	char *text;
	struct place *list;
	size_t count;
};

static void clear_places(struct places *places)
{
	free(places->text);
	free(places->list);
}

/* mountinfo writes blanks and backslashes as three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] && text[3]) {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

static char *read_all(const char *path)
{
	QSB_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	QSB_CLEANUP_FREE char *text = NULL;
	size_t used = 0, room = 0;

	while (fd >= 0) {
		ssize_t length;

		if (room - used < 2) {
			char *more = realloc(text, room + TEXT_STEP);

			if (!more)
				return NULL;
			text = more;
			room += TEXT_STEP;
		}
		length = read(fd, text + used, room - used - 1);
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return NULL;
		used += (size_t)length;
		text[used] = '\0';
		if (length == 0)
			return QSB_TAKE(text);
	}
	return NULL;
}

/* "ID PARENT MAJOR:MINOR ROOT POINT …" */
static int read_places(struct places *places)
{
	size_t lines = 1;
	char *next;

	places->text = read_all("/proc/self/mountinfo");
	if (!places->text)
		return -EIO;
	for (const char *at = places->text; *at; at++)
		lines += *at == '\n';
	places->list = calloc(lines, sizeof(*places->list));
	if (!places->list)
		return -ENOMEM;
	for (char *line = places->text; *line; line = next) {
		struct place *place = &places->list[places->count];
		char *field, *rest;

		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		rest = line;
		strsep(&rest, " ");
		strsep(&rest, " ");
		place->device = strsep(&rest, " ");
		place->root = field = strsep(&rest, " ");
		if (field)
			unescape(field);
		place->point = field = strsep(&rest, " ");
		if (!field)
			continue;
		unescape(field);
		rest = rest ? strstr(rest, " - ") : NULL;
		place->is_fuse = rest && strncmp(rest + 3, "fuse", 4) == 0;
		places->count++;
	}
	return 0;
}

/* What of `path` lies below `folder`: "" or "/…"; NULL = it is elsewhere. */
static const char *below(const char *path, const char *folder)
{
	size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0') ? path + length
												   : NULL;
}

/* The mount that shows a path: the deepest, and of those at the same point the one made last. */
static const struct place *place_of(const struct places *places, const char *path)
{
	const struct place *best = NULL;

	for (size_t i = 0; i < places->count; i++)
		if (below(path, places->list[i].point) &&
		    (!best || strlen(places->list[i].point) >= strlen(best->point)))
			best = &places->list[i];
	return best;
}

/* The same file at another place; the name alone is not enough, another mount may lie over it. */
static bool is_alias(const char *alias, const char *path)
{
	struct stat one, other;

	return strcmp(alias, path) != 0 && lstat(alias, &one) == 0 && lstat(path, &other) == 0 &&
	       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static int add_alias(struct qsb__mounts *mounts, size_t of, const char *path)
{
	struct qsb__mount *list;
	char **owned;

	if (mounts->alias_count == ALIASES_MAX)
		return -E2BIG;
	list = realloc(mounts->list, (mounts->count + 2) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	mounts->list = list;
	owned = realloc(mounts->aliases, (mounts->alias_count + 1) * sizeof(*owned));
	if (!owned)
		return -ENOMEM;
	mounts->aliases = owned;
	owned[mounts->alias_count] = strdup(path);
	if (!owned[mounts->alias_count])
		return -ENOMEM;
	list[mounts->count] = list[of];
	list[mounts->count++].path = owned[mounts->alias_count++];
	return 0;
}

static int find_aliases(struct qsb__mounts *mounts, const struct places *places, size_t number)
{
	const char *path = mounts->list[number].path;
	const struct place *home = place_of(places, path);
	char inside[8192], alias[8192];

	if (!home)
		return 0;
	snprintf(inside, sizeof(inside), "%s%s", strcmp(home->root, "/") == 0 ? "" : home->root,
		 below(path, home->point));
	for (size_t i = 0; i < places->count; i++) {
		const struct place *other = &places->list[i];
		const char *rest;
		int code;

		if (other == home || strcmp(other->device, home->device) != 0)
			continue;
		rest = below(inside, other->root);
		if (!rest ||
		    snprintf(alias, sizeof(alias), "%s%s", strcmp(other->point, "/") == 0 ? "" : other->point, rest) >=
			    (int)sizeof(alias) ||
		    !is_alias(alias, path))
			continue;
		code = add_alias(mounts, number, alias);
		if (code != 0)
			return code;
	}
	return 0;
}

static bool is_mask(const struct qsb__mount *mount)
{
	return mount->source == QSB__SOURCE_MASK_FILE || mount->source == QSB__SOURCE_MASK_DIR;
}

/*
 * A file system in user space may ignore letter case, and the kernel, which does not know, keeps every spelling as a
 * name of its own: a mount over one leaves the others. Where that is so, nothing runs.
 */
static int refuse_other_case(const char *path, struct qsb_error *err)
{
	char other[8192];

	if (snprintf(other, sizeof(other), "%s", path) >= (int)sizeof(other))
		return 0;
	for (char *at = strrchr(other, '/') + 1; *at; at++)
		if (isalpha((unsigned char)*at))
			*at ^= 'a' ^ 'A';
	if (!is_alias(other, path))
		return 0;
	return qsb__fail(
		err, QSB_E_UNSUPPORTED, "mounts",
		"the file system of %s ignores letter case in a way that the kernel does not know of, so the name "
		"cannot be protected: use a workspace on another file system",
		path);
}

static int check_case(const struct qsb__mounts *mounts, const struct places *places, struct qsb_error *err)
{
	bool fuse = false;
	int code = 0;

	for (size_t i = 0; i < places->count; i++)
		fuse |= places->list[i].is_fuse;
	for (size_t i = 0; fuse && code == 0 && i < mounts->count; i++) {
		const struct qsb__mount *mount = &mounts->list[i];
		const struct place *place = place_of(places, mount->path);
		bool holds = is_mask(mount) || (mount->source == QSB__SOURCE_HOST && !mount->writable);

		if (holds && place && place->is_fuse)
			code = refuse_other_case(mount->path, err);
	}
	return code;
}

int qsb__mounts_add_aliases(struct qsb__mounts *mounts, struct qsb_error *err)
{
	QSB_CLEANUP(clear_places) struct places places = {.text = NULL};
	size_t count = mounts->count;
	bool holds = false;
	int code;

	for (size_t i = 0; i < count; i++)
		holds |= mounts->list[i].source == QSB__SOURCE_HOST || is_mask(&mounts->list[i]);
	if (!holds)
		return 0;
	code = read_places(&places);
	for (size_t i = 0; code == 0 && i < count; i++)
		if (is_mask(&mounts->list[i]))
			code = find_aliases(mounts, &places, i);
	if (code != 0)
		return qsb__fail_os(err, -code, "mounts", "cannot look for other places of what is denied");
	return check_case(mounts, &places, err);
}
