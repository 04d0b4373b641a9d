/* Reading a policy from a file or a descriptor: bounded, and never waiting for a file that is not one. */
#ifndef QSB_CORE_POLICY_FILE_H
#define QSB_CORE_POLICY_FILE_H

#include <stddef.h>

#include <qiming/sandbox.h>

/* As qsb__policy_read_file; the file must be root's, and no one else's to write: QSB_E_DENIED. */
int qsb__policy_read_managed(const char *path, char **text, size_t *length, struct qsb_error *err);

/* As qsb__policy_read_file; the file itself must not be a link. */
int qsb__policy_read_project(const char *path, char **text, size_t *length, struct qsb_error *err);

/* From where the descriptor stands to its end: a plain file, a pipe or a socket. It stays open. */
int qsb__policy_read_fd(int fd, const char *name, char **text, size_t *length, struct qsb_error *err);

#endif
