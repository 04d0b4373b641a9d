/* What the files of the guard share: the guard, and one stopped call on its way. Not for others. */
#ifndef QSB_GUARD_INTERNAL_H
#define QSB_GUARD_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "backend/ledger.h"
#include "backend/linux/abi.h"
#include "backend/linux/proc_status.h"
#include "guard/guard.h"
#include "guard/names.h"

enum {
	QSB__GUARD_TASKS = 128, /* callers whose folders in /proc are kept open */
	QSB__GUARD_KEPT = 192,  /* descriptors of one call: 40 links need some 120 */
	QSB__GUARD_THREADS = 256,
	QSB__GUARD_UMASKS = 32, /* calls of umask that may not be over yet */
	QSB__GUARD_PATH = PATH_MAX + NAME_MAX + 2
};

/* Results of a call that are neither a value nor an errno: nobody waits any more; another thread answers; the kernel
 * goes on (only where nothing is judged: umask, chdir, locks). */
enum { QSB__STOP_GONE = -10000, QSB__STOP_LATER = -10001, QSB__STOP_GO_ON = -10002 };

/* A folder of /proc and a pidfd name one task for good: a number used again makes them fail, so they may be kept. */
struct qsb__task {
	pid_t id;
	int folder, pidfd; /* the second one only when it was needed, else -1 */
	int umask;         /* -1 = not known */
	unsigned age;      /* of the umask: guard->umask_age then */
	int cwd;           /* -1 = not kept */
	unsigned cwd_age;
	bool again;     /* it has asked for its working folder before */
	unsigned roomy; /* calls for which its descriptors need not be counted again */
};

/* What one thread of the guard remembers. */
struct qsb__tasks {
	struct qsb__task task[QSB__GUARD_TASKS];
	int umask;                /* its own now, -1 = not known */
	int at;                   /* a task's `cwd` that is its own working folder, too; -1 = another one is */
	char folder[PATH_MAX];    /* a folder seen not to be in a /proc, while no name moves */
	unsigned long folder_age; /* guard->moves then */
};

struct qsb__guard {
	const struct qsb__plan *plan;
	struct qsb__names *names; /* qsb__guard_names makes them */
	bool stops_reading;
	struct {
		dev_t device;
		ino_t inode;
	} streams[3]; /* that may be opened again for writing */
	size_t stream_count;
	bool passed; /* further descriptors of the host were handed in */

	const struct qsb__touch_listener *listener_of_touches; /* NULL = nobody */
	int listener, proc;                                    /* borrowed */
	bool begun;  /* by the first call: the threads, and all that only they need */
	int wait_fd; /* of epoll: the listener until then, denials after */
	int proc_self_fd, root_fd;
	char root[PATH_MAX]; /* what the kernel puts before every path of the sandbox, "" = nothing */
	size_t root_length;
	bool rootless; /* that could not be found out */
	qsb__guard_other other;
	void *context;
	pthread_mutex_t other_lock;

	/* Renames hold it alone, all other calls share it: between judging a name and acting on it no name changes. */
	pthread_rwlock_t tree;
	unsigned umask_age, cwd_age; /* calls of umask and chdir so far */
	int umask;                   /* everybody's, as long as nobody called umask; -1 = not known */
	unsigned long moves;         /* renames so far */
	unsigned handing;            /* open files that callers have and this process still has, too */

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t ended;
	unsigned threads, slow_threads, idle;
	pid_t ids[QSB__GUARD_THREADS]; /* of those that receive, 0 = free */
	bool ending;
	bool watched;       /* the first receiver's affair */
	int receiver_error; /* why there is no first receiver, 0 = there is, or none is needed yet */
	unsigned long received;
	pid_t open_umasks[QSB__GUARD_UMASKS]; /* whose */
	size_t open_umask_count;
	bool umasks_lost; /* there were more */
	int stop_fd;      /* readable: the watch ends */

	int denial_fd;
	struct qsb__ledger denials;

	struct qsb__git_folders *git; /* NULL = names are not protected */
};

/* One call. What was kept is closed at its end. */
struct qsb__stop {
	struct qsb__guard *guard;
	struct seccomp_notif call;
	struct qsb__tasks *tasks;
	bool proved; /* the task of tasks->task is the caller: its folder was of use in this call */
	int kept[QSB__GUARD_KEPT];
	size_t kept_count;
	/* For reports: the places that were judged, the latest two; what was asked for, when none was. */
	char seen[2][QSB__GUARD_PATH];
	size_t seen_count;
	char asked[PATH_MAX];
	int asked_start; /* kept with the call */
	bool told;       /* a denial of this call is reported */
};

