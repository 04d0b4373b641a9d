/* What the files of this back end share: one sandbox, from its preparation to its end. */
#ifndef QSB_LINUX_SANDBOX_H
#define QSB_LINUX_SANDBOX_H

#include <sched.h>
#include <sys/types.h>
#include <linux/filter.h>

#include "backend/backend.h"
#include "backend/linux/cgroup.h"
#include "backend/linux/listeners.h"
#include "backend/linux/masks.h"
#include "guard/guard.h"

enum { QSB__FILTER_MAX = 1024 };

/* One mount to make, prepared in the supervisor and carried out in the child. */
enum qsb__mount_source {
	QSB__SOURCE_HOST,      /* the host's own tree at `path` */
	QSB__SOURCE_MASK_FILE, /* the scratch file that nobody can open */
	QSB__SOURCE_MASK_DIR,  /* the scratch folder that nobody can list */
	QSB__SOURCE_SCRATCH,   /* a folder of the scratch file system: `scratch` names it */
	QSB__SOURCE_PROC,
	QSB__SOURCE_DEV,
	QSB__SOURCE_LINK /* a symbolic link to `target`, inside the scratch file system */
};

struct qsb__mount {
	enum qsb__mount_source source;
	const char *path;   /* where it goes, and for HOST where it comes from; belongs to the plan */
	const char *rule;   /* who asked; for messages */
	const char *target; /* of a LINK */
	char scratch[24];   /* name of a folder in the scratch file system */
	unsigned short scratch_mode;
	bool writable;
	bool is_dir;
	bool early;         /* the source will be out of sight when its turn comes: clone it before */
	bool set_read_only; /* its clone would be writable: say so */
	size_t mask;        /* of a mask that tells: its number, from 1 on; 0 = the plain one */
};

struct qsb__mounts {
	struct qsb__mount *list;
	size_t count;
	bool empty_root;    /* QSB__STEP_ROOT */
	bool root_writable; /* "/" itself is writable: nothing is made read-only as a whole */
	bool guard_kernel;  /* uid 0: /proc/sys and its kin must be read-only mounts */
	char size[32];      /* of the scratch file system, for tmpfs; "" = no limit */
	char inodes[32];
	char **aliases; /* paths that no plan owns */
	size_t alias_count;
	struct qsb__mask_list masks; /* those that tell who wanted to read them */
	size_t plain_masks;          /* how many others there are */
	const char *devices[16];     /* further nodes or folders of /dev that the policy opts in to */
	size_t device_count;
};

struct qsb__sandbox {
	const struct qsb__plan *plan;
	struct qsb__mounts mounts;
	struct sock_filter filter[QSB__FILTER_MAX];
	unsigned short filter_length;
	struct qsb__cgroup cgroup;
	cpu_set_t cpus; /* affinity, when cpu_count > 0 */
	unsigned cpu_count;
	int landlock_abi;

	char uid_map[32], gid_map[32];
	char **candidates;  /* paths to try to execute, NULL-terminated */
	char **script_argv; /* "/bin/sh", a candidate, the other arguments: for a script without "#!" */
	char **argv;
	const struct qsb__launch *launch;

	mode_t umask;                 /* of the command: the caller's */
	struct qsb__guard *guard;     /* rules by name, NULL = none to hold */
	struct qsb_error guard_error; /* why it could not answer calls */

	pid_t init_pid;
	int init_pidfd;
	int status_fd; /* ours; the child's end is status_child */
	int status_child;
	int command_pidfd;
	int calls_fd; /* seccomp notification listener */
	int proc_fd;  /* the sandbox's own /proc */
	int tty_fd;
	int diag_fd;                             /* sock_diag socket of the sandbox's network namespace */
	int shm_fd;                              /* the list of its System V shared memory */
	int scratch_fd;                          /* its own file system, which outlives its processes by this */
	struct qsb__named_socket *named_sockets; /* in the order of the plan's unix_sockets */
	bool listed_ports; /* a filtered network catches the ports 80, 443 and those of the plan's patterns only */
	struct qsb__mask_server *mask_server; /* NULL = the masks are plain */
	int mask_sockets[2];                  /* the server's end and the child's, -1 = none */
	enum qsb__mask_step mask_step;        /* why they are plain */
	bool memfd_seen;                      /* memory files were made: the watch looks for them */
	uint64_t scratch_device;
};

