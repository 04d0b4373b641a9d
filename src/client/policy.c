/* The public face of policies. */
#include <string.h>

#include <qiming/sandbox.h>

#include "client/facts.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/policy_load.h"
#include "core/suggest.h"

int qsb_policy_new(struct qsb_policy **out, const char *preset, struct qsb_error *err)
{
	const struct qsb__row *row = qsb__row_by_pointer("/extends");
	int number = preset ? qsb__preset_by_name(preset) : QSB__PRESET_WORKSPACE;
	size_t count = 0;
	const char *nearest;

	*out = NULL;
	if (number >= 0)
		return qsb__policy_new(out, (enum qsb__preset)number, err);
	while (row->names[count])
		count++;
	nearest = qsb__suggest(preset, row->names, count);
	return qsb__fail(err, QSB_E_UNKNOWN, row->pointer, "unknown preset %s%s%s%s", preset,
			 nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

int qsb_policy_load(struct qsb_policy **out, const char *workspace, const char *policy_file, struct qsb_error *err)
{
	QSB_CLEANUP(qsb__facts_clear) struct qsb__facts facts = {.ready = false};
	struct qsb__policy_sources sources = {
		.policy_file = policy_file,
		.policy_fd = -1,
		.config_home = getenv("XDG_CONFIG_HOME"),
	};
	int rc = qsb__facts_init(&facts, workspace, err);

	*out = NULL;
	if (rc)
		return rc;
	sources.workspace = facts.workspace;
	sources.home = facts.host.home;
	return qsb__policy_load(out, &sources, err);
}

int qsb_policy_merge_json(struct qsb_policy *policy, const char *json, size_t length, struct qsb_error *err)
{
	return qsb__policy_merge_json(policy, QSB__LAYER_FILE, json, length, "policy", err);
}

static int fail_unknown_key(const char *pointer, struct qsb_error *err)
{
	const char *names[QSB__ROWS_MAX];
	const char *nearest;

	for (size_t i = 0; i < qsb__row_count; i++)
		names[i] = qsb__rows[i].pointer;
	nearest = qsb__suggest(pointer, names, qsb__row_count);
	return qsb__fail(err, QSB_E_UNKNOWN, pointer, "unknown key %s%s%s%s", pointer, nearest ? "; did you mean " : "",
			 nearest ? nearest : "", nearest ? "?" : "");
}

int qsb_policy_set(struct qsb_policy *policy, const char *pointer, const char *value, struct qsb_error *err)
{
	const struct qsb__row *row = qsb__row_by_pointer(pointer);

	return row ? qsb__policy_set_text(policy, row, value, QSB__LAYER_OPTION, err) : fail_unknown_key(pointer, err);
}

static int give(char **out, char *text, struct qsb_error *err)
{
	*out = text;
	return text ? 0 : qsb__fail_memory(err, "policy");
}

int qsb_policy_get_json(const struct qsb_policy *policy, char **out, struct qsb_error *err)
{
	return give(out, qsb__policy_to_json(policy, false), err);
}

int qsb_policy_schema_json(char **out, struct qsb_error *err)
{
	return give(out, qsb__policy_schema_json(), err);
}

void qsb_policy_free(struct qsb_policy *policy)
{
	qsb__policy_free(policy);
}
