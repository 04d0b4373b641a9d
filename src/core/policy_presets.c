/* The presets: the values that hold where no layer says anything else. */
#include <stdlib.h>

#include "core/error.h"
#include "core/policy_load.h"

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

static void set_workspace(struct qsb_policy *policy)
{
	policy->filesystem.protect_names = policy->filesystem.protect_new_names = true;
	policy->filesystem.git_findings = QSB__FINDINGS_QUARANTINE;
	policy->filesystem.report_denials = true;
	policy->filesystem.tmp = QSB__TMP_PRIVATE;
	policy->network.mode = QSB__NETWORK_OFF;
	policy->network.upstream_resolve = QSB__RESOLVE_PROXY;
	policy->limits.memory_bytes = 2 * GIB;
	policy->limits.cpus_milli = 2000;
	policy->limits.timeout_ms = 300ULL * 1000;
	policy->limits.processes = 512;
	policy->limits.open_files = 4096;
	policy->limits.output_bytes = 10 * MIB;
	policy->limits.output_action = QSB__OUTPUT_TRUNCATE;
	policy->limits.tmp_bytes = GIB;
	policy->limits.disk_reserve_bytes = 256 * MIB;
	policy->environment.inherit = QSB__INHERIT_SAFE;
}

static void set_locked_down(struct qsb_policy *policy)
{
	policy->limits.memory_bytes = GIB;
	policy->limits.cpus_milli = 1000;
	policy->limits.timeout_ms = 60ULL * 1000;
	policy->limits.processes = 128;
	policy->limits.output_bytes = MIB;
	policy->limits.tmp_bytes = 256 * MIB;
	policy->environment.inherit = QSB__INHERIT_NONE;
}

/* No limit of ours, no rule of ours: what is left is a process tree that ends as one. */
static void set_full_access(struct qsb_policy *policy)
{
	policy->filesystem.protect_names = policy->filesystem.protect_new_names = false;
	policy->filesystem.report_denials = false;
	policy->filesystem.tmp = QSB__TMP_HOST;
	policy->network.mode = QSB__NETWORK_HOST;
	policy->limits.memory_bytes = policy->limits.cpus_milli = policy->limits.timeout_ms = 0;
	policy->limits.processes = policy->limits.open_files = policy->limits.output_bytes = 0;
	policy->limits.tmp_bytes = policy->limits.file_bytes = policy->limits.disk_reserve_bytes = 0;
	policy->environment.inherit = QSB__INHERIT_ALL;
}

static int add(struct qsb__list *list, unsigned index, const char *text)
{
	return qsb__list_add(list, text, QSB__LAYER_PRESET, index);
}

static int add_paths(struct qsb_policy *policy, enum qsb__preset preset)
{
	bool full = preset == QSB__PRESET_FULL_ACCESS, locked = preset == QSB__PRESET_LOCKED_DOWN;
	int code = add(&policy->filesystem.allow_read, 0, locked ? "@system" : "/");

	if (!code && locked)
		code = add(&policy->filesystem.allow_read, 1, ".");
	if (!code && !full)
		code = add(&policy->filesystem.deny_read, 0, "@secrets");
	if (!code && preset != QSB__PRESET_READ_ONLY)
		code = add(&policy->filesystem.allow_write, 0, full ? "/" : ".");
	if (!code && preset == QSB__PRESET_WORKSPACE_ONLINE)
		code = add(&policy->network.allowed_domains, 0, "*");
	return code;
}

int qsb__policy_new(struct qsb_policy **out, enum qsb__preset preset, struct qsb_error *err)
{
	struct qsb_policy *policy = calloc(1, sizeof(*policy));

	*out = NULL;
	if (!policy)
		return qsb__fail_memory(err, "policy");
	policy->version = 1;
	policy->extends = preset;
	set_workspace(policy);
	if (preset == QSB__PRESET_WORKSPACE_ONLINE)
		policy->network.mode = QSB__NETWORK_FILTERED;
	else if (preset == QSB__PRESET_LOCKED_DOWN)
		set_locked_down(policy);
	else if (preset == QSB__PRESET_FULL_ACCESS)
		set_full_access(policy);
	if (add_paths(policy, preset)) {
		qsb__policy_free(policy);
		return qsb__fail_memory(err, "policy");
	}
	*out = policy;
	return 0;
}
