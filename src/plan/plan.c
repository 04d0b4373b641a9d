#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "plan/build.h"

/* A plan and all that its pointers lead to. */
struct store {
	struct qsb__plan plan; /* first: a plan's address is its store's */
	struct qsb__arena arena;
};

static void clear_build(struct qsb__build *build)
{
	qsb__listing_clear(&build->listing);
	free(build->rules.items);
	free(build->globs);
	free(build->steps);
	free(build->grants);
	free(build->name_rules);
	free(build->gaps);
	free(build->held);
	free(build->notes);
}

/* Resolves a folder that must be there. `what` begins the sentence of the error. */
static int existing_folder(struct qsb__build *build, const char *text, const char *what, char **out)
{
	const struct qsb__path_base base = {
		.home = build->host->home, .folder = build->host->cwd, .windows = build->base.windows};
	char absolute[QSB__PATH_MAX], real[QSB__PATH_MAX];
	enum qsb__file_kind kind;
	int result = qsb__path_absolute(absolute, text, &base, build->err);

	if (!result)
		result = qsb__build_resolve(build, absolute, real, &kind);
	if (result) {
		if (build->err)
			snprintf(build->err->where, sizeof(build->err->where), "%s", what);
		return result;
	}
	if (kind == QSB__FILE_MISSING)
		return qsb__fail(build->err, QSB_E_NOT_FOUND, what,
				 "the %s %s does not exist, or this user may not look into it", what, absolute);
	if (kind != QSB__FILE_DIR)
		return qsb__fail(build->err, QSB_E_INVALID, what, "the %s %s is not a folder", what, absolute);
	*out = qsb__arena_text(build->arena, real);
	return *out ? 0 : qsb__fail_memory(build->err, "plan");
}

static int find_folders(struct qsb__build *build, const struct qsb__request *request)
{
	struct qsb__plan *plan = build->plan;
	const struct qsb__host *host = build->host;
	const char *cwd = request ? request->cwd : NULL;
	int result;

	result = existing_folder(build, request && request->workspace ? request->workspace : host->cwd, "workspace",
				 &plan->workspace);
	if (result)
		return result;
	build->base.folder = plan->workspace;
	build->cwd_asked = cwd != NULL;
	if (!cwd)
		cwd = qsb__path_inside(host->cwd, plan->workspace, build->fold) ? host->cwd : plan->workspace;
	return existing_folder(build, cwd, "working folder", &plan->cwd);
}

static void copy_scalars(struct qsb__build *build)
{
	const struct qsb_policy *policy = build->policy;
	const struct qsb__row *output = qsb__row_by_pointer("/limits/output");
	struct qsb__plan *plan = build->plan;

	plan->os = build->host->os;
	plan->memory_bytes = policy->limits.memory_bytes;
	plan->cpus_milli = policy->limits.cpus_milli;
	plan->timeout_ms = policy->limits.timeout_ms;
	plan->processes = policy->limits.processes;
	plan->open_files = policy->limits.open_files;
	plan->output_bytes = policy->limits.output_bytes;
	plan->tmp_bytes = policy->limits.tmp_bytes;
	plan->file_bytes = policy->limits.file_bytes;
	plan->disk_reserve_bytes = policy->limits.disk_reserve_bytes;
	plan->output_action = policy->limits.output_action;
	plan->output_asked = output && policy->origin[output - qsb__rows] != QSB__LAYER_PRESET;
	plan->protect_names = policy->filesystem.protect_names;
	plan->protect_new_names = policy->filesystem.protect_names && policy->filesystem.protect_new_names;
	plan->git_findings = policy->filesystem.git_findings;
	plan->report_denials = policy->filesystem.report_denials;
	plan->tmp_private = policy->filesystem.tmp == QSB__TMP_PRIVATE;
	plan->allow_nested_sandbox = policy->allow_nested_sandbox;
	plan->allow_unsandboxed = policy->allow_unsandboxed;
}

