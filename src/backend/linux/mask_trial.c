/* Can the masks tell who wants to read? Makes their file system once, in a namespace that ends with the trial. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"

enum { STEPS = 4 };

static bool write_file(const char *path, const char *text)
{
	QSB_CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) >= 0;
}

/* The step that failed and the errno, in one number. */
static int make_one(const struct qsb__mask_list *masks)
{
	const struct mount_attr private = {.propagation = MS_PRIVATE};
	struct qsb__mask_mount mount;
	char users[32], groups[32];

	snprintf(users, sizeof(users), "%u %u 1", masks->user, masks->user);
	snprintf(groups, sizeof(groups), "%u %u 1", masks->group, masks->group);
	if (!write_file("/proc/self/setgroups", "deny") || !write_file("/proc/self/uid_map", users) ||
	    !write_file("/proc/self/gid_map", groups) || qsb__mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private) != 0)
		return errno * STEPS + QSB__MASK_STEP_MOUNT;
	/* Nobody answers: it is made, and ends with this process. */
	qsb__mask_mount_begin(&mount, masks, STDIN_FILENO);
	qsb__mask_mount_make(&mount);
	return -mount.code * STEPS + (int)mount.step;
}

enum qsb__mask_step qsb__mask_mount_try(int *code)
{
	struct clone_args arguments = {.flags = CLONE_NEWUSER | CLONE_NEWNS, .exit_signal = SIGCHLD};
	/* In there nobody has a number until it is given one. */
	const struct qsb__mask_list masks = {.count = 1, .user = getuid(), .group = getgid()};
	int ends[2], result = EIO * STEPS + QSB__MASK_STEP_MOUNT;
	long pid;

	*code = -EIO;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return QSB__MASK_STEP_MOUNT;
	pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
	if (pid == 0) {
		result = make_one(&masks);
		_exit(write(ends[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
	}
	close(ends[1]);
	if (pid < 0 || read(ends[0], &result, sizeof(result)) != sizeof(result))
		result = EIO * STEPS + QSB__MASK_STEP_MOUNT;
	close(ends[0]);
	while (pid > 0 && waitpid((pid_t)pid, NULL, 0) < 0 && errno == EINTR)
		;
	*code = -(result / STEPS);
	return (enum qsb__mask_step)(result % STEPS);
}
