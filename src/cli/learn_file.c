#include "cli/learn_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "os/descriptors.h"

enum { LONGEST_NAME = 220 }; /* the temporary file's own is longer */

static int fail_exists(const struct qsb__new_file *file, struct qsb_error *err)
{
	return qsb__fail(err, QSB_E_STATE, "--learn", "%.300s is there already: give another name, or remove it",
			 file->path);
}

static int open_folder(struct qsb__new_file *file, const char *folder, struct qsb_error *err)
{
	QSB_CLEANUP_FREE char *real = realpath(folder, NULL);

	if (!real)
		return qsb__fail_os(err, errno, "--learn", "cannot find the folder %.300s", folder);
	file->folder = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (file->folder < 0)
		return qsb__fail_os(err, errno, "--learn", "cannot open the folder %.300s", folder);
	if (!qsb__path_join(file->path, real, file->name))
		return qsb__fail(err, QSB_E_RANGE, "--learn", "the path is too long: %.300s", real);
	return 0;
}

int qsb__new_file_open(struct qsb__new_file *file, const char *text, struct qsb_error *err)
{
	const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;
	char folder[QSB__PATH_MAX];
	struct stat status;
	int code;

	*file = (struct qsb__new_file){.folder = -1};
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return qsb__fail(err, QSB_E_INVALID, "--learn", "\"%.300s\" is not the name of a file", text);
	if (strlen(text) >= sizeof(folder) || strlen(name) > LONGEST_NAME)
		return qsb__fail(err, QSB_E_RANGE, "--learn", "the path is too long: %.300s", text);
	snprintf(file->name, sizeof(file->name), "%.*s", (int)sizeof(file->name) - 1, name);
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - text) : 1, slash ? text : ".");
	code = open_folder(file, slash == text ? "/" : folder, err);
	if (code)
		return code;
	if (fstatat(file->folder, file->name, &status, AT_SYMLINK_NOFOLLOW) == 0)
		return fail_exists(file, err);
	/* Said now, and not after a long run. */
	if (faccessat(file->folder, ".", W_OK, AT_EACCESS) != 0)
		return qsb__fail_os(err, errno, "--learn", "cannot write %.300s", file->path);
	return 0;
}

int qsb__new_file_write(const struct qsb__new_file *file, const char *text, struct qsb_error *err)
{
	char temporary[sizeof(file->name) + 32];
	uint64_t random;
	QSB_CLEANUP_FD int fd = -1;
	int code, fault;

	/* What the command wrote lies around it: nobody can have taken a name that nobody knew. */
	if (getentropy(&random, sizeof(random)) != 0)
		return qsb__fail_os(err, errno, "--learn", "cannot get random numbers");
	snprintf(temporary, sizeof(temporary), ".%.220s.%016llx", file->name, (unsigned long long)random);
	fd = openat(file->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return qsb__fail_os(err, errno, "--learn", "cannot write %.300s", file->path);
	code = qsb__descriptor_write(fd, text, strlen(text), err);
	fault = code == 0 && fsync(fd) != 0 ? errno : 0;
	/* A link never replaces what is there. */
	if (code == 0 && fault == 0 && linkat(file->folder, temporary, file->folder, file->name, 0) != 0)
		fault = errno;
	unlinkat(file->folder, temporary, 0);
	if (fault == EEXIST)
		return fail_exists(file, err);
	return fault ? qsb__fail_os(err, fault, "--learn", "cannot write %.300s", file->path) : code;
}
