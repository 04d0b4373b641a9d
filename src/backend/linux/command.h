/* From pid 1 to the command: the last step, shared by init.c and command.c. */
#ifndef QSB_LINUX_COMMAND_H
#define QSB_LINUX_COMMAND_H

#include <sys/stat.h>

#include "backend/linux/sandbox.h"

/* Exit statuses of pid 1 itself; nobody sees them but a debugger. */
enum { QSB__INIT_EXIT_LOST = 90, QSB__INIT_EXIT_FAILED = 91 };

struct qsb__starter {
	const struct qsb__sandbox *sandbox;
	int terminal;   /* becomes 0, 1, 2 and the controlling terminal; -1 = the launch's streams */
	pid_t pid;      /* out */
	int exec_error; /* out: errno of the failed execution, 0 = it runs */
	struct qsb_error *error;
	bool failed;
};

/* Starts the command and waits until it executes or could not. *pidfd refers to it. */
int qsb__command_start(struct qsb__starter *command, int *pidfd, struct qsb_error *err);

/* In the supervisor: the paths to try, and the argument list for a script without "#!". */
int qsb__command_prepare(struct qsb__sandbox *sandbox, const struct qsb__launch *launch, struct qsb_error *err);
void qsb__command_clear(struct qsb__sandbox *sandbox);

#endif
