/* `qiming-sandbox doctor`: what this host can enforce, why not, and the smallest fix. */
#ifndef QSB_CLI_DOCTOR_H
#define QSB_CLI_DOCTOR_H

#include "backend/backend.h"
#include "cli/load.h"
#include "cli/selftest.h"
#include "core/path.h"

extern const struct qsb__command qsb__doctor_command;

enum { QSB__DOCTOR_BACKENDS = 8, QSB__DOCTOR_FILES = 3, QSB__DOCTOR_LIMITS = 9, QSB__DOCTOR_GAPS = 16 };

struct qsb__doctor_backend {
	const struct qsb__backend *backend;
	struct qsb__probe probe;
	struct qsb_error refusal; /* why it cannot hold the policy that counts here; code 0 = it can */
};

/* A place where a policy may lie. */
struct qsb__doctor_file {
	const char *layer; /* "managed policy" */
	char path[QSB__PATH_MAX];
	const char *state; /* "none", "in use", "cannot be used" */
	char problem[400]; /* with "cannot be used" */
};

struct qsb__doctor_limit {
	const char *name; /* as in the policy: "memory" */
	char *value;      /* "2g", "none" */
	const char *by;   /* "cgroup", "rlimit", "watch", …; NULL = not known, for no back end can be used */
};

/* What would be refused here, or is held in part only. */
struct qsb__doctor_gap {
	char what[128]; /* "network mode filtered" */
	char why[400];
};

struct qsb__doctor {
	struct qsb__loaded loaded;     /* the policy that `run` would use in this folder; the plan may be NULL */
	struct qsb_error policy_error; /* why there is no plan */
	struct qsb__doctor_backend backends[QSB__DOCTOR_BACKENDS]; /* best first */
	size_t backend_count;
	const struct qsb__backend *chosen; /* what a run here would use; NULL = it would refuse */
	struct qsb_error cause;            /* why it would: the cause and the smallest fix */
	struct qsb__doctor_limit limits[QSB__DOCTOR_LIMITS];
	size_t limit_count;
	struct qsb__doctor_gap gaps[QSB__DOCTOR_GAPS];
	size_t gap_count;
	struct qsb__doctor_file files[QSB__DOCTOR_FILES];
	size_t file_count;
	struct qsb__self_test *self_test; /* NULL = not asked for; borrowed */
};

/* Looks at the host and tries its mechanisms. Whatever it finds is a fact, so it fails for want of memory only. */
int qsb__doctor_look(struct qsb__doctor *doctor, const struct qsb__invocation *invocation, struct qsb_error *err);
/* Tries a run, and takes the choice back when it fails. */
void qsb__doctor_try(struct qsb__doctor *doctor);

void qsb__doctor_clear(struct qsb__doctor *doctor);

/* The report for people; signs and colours as the terminal can have them. */
void qsb__doctor_print(FILE *to, const struct qsb__doctor *doctor);

/* The same facts for programs. The caller frees it; NULL = no memory. */
char *qsb__doctor_json(const struct qsb__doctor *doctor);

#endif
