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

/* A name rule speaks of the path itself and of what lies below it. */
static bool name_rule_holds(const struct qsb__step *step, const char *path, bool fold)
{
	char below[QSB__PATH_MAX];
	size_t length;

	if (!qsb__path_inside(path, step->path, fold))
		return false;
	snprintf(below, sizeof(below), "%s", qsb__path_below(path, step->path));
	while ((length = strlen(below))) {
		char *slash;

		if (qsb__glob_match(step->text, below, fold))
			return true;
		slash = strrchr(below, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return false;
}

static void suggest(struct qsb__verdict *out)
{
	if (!(out->access & QSB__ACCESS_READ))
		snprintf(out->fix, sizeof(out->fix), "--read %.240s", out->resolved);
	else if (!(out->access & QSB__ACCESS_WRITE) && !strstr(out->write_rule, "own files") &&
	         !strstr(out->write_rule, "kernel settings"))
		snprintf(out->fix, sizeof(out->fix), "--write %.240s", out->resolved);
}

int qsb__plan_explain_path(const struct qsb__plan *plan, const struct qsb__host *host, const char *path,
                           struct qsb__verdict *out, struct qsb_error *err)
{
	size_t deepest = 0;

	memset(out, 0, sizeof(*out));
	if (!qsb__path_is_absolute(path, plan->os == QSB__OS_WINDOWS))
		return qsb__fail(err, QSB_E_INVALID, "path", "%s is not an absolute path", path);
	if (host->ops->resolve(host->context, path, out->resolved, sizeof(out->resolved)) < 0) {
		if (strlen(path) >= sizeof(out->resolved))
			return qsb__fail(err, QSB_E_RANGE, "path", "the path is longer than %d bytes", QSB__PATH_MAX - 1);
		memcpy(out->resolved, path, strlen(path) + 1);
		qsb__path_fold_dots(out->resolved);
	}
	out->access = QSB__ACCESS_READ;
	snprintf(out->read_rule, sizeof(out->read_rule), "default: everything may be read");
	snprintf(out->write_rule, sizeof(out->write_rule), "default: only what is allowed by name may be written");
	if (plan->step_count && plan->steps[0].kind == QSB__STEP_ROOT) {
		out->access = 0;
		snprintf(out->read_rule, sizeof(out->read_rule), "default: only what is allowed by name may be read");
	}
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];

		if (step->kind == QSB__STEP_NAME_RULE) {
			if (!(out->access & step->denies) || !name_rule_holds(step, out->resolved, host->case_insensitive))
				continue;
			out->access &= ~step->denies;
			if (step->denies & QSB__ACCESS_READ)
				say_rule(out->read_rule, sizeof(out->read_rule), step);
			say_rule(out->write_rule, sizeof(out->write_rule), step);
		} else if (qsb__path_inside(out->resolved, step->path, host->case_insensitive)) {
			deepest = i;
			apply_step(out, step);
		}
	}
	(void)deepest;
	suggest(out);
	return 0;
}
