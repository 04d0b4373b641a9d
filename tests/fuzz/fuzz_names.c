/*
 * Compiled name rules against the glob matcher, one path at a time. Lines, by their first byte:
 *   w r b   a rule that keeps from writing, one that keeps from reading too, a built-in one for any depth: its glob
 *   f       the next rules' folder       g  a place that is given back
 *   a o     two folders                  s  what lies below them: is it denied there, and what would a rename change?
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/glob.h"
#include "guard/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS_MAX = 24, TEXT_MAX = 1200, NAME_BYTES = 255 };

static char built_in_folder[] = "/w";

struct world {
	struct qsb__step steps[STEPS_MAX];
	struct qsb__plan plan;
	char texts[STEPS_MAX][2][TEXT_MAX];
	char folder[TEXT_MAX], a[TEXT_MAX], other[TEXT_MAX], below[TEXT_MAX];
};

static void expect(bool holds)
{
	if (!holds)
		abort();
}

static bool is_rule(const struct qsb__step *step)
{
	return step->kind == QSB__STEP_NAME_RULE;
}

/* One slash between components and none at the end; `absolute`: one before them. False: a name that cannot exist. */
static bool tidy(char *to, const char *from, bool absolute)
{
	size_t length = 0;

	while (*(from += strspn(from, "/"))) {
		size_t part = strcspn(from, "/");

		if (part > NAME_BYTES || length + part + 2 > TEXT_MAX)
			return false;
		if (absolute || length)
			to[length++] = '/';
		memcpy(to + length, from, part);
		length += part;
		from += part;
	}
	to[length] = '\0';
	return true;
}

static void add(struct world *world, char kind, const char *text)
{
	size_t at = world->plan.step_count;
	struct qsb__step *step;
	char *path, *glob, why[200];

	if (at == STEPS_MAX)
		return;
	step = &world->steps[at];
	path = world->texts[at][0];
	glob = world->texts[at][1];
	*step = (struct qsb__step){
		.kind = kind == 'g' ? QSB__STEP_BIND_RW : QSB__STEP_NAME_RULE, .path = path, .text = glob};
	step->denies = kind == 'r' ? QSB__ACCESS_READ | QSB__ACCESS_WRITE : QSB__ACCESS_WRITE;
	step->builtin = kind == 'b';
	step->held = true;
	step->asked = kind != 'b';
	step->rule = world->texts[at][0];
	if (kind == 'g') {
		step->text = NULL;
		if (!tidy(path, text, true) || !*path)
			return;
	} else {
		/* The built-in lists begin with a plain name. */
		memcpy(path, world->folder, sizeof(world->folder));
		if (kind == 'b') {
			step->path = built_in_folder;
			memcpy(glob, "**/", 3);
		}
		if (!tidy(kind == 'b' ? glob + 3 : glob, text, false) || !glob[kind == 'b' ? 3 : 0] ||
		    (kind == 'b' && strcspn(glob + 3, "*?[") < strcspn(glob + 3, "/")) || strlen(glob) + 4 > TEXT_MAX ||
		    qsb__glob_check(glob, why, sizeof(why)) != 0)
			return;
	}
	world->plan.step_count++;
}

static void read_line(struct world *world, const char *line)
{
	char text[TEXT_MAX];

	switch (*line) {
	case 'w':
	case 'r':
	case 'b':
	case 'g':
		add(world, *line, line + 1);
		break;
	case 'f':
		if (tidy(text, line + 1, true))
			memcpy(world->folder, text, sizeof(text));
		break;
	case 'a':
	case 'o':
		if (tidy(text, line + 1, true))
			memcpy(*line == 'a' ? world->a : world->other, text, sizeof(text));
		break;
	case 's':
		if (tidy(text, line + 1, true))
			memcpy(world->below, text, sizeof(text));
		break;
	default:
		break;
	}
}