/* Where a resolved place lies, and what the rules say of changing it. */
struct qsb__place {
	char path[QSB__GUARD_PATH];
	bool named; /* false: it has no name (removed, a pipe) */
	const struct qsb__step *denied;
	struct qsb__name_state state; /* for writing */
};

/* caller.c: what belongs to the caller. Descriptors are kept with the call; negative results are -errno. */
int qsb__stop_keep(struct qsb__stop *stop, int fd);
void qsb__stop_close(struct qsb__stop *stop);
bool qsb__stop_waits(const struct qsb__stop *stop);
struct qsb__task *qsb__stop_task(struct qsb__stop *stop, bool fresh);
int qsb__stop_pidfd(struct qsb__stop *stop, bool fresh);
int qsb__stop_cwd(struct qsb__stop *stop);
/* The folder that was kept is the caller's, or is opened anew. */
struct qsb__task *qsb__stop_proved_task(struct qsb__stop *stop);
bool qsb__stop_is_alone(struct qsb__stop *stop); /* it has no other threads, and gets none while it waits */
void qsb__tasks_clear(struct qsb__tasks *tasks);
int qsb__stop_open(struct qsb__stop *stop, const char *name, int flags); /* below /proc/TID */
int qsb__stop_descriptor(struct qsb__stop *stop, int number);
bool qsb__stop_status(struct qsb__stop *stop, char text[QSB__STATUS_BYTES]);
bool qsb__stop_is_out_of_descriptors(struct qsb__stop *stop);
int qsb__stop_copy(struct qsb__stop *stop, uint64_t from, void *to, size_t size);
int qsb__stop_text(struct qsb__stop *stop, uint64_t from, char *to, size_t size, int too_long);
int qsb__stop_path(struct qsb__stop *stop, uint64_t from, char *to, bool empty_allowed);

/* umask.c */
bool qsb__stop_take_umask(struct qsb__stop *stop); /* this thread's own becomes the caller's */
void qsb__umask_called(struct qsb__stop *stop);
void qsb__umask_over(struct qsb__stop *stop); /* it makes another call: that one must have ended */

/* resolve.c: paths, as the caller would resolve them. */
int qsb__resolve_root(struct qsb__stop *stop);
int qsb__resolve_start(struct qsb__stop *stop, int folder, const char *path);
int qsb__resolve(struct qsb__stop *stop, int start, const char *path, bool follow, bool folder);
/* The folder that holds the last component; *last points into `path` and keeps its trailing slashes. */
int qsb__resolve_parent(struct qsb__stop *stop, int start, char *path, const char **last);
/* The same of a path that begins there. */
int qsb__resolve_folder(struct qsb__stop *stop, int folder, char *path, const char **last);
/* What a path leads to; `folder` itself for an empty path. */
int qsb__resolve_object(struct qsb__stop *stop, int folder, uint64_t path, bool follow, bool empty_allowed);
int qsb__resolve_open(int folder, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);
bool qsb__resolve_is_proc(int fd);
int qsb__resolve_overlong(int folder); /* what the kernel says of a name longer than NAME_MAX there: an errno */
bool qsb__resolve_is_dots(const char *last);
const char *qsb__resolve_bare(const char *last, char *name); /* without slashes; `name` holds NAME_MAX + 1 bytes */
/* Two descriptors of one place: the same file, through the same mount. */
bool qsb__resolve_is_same(int a, int b);
bool qsb__resolve_share_mount(int a, int b); /* true, too, where that cannot be known */

/* guard.c: the compiled rules; NULL = no memory for them: then all is refused. */
const struct qsb__names *qsb__guard_names(struct qsb__guard *guard);

/* judge.c: verdicts. 0 = go on, else the errno to answer. */
/* The kernel's name for what a descriptor refers to, in the mounts that it belongs to; `path` holds PATH_MAX + 1 bytes.
 * Length, or -errno. */
