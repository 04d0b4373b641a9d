/*
 * The life of pid 1: sets the sandbox up, starts the command, reaps, and tells the outcome when every other process is
 * dead. Everything here runs in a copy of the supervisor, so it must leave nothing for the command to find: it is not
 * dumpable, its command line and environment are overwritten.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "backend/linux/abi.h"
#include "backend/linux/command.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "os/arguments.h"
#include "os/descriptors.h"

/* The supervisor, which can tell what happened, comes first. */
enum { OWN_CLOCK_LATER_MS = 500 };

static void send_message(const struct qsb__sandbox *sandbox, const struct qsb__message *message, const int *fds,
			 size_t count)
{
	const struct iovec data = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof(*message)};

	/* A supervisor that is gone needs no answer. */
	if (qsb__descriptors_send(sandbox->status_child, &data, fds, count) < 0)
		_exit(QSB__INIT_EXIT_LOST);
}

__attribute__((noreturn)) static void give_up(const struct qsb__sandbox *sandbox, const struct qsb_error *err)
{
	struct qsb__message message;

	memset(&message, 0, sizeof(message));
	message.kind = QSB__MESSAGE_OUTCOME;
	message.outcome.end = QSB__END_FAILED;
	message.outcome.error = *err;
	send_message(sandbox, &message, NULL, 0);
	_exit(QSB__INIT_EXIT_FAILED);
}

/* The supervisor's death, by whatever signal, is ours and so the whole tree's. */
static int tie_to_supervisor(const struct qsb__sandbox *sandbox, struct qsb_error *err)
{
	struct pollfd supervisor = {.fd = sandbox->status_child};

	close(sandbox->status_fd);
	if (sandbox->mask_sockets[0] >= 0)
		close(sandbox->mask_sockets[0]);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return qsb__fail_os(err, errno, "launch", "cannot follow the supervisor's death");
	/* It may have died before the line above. */
	if (poll(&supervisor, 1, 0) > 0 && (supervisor.revents & POLLHUP))
		_exit(QSB__INIT_EXIT_LOST);
	return 0;
}

static int write_file(const char *path, const char *text, struct qsb_error *err)
{
	QSB_CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return qsb__fail_os(err, errno, "launch", "cannot write %s", path);
	return 0;
}

/* Inside, the caller is who they are outside; no other id exists. */
static int map_ids(const struct qsb__sandbox *sandbox, struct qsb_error *err)
{
	int code = write_file("/proc/self/setgroups", "deny", err);

	if (code == 0)
		code = write_file("/proc/self/uid_map", sandbox->uid_map, err);
	if (code == 0)
		code = write_file("/proc/self/gid_map", sandbox->gid_map, err);
	return code;
}

