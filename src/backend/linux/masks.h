/*
 * Masks that tell. The kernel says nothing of an open that a mask refused. So the masks can be a small file system in
 * user space (FUSE) whose every file and folder is as shut as the plain masks are: what is asked of it is refused by
 * the supervisor, which then knows who wanted what. The file system belongs to the sandbox's own user namespace and
 * needs no privileges. Where it cannot be had, the plain masks hold the same and nobody is told of reads.
 */
#ifndef QSB_LINUX_MASKS_H
#define QSB_LINUX_MASKS_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a request and an answer take at most; longer requests are refused by the kernel itself. */
enum { QSB__MASK_BYTES = 8192 };

/* The masks are the numbered children of the file system's root: node 2 is list[0]. */
struct qsb__mask {
	const char *path, *rule; /* borrowed */
	bool is_dir;
};

struct qsb__plan;

struct qsb__mask_list {
	const struct qsb__plan *plan; /* whose masks they are: for what is told */
	struct qsb__mask *list;
	size_t count;
	uid_t user;
	gid_t group;
	int64_t time_s; /* of every file, as of the plain masks: when the sandbox was made */
};

/* What somebody wanted of a mask. */
enum qsb__mask_wish {
	QSB__MASK_NOTHING, /* nothing that is to be told: a probe, an attribute, an end */
	QSB__MASK_READ,    /* to open a file, or any name below a folder */
	QSB__MASK_LIST,
	QSB__MASK_ENTER,
};

struct qsb__mask_event {
	enum qsb__mask_wish wish;
	size_t mask; /* index */
	pid_t thread;
	char name[NAME_MAX + 1]; /* below a folder; "" = the mask itself */
	bool more;               /* whoever asked asks again at once */
};

/*
 * mask_requests.c: the answer to one request of the kernel, into QSB__MASK_BYTES at `answer`: its length, 0 = none is
 * expected. The numbers in a request are the kernel's, but the names are the command's. Async-signal-safe.
 */
size_t qsb__mask_answer(const struct qsb__mask_list *masks, const void *request, size_t length, void *answer,
			struct qsb__mask_event *event);

/* What the child gives to the server after the device; something else in the place of what there is none of. */
enum { QSB__MASK_FD_PROC, QSB__MASK_FD_KEEPER, QSB__MASK_FD_COUNT };

/* mask_mount.c, in the child: makes the file system. */
enum qsb__mask_step { QSB__MASK_STEP_NONE, QSB__MASK_STEP_DEVICE, QSB__MASK_STEP_MOUNT, QSB__MASK_STEP_ANSWER };

/* Who asks for the names: one of two processes that share their memory. */
enum { QSB__MASK_TURN_NONE, QSB__MASK_TURN_FREE, QSB__MASK_TURN_TAKEN };

struct qsb__network;

struct qsb__mask_mount {
	const struct qsb__mask_list *masks;
	int server;               /* where its device goes, -1 = nobody would take it */
	int device, tree;         /* -1 = none: the plain masks are to be used */
	enum qsb__mask_step step; /* what could not be done */
	int code;                 /* 0 or a negative errno */
	atomic_int turn;
	int answer; /* 0 or a negative errno, when the turn was taken and whoever took it is through */
};

/* While /dev is the host's. */
void qsb__mask_mount_begin(struct qsb__mask_mount *mount, const struct qsb__mask_list *masks, int server);
/* On top of /dev, which the sandbox's own will cover. */
void qsb__mask_mount_make(struct qsb__mask_mount *mount);
/* Gives the device to the supervisor: from here on it answers. */
void qsb__mask_mount_offer(struct qsb__mask_mount *mount);
/* Asks for the names. False: there is nobody to ask yet, or somebody else asks. Does not allocate. */
bool qsb__mask_mount_ask(struct qsb__mask_mount *mount);
/* Has the names asked for, if the network's process does not. It also gives the sandbox's own /proc (-1 = none). */
void qsb__mask_mount_finish(struct qsb__mask_mount *mount, struct qsb__network *network, int proc);
/* mask_trial.c, in the supervisor: makes one for a moment. What could not be done, and its negative errno. */
enum qsb__mask_step qsb__mask_mount_try(int *code);
/* Gives the file system up. */
void qsb__mask_mount_abandon(struct qsb__mask_mount *mount, enum qsb__mask_step step, int code);

/* mask_server.c, in the supervisor: a thread that answers, and reports through refusals.h. */
struct qsb__mask_server;

/*
 * Gets device and /proc from this socket (its own from here on), when the child has made them. NULL: nobody would
 * answer; who sends them there is told so. `masks` is borrowed until the server is freed.
 */
struct qsb__mask_server *qsb__mask_server_start(const struct qsb__mask_list *masks, int from);
/* When every process of the sandbox is dead; does not wait. NULL is allowed. */
void qsb__mask_server_free(struct qsb__mask_server *server);

#endif
