/* What a command did with files, in bounded memory: by folder, with a few names of each. */
#ifndef QSB_CLI_LEARN_TOUCHES_H
#define QSB_CLI_LEARN_TOUCHES_H

#include "backend/touch.h"
#include "cli/learn_places.h"

enum {
	QSB__TOUCHED_FOLDERS = 4096,
	QSB__TOUCHED_NAMES = 8,       /* of one folder */
	QSB__TOUCHED_NAMES_WIDE = 64, /* of a folder that cannot be an entry itself */
	QSB__TOUCHED_PROCESSES = 3
};

struct qsb__touched_name {
	char *name;
	unsigned kinds; /* enum qsb__touch_kind */
	size_t count;
	char process[16]; /* the first one */
};

struct qsb__touched_folder {
	char *path;
	struct qsb__touched_name *names;
	size_t name_count;
	unsigned more;  /* kinds of what was done with names that are not kept */
	unsigned below; /* … with folders below that are not kept */
	size_t count;   /* all of it */
	char processes[QSB__TOUCHED_PROCESSES][16];
	bool more_processes;
};

struct qsb__touches {
	struct qsb__learn_where where;
	struct qsb__touched_folder *folders;
	size_t folder_count;
	unsigned short *index; /* 1 + number of a folder, by the hash of its path */
	size_t lost;           /* touches that no folder could take */
};

/* 0 or QSB_E_MEMORY. `where` is borrowed. */
int qsb__touches_init(struct qsb__touches *touches, const struct qsb__learn_where *where);
void qsb__touches_add(struct qsb__touches *touches, const struct qsb__touch *touch);
/* Was something done with this file or folder, or in it? A file counts when something was done in its folder. */
bool qsb__touches_know(const struct qsb__touches *touches, const char *path);
void qsb__touches_clear(struct qsb__touches *touches);

#endif
