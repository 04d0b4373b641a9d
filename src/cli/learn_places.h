/* What `run --learn` knows of places: how far an entry may reach. Pure: nothing here looks at a file system. */
#ifndef QSB_CLI_LEARN_PLACES_H
#define QSB_CLI_LEARN_PLACES_H

#include <stdbool.h>

#include "core/path.h"

struct qsb__learn_where {
	const char *home;      /* absolute; NULL = not known */
	const char *workspace; /* absolute */
};

/* The cache or data folder of one program that `path` is or lies in: ~/.cache/pip, ~/.npm. `out` holds QSB__PATH_MAX
 * bytes. */
bool qsb__learn_known_place(const struct qsb__learn_where *where, const char *path, char *out);

/* A folder that many programs share, or that holds one: never an entry as a whole. */
bool qsb__learn_is_wide(const struct qsb__learn_where *where, const char *folder);

/* A name that will be another one at the next run: temporary, or made of random characters. */
bool qsb__learn_is_passing(const char *name);

/* As a person would write it in a policy: "./x", "~/x", "/x". `out` holds QSB__PATH_MAX bytes. */
void qsb__learn_shorten(const struct qsb__learn_where *where, const char *path, char *out);

#endif
