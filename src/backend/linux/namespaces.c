/* The back end "namespaces": unprivileged Linux namespaces, a filter and Landlock, with nothing but the kernel. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "backend/linux/abi.h"
#include "backend/linux/callers.h"
#include "backend/linux/command.h"
#include "backend/linux/refusals.h"
#include "backend/linux/registry.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "os/descriptors.h"

enum { THOUSAND = 1000 };

static size_t count_ports(const uint16_t *ports)
{
	size_t count = 0;

	while (ports && ports[count])
		count++;
	return count;
}

/* Both at one port would be two servers of the same place inside. */
static int check_overlap(const struct qsb__plan *plan, struct qsb_error *err)
{
	for (size_t i = 0; i < count_ports(plan->reach_ports); i++)
		for (size_t j = 0; j < count_ports(plan->publish_ports); j++)
			if (plan->reach_ports[i] == plan->publish_ports[j])
				return qsb__fail(err, QSB_E_UNSUPPORTED, "/network/reachPorts",
						 "port %u cannot be reached on the host and published from inside: "
						 "take it out of reachPorts or of publishPorts",
						 plan->reach_ports[i]);
	return 0;
}

static int check_ports(const struct qsb__plan *plan, struct qsb_error *err)
{
	bool reach = count_ports(plan->reach_ports) > 0, publish = count_ports(plan->publish_ports) > 0;

	if (plan->network == QSB__NETWORK_HOST && (reach || publish))
		return qsb__fail(err, QSB_E_UNSUPPORTED, publish ? "/network/publishPorts" : "/network/reachPorts",
				 "with network mode \"host\" every port of the host is the command's own: leave "
				 "publishPorts and reachPorts empty, or use --network off or filtered");
	if (count_ports(plan->reach_ports) > QSB__REACH_MAX)
		return qsb__fail(err, QSB_E_UNSUPPORTED, "/network/reachPorts",
				 "more than %d ports cannot be reached: list fewer", (int)QSB__REACH_MAX);
	return check_overlap(plan, err);
}

static int check(const struct qsb__plan *plan, struct qsb_error *err)
{
	int code;

	if (plan->network == QSB__NETWORK_HOST && qsb__landlock_version() < 6)
		return qsb__fail(err, QSB_E_UNSUPPORTED, "/network/mode",
				 "network mode \"host\" would open the host's abstract unix sockets: it needs Linux "
				 "6.12 (Landlock 6)");
	if (plan->network == QSB__NETWORK_HOST && plan->allow_nested_sandbox)
		return qsb__fail(
			err, QSB_E_UNSUPPORTED, "/allowNestedSandbox",
			"a sandbox inside and network mode \"host\" exclude each other: Landlock could not be used");
	code = check_ports(plan, err);
	return code == 0 ? qsb__guard_check(plan, err) : code;
}

/* Which processors, when fewer are allowed than there are. The first one varies, so that sandboxes spread. */
static int choose_cpus(struct qsb__sandbox *sandbox, struct qsb_error *err)
{
	uint64_t milli = sandbox->plan->cpus_milli;
	cpu_set_t allowed;
	unsigned available, wanted, skip;

	if (milli == 0 || sandbox->cgroup.path[QSB__CONTROLLER_CPU][0])
		return 0;
	if (milli % THOUSAND != 0)
		return qsb__fail(
			err, QSB_E_UNSUPPORTED, "/limits/cpus",
			"a fraction of a processor needs a writable control group, which this host does not give: "
			"use --cpus %llu",
			(unsigned long long)(milli / THOUSAND + 1));
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return qsb__fail_os(err, errno, "limits", "cannot count the processors");
	available = (unsigned)CPU_COUNT(&allowed);
	wanted = (unsigned)(milli / THOUSAND);
	if (wanted >= available)
		return 0;
	skip = (unsigned)getpid() % available;
	CPU_ZERO(&sandbox->cpus);
	while (sandbox->cpu_count < wanted)
		for (int cpu = 0; cpu < CPU_SETSIZE && sandbox->cpu_count < wanted; cpu++) {
			if (!CPU_ISSET(cpu, &allowed) || CPU_ISSET(cpu, &sandbox->cpus))
				continue;
			if (skip > 0) {
				skip--;
				continue;
			}
			CPU_SET(cpu, &sandbox->cpus);
			sandbox->cpu_count++;
		}
	return 0;
}

static void release(struct qsb__sandbox *sandbox);

