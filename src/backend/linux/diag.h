/* Whether a unix socket of the file system belongs to the sandbox: the kernel's list of its network namespace tells. */
#ifndef QSB_LINUX_DIAG_H
#define QSB_LINUX_DIAG_H

#include <stdbool.h>
#include <sys/stat.h>

/* `diag` is a NETLINK_SOCK_DIAG socket of the sandbox's network namespace. False also where it cannot tell. */
bool qsb__diag_listens(int diag, const struct stat *socket);

#endif
