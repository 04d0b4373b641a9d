#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "plan/build.h"

void qsb__step_text(const struct qsb__step *step, char *out, size_t size)
{
	snprintf(out, size, "%s%s%.150s%s", step->rule, step->reason ? " (" : "", step->reason ? step->reason : "",
		 step->reason ? ")" : "");
}

/* What has been learnt on the way from the root to the path. */
struct inquiry {
	const struct qsb__plan *plan;
	struct qsb__verdict *out;
	const struct qsb__step *decider; /* the step that took something away last */
	size_t deepest;                  /* length of the deepest step's path */
	size_t denied;                   /* length of the part that the decider speaks of */
	size_t there;                    /* length of the part that exists on the host */
	bool scratch, fold;
};

static void apply_step(struct inquiry *inquiry, const struct qsb__step *step)
{
	struct qsb__verdict *out = inquiry->out;
	unsigned before = out->access;
	bool new_place = inquiry->scratch;

	inquiry->scratch = step->kind == QSB__STEP_TMPFS || step->kind == QSB__STEP_PROC || step->kind == QSB__STEP_DEV;
	new_place = new_place != inquiry->scratch;
	switch (step->kind) {
	case QSB__STEP_BIND_RW:
	case QSB__STEP_TMPFS:
		out->access = QSB__ACCESS_READ | QSB__ACCESS_WRITE;
		break;
	case QSB__STEP_DEV:
		/* Its shared memory is scratch space. */
		out->access = QSB__ACCESS_READ;
		if (qsb__path_inside(out->resolved, "/dev/shm", false))
			out->access |= QSB__ACCESS_WRITE;
		break;
	case QSB__STEP_BIND_RO:
	case QSB__STEP_PROC:
		out->access = QSB__ACCESS_READ;
		break;
	case QSB__STEP_MASK_FILE:
	case QSB__STEP_MASK_DIR:
		out->access = 0;
		break;
	case QSB__STEP_ROOT:
	case QSB__STEP_PIN:
	case QSB__STEP_LINK:
	case QSB__STEP_NAME_RULE:
	case QSB__STEP_NAME_GRANT:
		return;
	}
	inquiry->deepest = strlen(step->path);
	if (before & ~out->access || inquiry->scratch) {
		inquiry->decider = step;
		inquiry->denied = inquiry->deepest;
	}
	if (((before ^ out->access) & QSB__ACCESS_READ) || new_place)
		qsb__step_text(step, out->read_rule, sizeof(out->read_rule));
	if (((before ^ out->access) & QSB__ACCESS_WRITE) || new_place || !out->access ||
	    step->kind == QSB__STEP_BIND_RW)
		qsb__step_text(step, out->write_rule, sizeof(out->write_rule));
}

static void apply_name_rule(struct inquiry *inquiry, const struct qsb__step *step)
{
	struct qsb__verdict *out = inquiry->out;
	size_t length;

	if (!(out->access & step->denies))
		return;
	length = qsb__build_name_match(step, out->resolved, inquiry->fold);
	/* A mount at the match or below it is the more specific rule. */
	if (!length || inquiry->deepest >= length)
		return;
	out->access &= ~step->denies;
	inquiry->decider = step;
	inquiry->denied = length;
	if (step->denies & QSB__ACCESS_READ)
		qsb__step_text(step, out->read_rule, sizeof(out->read_rule));
	qsb__step_text(step, out->write_rule, sizeof(out->write_rule));
}

/* They come before the rules by name, which it overrules. */
static void apply_grant(struct inquiry *inquiry, const struct qsb__step *step)
{
	struct qsb__verdict *out = inquiry->out;

	if (!(out->access & QSB__ACCESS_WRITE) || !qsb__path_inside(out->resolved, step->path, inquiry->fold) ||
	    strlen(step->path) < inquiry->deepest)
		return;
	inquiry->deepest = strlen(step->path);
	qsb__step_text(step, out->write_rule, sizeof(out->write_rule));
}

/* Own files and kernel settings stay as they are, whatever is asked. */
static bool apply_held(struct inquiry *inquiry)
{
	struct qsb__verdict *out = inquiry->out;

	for (size_t i = 0; i < inquiry->plan->held_count; i++) {
		if (!qsb__path_inside(out->resolved, inquiry->plan->held[i].path, inquiry->fold))
			continue;
		if (out->access == QSB__ACCESS_READ)
			snprintf(out->write_rule, sizeof(out->write_rule), "%s", inquiry->plan->held[i].rule);
		return true;
	}
	return false;
}

/* What is to be named in an option would give the command a whole tree that holds its workspace: nobody wants that. */
static bool is_too_wide(const struct inquiry *inquiry, const char *path)
{
	return strcmp(path, "/") == 0 || (strcmp(path, inquiry->plan->workspace) != 0 &&
					  qsb__path_inside(inquiry->plan->workspace, path, inquiry->fold));
}

