#include "cli/load.h"

#include <string.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "core/path.h"
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

/* A folder named on the command line: absolute, links resolved. `out` holds QSB__PATH_MAX bytes. */
static int resolve_folder(char *out, const char *text, const char *option, const struct qsb__host *host,
			  struct qsb_error *err)
{
	const struct qsb__path_base base = {.home = host->home, .folder = host->cwd};
	char absolute[QSB__PATH_MAX];
	int rc = qsb__path_absolute(absolute, text, &base, err);

	if (rc) {
		if (err)
			snprintf(err->where, sizeof(err->where), "%s", option);
		return rc;
	}
	rc = host->ops->resolve(host->context, absolute, out, QSB__PATH_MAX);
	if (rc < 0)
		return qsb__fail_os(err, -rc, option, "cannot use the folder %s", absolute);
	switch (host->ops->kind(host->context, out)) {
	case QSB__FILE_DIR:
		return 0;
	case QSB__FILE_MISSING:
		return qsb__fail(err, QSB_E_NOT_FOUND, option, "there is no folder %s (%s)", absolute, option);
	default:
		return qsb__fail(err, QSB_E_INVALID, option, "%s (%s) is not a folder", absolute, option);
	}
}

static int find_workspace(struct qsb__loaded *out, const struct qsb__invocation *invocation, struct qsb_error *err)
{
	const char *text = qsb__invocation_value(invocation, QSB__OPT_WORKSPACE);

	return resolve_folder(out->workspace, text ? text : out->host.cwd, "--workspace", &out->host, err);
}

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

int qsb__load_policy(struct qsb__loaded *out, const struct qsb__invocation *invocation, struct qsb_error *err)
{
	QSB_CLEANUP_FREE struct qsb__policy_option *options = calloc(invocation->use_count + 1, sizeof(*options));
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
	if (sources.policy_file && sources.policy_fd >= 0)
		return qsb__fail(err, QSB_E_INVALID, "--policy-fd", "give either --policy or --policy-fd, not both");
	rc = qsb__host_init(&out->host, err);
	if (rc)
		return rc;
	out->host_ready = true;
	rc = find_workspace(out, invocation, err);
	if (rc)
		return rc;
	sources.option_count = collect_options(options, invocation);
	sources.workspace = out->workspace;
	sources.home = out->host.home;
	return qsb__policy_load(&out->policy, &sources, err);
}

int qsb__load(struct qsb__loaded *out, const struct qsb__invocation *invocation, struct qsb_error *err)
{
	const char *cwd = qsb__invocation_value(invocation, QSB__OPT_CWD);
	char folder[QSB__PATH_MAX];
	struct qsb__request request = {.workspace = NULL};
	int rc = qsb__load_policy(out, invocation, err);

	if (rc)
		return rc;
	request.workspace = out->workspace;
	if (cwd) {
		rc = resolve_folder(folder, cwd, "--cwd", &out->host, err);
		if (rc)
			return rc;
		request.cwd = folder;
	}
	return qsb__plan_new(&out->plan, out->policy, &out->host, &request, err);
}

void qsb__loaded_clear(struct qsb__loaded *loaded)
{
	qsb__plan_free(loaded->plan);
	qsb__policy_free(loaded->policy);
	if (loaded->host_ready)
		qsb__host_clear(&loaded->host);
	memset(loaded, 0, sizeof(*loaded));
}
