#include "core/policy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"

static int refuse_kind(const struct stat *info, const char *name, struct qsb_error *err)
{
	const char *kind = S_ISDIR(info->st_mode)    ? "a folder"
			   : S_ISFIFO(info->st_mode) ? "a named pipe"
			   : S_ISSOCK(info->st_mode) ? "a socket"
						     : "a device";

	return qsb__fail(err, QSB_E_INVALID, "policy", "the policy %s is %s, not a file", name, kind);
}

static int read_some(int fd, char *at, size_t room, ssize_t *got)
{
	do {
		struct pollfd wait = {.fd = fd, .events = POLLIN};

		*got = read(fd, at, room);
		/* A descriptor that somebody gave us may be non-blocking. */
		if (*got < 0 && errno == EAGAIN && poll(&wait, 1, -1) >= 0)
			errno = EINTR;
	} while (*got < 0 && errno == EINTR);
	return *got < 0 ? errno : 0;
}

static bool grow(char **data, size_t *room)
{
	size_t more = *room * 2 + 4096 < QSB__JSON_MAX + 1 ? *room * 2 + 4096 : QSB__JSON_MAX + 1;
	char *larger = realloc(*data, more + 1);

	if (!larger)
		return false;
	*data = larger;
	*room = more;
	return true;
}

/* `hint` is the size as the file system gives it; never more than one byte beyond the bound is read. */
static int read_all(int fd, size_t hint, const char *name, char **text, size_t *length, struct qsb_error *err)
{
	size_t room = hint < QSB__JSON_MAX ? hint + 1 : QSB__JSON_MAX + 1, used = 0;
	QSB_CLEANUP_FREE char *data = malloc(room + 1);
	ssize_t got = 1;
	int fault;

	if (!data)
		return qsb__fail_memory(err, "policy");
	while (got > 0 && used <= QSB__JSON_MAX) {
		if (used == room && !grow(&data, &room))
			return qsb__fail_memory(err, "policy");
		fault = read_some(fd, data + used, room - used, &got);
		if (fault)
			return qsb__fail_os(err, fault, "policy", "cannot read the policy %s", name);
		used += (size_t)got;
	}
	if (used > QSB__JSON_MAX)
		return qsb__fail(err, QSB_E_RANGE, "policy", "the policy %s is larger than 1 MiB", name);
	data[used] = '\0';
	*text = QSB_TAKE(data);
	*length = used;
	return 0;
}

/* O_NONBLOCK, so that a named pipe without a writer does not hold us; the kind is judged on the open descriptor. */
static int open_file(const char *path, int flags, struct stat *info, int *out, struct qsb_error *err)
{
	QSB_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	int code;

	if (fd < 0 && errno == ELOOP && flags)
		return qsb__fail(err, QSB_E_INVALID, "policy", "the policy %s is a link; a project's must be a file",
				 path);
	if (fd < 0) {
		code = qsb__fail_os(err, errno, "policy", "cannot open the policy %s", path);
		if (errno == ENOENT || errno == ENOTDIR) {
			code = QSB_E_NOT_FOUND;
			if (err)
				err->code = code;
		}
		return code;
	}
	if (fstat(fd, info) < 0)
		return qsb__fail_os(err, errno, "policy", "cannot look at the policy %s", path);
	if (!S_ISREG(info->st_mode))
		return refuse_kind(info, path, err);
	if (info->st_size > QSB__JSON_MAX)
		return qsb__fail(err, QSB_E_RANGE, "policy", "the policy %s is larger than 1 MiB", path);
	*out = qsb__take_fd(&fd);
	return 0;
}

/* Anybody who could write the managed policy could also take the bound away by it. */
static int check_owner(const struct stat *info, const char *path, struct qsb_error *err)
{
	if (info->st_uid == 0 && !(info->st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	return qsb__fail(
		err, QSB_E_DENIED, "policy",
		"the managed policy %s must belong to root and be writable by nobody else: chown root, chmod 644",
		path);
}

int qsb__policy_read_layer(enum qsb__layer layer, const char *path, char **text, size_t *length, struct qsb_error *err)
{
	/* A stranger's link would have us read any file of the user's, and tell of it in a message. */
	int flags = layer == QSB__LAYER_PROJECT ? O_NOFOLLOW : 0;
	QSB_CLEANUP_FD int fd = -1;
	struct stat info = {.st_mode = 0};
	int code = open_file(path, flags, &info, &fd, err);

	if (!code && layer == QSB__LAYER_MANAGED)
		code = check_owner(&info, path, err);
	return code ? code : read_all(fd, (size_t)info.st_size, path, text, length, err);
}

int qsb__policy_read_fd(int fd, const char *name, char **text, size_t *length, struct qsb_error *err)
{
	struct stat info = {.st_mode = 0};

	if (fstat(fd, &info) < 0)
		return qsb__fail_os(err, errno, "policy", "cannot read the policy of %s", name);
	if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode))
		return refuse_kind(&info, name, err);
	if (S_ISREG(info.st_mode) && info.st_size > QSB__JSON_MAX)
		return qsb__fail(err, QSB_E_RANGE, "policy", "the policy of %s is larger than 1 MiB", name);
	return read_all(fd, S_ISREG(info.st_mode) ? (size_t)info.st_size : 4096, name, text, length, err);
}
