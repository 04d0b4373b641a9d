/* Something that was refused: made by back ends and the supervisor, told to the caller. */
#ifndef QSB_BACKEND_DENIAL_H
#define QSB_BACKEND_DENIAL_H

#include <stdint.h>

/* Something the sandbox refused, or a limit that was reached. */
struct qsb__denial {
	char kind[16];      /* "limit", "file", "network", "call" */
	char operation[32]; /* "memory", "connect", … */
	char target[512];
	char rule[128];       /* JSON pointer */
	char process[32];     /* name, "" = unknown */
	char suggestion[200]; /* an option or policy line to paste */
	char detail[160];     /* what of the target: "branch.main.remote" of a git configuration; "" = all of it */
	int pid;              /* inside the sandbox, 0 = unknown */
	int64_t time_ms;      /* since 1970 */
	unsigned count;
};

#endif
