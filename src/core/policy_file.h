/* Reading a policy from a file or a descriptor: bounded, and never waiting for a file that is not one. */
#ifndef QSB_CORE_POLICY_FILE_H
#define QSB_CORE_POLICY_FILE_H

#include <stddef.h>

#include "core/policy.h"

/*
 * The file of a layer, at most QSB__JSON_MAX bytes of it. The caller frees *text, which ends with a NUL. A project's
 * must not be a link; the managed one must be root's, and no one else's to write.
 *   QSB_E_NOT_FOUND  it is not there
 *   QSB_E_DENIED     the managed file is not root's alone
 */
int qsb__policy_read_layer(enum qsb__layer layer, const char *path, char **text, size_t *length, struct qsb_error *err);

/* From where the descriptor stands to its end: a plain file, a pipe or a socket. It stays open. */
int qsb__policy_read_fd(int fd, const char *name, char **text, size_t *length, struct qsb_error *err);

#endif
