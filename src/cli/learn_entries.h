/*
 * From what a command did to the entries that a policy needs for it: pure, but for the questions that `judge` answers.
 * One file: the file. Many files, temporary names, renames: their folder. A place that one program keeps: that place.
 * Never a folder that many programs share.
 */
#ifndef QSB_CLI_LEARN_ENTRIES_H
#define QSB_CLI_LEARN_ENTRIES_H

#include "cli/learn_touches.h"
#include "plan/plan.h"

/* The questions; `access` is one QSB__ACCESS_* bit. */
struct qsb__learn_judge {
	bool (*refused)(void *context, const char *path, unsigned access); /* by the policy as it was given */
	bool (*held)(void *context, const char *path, unsigned access);    /* also while learning */
	enum qsb__file_kind (*kind)(void *context, const char *path);      /* what is there now, links not followed */
	void *context;
};

struct qsb__learnt {
	char *path;
	unsigned access; /* one QSB__ACCESS_* bit; writing includes reading */
	size_t count;    /* what was done there */
	char processes[60];
	bool left_out; /* no entry: `path` as a whole would be too wide, or cannot be written as one */
	char why[120];
};

struct qsb__lessons {
	struct qsb__learnt *items; /* in the order of their paths; what is left out comes last */
	size_t count, room;
};

/* 0 or QSB_E_MEMORY. qsb__lessons_clear in any case. */
int qsb__lessons_draw(struct qsb__lessons *lessons, const struct qsb__touches *touches,
		      const struct qsb__learn_judge *judge);
void qsb__lessons_clear(struct qsb__lessons *lessons);

#endif
