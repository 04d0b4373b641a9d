#include "backend/linux/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/magic.h>

#include "backend/linux/abi.h"
#include "core/cleanup.h"

#define MOUNT_POINT "/sys/fs/cgroup"

enum { PERIOD_US = 100000, CLEAN_TRIES = 200, CLEAN_PAUSE_NS = 10 * 1000 * 1000 };

static const char *const controller_names[QSB__CONTROLLER_COUNT] = {"memory", "pids", "cpu"};

static ssize_t read_text(const char *path, char *buffer, size_t size)
{
	QSB_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, buffer, size - 1);

	buffer[length > 0 ? length : 0] = '\0';
	return length;
}

static bool write_text(const char *folder, const char *file, const char *text)
{
	char path[512];
	QSB_CLEANUP_FD int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) >= 0;
}

static bool read_number(const char *folder, const char *file, uint64_t *value)
{
	char path[512], text[64], *end;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (read_text(path, text, sizeof(text)) <= 0)
		return false;
	*value = strtoull(text, &end, 10);
	return end != text;
}

/* The number after `name` and a space in a file of such lines. */
static uint64_t read_field(const char *folder, const char *file, const char *name)
{
	char path[512], text[4096];
	size_t length = strlen(name);

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (read_text(path, text, sizeof(text)) <= 0)
		return 0;
	for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		if (strncmp(line, name, length) == 0 && line[length] == ' ')
			return strtoull(line + length + 1, NULL, 10);
	return 0;
}

static bool has_word(const char *text, const char *word, const char *separators)
{
	size_t length = strlen(word);

	while (*text) {
		size_t span = strcspn(text, separators);

		if (span == length && strncmp(text, word, length) == 0)
			return true;
		text += span;
		text += strspn(text, separators);
	}
	return false;
}

/* The caller's own group: "ID:controllers:/path" of /proc/self/cgroup; "" as controllers for v2. */
static bool own_path(const char *controller, char *out, size_t size)
{
	char text[4096];

	if (read_text("/proc/self/cgroup", text, sizeof(text)) <= 0)
		return false;
	for (char *line = text, *next; line && *line; line = next) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!path)
			continue;
		*path++ = '\0';
		if (*controller ? has_word(controllers + 1, controller, ",") : controllers[1] == '\0') {
			snprintf(out, size, "%s", strcmp(path, "/") == 0 ? "" : path);
			return true;
		}
	}
	return false;
}