#define FIRST "make it first, then "

static void suggest_option(struct inquiry *inquiry, const char *option)
{
	struct qsb__verdict *out = inquiry->out;
	char path[QSB__PATH_MAX], text[sizeof(out->fix)];

	snprintf(path, sizeof(path), "%.*s", (int)(inquiry->there ? inquiry->there : 1), out->resolved);
	if (inquiry->there >= strlen(out->resolved) || !is_too_wide(inquiry, path)) {
		qsb__suggest_option(out->fix, sizeof(out->fix), option, path);
		return;
	}
	/* An option gives what exists. */
	if (qsb__suggest_option(text, sizeof(text) - sizeof(FIRST), option, out->resolved)) {
		memcpy(out->fix, FIRST, sizeof(FIRST) - 1);
		memcpy(out->fix + sizeof(FIRST) - 1, text, strlen(text) + 1);
	}
}

/* An option of the same path gives way to a denial of the caller's own; the built-in lists give way to the option,
 * where it names something that exists. */
static void suggest(struct inquiry *inquiry, bool held)
{
	struct qsb__verdict *out = inquiry->out;
	const struct qsb__step *decider = inquiry->decider;
	bool read = out->access & QSB__ACCESS_READ, builtin;

	out->fix[0] = '\0';
	if ((out->access & QSB__ACCESS_WRITE) || (held && read) || inquiry->scratch)
		return;
	builtin = !decider || strncmp(decider->rule, "built-in: ", 10) == 0;
	if (!builtin && inquiry->denied >= inquiry->there)
		snprintf(out->fix, sizeof(out->fix), "take it out of %.200s", decider->rule);
	else if (!decider || inquiry->denied <= inquiry->there)
		suggest_option(inquiry, read ? "--write" : "--read");
	else if (decider->kind == QSB__STEP_NAME_RULE) {
		/* Such a rule gives way to an entry for a name that is not there, too. */
		inquiry->there = inquiry->denied;
		suggest_option(inquiry, read ? "--write" : "--read");
	}
}

static void start(const struct qsb__plan *plan, struct qsb__verdict *out)
{
	bool empty = plan->step_count && plan->steps[0].kind == QSB__STEP_ROOT;

	out->access = empty ? 0 : QSB__ACCESS_READ;
	snprintf(out->read_rule, sizeof(out->read_rule), "default: %s may be read",
		 empty ? "only what is allowed by name" : "everything");
	snprintf(out->write_rule, sizeof(out->write_rule), "default: only what is allowed by name may be written");
}

void qsb__plan_verdict(const struct qsb__plan *plan, size_t there, struct qsb__verdict *out)
{
	struct inquiry inquiry = {.plan = plan, .out = out, .there = there, .fold = plan->fold_names};

	start(plan, out);
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];

		if (step->kind == QSB__STEP_NAME_RULE)
			apply_name_rule(&inquiry, step);
		else if (step->kind == QSB__STEP_NAME_GRANT)
			apply_grant(&inquiry, step);
		else if (qsb__path_inside(out->resolved, step->path, inquiry.fold))
			apply_step(&inquiry, step);
	}
	out->own = inquiry.scratch;
	suggest(&inquiry, apply_held(&inquiry));
}

void qsb__build_verdict(const struct qsb__plan *plan, bool fold, struct qsb__verdict *out)
{
	qsb__plan_verdict(plan, strlen(out->resolved), out);
}

/* Length of the part of the path that exists. */
static size_t length_there(const struct qsb__host *host, const char *path)
{
	char part[QSB__PATH_MAX];
	size_t length = strlen(path);

	memcpy(part, path, length + 1);
	while (length > 1 && host->ops->kind(host->context, part) == QSB__FILE_MISSING) {
		length = qsb__path_parent(part);
		part[length ? length : 1] = '\0';
	}
	return length ? length : 1;
}

int qsb__plan_explain_path(const struct qsb__plan *plan, const struct qsb__host *host, const char *path,
			   struct qsb__verdict *out, struct qsb_error *err)
{
	memset(out, 0, sizeof(*out));
	if (!qsb__path_is_absolute(path, plan->os == QSB__OS_WINDOWS))
		return qsb__fail(err, QSB_E_INVALID, "path", "%s is not an absolute path", path);
	if (strlen(path) >= sizeof(out->resolved))
		return qsb__fail(err, QSB_E_RANGE, "path", "the path is longer than %d bytes", QSB__PATH_MAX - 1);
	if (host->ops->resolve(host->context, path, out->resolved, sizeof(out->resolved)) < 0) {
		memcpy(out->resolved, path, strlen(path) + 1);
		qsb__path_fold_dots(out->resolved);
	}
	qsb__plan_verdict(plan, length_there(host, out->resolved), out);
	return 0;
}
