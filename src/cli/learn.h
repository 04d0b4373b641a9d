/*
 * `run --learn FILE`: the command runs under a wider plan, what it does is noted, and afterwards the smallest policy
 * that would have sufficed is written. Never opened: secrets, protected names, our own files, sockets of the host,
 * what the policy denies by name, and what the machine's managed policy bounds.
 */
#ifndef QSB_CLI_LEARN_H
#define QSB_CLI_LEARN_H

#include "cli/load.h"
#include "supervisor/run.h"

struct qsb__learn;

/*
 * *out = NULL without --learn. `asked` is the policy as it was given, borrowed until the end.
 *   QSB_E_STATE        FILE is there already
 *   QSB_E_DENIED       the managed policy forbids it
 *   QSB_E_UNSUPPORTED  nothing can be noted under this policy
 */
int qsb__learn_new(struct qsb__learn **out, const struct qsb__invocation *invocation, const struct qsb__loaded *asked,
		   struct qsb_error *err);
void qsb__learn_free(struct qsb__learn *learn);

const struct qsb__plan *qsb__learn_plan(const struct qsb__learn *learn);
void qsb__learn_listen(struct qsb__learn *learn, struct qsb__run_request *request);

/* The run is over: writes the file, and fills in what the result says of it. */
int qsb__learn_write(struct qsb__learn *learn, struct qsb__result *result, struct qsb_error *err);

/* What was written, for a person. */
void qsb__learn_report(const struct qsb__learn *learn, const struct qsb__result *result);

#endif