/* Where the sandbox has files of its own, the host's are not there: neither is a workspace among them. */
/* The step whose own files stand where `path` is on the host; NULL = the host's are there. */
static const struct qsb__step *hidden_by(const struct qsb__build *build, const char *path)
{
	const struct qsb__step *place = NULL;

	for (size_t i = 0; i < build->step_count; i++) {
		const struct qsb__step *step = &build->steps[i];
		bool own = step->kind == QSB__STEP_TMPFS || step->kind == QSB__STEP_PROC || step->kind == QSB__STEP_DEV;

		if (own && qsb__path_inside(path, step->path, build->fold))
			place = step;
		else if (step->kind != QSB__STEP_PIN && step->kind != QSB__STEP_LINK &&
			 qsb__path_inside(path, step->path, build->fold))
			place = NULL;
	}
	/* Scratch space itself may well be where a command is to work. */
	return place && place->kind == QSB__STEP_TMPFS && strcmp(place->path, path) == 0 ? NULL : place;
}

static int check_place(struct qsb__build *build)
{
	struct qsb__plan *plan = build->plan;
	const struct qsb__step *place = hidden_by(build, plan->workspace);

	if (place)
		return qsb__fail(build->err, QSB_E_INVALID, "workspace",
				 "the workspace %s lies in %s, where the sandbox has files of its own instead of the "
				 "host's; choose another folder with --workspace",
				 plan->workspace, place->path);
	place = hidden_by(build, plan->cwd);
	if (!place)
		return 0;
	if (build->cwd_asked)
		return qsb__fail(
			build->err, QSB_E_INVALID, "working folder",
			"the working folder %s lies in %s, where the sandbox has files of its own instead of the "
			"host's; choose another one with --cwd",
			plan->cwd, place->path);
	plan->cwd = plan->workspace;
	return 0;
}

static int check_workspace(struct qsb__build *build)
{
	struct qsb__verdict verdict;
	int result = check_place(build);

	if (result)
		return result;
	snprintf(verdict.resolved, sizeof(verdict.resolved), "%s", build->plan->workspace);
	qsb__plan_verdict(build->plan, strlen(verdict.resolved), &verdict);
	if (verdict.access & QSB__ACCESS_READ)
		return 0;
	return qsb__fail(build->err, QSB_E_DENIED, "workspace",
			 "the workspace %s may not be read (%s); choose another folder "
			 "with --workspace",
			 build->plan->workspace, verdict.read_rule);
}

/* What the steps cannot hold, of what nobody asked for by name. Where the rules by name are held, nothing can be made
 * there from inside; what somebody outside makes later has no mask. */
static int report_gaps(struct qsb__build *build)
{
	static const char names[] = "built-in: protected names";
	bool held = build->plan->protect_new_names;
	bool protect = build->policy->filesystem.protect_names && build->name_rule_count && !held;
	char what[200];

	if (protect && qsb__build_gap(build, "protected names that do not exist yet", names, false))
		return QSB_E_MEMORY;
	if (protect && !build->plan->scan_complete &&
	    qsb__build_gap(build, "protected names in folders that were not looked into at the start", names, false))
		return QSB_E_MEMORY;
	for (size_t i = 0; build->missing_builtins[i].name; i++) {
		bool one = build->missing_builtins[i].count == 1;

		snprintf(what, sizeof(what), "%s%zu path%s that %s not exist yet%s", held ? "reading " : "",
			 build->missing_builtins[i].count, one ? "" : "s", one ? "does" : "do",
			 held ? ", should something outside make them meanwhile" : "");
		if (qsb__build_gap(build, what, build->missing_builtins[i].name, false))
			return QSB_E_MEMORY;
	}
	return 0;
}

