#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/glob.h"
#include "plan/build.h"

static void say_rule(char *out, size_t size, const struct qsb__step *step)
{
	snprintf(out, size, "%s%s%.150s%s", step->rule, step->reason ? " (" : "", step->reason ? step->reason : "",
	         step->reason ? ")" : "");
}

static void apply_step(struct qsb__verdict *out, const struct qsb__step *step)
{
	unsigned before = out->access;

	switch (step->kind) {
	case QSB__STEP_BIND_RO:
		out->access = QSB__ACCESS_READ;
		break;
	case QSB__STEP_BIND_RW:
	case QSB__STEP_TMPFS:
		out->access = QSB__ACCESS_READ | QSB__ACCESS_WRITE;
		break;
	case QSB__STEP_MASK_FILE:
	case QSB__STEP_MASK_DIR:
		out->access = 0;
		break;
	case QSB__STEP_PROC:
	case QSB__STEP_DEV:
		out->access = QSB__ACCESS_READ;
		break;
	case QSB__STEP_ROOT:
	case QSB__STEP_PIN:
	case QSB__STEP_LINK:
	case QSB__STEP_NAME_RULE:
		return;
	}
	if (((before ^ out->access) & QSB__ACCESS_READ) || step->kind == QSB__STEP_TMPFS)
		say_rule(out->read_rule, sizeof(out->read_rule), step);
	if (((before ^ out->access) & QSB__ACCESS_WRITE) || !out->access || step->kind == QSB__STEP_TMPFS)
		say_rule(out->write_rule, sizeof(out->write_rule), step);
}

/* Length of the part of `path` that a name rule speaks of: the match itself; what lies below it is meant too. 0 = none. */
static size_t match_length(const struct qsb__step *step, const char *path, bool fold)
{
	size_t above, length;
	char below[QSB__PATH_MAX];

	if (!qsb__path_inside(path, step->path, fold))
		return 0;
	snprintf(below, sizeof(below), "%s", qsb__path_below(path, step->path));
	above = strlen(path) - strlen(below);
	for (length = strlen(below); length; length = qsb__path_parent(below)) {
		below[length] = '\0';
		if (qsb__glob_match(step->text, below, fold))
			return above + length;
	}
	return 0;
}

static void suggest(struct qsb__verdict *out)
{
	/* Own files and kernel settings stay as they are, whatever is asked. */
	bool fixed = strstr(out->write_rule, "built-in: own files") || strstr(out->write_rule, "built-in: kernel settings");

	out->fix[0] = '\0';
	if (!(out->access & QSB__ACCESS_READ))
		snprintf(out->fix, sizeof(out->fix), "--read %.240s", out->resolved);
	else if (!(out->access & QSB__ACCESS_WRITE) && !fixed)
		snprintf(out->fix, sizeof(out->fix), "--write %.240s", out->resolved);
}

static void start(const struct qsb__plan *plan, struct qsb__verdict *out)
{
	bool empty = plan->step_count && plan->steps[0].kind == QSB__STEP_ROOT;

	out->access = empty ? 0 : QSB__ACCESS_READ;
	snprintf(out->read_rule, sizeof(out->read_rule), "default: %s may be read",
	         empty ? "only what is allowed by name" : "everything");
	snprintf(out->write_rule, sizeof(out->write_rule), "default: only what is allowed by name may be written");
}

void qsb__build_verdict(const struct qsb__plan *plan, bool fold, struct qsb__verdict *out)
{
	size_t deepest = 0;

	start(plan, out);
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];
		size_t length;

		if (step->kind != QSB__STEP_NAME_RULE) {
			if (step->kind != QSB__STEP_PIN && qsb__path_inside(out->resolved, step->path, fold)) {
				deepest = strlen(step->path);
				apply_step(out, step);
			}
			continue;
		}
		if (!(out->access & step->denies))
			continue;
		/* A mount at the match or below it is the more specific rule. */
		length = match_length(step, out->resolved, fold);
		if (!length || deepest >= length)
			continue;
		out->access &= ~step->denies;
		if (step->denies & QSB__ACCESS_READ)
			say_rule(out->read_rule, sizeof(out->read_rule), step);
		say_rule(out->write_rule, sizeof(out->write_rule), step);
	}
	suggest(out);
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
	qsb__build_verdict(plan, host->case_insensitive, out);
	return 0;
}