ssize_t qsb__judge_real_name(const struct qsb__guard *guard, int fd, char *path);
bool qsb__judge_is_removed(int fd, const char *path, size_t length);
/* Where an object lies, or with `last` a name in a folder. */
int qsb__judge_place(struct qsb__stop *stop, int fd, const char *last, struct qsb__place *place);
int qsb__judge_new(struct qsb__stop *stop, int folder, const char *last, bool is_link, struct qsb__place *place);
/* The same of a place that is judged already. */
int qsb__judge_creation(struct qsb__stop *stop, int folder, const char *last, bool is_link,
			const struct qsb__place *place);
int qsb__judge_object(struct qsb__stop *stop, int object, const char *operation, struct qsb__place *place);
/* May it be read? Cheap where no rule denies reading. */
int qsb__judge_reading(struct qsb__stop *stop, const struct qsb__place *place);
int qsb__judge_refuse(struct qsb__stop *stop, const char *operation, const struct qsb__place *place);
bool qsb__judge_holds(struct qsb__guard *guard, int folder, const struct qsb__name_state *now,
		      const struct qsb__name_state *before);
/* What Landlock would refuse the caller is refused here, since Landlock does not see who the guard acts for. A file, or
 * the folder of one to be made; `special`: not a plain file or folder, so that a read-only mount does not stop it. */
int qsb__judge_fence(struct qsb__stop *stop, int fd, const struct qsb__place *place, const struct stat *special);

bool qsb__judge_is_read_only(int fd); /* its mount: which then answers by itself */
/* -EBUSY where something is mounted in the caller's own mounts: the kernel protects only this process's mount points by
 * itself. 0 = nothing is; or why that cannot be known. */
int qsb__judge_mount(int folder, const char *name);
/* Does the name lead to it in the sandbox? Not so for what was opened outside and handed in, whatever it is called. */
bool qsb__judge_is_inside(struct qsb__stop *stop, int object, const char *path);
/* One of the command's own streams that can be written? */
bool qsb__judge_is_stream(const struct qsb__guard *guard, const struct stat *status);
/* May a file of this kind come to stand here? FIFOs and devices only in the sandbox's own folders. */
int qsb__judge_kind(int folder, const char *last, mode_t mode, const struct qsb__place *place);

/* Does the folder of a judged place have the name that it had then? One system call. */
bool qsb__judge_is_still(struct qsb__stop *stop, int folder, const struct qsb__place *judged);

/* again.c: what was made is judged once more. */
struct qsb__act {
	int folder;
	const char *last, *operation;
	bool is_link;
	int remove_flags; /* of unlinkat, to take it back */
};

/* May it stand where it is by now? `now` is filled in where that is not where it was judged. Told if not. */
bool qsb__again_is_good(struct qsb__stop *stop, const struct qsb__act *act, const struct qsb__place *judged,
			struct qsb__place *now);
/* The same for a new name, which is removed if not: 0 or -EACCES. */
long qsb__again(struct qsb__stop *stop, const struct qsb__act *act, const struct qsb__place *judged);

struct qsb__moved {
	int from, at;
	const char *old_name, *name;
	bool exchanged;
};

/* Its old place may be taken by now: then beside its new one. */
void qsb__again_move_back(const struct qsb__moved *moved);

/* aside.c: to NAME.quarantined, or with a number behind it, never over what is there. `to` gets the name and holds
 * NAME_MAX + 1 bytes. 0 or an errno. */
int qsb__move_aside(int folder, const char *name, char *to);

/* denials.c */
void qsb__guard_deny(struct qsb__stop *stop, const char *operation, const char *target, const struct qsb__step *step);
/* `detail`: what of the target. */
void qsb__guard_deny_part(struct qsb__stop *stop, const char *operation, const struct qsb__place *place,
			  const char *detail);
void qsb__guard_add_denial(struct qsb__guard *guard, const struct qsb__denial *denial);
bool qsb__guard_is_told(struct qsb__guard *guard, struct qsb__denial *denial); /* may put the folder for its name */
void qsb__guard_name_process(struct qsb__stop *stop, struct qsb__denial *denial);
size_t qsb__guard_length_there(const char *path); /* how much of it exists on the host */

/* failures.c: tells of a call that was made and refused, where that is the sandbox's doing. */
void qsb__guard_note_failure(struct qsb__stop *stop, long result);

/* touched.c: tells of a call that succeeded, and gives its result back. */
long qsb__guard_touched(struct qsb__stop *stop, enum qsb__touch_kind kind, const struct qsb__place *place, long result);
/* The same where no text of a file has changed, only its mode, owner, times or attributes. */
long qsb__guard_told_touch(struct qsb__stop *stop, enum qsb__touch_kind kind, const struct qsb__place *place,
			   long result);

