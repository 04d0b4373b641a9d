/* The public face of plans. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <qiming/sandbox.h>

#include "client/facts.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"
#include "plan/plan.h"

struct qsb_plan {
	struct qsb__facts facts;
	struct qsb__plan *plan;
};

static int make(struct qsb_plan *plan, const struct qsb_policy *policy, const char *workspace, const char *cwd,
		struct qsb_error *err)
{
	struct qsb__request request = {.workspace = plan->facts.workspace};
	char folder[QSB__PATH_MAX];
	int rc = qsb__facts_init(&plan->facts, workspace, err);

	if (rc == 0 && cwd) {
		request.cwd = folder;
		rc = qsb__facts_folder(&plan->facts, folder, cwd, "cwd", err);
	}
	return rc ? rc : qsb__plan_new(&plan->plan, policy, &plan->facts.host, &request, err);
}

int qsb_plan_new(struct qsb_plan **out, const struct qsb_policy *policy, const char *workspace, const char *cwd,
		 struct qsb_error *err)
{
	struct qsb_plan *plan = calloc(1, sizeof(*plan));
	int rc;

	*out = NULL;
	if (!plan)
		return qsb__fail_memory(err, "plan");
	rc = make(plan, policy, workspace, cwd, err);
	if (rc)
		qsb_plan_free(plan);
	else
		*out = plan;
	return rc;
}

int qsb_plan_print(const struct qsb_plan *plan, char **out, struct qsb_error *err)
{
	size_t length = 0;
	FILE *to;

	*out = NULL;
	to = open_memstream(out, &length);
	if (!to)
		return qsb__fail_memory(err, "plan");
	qsb__plan_print(plan->plan, to);
	if (fclose(to) == 0)
		return 0;
	free(*out);
	*out = NULL;
	return qsb__fail_memory(err, "plan");
}

static int give(char **out, const json_t *value, struct qsb_error *err)
{
	*out = value ? json_dumps(value, 0) : NULL;
	return *out ? 0 : qsb__fail_memory(err, "explain");
}

int qsb_plan_explain_path_json(const struct qsb_plan *plan, const char *path, char **out, struct qsb_error *err)
{
	const struct qsb__host *host = &plan->facts.host;
	const struct qsb__path_base base = {.home = host->home, .folder = host->cwd};
	char absolute[QSB__PATH_MAX];
	struct qsb__verdict verdict;
	QSB__CLEANUP_JSON json_t *value = NULL;
	int rc = qsb__path_absolute(absolute, path, &base, err);

	*out = NULL;
	if (rc == 0)
		rc = qsb__plan_explain_path(plan->plan, host, absolute, &verdict, err);
	if (rc)
		return rc;
	value = json_pack("{s:s, s:s, s:b, s:s, s:b, s:s, s:s}", "path", absolute, "resolved", verdict.resolved, "read",
			  (verdict.access & QSB__ACCESS_READ) != 0, "readRule", verdict.read_rule, "write",
			  (verdict.access & QSB__ACCESS_WRITE) != 0, "writeRule", verdict.write_rule, "fix",
			  verdict.fix);
	return give(out, value, err);
}

int qsb_plan_explain_host_json(const struct qsb_plan *plan, const char *host, char **out, struct qsb_error *err)
{
	QSB__CLEANUP_JSON json_t *value = NULL;
	struct qsb__host_verdict verdict;
	int rc = qsb__plan_explain_host(plan->plan, host, &verdict, err);

	*out = NULL;
	if (rc)
		return rc;
	value = json_pack("{s:s, s:i, s:b, s:s, s:s}", "host", verdict.host, "port", (int)verdict.port, "allowed",
			  verdict.allowed, "rule", verdict.rule, "fix", verdict.fix);
	return give(out, value, err);
}

void qsb_plan_free(struct qsb_plan *plan)
{
	if (!plan)
		return;
	qsb__plan_free(plan->plan);
	qsb__facts_clear(&plan->facts);
	free(plan);
}
