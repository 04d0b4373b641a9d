#include "os/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/cleanup.h"
#include "core/error.h"

static int add_descriptors(posix_spawn_file_actions_t *actions, const struct qsb__child *child)
{
	int failed = 0;

	/* A copy onto itself takes close-on-exec away in the new process only. These come first: none of them is 0, 1
	 * or 2, which are overwritten next. */
	for (size_t i = 0; i < child->keep_count; i++)
		failed |= posix_spawn_file_actions_adddup2(actions, child->keep[i], child->keep[i]);
	for (int i = 0; i < 3; i++) {
		if (child->stdio[i] >= 0)
			failed |= posix_spawn_file_actions_adddup2(actions, child->stdio[i], i);
		else
			failed |= posix_spawn_file_actions_addopen(actions, i, "/dev/null", i ? O_WRONLY : O_RDONLY, 0);
	}
	return failed;
}

static int set_signals(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	sigdelset(&all, SIGKILL);
	sigdelset(&all, SIGSTOP);
	return posix_spawnattr_setsigmask(attributes, &none) | posix_spawnattr_setsigdefault(attributes, &all) |
	       posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

int qsb__child_start(int64_t *pid, const struct qsb__child *child, struct qsb_error *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t started = 0;
	int rc;

	if (posix_spawn_file_actions_init(&actions))
		return qsb__fail_memory(err, "spawn");
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&actions);
		return qsb__fail_memory(err, "spawn");
	}
	rc = add_descriptors(&actions, child) | set_signals(&attributes) ? ENOMEM : 0;
	if (rc == 0)
		rc = posix_spawn(&started, child->program, &actions, &attributes, child->argv,
				 child->environment ? child->environment : environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	*pid = started;
	return rc ? qsb__fail_os(err, rc, "spawn", "cannot start %s", child->program) : 0;
}

int qsb__child_wait(int64_t pid, int *status, struct qsb_error *err)
{
	int wait_status = 0;
	pid_t waited;

	do
		waited = waitpid((pid_t)pid, &wait_status, 0);
	while (waited < 0 && errno == EINTR);
	*status = 0;
	if (waited < 0 && errno != ECHILD)
		return qsb__fail_os(err, errno, "wait", "cannot wait for the program");
	if (waited > 0)
		*status = WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
	return 0;
}

int qsb__child_signal(int64_t pid, int signal_number, struct qsb_error *err)
{
	if (kill((pid_t)pid, signal_number) == 0 || errno == ESRCH)
		return 0;
	return qsb__fail_os(err, errno, "kill", "cannot send signal %d to the program", signal_number);
}

int qsb__descriptor_copy(int fd, struct qsb_error *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0 && errno == EBADF)
		return qsb__fail(err, QSB_E_INVALID, "descriptors", "descriptor %d is not open", fd);
	return copy < 0 ? qsb__fail_os(err, errno, "descriptors", "cannot copy descriptor %d", fd) : copy;
}

/* In a host that closed 0, 1 or 2 a new descriptor may land there, and would be overwritten in the child. */
static int move_up(int ends[2], struct qsb_error *err)
{
	for (int i = 0; i < 2; i++) {
		int copy;

		if (ends[i] > 2)
			continue;
		copy = qsb__descriptor_copy(ends[i], err);
		close(ends[i]);
		ends[i] = copy;
	}
	if (ends[0] >= 0 && ends[1] >= 0)
		return 0;
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
	ends[0] = ends[1] = -1;
	return QSB_E_OS;
}

int qsb__pipe(int ends[2], struct qsb_error *err)
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return qsb__fail_os(err, errno, "spawn", "cannot make a pipe");
	return move_up(ends, err);
}

int qsb__channel(int ends[2], struct qsb_error *err)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return qsb__fail_os(err, errno, "spawn", "cannot make a socket pair");
	return move_up(ends, err);
}

int qsb__channel_send(int fd, const char *data, size_t length, struct qsb_error *err)
{
	while (length > 0) {
		ssize_t sent = send(fd, data, length, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
			return 0;
		if (sent < 0)
			return qsb__fail_os(err, errno, "control", "cannot write to the program");
		data += sent;
		length -= (size_t)sent;
	}
	return 0;
}

static int make_room(struct qsb__bytes *bytes, struct qsb_error *err)
{
	size_t room = bytes->room ? bytes->room * 2 : 8192;
	char *larger;

	if (bytes->length + 1 < bytes->room)
		return 0;
	larger = realloc(bytes->data, room);
	if (!larger)
		return qsb__fail_memory(err, "result");
	bytes->data = larger;
	bytes->room = room;
	return 0;
}

int qsb__descriptor_read(int fd, struct qsb__bytes *to, bool wait, struct qsb_error *err)
{
	struct pollfd state = {.fd = fd, .events = POLLIN};

	for (;;) {
		int rc = make_room(to, err);
		ssize_t got;

		if (rc)
			return rc;
		if (!wait && poll(&state, 1, 0) == 0)
			return 0;
		got = read(fd, to->data + to->length, to->room - to->length - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return qsb__fail_os(err, errno, "result", "cannot read the program's answer");
		to->length += (size_t)got;
		to->data[to->length] = '\0';
		if (got == 0)
			return 1;
	}
}

int qsb__descriptor_read_all(int fd, char **text, size_t *length, struct qsb_error *err)
{
	struct qsb__bytes all = {.data = NULL};
	int rc = qsb__descriptor_read(fd, &all, true, err);

	*text = all.data;
	*length = all.length;
	return rc < 0 ? rc : 0;
}

bool qsb__is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

bool qsb__own_folder(char *out, size_t size)
{
	char real[PATH_MAX];
	Dl_info info;
	char *slash;

	/* In an executable that was found in PATH, or a static one, the loader's name for it is no path. */
	if (dladdr((const void *)(uintptr_t)qsb__own_folder, &info) == 0 || !info.dli_fname ||
	    !strchr(info.dli_fname, '/') || !realpath(info.dli_fname, real)) {
		ssize_t length = readlink("/proc/self/exe", real, sizeof(real) - 1);

		if (length <= 0)
			return false;
		real[length] = '\0';
	}
	slash = strrchr(real, '/');
	if (!slash)
		return false;
	slash[slash == real] = '\0';
	return (size_t)snprintf(out, size, "%s", real) < size;
}
