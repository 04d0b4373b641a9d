/* What this host lets the back end do, found by trying; and the smallest fix where it does not. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <linux/netlink.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "core/error.h"

static struct qsb__probe_row *add_row(struct qsb__probe *probe, const char *name, bool ok, bool needed)
{
	struct qsb__probe_row *row = &probe->rows[probe->count];

	if (probe->count + 1 < sizeof(probe->rows) / sizeof(probe->rows[0]))
		probe->count++;
	memset(row, 0, sizeof(*row));
	row->name = name;
	row->ok = ok;
	row->needed = needed;
	if (!ok && needed)
		probe->usable = false;
	return row;
}

__attribute__((format(printf, 2, 3))) static void describe(struct qsb__probe_row *row, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(row->detail, sizeof(row->detail), format, arguments);
	va_end(arguments);
}

/* First number of a small file; -1 = no such file. */
static long read_setting(const char *path)
{
	char text[32];
	QSB_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (length <= 0)
		return -1;
	text[length] = '\0';
	return strtol(text, NULL, 10);
}

static void why_no_namespace(int os_code, char *cause, size_t cause_size, char *fix, size_t fix_size)
{
	if (read_setting("/proc/sys/user/max_user_namespaces") == 0) {
		snprintf(cause, cause_size, "user namespaces are switched off (user.max_user_namespaces is 0)");
		snprintf(fix, fix_size, "sudo sysctl -w user.max_user_namespaces=15000");
	} else if (read_setting("/proc/sys/kernel/unprivileged_userns_clone") == 0) {
		snprintf(cause, cause_size,
			 "user namespaces are for root only here (kernel.unprivileged_userns_clone is 0)");
		snprintf(fix, fix_size, "sudo sysctl -w kernel.unprivileged_userns_clone=1");
	} else if (read_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1) {
		snprintf(cause, cause_size, "AppArmor keeps user namespaces from programs without a profile");
		snprintf(fix, fix_size, "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
	} else if (os_code == ENOSYS) {
		snprintf(cause, cause_size, "the kernel, or a seccomp filter around this process, lacks clone3");
		snprintf(fix, fix_size,
			 "start from outside the container, or give it a seccomp profile that allows clone3");
	} else if (os_code == ENOSPC) {
		snprintf(cause, cause_size, "the limit on namespaces is reached");
		snprintf(fix, fix_size, "sudo sysctl -w user.max_user_namespaces=15000");
	} else if (os_code == EPERM && prctl(PR_GET_SECCOMP) == 2) {
		snprintf(cause, cause_size,
			 "a seccomp filter around this process (a container, or another sandbox) refuses them");
		snprintf(fix, fix_size,
			 "start from outside it, or allow clone, clone3, unshare and mount calls in its profile");
	} else if (os_code == EINVAL) {
		snprintf(cause, cause_size, "the kernel was built without one of the kinds of namespaces");
		snprintf(fix, fix_size,
			 "use a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS, CONFIG_IPC_NS, "
			 "CONFIG_UTS_NS and CONFIG_CGROUPS");
	} else {
		snprintf(cause, cause_size, "the kernel refuses them: %s", strerror(os_code));
		snprintf(fix, fix_size, "look for what forbids it: a security module (dmesg), a container's settings");
	}
}

int qsb__namespaces_refused(int os_code, struct qsb_error *err)
{
	char cause[160], fix[160];

	why_no_namespace(os_code, cause, sizeof(cause), fix, sizeof(fix));
	qsb__fail(err, QSB_E_UNSUPPORTED, "user namespaces", "cannot make a user namespace: %s; fix: %s", cause, fix);
	if (err)
		err->os_code = os_code;
	return QSB_E_UNSUPPORTED;
}

/*
 * Makes every namespace that a run needs: 0 or an errno. A security module may let a user namespace be made and give no
 * capability in it: so the first mount of a run is tried as well, in the namespace that ends with this.
 */
static int try_namespaces(int *mount_error)
{
	struct clone_args arguments = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWCGROUP,
		.exit_signal = SIGCHLD,
	};
	const struct mount_attr private = {.propagation = MS_PRIVATE};
	long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
	int status = 0;

	*mount_error = 0;
	if (pid == 0)
		_exit(qsb__mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private) == 0 ? 0 : errno);
	if (pid < 0)
		return errno;
	while (waitpid((pid_t)pid, &status, 0) < 0 && errno == EINTR)
		;
	*mount_error = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	return 0;
}

