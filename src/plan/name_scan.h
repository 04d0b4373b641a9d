/* What the scans for protected names share. */
#ifndef QSB_PLAN_NAME_SCAN_H
#define QSB_PLAN_NAME_SCAN_H

#include "plan/build.h"

/* What the scan may cost, so that starting takes the same time in a huge project as in a small one. */
enum { QSB__SCAN_FOLDERS = 64, QSB__SCAN_ENTRIES = 2000 };

struct qsb__name_scan {
	struct qsb__build *build;
	size_t entries; /* looked at so far */
	bool complete;  /* nothing was left out */
};

/* A protected name that was found: never writable. Nothing happens where it is missing. */
int qsb__name_scan_protect(struct qsb__name_scan *scan, const char *path, const char *reason, enum qsb__file_kind kind);
/* A folder that belongs to a protected name: it keeps its name. */
int qsb__name_scan_pin(struct qsb__name_scan *scan, const char *path, const char *reason);
/* git_scan.c: the settings and hooks of submodules, and the links of worktrees, in a `.git` folder. */
int qsb__name_scan_git(struct qsb__name_scan *scan, const char *git_folder);

#endif
