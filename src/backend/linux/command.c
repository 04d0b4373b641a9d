/* Executes the command as a child of pid 1. Between clone and exec only async-signal-safe calls are made. */
#include "backend/linux/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "backend/linux/abi.h"
#include "core/cleanup.h"
#include "core/error.h"

enum { STACK_BYTES = 64 * 1024, FIRST_FREE_FD = 3 };

static const char default_path[] = "/usr/local/bin:/usr/bin:/bin";

/* ---- in the supervisor ---- */

static const char *search_path(const struct qsb__plan *plan)
{
	for (char **entry = plan->environment; entry && *entry; entry++)
		if (strncmp(*entry, "PATH=", 5) == 0)
			return *entry + 5;
	return default_path;
}

static size_t count_strings(char *const *list)
{
	size_t count = 0;

	while (list[count])
		count++;
	return count;
}

/* As execvp: a name with a slash is a path, another is looked for in PATH; an empty entry means the working folder. */
static int make_candidates(struct qsb__sandbox *sandbox, const char *name)
{
	const char *path = search_path(sandbox->plan);
	size_t entries = 2;
	size_t count = 0;

	for (const char *at = path; *at; at++)
		entries += *at == ':';
	sandbox->candidates = calloc(entries + 1, sizeof(*sandbox->candidates));
	if (!sandbox->candidates)
		return -1;
	if (strchr(name, '/') || !*name) {
		sandbox->candidates[0] = strdup(name);
		return sandbox->candidates[0] ? 0 : -1;
	}
	for (;;) {
		size_t length = strcspn(path, ":");
		size_t size = length + strlen(name) + 3;
		char *candidate = malloc(size);

		if (!candidate)
			return -1;
		snprintf(candidate, size, "%.*s/%s", length ? (int)length : 1, length ? path : ".", name);
		sandbox->candidates[count++] = candidate;
		if (path[length] == '\0')
			return 0;
		path += length + 1;
	}
}

/* One block: pointers, then text. A copy, since pid 1 overwrites the program's own command line. */
static int copy_arguments(struct qsb__sandbox *sandbox, char *const *argv, size_t count)
{
	size_t size = (count + 1) * sizeof(char *);
	char *text;

	for (size_t i = 0; i < count; i++)
		size += strlen(argv[i]) + 1;
	sandbox->argv = malloc(size);
	if (!sandbox->argv)
		return -1;
	text = (char *)&sandbox->argv[count + 1];
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(argv[i]) + 1;

		sandbox->argv[i] = memcpy(text, argv[i], length);
		text += length;
	}
	sandbox->argv[count] = NULL;
	return 0;
}

int qsb__command_prepare(struct qsb__sandbox *sandbox, const struct qsb__launch *launch, struct qsb_error *err)
{
	size_t count = count_strings(launch->argv);

	sandbox->launch = launch;
	/* "/bin/sh", the script's path (set when it is known), the other arguments, NULL. */
	sandbox->script_argv = calloc(count + 2, sizeof(*sandbox->script_argv));
	if (!sandbox->script_argv || copy_arguments(sandbox, launch->argv, count) != 0 ||
	    make_candidates(sandbox, launch->argv[0]) != 0)
		return qsb__fail_memory(err, "launch");
	memcpy(&sandbox->script_argv[2], &sandbox->argv[1], count * sizeof(*sandbox->script_argv));
	return 0;
}

void qsb__command_clear(struct qsb__sandbox *sandbox)
{
	for (char **candidate = sandbox->candidates; candidate && *candidate; candidate++)
		free(*candidate);
	free(sandbox->candidates);
	free(sandbox->script_argv);
	free(sandbox->argv);
	sandbox->argv = NULL;
	sandbox->candidates = NULL;
	sandbox->script_argv = NULL;
}

/* ---- in the child ---- */

