/*
 * Name rules, compiled: one walk along the components of a path says which rule denies it. Pure: no system call.
 *
 * Literal components (folders, names) form a tree; a pattern hangs at the folder where it starts, and patterns with the
 * same beginning share it, so that a few numbers say how far all of them have matched. The built-in rules for any depth
 * are one table, whatever the number of folders they hold in: a component that none begins with costs one look-up. Two
 * folders whose states are equal protect the same names below them, and the difference of two states says what a rename
 * from one to the other would change.
 */
#ifndef QSB_GUARD_NAMES_H
#define QSB_GUARD_NAMES_H

#include <stdint.h>

#include "plan/plan.h"

/* Patterns with wildcards in a name, which are tried one by one; components of one rule; beginnings under way. */
enum { QSB__NAMES_PATTERNS = 256, QSB__NAMES_PARTS = 62, QSB__NAMES_ACTIVE = 48 };

/* Which built-in rules for any depth may begin with the next component. */
enum {
	QSB__ANYWHERE_ALWAYS = 1U << 0,
	QSB__ANYWHERE_PROJECT = 1U << 1 /* those that count in a project only: not in folders of packages */
};

struct qsb__names;

struct qsb__name_state {
	uint32_t place;         /* in the tree of literal components, 0 = outside it */
	unsigned access;        /* what is asked: one QSB__ACCESS_* */
	uint32_t denied;        /* 1 + the rule that denies this place or one above it, 0 = none */
	bool asked;             /* a rule that is not built in denies it, too */
	uint32_t anywhere;      /* QSB__ANYWHERE_* */
	bool begins;            /* the last component is, by its name, the beginning of a denied path */
	bool writable, scratch; /* at or below a writable mount; one that is the sandbox's own */
	bool loose;             /* the file system here takes different names for one */
	bool full;              /* more has begun than fits: everything below is denied */
	uint32_t count;
	uint32_t active[QSB__NAMES_ACTIVE]; /* what has begun, and may go on with the next component */
};

/* The steps that `holds` picks, and the mounts that overrule them. NULL steps need no rules. 0 or QSB_E_*. */
int qsb__names_new(struct qsb__names **out, const struct qsb__plan *plan, bool (*holds)(const struct qsb__step *),
		   struct qsb_error *err);
void qsb__names_free(struct qsb__names *names);

/* The file system at this folder compares names in a way of its own (FAT, NTFS, HFS+): the built-in names are looked
 * for in all their spellings there. */
void qsb__names_set_loose(struct qsb__names *names, const char *folder);

void qsb__names_start(const struct qsb__names *names, unsigned access, struct qsb__name_state *state);
void qsb__names_enter(const struct qsb__names *names, struct qsb__name_state *state, const char *name, size_t length);
/* The rule that denies the place, NULL = none. */
const struct qsb__step *qsb__names_denied(const struct qsb__names *names, const struct qsb__name_state *state);

/* All components of an absolute path at once. */
const struct qsb__step *qsb__names_judge(const struct qsb__names *names, const char *path, unsigned access,
					 struct qsb__name_state *state);

/* What `state` may deny below its place that `other` does not; false = nothing. `out` may be one of the two. */
bool qsb__names_difference(const struct qsb__names *names, const struct qsb__name_state *state,
			   const struct qsb__name_state *other, struct qsb__name_state *out);
/* Can anything below be denied that is not denied already? */
bool qsb__names_hold_below(const struct qsb__names *names, const struct qsb__name_state *state);

#endif