static int prepare(struct qsb__sandbox **out, const struct qsb__plan *plan, struct qsb_error *err)
{
	struct qsb__sandbox *sandbox = calloc(1, sizeof(*sandbox));
	const struct qsb__cgroup_limits limits = {
		.memory_bytes = plan->memory_bytes,
		.processes = plan->processes,
		.cpus_milli = plan->cpus_milli,
	};
	int code;

	if (!sandbox)
		return qsb__fail_memory(err, "launch");
	sandbox->plan = plan;
	sandbox->init_pidfd = sandbox->status_fd = sandbox->status_child = sandbox->command_pidfd = -1;
	sandbox->calls_fd = sandbox->proc_fd = sandbox->tty_fd = sandbox->diag_fd = sandbox->shm_fd = -1;
	sandbox->scratch_fd = -1;
	sandbox->mask_sockets[0] = sandbox->mask_sockets[1] = -1;
	sandbox->landlock_abi = qsb__landlock_version();
	snprintf(sandbox->uid_map, sizeof(sandbox->uid_map), "%u %u 1", getuid(), getuid());
	snprintf(sandbox->gid_map, sizeof(sandbox->gid_map), "%u %u 1", getgid(), getgid());
	qsb__cgroup_open(&sandbox->cgroup, &limits);
	code = choose_cpus(sandbox, err);
	if (code == 0)
		code = qsb__mounts_prepare(&sandbox->mounts, plan, err);
	if (code == 0)
		code = qsb__named_sockets_prepare(sandbox, err);
	if (code == 0)
		code = qsb__guard_new(&sandbox->guard, plan, err);
	if (code == 0)
		code = qsb__filter_build(sandbox, err);
	if (code != 0) {
		release(sandbox);
		return code;
	}
	*out = sandbox;
	return 0;
}

static int make_status_socket(struct qsb__sandbox *sandbox, struct qsb_error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return qsb__fail_os(err, errno, "launch", "cannot make a socket pair");
	sandbox->status_fd = ends[0];
	sandbox->status_child = ends[1];
	return 0;
}

static int start(struct qsb__sandbox *sandbox, const struct qsb__launch *launch, struct qsb_error *err)
{
	struct clone_args arguments = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
			 CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
		.pidfd = (uint64_t)(uintptr_t)&sandbox->init_pidfd,
		.exit_signal = SIGCHLD,
	};
	int code = qsb__command_prepare(sandbox, launch, err);
	long pid;

	if (code == 0)
		code = make_status_socket(sandbox, err);
	if (code == 0)
		code = qsb__masks_prepare(sandbox, err);
	if (code != 0)
		return code;
	if (sandbox->guard)
		qsb__guard_streams(sandbox->guard, launch->tty ? (const int[]){-1, -1, -1} : launch->stdio,
				   launch->pass_count > 0);
	if (sandbox->guard)
		qsb__guard_listen(sandbox->guard, launch->listener);
	pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
	if (pid == 0)
		qsb__init_main(sandbox);
	if (pid < 0)
		return qsb__namespaces_refused(errno, err);
	sandbox->init_pid = (pid_t)pid;
	close(qsb__take_fd(&sandbox->status_child));
	qsb__masks_serve(sandbox);
	return 0;
}

static int status_fd(const struct qsb__sandbox *sandbox)
{
	return sandbox->status_fd;
}

/* What the child could not give it replaced by the status socket itself. */
static int real_descriptor(int fd)
{
	int type = 0;
	socklen_t size = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Until now every call that the guard makes waits. When it cannot begin, nothing may go on. */
static int begin_guard(struct qsb__sandbox *sandbox, struct qsb_error *err)
{
	int code = 0;

	if (sandbox->calls_fd >= 0)
		qsb__calls_begin(sandbox);
	if (sandbox->guard && sandbox->calls_fd >= 0)
		code = qsb__guard_start(sandbox->guard, sandbox->calls_fd, sandbox->proc_fd, qsb__calls_answer, sandbox,
					err);
	qsb__refusals_wake(sandbox->guard ? qsb__guard_wake_fd(sandbox->guard) : -1);
	return code;
}

/* This process may have no more: the command's calls could not be answered. */
static int refuse_few(const int *fds, size_t count, struct qsb_error *err)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	return qsb__fail(err, QSB_E_OS, "launch",
			 "too few descriptors are left for what the sandbox hands over: raise the limit on open files "
			 "(ulimit -n)");
}