/* Hands the lists over to the plan, which keeps them in its arena. */
static int hand_over(struct qsb__build *build)
{
	struct qsb__plan *plan = build->plan;
	size_t steps = build->step_count + build->grant_count + build->name_rule_count;

	plan->steps = qsb__arena_alloc(build->arena, (steps + 1) * sizeof(plan->steps[0]));
	plan->gaps = qsb__arena_alloc(build->arena, (build->gap_count + 1) * sizeof(plan->gaps[0]));
	plan->held = qsb__arena_alloc(build->arena, (build->held_count + 1) * sizeof(plan->held[0]));
	plan->notes = qsb__arena_alloc(build->arena, (build->note_count + 1) * sizeof(plan->notes[0]));
	if (build->arena->failed)
		return qsb__fail_memory(build->err, "plan");
	if (build->step_count)
		memcpy(plan->steps, build->steps, build->step_count * sizeof(plan->steps[0]));
	if (build->grant_count)
		memcpy(plan->steps + build->step_count, build->grants, build->grant_count * sizeof(plan->steps[0]));
	if (build->name_rule_count)
		memcpy(plan->steps + build->step_count + build->grant_count, build->name_rules,
		       build->name_rule_count * sizeof(plan->steps[0]));
	if (build->gap_count)
		memcpy(plan->gaps, build->gaps, build->gap_count * sizeof(plan->gaps[0]));
	if (build->held_count)
		memcpy(plan->held, build->held, build->held_count * sizeof(plan->held[0]));
	if (build->note_count)
		memcpy(plan->notes, build->notes, build->note_count * sizeof(plan->notes[0]));
	plan->step_count = steps;
	plan->gap_count = build->gap_count;
	plan->held_count = build->held_count;
	return 0;
}

static int sort_rules(struct qsb__build *build)
{
	if (build->sorted_count < build->rules.count)
		qsb__build_sort(&build->rules, build->fold);
	build->sorted_count = build->rules.count;
	return 0;
}

/* The order matters: folders before entries, allowances before denials, what is known before what is looked for. */
static int build_all(struct qsb__build *build, const struct qsb__request *request)
{
	int (*const parts[])(struct qsb__build *) = {
		qsb__build_network,
		qsb__build_rules,
		qsb__build_special,
		sort_rules,
		qsb__build_globs,
		sort_rules,
		qsb__build_drop_unsteady,
		qsb__build_names,
		qsb__build_steps,
		qsb__build_hard_links,
		report_gaps,
		qsb__build_environment,
		hand_over,
		check_workspace,
	};
	int result = find_folders(build, request);

	if (result)
		return result;
	copy_scalars(build);
	for (size_t i = 0; !result && i < sizeof(parts) / sizeof(parts[0]); i++)
		result = parts[i](build);
	return result;
}

int qsb__plan_new(struct qsb__plan **out, const struct qsb_policy *policy, const struct qsb__host *host,
		  const struct qsb__request *request, struct qsb_error *err)
{
	struct store *store = calloc(1, sizeof(*store));
	struct qsb__build *build = calloc(1, sizeof(*build));
	int result;

	*out = NULL;
	if (!store || !build) {
		free(store);
		free(build);
		return qsb__fail_memory(err, "plan");
	}
	build->plan = &store->plan;
	build->arena = &store->arena;
	build->policy = policy;
	build->host = host;
	build->err = err;
	build->fold = host->case_insensitive;
	build->base = (struct qsb__path_base){.home = host->home, .windows = host->os == QSB__OS_WINDOWS};
	build->plan->scan_complete = true;
	build->plan->fold_names = host->case_insensitive;
	result = build_all(build, request);
	if (!result && store->arena.failed)
		result = qsb__fail_memory(err, "plan");
	clear_build(build);
	free(build);
	if (result)
		qsb__plan_free(&store->plan);
	else
		*out = &store->plan;
	return result;
}

void qsb__plan_free(struct qsb__plan *plan)
{
	struct store *store = (struct store *)plan;

	if (!store)
		return;
	qsb__arena_clear(&store->arena);
	free(store);
}
