/* Where the self-test plays: a folder with victims, services to be reached, and single trials of an attack. */
#ifndef QSB_CLI_SELFTEST_STAGE_H
#define QSB_CLI_SELFTEST_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/path.h"

enum { QSB__STAGE_WORD = QSB__PATH_MAX + 128, QSB__STAGE_WORDS = 40 };

struct qsb__stage {
	const char *program; /* borrowed */
	const char *backend;
	char folder[QSB__PATH_MAX]; /* resolved */
	char nonce[33];             /* what no process inside can guess: marks what belongs to this test */
	int64_t keeper;             /* removes the folder when keeper_fd is closed */
	int keeper_fd;
	int tcp_fd, unix_fd, abstract_fd; /* listening, not blocking */
	unsigned port;
	int leak_fd;        /* an open file that every trial inherits */
	int64_t target;     /* a process to attack, 0 = none */
	char **environment; /* the caller's and a secret */
	char secret[80];
};

/* On failure *stage is to be closed, too. */
int qsb__stage_open(struct qsb__stage *stage, const char *program, const char *backend, struct qsb_error *err);
void qsb__stage_close(struct qsb__stage *stage);

/* Starts the process to attack, where it does not live. */
int qsb__stage_target(struct qsb__stage *stage, struct qsb_error *err);
/* Has a signal ended it? Waits a moment for that, then for its end. */
bool qsb__stage_target_died(struct qsb__stage *stage);

/* "FOLDER/name" */
void qsb__stage_path(const struct qsb__stage *stage, const char *name, char out[QSB__STAGE_WORD]);
/* Makes a plain file, with its folder, or empties and refills it. */
bool qsb__stage_file(const struct qsb__stage *stage, const char *name, const char *text);

/* One execution of the probe. */
struct qsb__trial {
	int status;       /* exit status of the probe, or of what stood around it; below 0: minus the signal */
	bool pushed;      /* something was typed into the terminal around it */
	bool limited;     /* the sandbox ended it at a limit, */
	char limit[32];   /* this one */
	char said[200];   /* the probe's own line */
	char failed[400]; /* the sandbox could not be had: why. "" = it could */
};

/* `words`: the probe's name and arguments. "@/x" stands for a path of the stage, "@PORT" and its kin for others. */
struct qsb__trial_request {
	const char *const *words;
	const char *const *options; /* of the run; NULL-terminated */
	bool inside;
	bool terminal; /* on a terminal of its own */
};

int qsb__stage_try(const struct qsb__stage *stage, const struct qsb__trial_request *request, struct qsb__trial *out,
		   struct qsb_error *err);

#endif
