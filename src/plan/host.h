/*
 * What the plan may know of the host: facts, and questions about its file system. The plan itself makes no system
 * call; on a real host src/os answers, in tests a made-up tree does (also one of macOS or Windows).
 */
#ifndef QSB_PLAN_HOST_H
#define QSB_PLAN_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum qsb__os { QSB__OS_LINUX, QSB__OS_DARWIN, QSB__OS_WINDOWS };

enum qsb__file_kind {
	QSB__FILE_MISSING,
	QSB__FILE_PLAIN,
	QSB__FILE_DIR,
	QSB__FILE_LINK,
	QSB__FILE_SOCKET,
	QSB__FILE_OTHER
};

struct qsb__host_ops {
	/* What `path` is, the last component not followed. Never fails: what cannot be looked at is MISSING. */
	enum qsb__file_kind (*kind)(void *context, const char *path);
	/* The real path of `path`: symlinks resolved, '.' and '..' gone; components that do not exist are kept as
	 * they are. `size` bytes at `out`. 0, or a negative errno: -ELOOP, -ENAMETOOLONG, -EACCES. */
	int (*resolve)(void *context, const char *path, char *out, size_t size);
	/* Calls `each` for every entry but '.' and '..'; stops when it returns non-zero. `kind` is that of the entry
	 * itself. 0, the value that stopped it, or a negative errno. */
	int (*list)(void *context, const char *path, int (*each)(void *to, const char *name, enum qsb__file_kind kind),
		    void *to);
	/* How many names (hard links) the plain file `path` has; 0 = it is no plain file, or cannot be looked at. */
	unsigned (*links)(void *context, const char *path);
	/* Do this user's own permissions keep the file or folder shut, whatever we do? Not asked for root. */
	bool (*sealed)(void *context, const char *path, bool is_dir);
	/* The first `size` - 1 bytes of a small text file, NUL-terminated. Bytes read, or a negative errno. */
	int (*read)(void *context, const char *path, char *out, size_t size);
};

struct qsb__host {
	enum qsb__os os;
	bool case_insensitive; /* file names of the workspace */
	uint32_t uid;
	const char *home;         /* absolute, resolved */
	const char *user_name;    /* NULL = unknown */
	const char *cwd;          /* absolute, resolved: where relative command-line paths start */
	const char *runtime_dir;  /* XDG_RUNTIME_DIR, NULL = none */
	const char *program;      /* this program's own file, resolved; NULL = unknown */
	char *const *environment; /* of the caller, "NAME=VALUE", NULL-terminated */
	const struct qsb__host_ops *ops;
	void *context;
};

#endif
