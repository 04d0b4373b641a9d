/*
 * Paths as text. '/' separates on every OS; a Windows path is turned into "C:/Users/a" when it comes in. Nothing here
 * looks at a file system, so ".." is only taken away where the caller says that no link can stand before it.
 */
#ifndef QSB_CORE_PATH_H
#define QSB_CORE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include <qiming/sandbox.h>

enum { QSB__PATH_MAX = 4096 }; /* bytes, with the NUL: PATH_MAX of Linux, and the most a mount takes */

/* Where a path as written starts. */
struct qsb__path_base {
	const char *home;   /* absolute; NULL = not known */
	const char *folder; /* absolute: where relative paths start */
	bool windows;       /* '\' separates too, and "C:" is a root */
};

bool qsb__path_is_absolute(const char *path, bool windows);

/*
 * Makes `text` absolute: "~" and "~/x" from the home folder, relative ones from the base folder. Empty components,
 * "." and a trailing '/' go; ".." stays.
 *   QSB_E_INVALID  empty, "~name", "~" without a home folder
 *   QSB_E_RANGE    the result does not fit into QSB__PATH_MAX
 * `out` holds QSB__PATH_MAX bytes. err->where is left empty for the caller to fill in.
 */
int qsb__path_absolute(char *out, const char *text, const struct qsb__path_base *base, struct qsb_error *err);

/* Takes ".." away as text does: only for paths that hold no link, or do not exist. In place. */
void qsb__path_fold_dots(char *path);
bool qsb__path_has_dots(const char *path);

/* Orders paths so that what lies in a folder follows right after the folder. `fold` ignores ASCII case. */
int qsb__path_compare(const char *a, const char *b, bool fold);

/* `path` is `folder` or lies in it. Everything lies in "/", also "C:/x". */
bool qsb__path_inside(const char *path, const char *folder, bool fold);

/* The part of `path` below `folder`, without a leading '/': "" for the folder itself. `path` must lie inside. */
const char *qsb__path_below(const char *path, const char *folder);

/* The last component; the whole path for a root. */
const char *qsb__path_name(const char *path);

/* Length of the parent's path: of "/a/b" 2, of "/a" 1, of "/" and "C:" 0. */
size_t qsb__path_parent(const char *path);

/* Puts "folder/name" into `out` (QSB__PATH_MAX bytes). false = too long. */
bool qsb__path_join(char *out, const char *folder, const char *name);

#endif