/* What a rule says of exactly this path: by the glob matcher, without what the guard has compiled. */
static bool names_it(const struct qsb__step *step, const char *path)
{
	size_t folder = strlen(step->path), length;
	char glob[TEXT_MAX];

	if (strncmp(path, step->path, folder) != 0 || path[folder] != '/')
		return false;
	memcpy(glob, step->text, sizeof(glob));
	/* A denied folder covers all below it, so any depth below a pattern is the pattern itself; below a plain path,
	 * or alone, it is everything in that folder. */
	length = strlen(glob);
	while (length >= 3 && memcmp(glob + length - 3, "/**", 3) == 0)
		glob[length -= 3] = '\0';
	if (strcmp(glob, "**") == 0)
		glob[1] = '\0';
	else if (step->text[length] && !step->builtin && !qsb__glob_is_pattern(glob))
		memcpy(glob + length, "/*", 3);
	return qsb__glob_match(glob, path + folder + 1, step->builtin);
}

static bool is_denied(const struct world *world, const char *path, unsigned access)
{
	char upto[3 * TEXT_MAX];
	bool denied = false;

	for (size_t end = 1; end <= strlen(path); end++) {
		if (path[end] != '/' && path[end] != '\0')
			continue;
		memcpy(upto, path, end);
		upto[end] = '\0';
		for (size_t i = 0; i < world->plan.step_count; i++)
			if (is_rule(&world->steps[i]) && (world->steps[i].denies & access))
				denied |= names_it(&world->steps[i], upto);
		for (size_t i = 0; i < world->plan.step_count; i++)
			if (!is_rule(&world->steps[i]) && strcmp(world->steps[i].path, upto) == 0)
				denied = false;
	}
	return denied;
}

static void walk(const struct qsb__names *names, struct qsb__name_state *state, const char *path, bool *denied)
{
	while (*(path += strspn(path, "/"))) {
		size_t length = strcspn(path, "/");

		qsb__names_enter(names, state, path, length);
		*denied |= qsb__names_denied(names, state) != NULL;
		path += length;
	}
}

static bool denies(const struct qsb__names *names, const char *path, unsigned access, struct qsb__name_state *state)
{
	return qsb__names_judge(names, path, access, state) != NULL;
}

/* A rename from `other` to `a` changes what is denied below: the difference of the two finds it, however deep. */
static void check_difference(const struct world *world, const struct qsb__names *names)
{
	struct qsb__name_state there, here, rest, below;
	char path[3 * TEXT_MAX], also[3 * TEXT_MAX];
	bool found = false;

	if (!*world->a || !*world->other || !*world->below)
		return;
	strcat(strcpy(path, world->a), world->below);
	strcat(strcpy(also, world->other), world->below);
	if (denies(names, world->a, QSB__ACCESS_WRITE, &there) ||
	    denies(names, world->other, QSB__ACCESS_WRITE, &here) || !denies(names, path, QSB__ACCESS_WRITE, &below) ||
	    denies(names, also, QSB__ACCESS_WRITE, &below))
		return;
	expect(qsb__names_difference(names, &there, &here, &rest));
	walk(names, &rest, world->below, &found);
	expect(found || rest.full);
}

static void check_path(const struct world *world, const struct qsb__names *names, const char *path)
{
	for (unsigned access = QSB__ACCESS_READ; access <= QSB__ACCESS_WRITE; access <<= 1) {
		struct qsb__name_state state;
		bool got, wanted;

		if (!*path || (access != QSB__ACCESS_READ && access != QSB__ACCESS_WRITE))
			continue;
		got = denies(names, path, access, &state);
		wanted = is_denied(world, path, access);
		expect(got == wanted || (got && state.full));
	}
}

static void check(const struct world *world)
{
	char path[3 * TEXT_MAX];
	struct qsb__names *names;
	struct qsb_error err;

	if (qsb__names_new(&names, &world->plan, is_rule, &err) != 0)
		return;
	check_path(world, names, world->a);
	check_path(world, names, world->other);
	strcat(strcpy(path, world->a), world->below);
	check_path(world, names, path);
	check_difference(world, names);
	qsb__names_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *world = calloc(1, sizeof(*world));
	char *text = malloc(size + 1), *rest = text;

	expect(world && text);
	memcpy(text, data, size);
	text[size] = '\0';
	world->plan.steps = world->steps;
	for (char *line; (line = strsep(&rest, "\n"));)
		read_line(world, line);
	check(world);
	free(text);
	free(world);
	return 0;
}