static int move_streams(const struct qsb__starter *command)
{
	const struct qsb__launch *launch = command->sandbox->launch;
	int source[3];

	/* First out of the way: a source may be one of the numbers that are about to be replaced. */
	for (int i = 0; i < 3; i++) {
		source[i] = command->terminal >= 0 ? command->terminal : launch->stdio[i];
		source[i] = fcntl(source[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
		if (source[i] < 0)
			return -errno;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(source[i], i) < 0)
			return -errno;
	return 0;
}

/*
 * The terminal's foreground group must be one that can be named inside: a shell with job control saves and restores it.
 * Until the exec we are in the background, where changing it stops the caller: that signal has to wait.
 */
static int take_foreground(int terminal)
{
	sigset_t background, before;
	pid_t self = getpid();
	int code = 0;

	sigemptyset(&background);
	sigaddset(&background, SIGTTOU);
	sigprocmask(SIG_BLOCK, &background, &before);
	if (setpgid(0, 0) != 0 || ioctl(terminal, TIOCSPGRP, &self) != 0)
		code = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return code;
}

static int prepare_descriptors(const struct qsb__starter *command)
{
	const struct qsb__launch *launch = command->sandbox->launch;
	int code;

	if (command->terminal >= 0 || launch->foreground) {
		code = take_foreground(command->terminal >= 0 ? command->terminal : launch->stdio[0]);
		if (code != 0)
			return code;
	}
	if (launch->new_session)
		setsid();
	code = move_streams(command);
	if (code == 0 && qsb__close_range(FIRST_FREE_FD, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
		code = -errno;
	for (size_t i = 0; code == 0 && i < launch->pass_count; i++)
		if (fcntl(launch->pass_fds[i], F_SETFD, 0) != 0)
			code = -errno;
	return code;
}

/* Returns the errno that says best why nothing could be executed. */
static int execute(const struct qsb__sandbox *sandbox)
{
	int best = ENOENT;

	for (char **candidate = sandbox->candidates; *candidate; candidate++) {
		execve(*candidate, sandbox->argv, sandbox->plan->environment);
		if (errno == ENOEXEC) {
			sandbox->script_argv[0] = (char *)(uintptr_t) "/bin/sh";
			sandbox->script_argv[1] = *candidate;
			execve("/bin/sh", sandbox->script_argv, sandbox->plan->environment);
			return ENOEXEC;
		}
		/* Found but refused says more than not found; the search goes on, as in a shell. A folder of PATH that
		 * the caller may not enter is no find. */
		if (errno == EACCES) {
			if (strchr(sandbox->argv[0], '/') || access(*candidate, F_OK) == 0)
				best = EACCES;
		} else if (errno != ENOENT && errno != ENOTDIR) {
			return errno;
		}
	}
	return best;
}

static int command_main(void *argument)
{
	struct qsb__starter *command = argument;
	int code = qsb__cgroup_join(&command->sandbox->cgroup);

	if (code != 0) {
		qsb__fail_os(command->error, -code, "limits", "cannot join the control group");
	} else {
		code = prepare_descriptors(command);
		if (code != 0)
			qsb__fail_os(command->error, -code, "launch", "cannot set up the command's streams");
	}
	if (code == 0) {
		command->exec_error = execute(command->sandbox);
	} else {
		command->failed = true;
	}
	/* Returning ends the process as _exit does, and does not make the address sanitizer wonder at this stack. */
	return 127;
}

/* The command starts with default signal handling whatever the caller did, but stays deaf where it was made deaf on
 * purpose: nohup, and what a shell starts in the background. */
static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < SIGSYS + 1; number++)
		if (number != SIGHUP && number != SIGINT && number != SIGQUIT && number != SIGKILL && number != SIGSTOP)
			signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int qsb__command_start(struct qsb__starter *command, int *pidfd, struct qsb_error *err)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));

	command->exec_error = 0;
	command->failed = false;
	command->error = err;
	reset_signals();
	/* The memory is shared until the command executes: its answer needs no pipe. clone, not clone3: the filter is
	 * on. */
	command->pid = clone(command_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
			     command, pidfd);
	if (command->pid < 0)
		return qsb__fail_os(err, errno, "launch", "cannot start the command's process");
	return command->failed ? err->code : 0;
}
