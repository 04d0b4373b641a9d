/* What doctor knows: the probes of the back ends, the ladder, the limits, the policy files. */
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/policy_file.h"
#include "core/policy_load.h"
#include "supervisor/run.h"

static void name_cause(struct qsb__doctor *doctor, const struct qsb__doctor_backend *found)
{
	const struct qsb__probe *probe = &found->probe;

	if (doctor->cause.code)
		return; /* that of a better back end, whose fix gains more */
	if (probe->usable) {
		doctor->cause = found->refusal;
		return;
	}
	for (size_t i = 0; i < probe->count; i++) {
		const struct qsb__probe_row *row = &probe->rows[i];

		if (row->ok || !row->needed)
			continue;
		qsb__fail(&doctor->cause, QSB_E_UNSUPPORTED, found->backend->name, "%s: %s%s%s", row->name, row->detail,
			  row->fix[0] ? "; to fix it: " : "", row->fix);
		return;
	}
	qsb__fail(&doctor->cause, QSB_E_UNSUPPORTED, found->backend->name, "the back end %s cannot be used",
		  found->backend->name);
}

static void look_at_backends(struct qsb__doctor *doctor)
{
	const struct qsb__plan *plan = doctor->loaded.plan;

	if (!plan)
		doctor->cause = doctor->policy_error;
	for (size_t i = 0; qsb__backends[i] && i < QSB__DOCTOR_BACKENDS; i++) {
		struct qsb__doctor_backend *found = &doctor->backends[doctor->backend_count++];

		found->backend = qsb__backends[i];
		found->backend->probe(&found->probe);
		if (plan)
			found->backend->check(plan, &found->refusal);
		if (plan && found->probe.usable && found->refusal.code == 0 && !doctor->chosen)
			doctor->chosen = found->backend;
		else if (!doctor->chosen)
			name_cause(doctor, found);
	}
	if (doctor->chosen)
		doctor->cause = (struct qsb_error){.code = 0};
	else if (!doctor->cause.code)
		qsb__fail(&doctor->cause, QSB_E_UNSUPPORTED, "back end", "this build has no back end for this system");
}

/* Those that the supervisor itself holds are not asked of the back end. */
static const char *held_by(const struct qsb__backend *backend, const struct qsb__sandbox *sandbox,
			   const struct qsb__plan *plan, const char *name)
{
	const char *by = backend->limit_by(sandbox, name);

	if (by)
		return by;
	if (strcmp(name, "timeout") == 0)
		return plan->timeout_ms ? "supervisor" : "none";
	if (strcmp(name, "output") == 0)
		return plan->output_bytes ? "supervisor" : "none";
	if (strcmp(name, "diskReserve") == 0)
		return plan->disk_reserve_bytes ? "watch" : "none";
	return "none";
}

/* Preparing a sandbox runs nothing, but makes the control groups as a run would: what holds a limit is then known. */
static int look_at_limits(struct qsb__doctor *doctor, struct qsb_error *err)
{
	const struct qsb__backend *backend = doctor->chosen;
	struct qsb__sandbox *sandbox = NULL;
	int rc = 0;

	if (backend && backend->prepare(&sandbox, doctor->loaded.plan, &doctor->cause) != 0)
		doctor->chosen = NULL;
	for (size_t i = 0; doctor->loaded.policy && i < QSB__DOCTOR_LIMITS && rc == 0; i++) {
		struct qsb__doctor_limit *limit = &doctor->limits[doctor->limit_count++];
		char pointer[64];

		limit->name = qsb__limit_names[i];
		snprintf(pointer, sizeof(pointer), "/limits/%s", limit->name);
		limit->value = qsb__policy_value_text(doctor->loaded.policy, qsb__row_by_pointer(pointer));
		if (backend && sandbox)
			limit->by = held_by(backend, sandbox, doctor->loaded.plan, limit->name);
		if (!limit->value)
			rc = qsb__fail_memory(err, "doctor");
	}
	if (backend && sandbox)
		backend->release(sandbox);
	return rc;
}

static void add_gap(struct qsb__doctor *doctor, const char *what, const char *why)
{
	struct qsb__doctor_gap *gap = &doctor->gaps[doctor->gap_count];

	if (doctor->gap_count == QSB__DOCTOR_GAPS)
		return;
	doctor->gap_count++;
	snprintf(gap->what, sizeof(gap->what), "%s", what);
	snprintf(gap->why, sizeof(gap->why), "%s", why);
}

