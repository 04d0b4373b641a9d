/*
 * Git's configuration files, read as git reads them, and what of them is not harmless. Pure: no system call. The text
 * is hostile: what this reader does not understand is refused, and so is what git might read in another way.
 */
#ifndef QSB_GUARD_GIT_CONFIG_H
#define QSB_GUARD_GIT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

enum { QSB__GIT_CONFIG_MAX = 1024 * 1024, QSB__GIT_NAME_MAX = 4352, QSB__GIT_KEYS_TEXT = 128 };

/* "core.fsmonitor", "branch.main.remote": section and key in lower case, what stands between as it is. */
struct qsb__git_setting {
	const char *name;
	const char *value; /* NULL = the key alone, which git takes as true */
};

/* Called for each setting in the file's order; not 0 = stop. */
typedef int (*qsb__git_each)(void *context, const struct qsb__git_setting *setting);

/* 0, what `each` returned, or -1 with the number of the line that is not understood. `line` may be NULL. */
int qsb__git_config_read(const char *text, size_t length, qsb__git_each each, void *context, unsigned *line);

/*
 * Why a setting is not harmless: the words go behind the file's name, "it runs a program". NULL = it is. `folder` is
 * the real path of the git folder that the file lies in: core.worktree may lead where git itself would put it, to the
 * folder above, or for a submodule to a place below that.
 */
const char *qsb__git_setting_reason(const struct qsb__git_setting *setting, const char *folder);

/* What a whole file is like. */
struct qsb__git_verdict {
	bool harmless;
	char keys[QSB__GIT_KEYS_TEXT]; /* "core.fsmonitor, alias.x and 3 more", "line 7"; plain characters */
	char reason[128];              /* of the first one */
};

void qsb__git_config_judge(const char *text, size_t length, const char *folder, struct qsb__git_verdict *verdict);

struct qsb__git_text {
	const char *at;
	size_t length;
};

/* The keys in which two files differ, as in `keys` above; "" = none, or one of the files is not understood. */
void qsb__git_config_difference(const struct qsb__git_text *before, const struct qsb__git_text *after, char *keys,
				size_t size);

#endif
