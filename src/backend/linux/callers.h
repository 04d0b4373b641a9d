/* Who made which connection, for what the broker tells of it: the broker sees a port of the sandbox, and no process. */
#ifndef QSB_LINUX_CALLERS_H
#define QSB_LINUX_CALLERS_H

#include <sys/types.h>

#include "backend/denial.h"

/* `socket` got its own port by now; `thread` still waits for its answer. Like the refusals, the list is the program's.
 */
void qsb__callers_note(pid_t thread, int socket);
/* Fills in pid and process of the latest one with this port. False = it is not known. */
bool qsb__callers_find(unsigned port, struct qsb__denial *denial);

#endif
