/* The names of one folder, read at once: thousands of questions about neighbours become one listing. */
#ifndef QSB_PLAN_LISTING_H
#define QSB_PLAN_LISTING_H

#include "core/path.h"
#include "plan/arena.h"
#include "plan/host.h"

struct qsb__listed_name {
	const char *name;
	enum qsb__file_kind kind;
};

struct qsb__listing {
	char folder[QSB__PATH_MAX];     /* "" = none */
	char asked[QSB__PATH_MAX];      /* the folder of the last question */
	unsigned questions;             /* about it in a row */
	struct qsb__listed_name *table; /* by the hash of the name; room for a power of two */
	size_t size, count;
	bool whole;
};

/* What folder/name is, `path` being both together. Asks the host, or the listing once it pays. Not for hosts whose
 * names have no case: there one file has many names. */
enum qsb__file_kind qsb__listing_kind(struct qsb__listing *listing, const struct qsb__host *host,
				      struct qsb__arena *arena, const char *path);
void qsb__listing_clear(struct qsb__listing *listing);

#endif
