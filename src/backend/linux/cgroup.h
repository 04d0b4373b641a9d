/* A control group of this run, where the caller may make one: cgroup v2 delegated to the user, or v1 as root. */
#ifndef QSB_LINUX_CGROUP_H
#define QSB_LINUX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include <qiming/sandbox.h>

enum qsb__controller { QSB__CONTROLLER_MEMORY, QSB__CONTROLLER_PIDS, QSB__CONTROLLER_CPU, QSB__CONTROLLER_COUNT };

struct qsb__cgroup {
	/* By controller; "" = not held by a cgroup. In v2 all that are held name the same folder. */
	char path[QSB__CONTROLLER_COUNT][256];
	int procs_fd[QSB__CONTROLLER_COUNT]; /* open for writing: the command joins by them; -1 = none */
	bool unified;
	int janitor_pipe; /* closing it makes the janitor remove what is left; -1 = none */
	int janitor_pid;
};

struct qsb__cgroup_limits {
	uint64_t memory_bytes, processes, cpus_milli; /* 0 = no limit */
};

/* Makes the groups that can be made. None is no error: the limits are then held otherwise. */
void qsb__cgroup_open(struct qsb__cgroup *cgroup, const struct qsb__cgroup_limits *limits);

/* In the child, async-signal-safe: the calling process joins. 0 or a negative errno. */
int qsb__cgroup_join(const struct qsb__cgroup *cgroup);

/* What the kernel counted: false = this controller is not held. */
bool qsb__cgroup_memory(const struct qsb__cgroup *cgroup, uint64_t *bytes);
bool qsb__cgroup_processes(const struct qsb__cgroup *cgroup, uint64_t *count);
/* Whether the kernel killed for memory, or refused a process, in this group. */
bool qsb__cgroup_out_of_memory(const struct qsb__cgroup *cgroup);
bool qsb__cgroup_out_of_processes(const struct qsb__cgroup *cgroup);

/* Removes the groups. Their processes must be dead. */
void qsb__cgroup_close(struct qsb__cgroup *cgroup);

/* Where groups can be made on this host, for doctor: "v2 /path", "v1", "" = nowhere. */
void qsb__cgroup_describe(char *buffer, unsigned size, bool held[QSB__CONTROLLER_COUNT]);

#endif