static bool has_call(long number)
{
	return syscall(number, -1, NULL, -1, NULL, 0) != -1 || errno != ENOSYS;
}

static void probe_namespaces(struct qsb__probe *probe)
{
	int mount_error, error = try_namespaces(&mount_error);
	struct qsb__probe_row *row = add_row(probe, "user namespaces", error == 0, true);

	if (error == 0)
		describe(row, "user, mount, pid, net, ipc, uts and cgroup namespaces without privileges");
	else
		why_no_namespace(error, row->detail, sizeof(row->detail), row->fix, sizeof(row->fix));
	/* Kernels that lack the call have a row of their own. */
	if (error != 0 || mount_error == ENOSYS)
		return;
	row = add_row(probe, "mounts in namespaces", mount_error == 0, true);
	if (mount_error == 0)
		describe(row, "allowed");
	else if (mount_error == EINVAL)
		describe(row, "the root folder is not a mount of its own (a chroot): start from outside the chroot");
	else
		why_no_namespace(mount_error, row->detail, sizeof(row->detail), row->fix, sizeof(row->fix));
}

static void probe_mounts(struct qsb__probe *probe)
{
	bool ok = has_call(SYS_mount_setattr) && has_call(SYS_open_tree) && has_call(SYS_move_mount) &&
		  has_call(SYS_openat2);
	struct qsb__probe_row *row = add_row(probe, "mount calls", ok, true);

	describe(row, ok ? "open_tree, move_mount, mount_setattr" : "mount_setattr and its kin are missing");
	if (!ok)
		snprintf(row->fix, sizeof(row->fix), "use Linux 5.12 or newer");
}

static void probe_filter(struct qsb__probe *probe, enum qsb__guard_lack lack)
{
	uint32_t notify = SECCOMP_RET_USER_NOTIF;
	bool known = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &notify) == 0 && has_call(SYS_pidfd_getfd);
	bool taken = lack == QSB__LACK_LISTENER || lack == QSB__LACK_FILTER;
	struct qsb__probe_row *row = add_row(probe, "system call filter", known && !taken, true);
	const char *fix, *cause = qsb__guard_lack_text(lack, &fix);

	if (!known) {
		describe(row, "seccomp cannot ask a supervisor here");
		snprintf(row->fix, sizeof(row->fix), "use Linux 5.6 or newer, with CONFIG_SECCOMP_FILTER");
	} else if (taken) {
		describe(row, "%s", cause);
		snprintf(row->fix, sizeof(row->fix), "%s", fix);
	} else {
		describe(row, "seccomp with answers by the supervisor");
	}
}

static void probe_rules(struct qsb__probe *probe, enum qsb__guard_lack lack)
{
	struct qsb__probe_row *row = add_row(probe, "live rules", lack == QSB__LACK_NOTHING, false);
	const char *fix, *cause = qsb__guard_lack_text(lack, &fix);

	if (cause)
		describe(row, "denied and protected names that do not exist yet are not held: %s", cause);
	else
		describe(row, "denied and protected names that do not exist yet are held while the command runs");
	snprintf(row->fix, sizeof(row->fix), "%s", fix);
}

static void probe_reads(struct qsb__probe *probe)
{
	int code;
	enum qsb__mask_step step = qsb__mask_mount_try(&code);
	struct qsb__probe_row *row = add_row(probe, "reads of secrets", step == QSB__MASK_STEP_NONE, false);

	if (step == QSB__MASK_STEP_NONE) {
		describe(row, "told with the process that wanted to read: the masks are a file system of ours (FUSE)");
	} else if (step == QSB__MASK_STEP_DEVICE) {
		describe(row, "refused, but not told: cannot open /dev/fuse: %s", strerror(-code));
		snprintf(row->fix, sizeof(row->fix),
			 code == -EACCES ? "sudo chmod 0666 /dev/fuse, as distributions ship it"
					 : "sudo modprobe fuse, and make /dev/fuse open to all users");
	} else {
		describe(row, "refused, but not told: cannot mount FUSE in a user namespace: %s", strerror(-code));
		snprintf(row->fix, sizeof(row->fix), "look for what forbids it: a security module (dmesg)");
	}
}

