/* The learned policy as text: the given one where it is not its preset's, what was learned, and a remark for each. */
#ifndef QSB_CLI_LEARN_POLICY_H
#define QSB_CLI_LEARN_POLICY_H

#include "cli/learn_entries.h"
#include "cli/learn_hosts.h"
#include "supervisor/run.h"

struct qsb__learned {
	const struct qsb_policy *asked;
	const struct qsb__learn_where *where;
	const char *command; /* its name alone: arguments may be secrets */
	const struct qsb__lessons *lessons;
	const struct qsb__learnt_host *hosts;
	size_t host_count;
	size_t lost;        /* of what was done with files: not kept */
	size_t lost_hosts;  /* … of connections */
	bool network_bound; /* the managed policy kept the network closed while learning */
	const struct qsb__result *result;
};

/* The caller frees *out. *entries: how many were added. */
int qsb__learned_text(char **out, size_t *entries, const struct qsb__learned *learned, struct qsb_error *err);

#endif