/* What the child tells over the status socket: one packet each. */
enum qsb__message_kind { QSB__MESSAGE_STARTED, QSB__MESSAGE_STOPPED, QSB__MESSAGE_OUTCOME };

struct qsb__message {
	enum qsb__message_kind kind;
	uint64_t scratch_device;       /* STARTED */
	bool listed_ports;             /* STARTED */
	enum qsb__mask_step mask_step; /* STARTED: why the masks are plain */
	struct qsb__outcome outcome;   /* OUTCOME */
};

/* Descriptors that come with STARTED, in this order; a missing one is replaced by the status socket itself. */
enum {
	QSB__FD_COMMAND,
	QSB__FD_CALLS,
	QSB__FD_PROC,
	QSB__FD_DIAG,
	QSB__FD_TTY,
	QSB__FD_SHM,
	QSB__FD_SCRATCH,
	QSB__FD_COUNT
};

/* mounts_plan.c, in the supervisor */
int qsb__mounts_prepare(struct qsb__mounts *mounts, const struct qsb__plan *plan, struct qsb_error *err);
/* aliases.c: masks for the other places where the host shows what is masked. */
int qsb__mounts_add_aliases(struct qsb__mounts *mounts, struct qsb_error *err);
void qsb__mounts_clear(struct qsb__mounts *mounts);

/* mounts.c, in the child: arranges everything that can be seen. */
struct qsb__mounted {
	bool tty;                      /* in: /dev/tty exists */
	struct qsb__mask_mount *masks; /* in: those that tell, begun */
	struct qsb__network *network;  /* in: begun, if it is the sandbox's own */
	int proc_fd, pts_fd;           /* out: the new /proc, the new devpts; -1 = none */
	int scratch_fd;                /* out: root of the scratch file system */
	uint64_t scratch_device;       /* out: its st_dev */
};
int qsb__mounts_apply(const struct qsb__mounts *mounts, struct qsb__mounted *mounted, struct qsb_error *err);

/* dev.c, in the child: the minimal /dev. The nodes are cloned before the host's /dev goes out of sight. */
struct qsb__devices {
	int fd[32];
	const char *name[32]; /* relative to /dev */
	bool is_dir[32];
	size_t count;
};
int qsb__devices_clone(struct qsb__devices *devices, const struct qsb__mounts *mounts, bool tty, struct qsb_error *err);
int qsb__devices_attach(const struct qsb__devices *devices, struct qsb__mounted *mounted, int target,
			struct qsb_error *err);

/* masks.c, in the supervisor: before the clone, and after it, since a thread's locks must not be copied while it holds
 * them. */
int qsb__masks_prepare(struct qsb__sandbox *sandbox, struct qsb_error *err);
void qsb__masks_serve(struct qsb__sandbox *sandbox);

/* reports.c: as the back end's `reports`; "some" = of the masks. */
const char *qsb__reports(const struct qsb__plan *plan, const struct qsb__sandbox *sandbox, const char *what);

/* tree.c, in the child: small steps on mounts. Paths are absolute; a symlink met on the way is an error. */
int qsb__tree_find(const char *path, int *out); /* O_PATH descriptor; 0 or -errno */
int qsb__tree_clone(int at, const char *name, bool recursive, int *out);
int qsb__tree_new(const char *type, const char *const options[][2], unsigned attributes, int *out);
int qsb__tree_attributes(int tree, unsigned set, bool recursive);

/* seccomp.c, in the supervisor: builds the filter for this plan. 0 or QSB_E_*. */
int qsb__filter_build(struct qsb__sandbox *sandbox, struct qsb_error *err);

/* streams.c, in the child: what the caller gave to be read, through the sandbox's own mounts. Files are opened before
 * the mounts are made, and closed off with them; devices when the sandbox has its /dev. */
void qsb__streams_confine_files(const struct qsb__launch *launch);
int qsb__streams_confine_devices(const struct qsb__launch *launch, struct qsb_error *err);