static int read_status(struct qsb__sandbox *sandbox, struct qsb__outcome *outcome, struct qsb_error *err)
{
	struct qsb__message message;
	int fds[QSB__FD_COUNT];
	size_t count = QSB__FD_COUNT;
	const struct iovec data = {.iov_base = &message, .iov_len = sizeof(message)};
	ssize_t length = qsb__descriptors_receive(sandbox->status_fd, &data, fds, &count, MSG_DONTWAIT);

	if (length == -EAGAIN || length == -EINTR)
		return 0;
	if (length < 0)
		return qsb__fail_os(err, (int)-length, "launch", "cannot hear the sandbox's first process");
	if ((size_t)length < sizeof(message) && sandbox->guard_error.code != 0) {
		*err = sandbox->guard_error;
		return sandbox->guard_error.code;
	}
	if ((size_t)length < sizeof(message)) {
		memset(outcome, 0, sizeof(*outcome));
		outcome->end = QSB__END_LOST;
		return 1;
	}
	if (message.kind == QSB__MESSAGE_STOPPED)
		return QSB__STATUS_STOPPED;
	if (message.kind == QSB__MESSAGE_OUTCOME) {
		*outcome = message.outcome;
		return 1;
	}
	if (count != QSB__FD_COUNT)
		return refuse_few(fds, count, err);
	sandbox->command_pidfd = real_descriptor(fds[QSB__FD_COMMAND]);
	sandbox->calls_fd = real_descriptor(fds[QSB__FD_CALLS]);
	sandbox->proc_fd = real_descriptor(fds[QSB__FD_PROC]);
	sandbox->diag_fd = real_descriptor(fds[QSB__FD_DIAG]);
	sandbox->tty_fd = real_descriptor(fds[QSB__FD_TTY]);
	sandbox->shm_fd = real_descriptor(fds[QSB__FD_SHM]);
	sandbox->scratch_fd = real_descriptor(fds[QSB__FD_SCRATCH]);
	sandbox->scratch_device = message.scratch_device;
	if (message.mask_step != QSB__MASK_STEP_NONE)
		sandbox->mask_step = message.mask_step;
	sandbox->listed_ports = message.listed_ports;
	return begin_guard(sandbox, err);
}

/* With a guard the calls are its threads' affair, and what is left to take are the first one and its denials. */
static int calls_fd(const struct qsb__sandbox *sandbox)
{
	return sandbox->calls_fd >= 0 && sandbox->guard ? qsb__guard_fd(sandbox->guard) : sandbox->calls_fd;
}

static void kill_all(struct qsb__sandbox *sandbox);

/* Calls that nobody answers would wait for ever. */
static void serve_calls(struct qsb__sandbox *sandbox)
{
	if (!sandbox->guard)
		qsb__calls_serve(sandbox);
	else if (qsb__guard_serve(sandbox->guard, &sandbox->guard_error) != 0)
		kill_all(sandbox);
}

static bool next_denial(struct qsb__sandbox *sandbox, struct qsb__denial *denial)
{
	/* The guard first: it takes the wake away before it looks, and what comes after that wakes again. */
	return (sandbox->guard && qsb__guard_next_denial(sandbox->guard, denial)) || qsb__refusal_next(denial);
}

static bool next_finding(struct qsb__sandbox *sandbox, struct qsb__finding *finding)
{
	return sandbox->guard && qsb__guard_next_finding(sandbox->guard, finding);
}

static size_t findings_left_out(const struct qsb__sandbox *sandbox)
{
	return sandbox->guard ? qsb__guard_findings_left_out(sandbox->guard) : 0;
}

static void name_client(struct qsb__sandbox *sandbox, unsigned port, struct qsb__denial *denial)
{
	qsb__callers_find(port, denial);
}

static size_t denials_left_out(struct qsb__sandbox *sandbox)
{
	return qsb__refusals_left_out() + (sandbox->guard ? qsb__guard_denials_left_out(sandbox->guard) : 0);
}

static int tty_fd(const struct qsb__sandbox *sandbox)
{
	return sandbox->tty_fd;
}

static int send_signal(struct qsb__sandbox *sandbox, int number)
{
	if (sandbox->command_pidfd < 0)
		return -ESRCH;
	return qsb__pidfd_send_signal(sandbox->command_pidfd, number) == 0 ? 0 : -errno;
}

/* "Pid:" of a pidfd, as seen from here. The command leads its group wherever this is asked. */
static int group(const struct qsb__sandbox *sandbox)
{
	char path[64], text[1024];
	QSB_CLEANUP_FD int fd = -1;
	ssize_t length;
	const char *at;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", sandbox->command_pidfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	at = strstr(text, "\nPid:");
	return at && sscanf(at, "\nPid: %d", &pid) == 1 && pid > 0 ? pid : 0;
}

/* The kernel kills every process of a pid namespace with its first one. */
static void kill_all(struct qsb__sandbox *sandbox)
{
	if (sandbox->init_pidfd >= 0)
		qsb__pidfd_send_signal(sandbox->init_pidfd, SIGKILL);
}

/* The first process is reaped only after the kernel has ended, and reaped, all the others of its namespace. */
static void wait_dead(struct qsb__sandbox *sandbox, struct qsb__outcome *outcome)
{
	struct rusage usage;

	if (sandbox->init_pid <= 0)
		return;
	while (wait4(sandbox->init_pid, NULL, __WALL, &usage) < 0 && errno == EINTR)
		;
	sandbox->init_pid = 0;
	if (outcome)
		qsb__usage_set(outcome, &usage);
}

