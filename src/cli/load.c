#include "cli/load.h"

#include <string.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "core/policy_load.h"

const struct qsb__option qsb__policy_source_options[] = {
	{.id = QSB__OPT_POLICY,
	 .name = "--policy",
	 .value = QSB__VALUE_PATH,
	 .metavar = "FILE",
	 .group = QSB__GROUP_POLICY,
	 .summary = "Use this policy instead of the user's and the project's; other options come on top."},
	{.id = QSB__OPT_POLICY_FD,
	 .name = "--policy-fd",
	 .value = QSB__VALUE_TEXT,
	 .metavar = "N",
	 .group = QSB__GROUP_POLICY,
	 .summary = "The same, read from an open descriptor."},
	{.id = QSB__OPT_WORKSPACE,
	 .name = "--workspace",
	 .value = QSB__VALUE_DIR,
	 .metavar = "DIR",
	 .group = QSB__GROUP_FILES,
	 .summary = "The folder the command works in, where relative paths of the policy start. Default: the current "
		    "folder."},
	{.id = QSB__OPT_ALLOW_UNSANDBOXED,
	 .name = "--allow-unsandboxed",
	 .group = QSB__GROUP_POLICY,
	 .summary =
		 "Where no sandbox can be had, callers may fall back to none after asking. `run` itself never does."},
	{.id = 0},
};

/* The options of the policy's rows, in the order given. */
static size_t collect_options(struct qsb__policy_option *options, const struct qsb__invocation *invocation)
{
	size_t count = 0;

	for (size_t i = 0; i < invocation->use_count; i++) {
		const struct qsb__option_use *use = &invocation->uses[i];

		if (use->row)
			options[count++] = (struct qsb__policy_option){use->row, use->value};
		else if (use->option->id == QSB__OPT_ALLOW_UNSANDBOXED)
			options[count++] =
				(struct qsb__policy_option){qsb__row_by_pointer("/allowUnsandboxed"), "true"};
	}
	return count;
}

static int load_policy(struct qsb__loaded *out, const struct qsb__invocation *invocation,
		       const struct qsb__policy_option *more, size_t more_count, struct qsb_error *err)
{
	QSB_CLEANUP_FREE struct qsb__policy_option *options =
		calloc(invocation->use_count + more_count + 1, sizeof(*options));
	struct qsb__policy_sources sources = {
		.policy_file = qsb__invocation_value(invocation, QSB__OPT_POLICY),
		.config_home = getenv("XDG_CONFIG_HOME"),
		.options = options,
	};
	int rc = qsb__invocation_fd(invocation, QSB__OPT_POLICY_FD, &sources.policy_fd, err);

	if (rc)
		return rc;
	if (!options)
		return qsb__fail_memory(err, "policy");
	rc = qsb__facts_init(&out->facts, qsb__invocation_value(invocation, QSB__OPT_WORKSPACE), err);
	if (rc)
		return rc;
	sources.option_count = collect_options(options, invocation);
	for (size_t i = 0; i < more_count; i++)
		options[sources.option_count++] = more[i];
	sources.workspace = out->facts.workspace;
	sources.home = out->facts.host.home;
	return qsb__policy_load(&out->policy, &sources, err);
}

int qsb__load_policy(struct qsb__loaded *out, const struct qsb__invocation *invocation, struct qsb_error *err)
{
	return load_policy(out, invocation, NULL, 0, err);
}

int qsb__load(struct qsb__loaded *out, const struct qsb__invocation *invocation, struct qsb_error *err)
{
	return qsb__load_with(out, invocation, NULL, 0, err);
}

int qsb__load_with(struct qsb__loaded *out, const struct qsb__invocation *invocation,
		   const struct qsb__policy_option *more, size_t more_count, struct qsb_error *err)
{
	const char *cwd = qsb__invocation_value(invocation, QSB__OPT_CWD);
	char folder[QSB__PATH_MAX];
	struct qsb__request request = {.workspace = NULL};
	int rc = load_policy(out, invocation, more, more_count, err);

	if (rc)
		return rc;
	request.workspace = out->facts.workspace;
	if (cwd) {
		rc = qsb__facts_folder(&out->facts, folder, cwd, "cwd", err);
		if (rc)
			return rc;
		request.cwd = folder;
	}
	return qsb__plan_new(&out->plan, out->policy, &out->facts.host, &request, err);
}

void qsb__loaded_clear(struct qsb__loaded *loaded)
{
	qsb__plan_free(loaded->plan);
	qsb__policy_free(loaded->policy);
	qsb__facts_clear(&loaded->facts);
	memset(loaded, 0, sizeof(*loaded));
}