static bool is_unified(void)
{
	struct statfs status;

	return statfs(MOUNT_POINT, &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC;
}

/*
 * v2: a group with processes in it (ours) cannot hand controllers to children, so the place is an ancestor that the
 * user may write to (a delegated subtree) and that hands on what is needed. `handed` gets its controllers.
 */
static bool find_unified(char *folder, size_t size, char *handed, size_t handed_size)
{
	char path[256];

	if (!own_path("", path, sizeof(path)))
		return false;
	for (;;) {
		char file[640];
		char *slash;

		snprintf(folder, size, MOUNT_POINT "%s", path);
		snprintf(file, sizeof(file), "%s/cgroup.subtree_control", folder);
		if (access(folder, W_OK) == 0 && read_text(file, handed, handed_size) > 1) {
			snprintf(file, sizeof(file), "%s/cgroup.procs", folder);
			return access(file, W_OK) == 0;
		}
		slash = strrchr(path, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
}

static bool find_v1(enum qsb__controller controller, char *folder, size_t size)
{
	char path[256];

	if (!own_path(controller_names[controller], path, sizeof(path)))
		return false;
	snprintf(folder, size, MOUNT_POINT "/%s%s", controller_names[controller], path);
	return access(folder, W_OK) == 0;
}

static void drop(struct qsb__cgroup *cgroup, enum qsb__controller controller)
{
	if (cgroup->path[controller][0] && !cgroup->unified)
		rmdir(cgroup->path[controller]);
	cgroup->path[controller][0] = '\0';
	if (cgroup->procs_fd[controller] >= 0)
		close(qsb__take_fd(&cgroup->procs_fd[controller]));
}

/* The limit in the controller's own words. False: it did not take, the limit is then held otherwise. */
static bool set_limit(const struct qsb__cgroup *cgroup, enum qsb__controller controller,
		      const struct qsb__cgroup_limits *limits)
{
	const char *folder = cgroup->path[controller];
	unsigned long long quota = limits->cpus_milli * (PERIOD_US / 1000);
	char text[64];

	switch (controller) {
	case QSB__CONTROLLER_MEMORY:
		snprintf(text, sizeof(text), "%llu", (unsigned long long)limits->memory_bytes);
		if (!cgroup->unified)
			return write_text(folder, "memory.limit_in_bytes", text) &&
			       (write_text(folder, "memory.memsw.limit_in_bytes", text) || errno == ENOENT);
		return write_text(folder, "memory.max", text) &&
		       (write_text(folder, "memory.swap.max", "0") || errno == ENOENT) &&
		       (write_text(folder, "memory.oom.group", "1") || errno == ENOENT);
	case QSB__CONTROLLER_PIDS:
		snprintf(text, sizeof(text), "%llu", (unsigned long long)limits->processes);
		return write_text(folder, "pids.max", text);
	case QSB__CONTROLLER_CPU:
		if (cgroup->unified) {
			snprintf(text, sizeof(text), "%llu %d", quota, PERIOD_US);
			return write_text(folder, "cpu.max", text);
		}
		snprintf(text, sizeof(text), "%d", PERIOD_US);
		if (!write_text(folder, "cpu.cfs_period_us", text))
			return false;
		snprintf(text, sizeof(text), "%llu", quota);
		return write_text(folder, "cpu.cfs_quota_us", text);
	case QSB__CONTROLLER_COUNT:
		break;
	}
	return false;
}

static bool is_wanted(enum qsb__controller controller, const struct qsb__cgroup_limits *limits)
{
	switch (controller) {
	case QSB__CONTROLLER_MEMORY:
		return limits->memory_bytes > 0;
	case QSB__CONTROLLER_PIDS:
		return limits->processes > 0;
	case QSB__CONTROLLER_CPU:
		return limits->cpus_milli > 0 && limits->cpus_milli < (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000U;
	case QSB__CONTROLLER_COUNT:
		break;
	}
	return false;
}

/* Where the group is to be made. False: its name is too long. */
static bool name_one(struct qsb__cgroup *cgroup, enum qsb__controller controller, const char *folder)
{
	size_t size = sizeof(cgroup->path[controller]);

	if (snprintf(cgroup->path[controller], size, "%s/qiming-sandbox-%d", folder, (int)getpid()) < (int)size)
		return true;
	cgroup->path[controller][0] = '\0';
	return false;
}

static void open_one(struct qsb__cgroup *cgroup, enum qsb__controller controller,
		     const struct qsb__cgroup_limits *limits)
{
	const char *folder = cgroup->path[controller];
	char path[640];

	/* In v2 the first controller makes the folder for all; an old one of a dead process with our number is reused
	 * only when it is empty, which rmdir shows. */
	if (mkdir(folder, 0755) != 0 &&
	    !(errno == EEXIST && (cgroup->unified || (rmdir(folder) == 0 && mkdir(folder, 0755) == 0)))) {
		cgroup->path[controller][0] = '\0';
		return;
	}
	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	cgroup->procs_fd[controller] = open(path, O_WRONLY | O_CLOEXEC);
	if (cgroup->procs_fd[controller] < 0 || !set_limit(cgroup, controller, limits))
		drop(cgroup, controller);
}

static bool remove_all(struct qsb__cgroup *cgroup)
{
	bool gone = true;

	for (int i = 0; i < QSB__CONTROLLER_COUNT; i++)
		if (cgroup->path[i][0] && rmdir(cgroup->path[i]) != 0 && errno != ENOENT)
			gone = false;
	return gone;
}

static void remove_patiently(struct qsb__cgroup *cgroup)
{
	const struct timespec pause = {.tv_nsec = CLEAN_PAUSE_NS};

	for (int i = 0; i < CLEAN_TRIES && !remove_all(cgroup); i++)
		nanosleep(&pause, NULL);
}

/*
 * A process whose only task is to outlive the supervisor: killed by SIGKILL, the supervisor could not remove its
 * groups, and nothing may be left on the host. It waits for the pipe to close.
 */
/* Above all the caller's streams, whose reader waits for their end, and the other end of our own pipe. */
static void close_all_but(int fd)
{
	enum { LIKELY = 1024 };

	if ((fd == 0 || qsb__close_range(0, (unsigned)fd - 1, 0) == 0) &&
	    qsb__close_range((unsigned)fd + 1, ~0U, 0) == 0)
		return;
	for (int other = 0; other < LIKELY; other++)
		if (other != fd)
			close(other);
}

static void start_janitor(struct qsb__cgroup *cgroup)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	pid = fork();
	if (pid == 0) {
		struct pollfd supervisor = {.fd = ends[0]};
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		setsid();
		close_all_but(ends[0]);
		while (poll(&supervisor, 1, -1) < 0)
			;
		remove_patiently(cgroup);
		_exit(0);
	}
	close(ends[0]);
	cgroup->janitor_pipe = ends[1];
	cgroup->janitor_pid = pid;
}

void qsb__cgroup_open(struct qsb__cgroup *cgroup, const struct qsb__cgroup_limits *limits)
{
	char folder[512], handed[256] = "";
	bool any = false;

	memset(cgroup, 0, sizeof(*cgroup));
	cgroup->janitor_pipe = -1;
	for (int i = 0; i < QSB__CONTROLLER_COUNT; i++)
		cgroup->procs_fd[i] = -1;
	cgroup->unified = is_unified();
	if (cgroup->unified && !find_unified(folder, sizeof(folder), handed, sizeof(handed)))
		return;
	/* v1 is never delegated to users. */
	if (!cgroup->unified && geteuid() != 0)
		return;
	for (int i = 0; i < QSB__CONTROLLER_COUNT; i++) {
		enum qsb__controller controller = (enum qsb__controller)i;

		if (!is_wanted(controller, limits))
			continue;
		if (cgroup->unified ? !has_word(handed, controller_names[i], " \n")
				    : !find_v1(controller, folder, sizeof(folder)))
			continue;
		any |= name_one(cgroup, controller, folder);
	}
	if (!any)
		return;
	/* It knows the names before there is anything to remove: we may be killed at any moment. */
	start_janitor(cgroup);
	for (int i = 0; i < QSB__CONTROLLER_COUNT; i++)
		if (cgroup->path[i][0])
			open_one(cgroup, (enum qsb__controller)i, limits);
}

int qsb__cgroup_join(const struct qsb__cgroup *cgroup)
{
	for (int i = 0; i < QSB__CONTROLLER_COUNT; i++)
		if (cgroup->procs_fd[i] >= 0 && write(cgroup->procs_fd[i], "0", 1) != 1)
			return -errno;
	return 0;
}

bool qsb__cgroup_memory(const struct qsb__cgroup *cgroup, uint64_t *bytes)
{
	const char *folder = cgroup->path[QSB__CONTROLLER_MEMORY];

	return folder[0] && read_number(folder, cgroup->unified ? "memory.current" : "memory.usage_in_bytes", bytes);
}

bool qsb__cgroup_processes(const struct qsb__cgroup *cgroup, uint64_t *count)
{
	const char *folder = cgroup->path[QSB__CONTROLLER_PIDS];

	return folder[0] && read_number(folder, "pids.current", count);
}

bool qsb__cgroup_out_of_memory(const struct qsb__cgroup *cgroup)
{
	const char *folder = cgroup->path[QSB__CONTROLLER_MEMORY];

	return folder[0] &&
	       read_field(folder, cgroup->unified ? "memory.events" : "memory.oom_control", "oom_kill") > 0;
}

bool qsb__cgroup_out_of_processes(const struct qsb__cgroup *cgroup)
{
	const char *folder = cgroup->path[QSB__CONTROLLER_PIDS];

	return folder[0] && read_field(folder, "pids.events", "max") > 0;
}

void qsb__cgroup_close(struct qsb__cgroup *cgroup)
{
	bool any = false;

	for (int i = 0; i < QSB__CONTROLLER_COUNT; i++) {
		any |= cgroup->path[i][0] != '\0';
		if (cgroup->procs_fd[i] >= 0)
			close(qsb__take_fd(&cgroup->procs_fd[i]));
	}
	if (any)
		remove_patiently(cgroup);
	if (cgroup->janitor_pipe < 0)
		return;
	close(qsb__take_fd(&cgroup->janitor_pipe));
	/* It finds nothing left to remove. */
	while (waitpid(cgroup->janitor_pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void qsb__cgroup_describe(char *buffer, unsigned size, bool held[QSB__CONTROLLER_COUNT])
{
	char folder[512] = "", handed[256] = "";
	bool unified = is_unified();
	bool found = unified && find_unified(folder, sizeof(folder), handed, sizeof(handed));

	for (int i = 0; i < QSB__CONTROLLER_COUNT; i++)
		held[i] = unified ? found && has_word(handed, controller_names[i], " \n")
				  : geteuid() == 0 && find_v1((enum qsb__controller)i, folder, sizeof(folder));
	if (unified)
		snprintf(buffer, size, "%s%s", found ? "v2, below " : "", found ? folder : "");
	else
		snprintf(buffer, size, "%s", held[0] || held[1] || held[2] ? "v1" : "");
}
