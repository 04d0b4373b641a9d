/* Something that was refused: made by back ends and the supervisor, told to the caller. */
#ifndef QSB_BACKEND_DENIAL_H
#define QSB_BACKEND_DENIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Something the sandbox refused, or a limit that was reached. */
struct qsb__denial {
	char kind[16];      /* "limit", "file", "network", "call" */
	char operation[32]; /* "memory", "connect", … */
	char target[1024];
	char rule[256];        /* as `explain` says it: a JSON pointer or an option, or a built-in list and why */
	char process[32];      /* name, "" = unknown */
	char suggestion[1100]; /* an option or policy line to paste, "" = there is none */
	char detail[160];      /* what of the target: "branch.main.remote" of a git configuration; "" = all of it */
	int pid;               /* inside the sandbox, 0 = unknown */
	int64_t time_ms;       /* since 1970 */
	unsigned count;        /* since it was taken last; 0 means 1 */
};

struct qsb__plan;

/* All else is empty yet. Cheap: every refused call begins one, also where it is only counted. */
void qsb__denial_begin(struct qsb__denial *denial, const char *kind, const char *operation);

/* A target of any length: what does not fit is cut at the end of a character, and says so. False = it was cut. */
bool qsb__denial_set_target(struct qsb__denial *denial, const char *target);

/*
 * Rule and suggestion for a file, from the plan, as `explain path` gives them. `path` is real and absolute; `there` its
 * bytes that exist on the host; `access` the QSB__ACCESS_* that was wanted. False: no rule takes it away there.
 */
bool qsb__denial_explain(struct qsb__denial *denial, const struct qsb__plan *plan, const char *path, size_t there,
			 unsigned access);

#endif
