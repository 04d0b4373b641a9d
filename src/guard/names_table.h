/* What the compiler of name rules (names.c) and the walk over them (names_walk.c) share. Not for others. */
#ifndef QSB_GUARD_NAMES_TABLE_H
#define QSB_GUARD_NAMES_TABLE_H

#include "guard/names.h"

enum {
	QSB__NAMES_ROOT = 1,
	QSB__NAMES_SCRATCH = 1U << 8, /* in `granted`: the sandbox's own file system */
	QSB__NAMES_HOST = 1U << 9,    /* the host's, whatever it is mounted on */
	QSB__NAME_BYTES = 255
};

/* A component below another one, found by its hash. Letter case never counts for the hash. */
struct qsb__names_key {
	uint32_t parent, hash;
	uint32_t length;
	bool fold; /* letter case does not count */
	const char *name;
};

/* A literal folder of the plan. */
struct qsb__names_place {
	struct qsb__names_key key;
	uint32_t literal;      /* 1 + index of the step that denies exactly this path */
	uint32_t literal_read; /* the same, of one that denies reading */
	uint32_t first;        /* the node where patterns start here, 0 = none */
	unsigned granted;      /* QSB__ACCESS_* that a mount here gives whatever a rule above says, SCRATCH */
	unsigned anywhere;     /* QSB__ANYWHERE_*: the built-in rules that hold from here on */
	bool leads;            /* a rule starts or lies below */
	bool gives;            /* something is granted here or below */
	bool loose;
};

/* How far a pattern has matched; what comes next hangs below. */
struct qsb__names_node {
	struct qsb__names_key key;
	char *glob;             /* its own component, when that has wildcards; owned */
	uint32_t next_glob;     /* of those with the same parent */
	uint32_t globs;         /* the first of its children with wildcards */
	uint32_t any;           /* its child that stands for any number of components */
	uint32_t write, read;   /* 1 + index of the step that ends here, by what it denies */
	unsigned denies;        /* QSB__ACCESS_* of all that end here or below */
	bool loops;             /* it is such a child: it stays, whatever comes */
	bool exact, folded;     /* has literal children of the kind */
	bool literal;           /* holds a character that must be there */
	bool project, packages; /* begins rules that count in projects only; is a folder of packages */
};

struct qsb__names {
	const struct qsb__plan *plan;
	bool fold;
	struct qsb__names_place *places; /* [0] is unused, [1] is the root */
	struct qsb__names_node *nodes;   /* [0] is unused, [1] is where the built-in rules for any depth start */
	uint32_t place_count, node_count, pattern_count;
	uint32_t *place_table, *node_table; /* both of `table_size`, a power of two */
	uint32_t table_size;
	uint32_t first_anywhere, anywhere_end; /* steps: the first folder's built-in rules for any depth */
	uint32_t anywhere_next;                /* of them: which the next folder should come with */
	uint32_t overflow;                     /* 1 + a step to name where all is denied */
	const char *last_path;                 /* of the rule before, and its place */
	uint32_t last_place;
	void *memory;
};

uint32_t qsb__names_hash(const char *name, size_t length);
/* Where the key is in the table, or would be. `kind`: offset and size of the table's elements are its own. */
uint32_t *qsb__names_place_slot(const struct qsb__names *names, const struct qsb__names_key *key);
uint32_t *qsb__names_node_slot(const struct qsb__names *names, const struct qsb__names_key *key);

/* names_loose.c: the name that a file system with loose comparison may take this one for, if that is another text.
 * `out` holds QSB__NAME_BYTES + 1 bytes. */
bool qsb__names_plain(const char *name, size_t length, char *out, size_t *out_length);
/* May it be the short name that FAT and NTFS give a longer one ("GIT~1")? */
bool qsb__names_is_short(const char *name, size_t length);

#endif