/* A path as the caller wrote it, kept where somebody wants to be told of reads: links on the way must be there, too. */
struct qsb__asked_path {
	bool given;
	char path[QSB__GUARD_PATH]; /* absolute */
};
void qsb__guard_asked(struct qsb__stop *stop, struct qsb__asked_path *asked, int folder, const char *text);
void qsb__guard_touched_as(struct qsb__stop *stop, const struct qsb__asked_path *asked, const struct qsb__place *place,
			   long result);

/* The calls. Each returns a value, -errno or QSB__STOP_*. */
struct qsb__open_call {
	int folder;
	uint64_t path;
	int flags;
	mode_t mode;
};

long qsb__call_open(struct qsb__stop *stop, const struct qsb__open_call *call);          /* open.c */
long qsb__call_make_dir(struct qsb__stop *stop, int folder, uint64_t path, mode_t mode); /* make.c */
long qsb__call_make_node(struct qsb__stop *stop, int folder, uint64_t path, mode_t mode, dev_t device);
long qsb__call_symlink(struct qsb__stop *stop, uint64_t text, int folder, uint64_t path);
long qsb__call_remove(struct qsb__stop *stop, int folder, uint64_t path, int flags);

struct qsb__two_paths {
	int from_folder;
	uint64_t from;
	int to_folder;
	uint64_t to;
	unsigned flags;
};

long qsb__call_rename(struct qsb__stop *stop, const struct qsb__two_paths *call); /* rename.c */
long qsb__call_link(struct qsb__stop *stop, const struct qsb__two_paths *call);   /* make.c */
struct qsb__bind {
	int socket, start;              /* a relative one begins there: AT_FDCWD = it is absolute */
	const struct sockaddr *address; /* of a unix socket, as the caller gave it */
	unsigned length;
};

long qsb__bind_inside(struct qsb__stop *stop, const struct qsb__bind *call);                /* bind_inside.c */
long qsb__call_bind(struct qsb__stop *stop, int socket, uint64_t address, uint64_t length); /* bind.c */

/* attributes.c: changes of what exists. */
enum { QSB__CHANGE_FLAGS = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH };

struct qsb__change {
	enum {
		QSB__CHANGE_MODE,
		QSB__CHANGE_OWNER,
		QSB__CHANGE_TIMES,
		QSB__CHANGE_SIZE,
		QSB__CHANGE_SET,
		QSB__CHANGE_UNSET
	} what;
	int folder; /* or, with `own`, the caller's descriptor of the file itself */
	uint64_t path;
	bool follow, empty, own;
	uint64_t x, y, z;
	int flags;
	enum { QSB__TIMES_SPEC, QSB__TIMES_VAL, QSB__TIMES_BUF } form;
};

long qsb__call_change(struct qsb__stop *stop, struct qsb__change *change);

/* slow.c: calls that may wait long get a thread of their own, hold no lock, and notice a caller that is gone. */
long qsb__slow_open(struct qsb__stop *stop, int object, int flags);
long qsb__slow_truncate(struct qsb__stop *stop, int object, off_t size);

/* serve.c */
/* Ends the threads: nothing is done any more. Every process of the sandbox must be dead. */
void qsb__guard_stop(struct qsb__guard *guard);
void qsb__guard_answer(const struct qsb__guard *guard, uint64_t id, long result);
/* Hands an open file over, and closes it here. */
void qsb__guard_hand_over(struct qsb__guard *guard, uint64_t id, int fd, int flags);
/* Until no file that was handed over before is still open here. */
void qsb__guard_settle(const struct qsb__guard *guard);
/* All signals stay the supervisor's; no right of a root user's supervisor is used on behalf of the command. */
bool qsb__guard_thread_begin(void);
int qsb__guard_wake_signal(void); /* ends a wait of this process's own threads, and does nothing else */

/* calls.c: which function makes which call. False: the guard has no part in it. */
bool qsb__guard_perform(struct qsb__stop *stop, long *result);
bool qsb__guard_is_open(int number);
/* While no other call is under way: what moves names, and what is resolved a second time. */
bool qsb__guard_acts_alone(int number);
int qsb__guard_open_flags(const struct seccomp_notif *call);

#endif
