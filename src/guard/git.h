/*
 * Git folders that a run makes. In such a folder git may write its own settings, in its own way, once they were read
 * and found harmless; and when the run is over, each is looked at again. A folder is known by a descriptor that is
 * kept: so long as it is open, the kernel gives its number to no other one.
 */
#ifndef QSB_GUARD_GIT_H
#define QSB_GUARD_GIT_H

#include <string.h>
#include <strings.h>
#include <time.h>

#include "guard/git_config.h"
#include "guard/internal.h"

enum { QSB__GIT_FOLDERS = 4096, QSB__GIT_FINDINGS = 200 };

struct qsb__git_folder {
	int fd;
	dev_t device;
	ino_t inode;
	enum qsb__git_kind {
		QSB__GIT_PARTS = 1U << 0,   /* it became a git folder bit by bit, or may have */
		QSB__GIT_MADE = 1U << 1,    /* made as `.git`, or below `.git/modules` or `.git/worktrees` */
		QSB__GIT_CHANGED = 1U << 3, /* was one before; its settings or hooks were written to */
		QSB__GIT_LISTS = 1U << 2    /* the files of such a one, with a .gitmodules that was made among them */
	} kinds;
};

struct qsb__git_folders {
	pthread_mutex_t lock; /* of all but the findings */
	struct qsb__git_folder *items;
	size_t count, room, most;
	unsigned left_out;     /* folders that could not be remembered */
	int mounts_fd;         /* keeps the sandbox's mounts, and so the names in them, until all is looked at */
	struct timespec start; /* by the clock of file systems */
	bool looked;
	size_t read; /* bytes of settings, by the look */
	struct qsb__finding *findings;
	size_t finding_count, finding_next;
	unsigned findings_left_out;
};

int qsb__git_new(struct qsb__guard *guard, struct qsb_error *err);
void qsb__git_free(struct qsb__guard *guard);

/* git_folders.c: what was made, by a call that succeeded: a folder, or any other entry. */
void qsb__git_made_folder(struct qsb__stop *stop, int folder, const char *last, const struct qsb__place *place);
void qsb__git_made_entry(struct qsb__stop *stop, int folder, const char *name, const struct qsb__place *place);
/* What stands at this place was written to: it may be the settings or a hook of a git folder that no rule holds. */
void qsb__git_written(struct qsb__stop *stop, const struct qsb__place *place);
/* Is its name one that makes the folder around it a git folder? Cheap: asked for every new file. */
static inline bool qsb__git_is_part(const char *name)
{
	switch (*name | 0x20) { /* some file systems take both cases for one */
	case 'o':
		return strcasecmp(name, "objects") == 0;
	case 'r':
		return strcasecmp(name, "refs") == 0;
	case 'h':
		return strcasecmp(name, "HEAD") == 0;
	case 'c':
		return strcasecmp(name, "commondir") == 0;
	default:
		return false;
	}
}
/* May one more folder come to be a git folder? What could not be looked at afterwards is refused. 0 or -EACCES. */
int qsb__git_judge_room(struct qsb__stop *stop, const char *last, const struct qsb__place *place);
bool qsb__git_is_made(struct qsb__guard *guard, int folder);

/* What git does to denied names of a folder that it makes, and that cannot do harm. */
enum qsb__git_act {
	QSB__GIT_MAKE,   /* a folder `hooks` */
	QSB__GIT_CREATE, /* a file in it that no hook is called: hooks/x.sample */
	QSB__GIT_EMPTY,  /* a config without anything in it */
	QSB__GIT_SET,    /* settings that were judged */
	QSB__GIT_LIST,   /* .gitmodules, next to a git folder */
	QSB__GIT_CHANGE, /* mode, owner, times, attributes */
	QSB__GIT_REMOVE
};
bool qsb__git_lets(struct qsb__stop *stop, enum qsb__git_act act, int folder, const char *last,
		   const struct qsb__place *place);

/* git_write.c: `config.lock` is renamed to `config`. */
struct qsb__git_move {
	int from, to; /* folders */
	const char *from_name, *to_name;
	unsigned flags;
	const struct qsb__place *place; /* of the target, which is denied */
};
bool qsb__git_is_config(const struct qsb__git_move *move);
/* Refuses, or puts a file of our own there. 0 or -errno. */
int qsb__git_put_config(struct qsb__stop *stop, const struct qsb__git_move *move);
/* The whole text of a small plain file; the caller frees it. 0 or -errno; -EFBIG: longer than QSB__GIT_CONFIG_MAX. */
int qsb__git_read_text(int folder, const char *name, char **text, size_t *length, struct stat *status);

/* git_look.c: after the run, on a thread without capabilities. */
bool qsb__git_is_folder(int folder); /* does git take it for one of its own, or nearly? */
void qsb__git_look(struct qsb__guard *guard);

#endif