/* Not known before the control groups are: `check` cannot tell. */
static void look_at_fractions(struct qsb__doctor *doctor)
{
	enum { HALF_A_PROCESSOR = 500 };
	struct qsb__plan wanted = *doctor->loaded.plan;
	struct qsb__sandbox *sandbox = NULL;
	struct qsb_error why = {.code = 0};

	wanted.cpus_milli = HALF_A_PROCESSOR;
	if (doctor->chosen->prepare(&sandbox, &wanted, &why) != 0)
		add_gap(doctor, "a fraction of a processor", why.message);
	else
		doctor->chosen->release(sandbox);
}

/* The back end itself is asked what it would refuse, by a plan that differs in one point. */
static void look_at_gaps(struct qsb__doctor *doctor)
{
	uint16_t port[] = {80, 0};
	const struct qsb__plan *plan = doctor->loaded.plan;
	struct qsb__plan wanted[4];
	const char *const names[] = {"network mode filtered", "network mode host", "published ports", "reached ports"};

	if (!plan || !doctor->chosen)
		return;
	for (size_t i = 0; i < plan->gap_count; i++)
		add_gap(doctor, plan->gaps[i].what, plan->gaps[i].rule);
	/* The first limit is memory. */
	if (doctor->limit_count && doctor->limits[0].by && strcmp(doctor->limits[0].by, "watch") == 0)
		add_gap(doctor, QSB__UNWATCHED_MEMORY, "/limits/memory");
	for (size_t i = 0; i < 4; i++)
		wanted[i] = *plan;
	wanted[0].network = QSB__NETWORK_FILTERED;
	wanted[1].network = QSB__NETWORK_HOST;
	wanted[2].publish_ports = port;
	wanted[3].reach_ports = port;
	for (size_t i = 0; i < 4; i++) {
		struct qsb_error why = {.code = 0};

		if (doctor->chosen->check(&wanted[i], &why))
			add_gap(doctor, names[i], why.message);
	}
	look_at_fractions(doctor);
}

static struct qsb__doctor_file *add_file(struct qsb__doctor *doctor, const char *layer)
{
	struct qsb__doctor_file *file = &doctor->files[doctor->file_count++];

	file->layer = layer;
	file->state = "none";
	return file;
}

/* As a policy of its own: what its layer may not do is told by `policy show`. */
static void judge_file(struct qsb__doctor_file *file, enum qsb__layer layer)
{
	struct qsb_error fault = {.code = 0};
	QSB__CLEANUP_POLICY struct qsb_policy *policy = NULL;
	QSB_CLEANUP_FREE char *text = NULL;
	size_t length;
	int rc = qsb__policy_read_layer(layer, file->path, &text, &length, &fault);

	if (rc == QSB_E_NOT_FOUND)
		return;
	if (rc == 0)
		rc = qsb__policy_new(&policy, QSB__PRESET_WORKSPACE, &fault);
	if (rc == 0)
		rc = qsb__policy_merge_json(policy, layer, text, length, file->path, &fault);
	file->state = rc ? "cannot be used" : "in use";
	if (rc)
		snprintf(file->problem, sizeof(file->problem), "%s", fault.message);
}

static void look_at_files(struct qsb__doctor *doctor)
{
	const struct qsb__facts *facts = &doctor->loaded.facts;
	const struct qsb__policy_sources sources = {
		.home = facts->host.home,
		.config_home = getenv("XDG_CONFIG_HOME"),
	};
	struct qsb__doctor_file *file = add_file(doctor, "managed policy");

	snprintf(file->path, sizeof(file->path), "%s", QSB__MANAGED_FILE);
	judge_file(file, QSB__LAYER_MANAGED);
	file = add_file(doctor, "user's policy");
	if (qsb__policy_user_file(&sources, file->path, sizeof(file->path)))
		judge_file(file, QSB__LAYER_USER);
	file = add_file(doctor, "project's policy");
	if (facts->ready && (size_t)snprintf(file->path, sizeof(file->path), "%s/%s",
					     strcmp(facts->workspace, "/") == 0 ? "" : facts->workspace,
					     QSB__PROJECT_FILE) < sizeof(file->path))
		judge_file(file, QSB__LAYER_PROJECT);
}

int qsb__doctor_look(struct qsb__doctor *doctor, const struct qsb__invocation *invocation, struct qsb_error *err)
{
	int rc;

	qsb__load(&doctor->loaded, invocation, &doctor->policy_error);
	if (doctor->policy_error.code == QSB_E_MEMORY)
		return qsb__fail_memory(err, "doctor");
	look_at_backends(doctor);
	qsb__doctor_try(doctor);
	rc = look_at_limits(doctor, err);
	look_at_gaps(doctor);
	look_at_files(doctor);
	return rc;
}

void qsb__doctor_clear(struct qsb__doctor *doctor)
{
	for (size_t i = 0; i < doctor->limit_count; i++)
		free(doctor->limits[i].value);
	qsb__loaded_clear(&doctor->loaded);
}