static void probe_landlock(struct qsb__probe *probe)
{
	int version = qsb__landlock_version();
	struct qsb__probe_row *row = add_row(probe, "Landlock", version > 0, false);

	if (version > 0)
		describe(row, "version %d%s", version,
			 version < 6 ? ": no scopes, so network mode \"host\" is refused" : "");
	else
		describe(row, "missing: the mounts alone hold the files, and FIFOs in the workspace are not refused");
	if (version == 0)
		snprintf(row->fix, sizeof(row->fix), "use Linux 5.13 or newer with landlock in the lsm= list");
}

static void probe_limits(struct qsb__probe *probe)
{
	bool held[QSB__CONTROLLER_COUNT];
	char place[160];
	struct qsb__probe_row *row;

	qsb__cgroup_describe(place, sizeof(place), held);
	row = add_row(probe, "control groups", place[0] != '\0', false);
	if (place[0])
		describe(row, "%s:%s%s%s", place, held[QSB__CONTROLLER_MEMORY] ? " memory" : "",
			 held[QSB__CONTROLLER_PIDS] ? " pids" : "", held[QSB__CONTROLLER_CPU] ? " cpu" : "");
	else
		describe(row,
			 "none to write to: memory by a watch, processes by a resource limit, processors by affinity");
	if (!place[0])
		snprintf(row->fix, sizeof(row->fix), "start under a systemd user session with delegated controllers");
}

static void probe_sockets(struct qsb__probe *probe)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct qsb__probe_row *row = add_row(probe, "socket list", fd >= 0, false);

	if (fd >= 0)
		close(fd);
	describe(row, fd >= 0 ? "sock_diag: a unix socket made inside is told from one of the host"
			      : "missing: unix sockets work in /tmp only");
}

static void why_not_caught(struct qsb__probe_row *row, int error)
{
	describe(row, "only the ports 80, 443 and those that allowedDomains names: nftables tproxy: %s",
		 strerror(error));
	if (error == EPERM || error == EACCES)
		snprintf(row->fix, sizeof(row->fix),
			 "look for what forbids nftables in user namespaces: a security "
			 "module (dmesg), a seccomp filter around this process");
	else
		snprintf(row->fix, sizeof(row->fix),
			 "sudo modprobe nft_tproxy, or use a kernel with CONFIG_NF_TABLES_INET and CONFIG_NFT_TPROXY");
}

static void probe_network(struct qsb__probe *probe)
{
	struct qsb__network_trial trial;
	struct qsb__probe_row *row;

	qsb__network_try(&trial);
	row = add_row(probe, "filtered network", trial.code == 0 && trial.catch_error == 0, false);
	if (trial.code != 0)
		describe(row, "cannot be made: %s", strerror(-trial.code));
	else if (trial.catch_error != 0)
		why_not_caught(row, -trial.catch_error);
	else
		describe(row, "every TCP port is caught (nftables tproxy), %s",
			 trial.six ? "IPv4 and IPv6" : "IPv4 only: the kernel has no IPv6");
}

void qsb__namespaces_probe(struct qsb__probe *probe)
{
	enum qsb__guard_lack lack = qsb__guard_lacks();
	struct utsname system;
	struct qsb__probe_row *row;

	memset(probe, 0, sizeof(*probe));
	probe->usable = true;
	row = add_row(probe, "kernel", true, false);
	if (uname(&system) == 0)
		describe(row, "%s %s %s", system.sysname, system.release, system.machine);
	probe_namespaces(probe);
	probe_mounts(probe);
	probe_filter(probe, lack);
	probe_rules(probe, lack);
	probe_landlock(probe);
	probe_limits(probe);
	probe_sockets(probe);
	/* Where no namespace can be made, that is said above. */
	if (probe->usable) {
		probe_reads(probe);
		probe_network(probe);
	}
}