static const char *limit_by(const struct qsb__sandbox *sandbox, const char *limit)
{
	const struct qsb__cgroup *cgroup = &sandbox->cgroup;
	const struct qsb__plan *plan = sandbox->plan;

	if (strcmp(limit, "memory") == 0)
		return !plan->memory_bytes ? "none" : cgroup->path[QSB__CONTROLLER_MEMORY][0] ? "cgroup" : "watch";
	if (strcmp(limit, "processes") == 0)
		return !plan->processes                        ? "none"
		       : cgroup->path[QSB__CONTROLLER_PIDS][0] ? "cgroup"
		       : getuid() == 0                         ? "watch"
							       : "rlimit";
	if (strcmp(limit, "cpus") == 0)
		return !plan->cpus_milli                      ? "none"
		       : cgroup->path[QSB__CONTROLLER_CPU][0] ? "cgroup"
		       : sandbox->cpu_count                   ? "affinity"
							      : "host";
	if (strcmp(limit, "openFiles") == 0)
		return plan->open_files ? "rlimit" : "none";
	if (strcmp(limit, "fileSize") == 0)
		return plan->file_bytes ? "rlimit" : "none";
	if (strcmp(limit, "tmpSize") == 0)
		return plan->tmp_bytes ? "tmpfs" : "none";
	return NULL;
}

static const char *enforces(const struct qsb__plan *plan, const struct qsb__sandbox *sandbox, const char *restriction)
{
	bool asked = false, others = false;

	for (size_t i = 0; i < plan->step_count; i++) {
		asked |= qsb__guard_holds_step(&plan->steps[i]);
		others |= plan->steps[i].kind == QSB__STEP_NAME_RULE && !qsb__guard_holds_step(&plan->steps[i]);
	}
	if (strcmp(restriction, "protectedNames") == 0)
		return !plan->protect_names      ? "not asked"
		       : plan->protect_new_names ? "yes"
		       : plan->scan_complete     ? "existing"
						 : "existing, as far as looked";
	if (strcmp(restriction, "nameRules") == 0)
		return !others ? "yes" : asked ? "asked" : "no";
	if (strcmp(restriction, "network") == 0)
		return plan->network == QSB__NETWORK_HOST ? "not asked"
		       : sandbox && sandbox->listed_ports ? "listed ports"
							  : "yes";
	return "yes";
}

static void limits_hit(struct qsb__sandbox *sandbox, struct qsb__limits_hit *hit)
{
	hit->memory = qsb__cgroup_out_of_memory(&sandbox->cgroup);
	hit->processes = qsb__cgroup_out_of_processes(&sandbox->cgroup);
	hit->scratch = qsb__scratch_is_full(sandbox);
}

static void close_fds(struct qsb__sandbox *sandbox)
{
	int *const fds[] = {
		&sandbox->init_pidfd, &sandbox->status_fd,  &sandbox->status_child,    &sandbox->command_pidfd,
		&sandbox->calls_fd,   &sandbox->proc_fd,    &sandbox->tty_fd,          &sandbox->diag_fd,
		&sandbox->shm_fd,     &sandbox->scratch_fd, &sandbox->mask_sockets[0], &sandbox->mask_sockets[1],
	};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			close(qsb__take_fd(fds[i]));
}

static void release(struct qsb__sandbox *sandbox)
{
	if (!sandbox)
		return;
	if (sandbox->init_pid > 0) {
		kill_all(sandbox);
		wait_dead(sandbox, NULL);
	}
	qsb__refusals_wake(-1);
	qsb__guard_free(sandbox->guard);
	qsb__mask_server_free(sandbox->mask_server);
	close_fds(sandbox);
	qsb__cgroup_close(&sandbox->cgroup);
	qsb__mounts_clear(&sandbox->mounts);
	qsb__command_clear(sandbox);
	free(sandbox->named_sockets);
	free(sandbox);
}

const struct qsb__backend qsb__backend_namespaces = {
	.name = "namespaces",
	.summary = "Linux user namespaces, seccomp and Landlock, without privileges or helper programs",
	.probe = qsb__namespaces_probe,
	.check = check,
	.prepare = prepare,
	.start = start,
	.status_fd = status_fd,
	.read_status = read_status,
	.calls_fd = calls_fd,
	.serve_calls = serve_calls,
	.next_denial = next_denial,
	.next_finding = next_finding,
	.findings_left_out = findings_left_out,
	.name_client = name_client,
	.denials_left_out = denials_left_out,
	.tty_fd = tty_fd,
	.signal = send_signal,
	.group = group,
	.kill = kill_all,
	.wait_dead = wait_dead,
	.measure = qsb__measure,
	.enforces = enforces,
	.reports = qsb__reports,
	.limits_hit = limits_hit,
	.limit_by = limit_by,
	.release = release,
};