/* landlock.c: the version the kernel has (0 = none); in the child: the ruleset for this plan. */
int qsb__landlock_version(void);
int qsb__landlock_apply(const struct qsb__sandbox *sandbox, struct qsb_error *err);

/* privileges.c, in the child */
int qsb__limits_apply(const struct qsb__sandbox *sandbox, struct qsb_error *err);
int qsb__privileges_drop(struct qsb_error *err);

/* init.c: what the kernel counted, and the whole life of pid 1. */
struct rusage;
void qsb__usage_set(struct qsb__outcome *outcome, const struct rusage *usage);
__attribute__((noreturn)) void qsb__init_main(struct qsb__sandbox *sandbox);

/* calls.c: answers one waiting call; the other way round, one that the guard received. */
void qsb__calls_begin(struct qsb__sandbox *sandbox);
void qsb__calls_serve(struct qsb__sandbox *sandbox);
void qsb__calls_answer(void *sandbox, const struct seccomp_notif *request);

/* told.c: tells of a call that the filter withholds, and gives the errno to answer. */
int qsb__told_refuse(const struct seccomp_notif *request);
/* calls.c: the number inside and the name of who calls; only while it waits. */
void qsb__calls_name_caller(pid_t thread, struct qsb__denial *denial);

/* network.c, in the child: the namespace is made beside other work, with all that the broker listens on there, then
 * entered. */
struct qsb__network {
	const struct qsb__plan *plan;
	struct qsb__mask_mount *masks; /* their names are asked for there, if that comes to it first; NULL = none */
	pid_t pid;                     /* 0 = it has ended */
	int code;                      /* 0 or a negative errno */
	const char *step;              /* what was tried last, for people */
	int namespace_fd, probe_fd;
	int diag_fd; /* a sock_diag socket inside; -1 = the kernel has none, then no unix socket counts as made inside
		      */
	bool six;    /* the kernel has IPv6 */
	bool netfilter; /* the kernel may have nftables */
	struct qsb__listeners listeners;
};
int qsb__network_begin(struct qsb__network *network, const struct qsb__plan *plan, struct qsb__mask_mount *masks,
		       struct qsb_error *err);
/* Until that process has ended; 0 or a negative errno. */
int qsb__network_wait(struct qsb__network *network);
int qsb__network_enter(struct qsb__network *network, struct qsb_error *err);
/* network_trial.c, in the supervisor: makes a filtered network for a moment, and connects in it. */
struct qsb__network_trial {
	int code;        /* of making it: 0 or a negative errno */
	int catch_error; /* why only listed ports are caught: a negative errno; 0 = every port is */
	bool six;
};
void qsb__network_try(struct qsb__network_trial *trial);
/* network.c: what is made in a new network namespace, by the process in it. 0 or a negative errno. */
int qsb__network_furnish(struct qsb__network *network);

/* handover.c, in the child: gives the listeners to the broker, closes them here, and waits until they are served. */
int qsb__handover_send(int broker_fd, struct qsb__network *network, struct qsb_error *err);
int qsb__handover_wait(int broker_fd, struct qsb_error *err);

/* affinity.c: sched_setaffinity within the processors that the sandbox may use. 0 or an errno. */
struct seccomp_notif;
int qsb__affinity_set(const struct qsb__sandbox *sandbox, const struct seccomp_notif *request);

/* named_sockets.c: the host's sockets that the policy names */
struct stat;
int qsb__named_sockets_prepare(struct qsb__sandbox *sandbox, struct qsb_error *err);
bool qsb__named_sockets_have(const struct qsb__sandbox *sandbox, const struct stat *status);

/* shared_memory.c: bytes that belong to no process: memory files and unattached System V segments. */
uint64_t qsb__shared_memory(const struct qsb__sandbox *sandbox);

/* measure.c */
bool qsb__scratch_is_full(const struct qsb__sandbox *sandbox);
bool qsb__measure(struct qsb__sandbox *sandbox, uint64_t *memory_bytes, uint64_t *processes);

/* probe.c */
void qsb__namespaces_probe(struct qsb__probe *probe);
/* What to do when the kernel refuses to make a user namespace: the cause and the smallest fix for this host. */
int qsb__namespaces_refused(int os_code, struct qsb_error *err);

#endif
