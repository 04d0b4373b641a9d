/* What `run` takes and tells of the network. */
#ifndef QSB_CLI_NETWORK_H
#define QSB_CLI_NETWORK_H

#include "cli/options.h"
#include "supervisor/run.h"

/*
 * Reads --network-log, --ask-network and --ask-timeout into the request, whose plan and descriptors are filled in. The
 * log is opened: the caller closes request->network_log_fd.
 */
int qsb__network_options(struct qsb__run_request *request, const struct qsb__invocation *invocation,
			 struct qsb_error *err);

/* Warns of rules that allow more than anybody is likely to mean. */
void qsb__network_warn(const struct qsb__plan *plan);

/* Tells what a person must know of a run that is over: the network was lost, the log is not whole. */
void qsb__network_report(const struct qsb__result *result);

#endif