/* A pseudo-terminal of the sandbox's own devpts. The outer end goes to the supervisor, the inner one to the command. */
static int open_terminal(const struct qsb__sandbox *sandbox, int pts, int *outer, int *inner, struct qsb_error *err)
{
	const struct winsize size = {.ws_row = sandbox->launch->rows, .ws_col = sandbox->launch->columns};
	int unlocked = 0;

	*outer = openat(pts, "ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*outer < 0 || ioctl(*outer, TIOCSPTLCK, &unlocked) != 0)
		return qsb__fail_os(err, errno, "terminal", "cannot open a pseudo-terminal");
	*inner = ioctl(*outer, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*inner < 0)
		return qsb__fail_os(err, errno, "terminal", "cannot open the pseudo-terminal's inner end");
	if (size.ws_row > 0 && ioctl(*outer, TIOCSWINSZ, &size) != 0)
		return qsb__fail_os(err, errno, "terminal", "cannot set the pseudo-terminal's size");
	/* We lead the session, not the command: Ctrl-Z stops no group whose parents are all in other sessions. */
	if (setsid() < 0 || ioctl(*inner, TIOCSCTTY, 0) != 0)
		return qsb__fail_os(err, errno, "terminal", "cannot make the pseudo-terminal the controlling one");
	return 0;
}

static int install_filter(const struct qsb__sandbox *sandbox, int *listener, struct qsb_error *err)
{
	struct sock_fprog program = {
		.len = sandbox->filter_length,
		.filter = (struct sock_filter *)(uintptr_t)sandbox->filter,
	};

	/* The command's from here on: umask(2) itself may have to wait for an answer that nobody can give yet. */
	umask(sandbox->umask);
	/* A caller that was told to wait stays killable, but is not thrown back by every signal: the answer would be
	 * lost. */
	*listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				 SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
	if (*listener < 0 && errno == EINVAL)
		*listener =
			(int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (*listener < 0 && errno == EBUSY)
		return qsb__fail(err, QSB_E_UNSUPPORTED, "seccomp",
				 "a sandbox around this one answers system calls already, and the "
				 "kernel takes one: start from outside it");
	if (*listener < 0)
		return qsb__fail_os(err, errno, "seccomp", "cannot install the system call filter");
	return 0;
}

/* Everything up to the filter. On return `fds` holds what the supervisor gets, and `inner` the command's terminal. */
static int set_up(struct qsb__sandbox *sandbox, struct qsb__message *started, int *fds, int *inner,
		  struct qsb_error *err)
{
	/* It means the opener's own controlling terminal: harmless only where that cannot be the caller's. */
	struct qsb__network network = {.diag_fd = -1};
	struct qsb__mask_mount masks;
	struct qsb__mounted mounted = {
		.tty = sandbox->launch->tty || sandbox->launch->new_session,
		.masks = &masks,
		.network = &network,
	};
	bool own_network = sandbox->plan->network != QSB__NETWORK_HOST;
	int code = tie_to_supervisor(sandbox, err);

	if (code == 0)
		code = map_ids(sandbox, err);
	/* Also written while /proc is the host's: of all processes, the kernel should end these first. */
	if (code == 0)
		code = write_file("/proc/self/oom_score_adj", "500", err);
	/* While /dev is the host's, and before the other process may look at it. */
	if (code == 0)
		qsb__mask_mount_begin(&masks, &sandbox->mounts.masks, sandbox->mask_sockets[1]);
	if (code == 0 && own_network)
		code = qsb__network_begin(&network, sandbox->plan, &masks, err);
	if (code == 0)
		qsb__streams_confine_files(sandbox->launch);
	if (code == 0)
		code = qsb__mounts_apply(&sandbox->mounts, &mounted, err);
	if (code == 0 && own_network)
		code = qsb__network_enter(&network, err);
	/* The broker begins meanwhile. */
	if (code == 0 && own_network)
		code = qsb__handover_send(sandbox->launch->broker_fd, &network, err);
	if (code == 0)
		code = qsb__streams_confine_devices(sandbox->launch, err);
	if (code == 0 && sandbox->launch->tty)
		code = open_terminal(sandbox, mounted.pts_fd, &fds[QSB__FD_TTY], inner, err);
	if (code != 0)
		return code;
	started->scratch_device = mounted.scratch_device;
	started->mask_step = masks.step;
	started->listed_ports = network.listeners.listed_only;
	fds[QSB__FD_PROC] = mounted.proc_fd;
	fds[QSB__FD_DIAG] = network.diag_fd;
	fds[QSB__FD_SCRATCH] = mounted.scratch_fd;
	/* The list shows the namespace of whoever opened it. */
	fds[QSB__FD_SHM] = open("/proc/sysvipc/shm", O_RDONLY | O_CLOEXEC);
	if (chdir(sandbox->plan->cwd) != 0)
		return qsb__fail_os(err, errno, "launch", "cannot enter the folder %s", sandbox->plan->cwd);
	code = qsb__limits_apply(sandbox, err);
	if (code == 0)
		code = qsb__privileges_drop(err);
	if (code == 0)
		code = qsb__landlock_apply(sandbox, err);
	if (code != 0)
		return code;
	/* Nothing inside may look into this process: it holds a copy of the supervisor's memory. */
	if (prctl(PR_SET_DUMPABLE, 0) != 0)
		return qsb__fail_os(err, errno, "launch", "cannot hide the first process");
	qsb__program_arguments_wipe();
	code = qsb__handover_wait(sandbox->launch->broker_fd, err);
	return code != 0 ? code : install_filter(sandbox, &fds[QSB__FD_CALLS], err);
}

static void send_started(const struct qsb__sandbox *sandbox, struct qsb__message *started, int *fds)
{
	started->kind = QSB__MESSAGE_STARTED;
	for (size_t i = 0; i < QSB__FD_COUNT; i++)
		if (fds[i] < 0)
			fds[i] = sandbox->status_child;
	send_message(sandbox, started, fds, QSB__FD_COUNT);
}

/* The streams and everything else must not be held open by a process that only waits. */
static void keep_only(int fd)
{
	if (fd > 0)
		qsb__close_range(0, (unsigned)fd - 1, 0);
	qsb__close_range((unsigned)fd + 1, ~0U, 0);
}

void qsb__usage_set(struct qsb__outcome *outcome, const struct rusage *usage)
{
	outcome->user_us = (uint64_t)usage->ru_utime.tv_sec * 1000000U + (uint64_t)usage->ru_utime.tv_usec;
	outcome->system_us = (uint64_t)usage->ru_stime.tv_sec * 1000000U + (uint64_t)usage->ru_stime.tv_usec;
	outcome->max_rss_bytes = (uint64_t)usage->ru_maxrss * 1024U;
}

static void tell_stopped(const struct qsb__sandbox *sandbox)
{
	struct qsb__message message;

	memset(&message, 0, sizeof(message));
	message.kind = QSB__MESSAGE_STOPPED;
	send_message(sandbox, &message, NULL, 0);
}

/* A signal of the kernel's timer, not one that somebody inside sends us. */
static void time_is_up(int number, siginfo_t *info, void *context)
{
	if (info->si_code == SI_KERNEL)
		_exit(QSB__INIT_EXIT_LOST);
}

/*
 * The supervisor keeps the time; but it can be stopped, also by the command (Ctrl-Z by itself, a signal to a group that
 * both are in). So the tree has a clock of its own, that rings a little later.
 */
static void keep_time(uint64_t timeout_ms)
{
	const struct sigaction action = {.sa_sigaction = time_is_up, .sa_flags = SA_SIGINFO | SA_RESTART};
	const uint64_t limit_ms = timeout_ms + OWN_CLOCK_LATER_MS;
	const struct itimerval timer = {
		.it_value = {.tv_sec = (time_t)(limit_ms / 1000), .tv_usec = (suseconds_t)(limit_ms % 1000) * 1000}};

	if (timeout_ms > 0 && sigaction(SIGALRM, &action, NULL) == 0)
		setitimer(ITIMER_REAL, &timer, NULL);
}

/* Whoever is left is a child of ours, or has a living ancestor that is. */
static bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

static void reap(const struct qsb__sandbox *sandbox, pid_t command, struct qsb__outcome *outcome)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL | WUNTRACED)) > 0 || errno == EINTR) {
		if (pid != command)
			continue;
		/* Whoever has the terminal outside must stop as well, and continue it later. */
		if (WIFSTOPPED(status)) {
			tell_stopped(sandbox);
			continue;
		}
		outcome->wait_status = status;
		/* The command is done: what it left in the background ends now, and is reaped in this loop. Most leave
		 * nothing, and killing everybody walks over every process of the host. */
		if (has_children())
			kill(-1, SIGKILL);
	}
	if (getrusage(RUSAGE_CHILDREN, &usage) == 0)
		qsb__usage_set(outcome, &usage);
}

