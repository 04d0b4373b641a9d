/* Rules by name: the steps for files that need not exist, and what overrules the built-in ones. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/glob.h"
#include "plan/build.h"

int qsb__build_name_rule(struct qsb__build *build, const char *folder, const char *glob, const struct qsb__rule *rule,
			 unsigned denies)
{
	struct qsb__step *step;

	if (qsb__build_grow(&build->name_rules, build->name_rule_count, &build->name_rule_capacity, sizeof(*step)))
		return qsb__fail_memory(build->err, "plan");
	step = &build->name_rules[build->name_rule_count++];
	memset(step, 0, sizeof(*step));
	step->kind = QSB__STEP_NAME_RULE;
	step->is_dir = true;
	step->denies = denies;
	step->asked = rule->item != NULL;
	step->builtin = !step->asked;
	step->held = step->asked || build->plan->protect_new_names;
	step->project = rule->project;
	step->path = qsb__build_shared_text(build, folder);
	step->text = rule->glob ? rule->glob : qsb__arena_text(build->arena, glob);
	step->rule = qsb__build_shared_text(build, qsb__build_rule_text(build, rule));
	step->reason = qsb__build_shared_text(build, rule->reason);
	return 0;
}

/* Does a folder of packages lie between the folder where the rule begins to hold and the first `size` bytes? */
static bool in_packages(const char *below, size_t size)
{
	const char *const *const lists[] = {qsb__unscanned_folders, qsb__package_folders};

	for (const char *at = below; at < below + size;) {
		size_t length = strcspn(at, "/");

		if (at + length >= below + size)
			return false; /* the name itself */
		if (qsb__is_package_version(at, length))
			return true;
		for (size_t list = 0; list < sizeof(lists) / sizeof(lists[0]); list++)
			for (const char *const *name = lists[list]; *name; name++)
				if (strlen(*name) == length && memcmp(*name, at, length) == 0)
					return true;
		at += length + 1;
	}
	return false;
}

/* Where the part of the match that the pattern names begins: what stands for "**" comes before. */
static size_t begin_of_match(const struct qsb__step *step, const char *below)
{
	size_t parts = 0, length = strlen(below);

	for (const char *at = step->text + 3; at; at = strchr(at, '/'), at = at ? at + 1 : NULL)
		parts++;
	while (length && parts) {
		length--;
		while (length && below[length] != '/')
			length--;
		parts--;
	}
	return length ? length + 1 : 0;
}

/* A pattern with another "**" in it begins somewhere before; those are held in packages as well. */
static bool is_held_here(const struct qsb__step *step, const char *below)
{
	if (!step->project || strncmp(step->text, "**/", 3) != 0)
		return true;
	return !in_packages(below, begin_of_match(step, below) + 1);
}

size_t qsb__build_name_match(const struct qsb__step *step, const char *path, bool fold)
{
	size_t above, length;
	char below[QSB__PATH_MAX];

	if (!qsb__path_inside(path, step->path, fold))
		return 0;
	snprintf(below, sizeof(below), "%s", qsb__path_below(path, step->path));
	above = strlen(path) - strlen(below);
	for (length = strlen(below); length; length = qsb__path_parent(below)) {
		below[length] = '\0';
		if (qsb__glob_match(step->text, below, fold || step->builtin) && is_held_here(step, below))
			return above + length;
	}
	return 0;
}

bool qsb__build_needs_grant(const struct qsb__build *build, const char *path)
{
	bool needed = false;

	for (size_t i = 0; i < build->name_rule_count; i++) {
		const struct qsb__step *step = &build->name_rules[i];
		size_t length = qsb__build_name_match(step, path, build->fold);

		/* The caller's own denial of the very same path wins. */
		if (step->asked && length == strlen(path))
			return false;
		needed |= length > 0;
	}
	return needed;
}

int qsb__build_grant(struct qsb__build *build, const char *path, const struct qsb__rule *rule)
{
	struct qsb__step *step;

	if (qsb__build_grow(&build->grants, build->grant_count, &build->grant_capacity, sizeof(*step)))
		return qsb__fail_memory(build->err, "plan");
	step = &build->grants[build->grant_count++];
	memset(step, 0, sizeof(*step));
	step->kind = QSB__STEP_NAME_GRANT;
	step->allows = QSB__ACCESS_READ | QSB__ACCESS_WRITE;
	step->path = qsb__arena_text(build->arena, path);
	step->rule = qsb__build_shared_text(build, qsb__build_rule_text(build, rule));
	return 0;
}
