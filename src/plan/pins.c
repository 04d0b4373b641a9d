/* Which folders are pinned against renaming, and which of many entries get no mount of their own. */
#include <string.h>

#include "core/glob.h"
#include "plan/build.h"

enum { FENCED_ENTRIES = 64 };

/* Pins for what stands between a writable root and a path that is denied in it: whoever can rename such a folder could
 * build another tree in its place. */
static int pin_one(struct qsb__build *build, const struct qsb__rule *rule, const char *root)
{
	size_t length = strlen(rule->path), stop = strlen(root);
	char folder[QSB__PATH_MAX];

	memcpy(folder, rule->path, length + 1);
	while ((length = qsb__path_parent(folder)) > stop && length > 1) {
		struct qsb__rule pin = *rule;

		folder[length] = '\0';
		if (strcmp(folder, build->last_pin) == 0)
			return 0; /* and so the folders above it */
		if (rule->file == QSB__FILE_MISSING &&
		    build->host->ops->kind(build->host->context, folder) != QSB__FILE_DIR)
			continue;
		pin.path = qsb__arena_text(build->arena, folder);
		pin.allow = pin.deny = 0;
		pin.pin = true;
		pin.hard = pin.pin_all = false;
		pin.file = QSB__FILE_DIR;
		if (qsb__build_add(build, &pin))
			return QSB_E_MEMORY;
	}
	length = qsb__path_parent(rule->path);
	memcpy(build->last_pin, rule->path, length);
	build->last_pin[length] = '\0';
	return 0;
}

/*
 * Where the back end holds names live (Linux), the first entries of the caller's get mounts as a second fence and the
 * others are left to their name rules, so that the start costs the same however many there are. A name that reads as
 * a pattern stays a mount: there is room for a few patterns only.
 */
static bool is_beyond_fence(const struct qsb__build *build, const struct qsb__rule *rule, size_t fenced[2])
{
	/* Counted apart: a mask holds more of a denied reading than the live rule does. */
	size_t *count = &fenced[(rule->deny & QSB__ACCESS_READ) != 0];

	if (build->host->os != QSB__OS_LINUX || !rule->item || !rule->deny || rule->allow || rule->pin || rule->quiet ||
	    rule->special != QSB__STEP_BIND_RO || rule->file == QSB__FILE_MISSING || rule->file == QSB__FILE_LINK)
		return false;
	return ++*count > FENCED_ENTRIES && !qsb__glob_is_pattern(rule->path);
}

static int report_unfenced(struct qsb__build *build, const struct qsb__rule *rule)
{
	return qsb__build_gap(build,
			      "program files among the many denied ones, beyond the first few, can be run (not read)",
			      qsb__build_rule_text(build, rule), false);
}

int qsb__build_pins(struct qsb__build *build)
{
	const char *root = NULL; /* the outermost: one inside it is no mount of its own, and could be renamed */
	size_t count = build->rules.count, fenced[2] = {0};
	bool reported = false;

	for (size_t i = 0; i < count; i++) {
		struct qsb__rule rule = build->rules.items[i]; /* a copy: adding moves the array */

		if (is_beyond_fence(build, &rule, fenced)) {
			build->rules.items[i].by_name = true;
			if ((rule.deny & QSB__ACCESS_READ) && !reported && report_unfenced(build, &rule))
				return QSB_E_MEMORY;
			reported = reported || (rule.deny & QSB__ACCESS_READ);
			continue;
		}
		if (root && !qsb__path_inside(rule.path, root, build->fold))
			root = NULL;
		if (root && rule.pin_all && rule.deny && pin_one(build, &rule, root))
			return QSB_E_MEMORY;
		if (!root && (rule.allow & QSB__ACCESS_WRITE))
			root = rule.path;
	}
	if (build->rules.count > count)
		qsb__build_sort(&build->rules, build->fold);
	return 0;
}
