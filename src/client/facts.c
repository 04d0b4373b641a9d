#include "client/facts.h"

#include <stdio.h>

#include "core/error.h"

int qsb__facts_folder(const struct qsb__facts *facts, char out[QSB__PATH_MAX], const char *text, const char *what,
		      struct qsb_error *err)
{
	const struct qsb__host *host = &facts->host;
	const struct qsb__path_base base = {.home = host->home, .folder = host->cwd};
	char absolute[QSB__PATH_MAX];
	int rc = qsb__path_absolute(absolute, text, &base, err);

	if (rc) {
		if (err)
			snprintf(err->where, sizeof(err->where), "%s", what);
		return rc;
	}
	rc = host->ops->resolve(host->context, absolute, out, QSB__PATH_MAX);
	if (rc < 0)
		return qsb__fail_os(err, -rc, what, "cannot use %s as %s", absolute, what);
	switch (host->ops->kind(host->context, out)) {
	case QSB__FILE_DIR:
		return 0;
	case QSB__FILE_MISSING:
		return qsb__fail(err, QSB_E_NOT_FOUND, what, "there is no folder %s (%s)", absolute, what);
	default:
		return qsb__fail(err, QSB_E_INVALID, what, "%s (%s) is not a folder", absolute, what);
	}
}

int qsb__facts_init(struct qsb__facts *facts, const char *workspace, struct qsb_error *err)
{
	int rc = qsb__host_init(&facts->host, err);

	if (rc)
		return rc;
	facts->ready = true;
	if (workspace)
		return qsb__facts_folder(facts, facts->workspace, workspace, "workspace", err);
	/* The current folder is one, and comes resolved. */
	if ((size_t)snprintf(facts->workspace, sizeof(facts->workspace), "%s", facts->host.cwd) >=
	    sizeof(facts->workspace))
		return qsb__fail(err, QSB_E_RANGE, "workspace", "the path of the current folder is too long");
	return 0;
}

void qsb__facts_clear(struct qsb__facts *facts)
{
	if (facts->ready)
		qsb__host_clear(&facts->host);
	facts->ready = false;
}
