/*
 * Something that a run left behind and that other programs would run or trust: looked for when it is over, in git
 * folders that the run made and in those that no rule held and it wrote to.
 */
#ifndef QSB_BACKEND_FINDING_H
#define QSB_BACKEND_FINDING_H

struct qsb__finding {
	char kind[16];      /* "gitConfig", "gitHook" */
	char path[512];     /* the file, on the host */
	char what[128];     /* "core.fsmonitor", "pre-commit" */
	char reason[128];   /* what would run or trust it */
	char moved_to[512]; /* where it was put out of reach, perhaps with a number behind; "" = it is where it was */
	char os_error[64];  /* why it could not be moved, "" = nothing went wrong */
};

#endif
