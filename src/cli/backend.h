/* Which back end runs a plan. */
#ifndef QSB_CLI_BACKEND_H
#define QSB_CLI_BACKEND_H

#include "backend/backend.h"

/*
 * The best back end that can hold the whole plan here, or the named one. A step down is taken only where the lower one
 * holds everything too.
 *   QSB_E_UNKNOWN      no such back end
 *   QSB_E_UNSUPPORTED  none can: the message has the cause of the best one and the smallest fix
 */
int qsb__backend_choose(const struct qsb__backend **out, const char *name, const struct qsb__plan *plan,
			struct qsb_error *err);

/*
 * For a run that failed before the command began: when the host is what stands in the way, the message becomes that
 * cause and its fix.
 */
void qsb__backend_explain_failure(const struct qsb__backend *backend, struct qsb_error *err);

#endif