void qsb__init_main(struct qsb__sandbox *sandbox)
{
	int fds[QSB__FD_COUNT] = {-1, -1, -1, -1, -1, -1, -1};
	int inner = -1;
	struct qsb__message message;
	struct qsb_error err;
	struct qsb__starter command;

	memset(&message, 0, sizeof(message));
	/* Where a caller ignored it, our children would be reaped without us. */
	signal(SIGCHLD, SIG_DFL);
	sandbox->umask = umask(022);
	if (set_up(sandbox, &message, fds, &inner, &err) != 0)
		give_up(sandbox, &err);
	command.sandbox = sandbox;
	command.terminal = inner;
	if (qsb__command_start(&command, &fds[QSB__FD_COMMAND], &err) != 0)
		give_up(sandbox, &err);
	if (command.exec_error == 0) {
		send_started(sandbox, &message, fds);
		keep_only(sandbox->status_child);
		message.outcome.end = QSB__END_EXITED;
	} else {
		message.outcome.end = QSB__END_NOT_FOUND;
		message.outcome.os_error = command.exec_error;
	}
	keep_time(sandbox->plan->timeout_ms);
	reap(sandbox, command.pid, &message.outcome);
	message.kind = QSB__MESSAGE_OUTCOME;
	send_message(sandbox, &message, NULL, 0);
	_exit(0);
}
