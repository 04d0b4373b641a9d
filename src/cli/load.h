/* From a command line to policy, host facts and plan: what `run`, `explain` and `policy show` have in common. */
#ifndef QSB_CLI_LOAD_H
#define QSB_CLI_LOAD_H

#include "cli/options.h"
#include "client/facts.h"
#include "plan/plan.h"

struct qsb__loaded {
	struct qsb_policy *policy;
	struct qsb__facts facts; /* the host, and the workspace as it was named */
	struct qsb__plan *plan;
};

/*
 * Reads every layer that counts for this command line and makes the plan. On failure nothing is left in *out but
 * what qsb__loaded_clear frees; it is to be called in both cases, on a zeroed or loaded object.
 */
int qsb__load(struct qsb__loaded *out, const struct qsb__invocation *invocation, struct qsb_error *err);

/* The same without the plan. */
int qsb__load_policy(struct qsb__loaded *out, const struct qsb__invocation *invocation, struct qsb_error *err);

/* As qsb__load, with more options behind those of the command line; what bounds those bounds them, too. */
struct qsb__policy_option;
int qsb__load_with(struct qsb__loaded *out, const struct qsb__invocation *invocation,
		   const struct qsb__policy_option *more, size_t more_count, struct qsb_error *err);

void qsb__loaded_clear(struct qsb__loaded *loaded);

#endif
