/* A new file in a folder that is held open, so that nobody can lead its writing elsewhere meanwhile. */
#ifndef QSB_CLI_LEARN_FILE_H
#define QSB_CLI_LEARN_FILE_H

#include "core/path.h"

struct qsb__new_file {
	int folder;
	char name[256];
	char path[QSB__PATH_MAX]; /* real and absolute: the folder's own path and the name */
};

/*
 * Opens the folder of `text`, a path from the current folder. Close `folder` in any case (-1 = not open).
 *   QSB_E_STATE      something of that name is there already: it is never replaced
 *   QSB_E_NOT_FOUND  there is no such folder
 */
int qsb__new_file_open(struct qsb__new_file *file, const char *text, struct qsb_error *err);

/* Makes the file, readable and writable for this user alone: all of it, or nothing. */
int qsb__new_file_write(const struct qsb__new_file *file, const char *text, struct qsb_error *err);

#endif
