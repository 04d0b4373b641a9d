/* The host as it is, and a workspace in it: what loading a policy and making a plan start from. */
#ifndef QSB_CLIENT_FACTS_H
#define QSB_CLIENT_FACTS_H

#include "core/path.h"
#include "os/host.h"

struct qsb__facts {
	struct qsb__host host;
	bool ready;
	char workspace[QSB__PATH_MAX]; /* absolute, resolved, a folder */
};

/*
 * `workspace`: NULL = the current folder. qsb__facts_clear is to be called in any case.
 *   QSB_E_NOT_FOUND  there is no such folder
 *   QSB_E_INVALID    it is not a folder
 */
int qsb__facts_init(struct qsb__facts *facts, const char *workspace, struct qsb_error *err);
void qsb__facts_clear(struct qsb__facts *facts);

/* A folder as a person names it: absolute, links resolved, and there. `what` names it in messages: "workspace". */
int qsb__facts_folder(const struct qsb__facts *facts, char out[QSB__PATH_MAX], const char *text, const char *what,
		      struct qsb_error *err);

#endif
