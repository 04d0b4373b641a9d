/*
 * Compiled name rules against a slow reading of what they mean: thousands of random rules, paths and renames. The
 * reference tries every rule on every beginning of a path, by qsb__glob_match and text alone.
 */
#include <stdlib.h>
#include <string.h>

#include "core/glob.h"
#include "core/path.h"
#include "guard/names.h"
#include "plan/builtin.h"
#include "tap.h"

enum { MOST_STEPS = 40, PATH = 400, WORLDS = 200, PATHS = 100, RENAMES = 100 };

struct world {
	struct qsb__plan plan;
	struct qsb__step steps[MOST_STEPS];
	char texts[MOST_STEPS][PATH], paths[MOST_STEPS][PATH];
	struct qsb__names *names;
};

static unsigned long long seed = 1;

static unsigned pick(unsigned count)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % count;
}

static const char *const words[] = {
	"a",      "b",    ".git",   "hooks",        "config", ".vscode", "x.key", "modules", ".GIT",
	"Hooks",  "info", ".envrc", "node_modules", "vendor", "m@v1",    "w",     "A",       "Node_modules",
	".cargo", "z.c",  "secret", "attributes",   ".npmrc", "y.key",   "ab"};
static const char *const wild[] = {"*", "**", "**", "*.key", "[ab]", "?", ".g*", "*o*"};
static const char *const protected_texts[][2] = {{"**/.git/hooks", ""},
						 {"**/.git/config", ""},
						 {"**/.git/modules/**/config", ""},
						 {"**/.envrc", ""},
						 {"**/.vscode", "p"},
						 {"**/.npmrc", "p"},
						 {"**/.cargo/config", "p"},
						 {"**/.git/info/attributes", ""}};

static void add_words(char *path, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		size_t length = strlen(path);

		snprintf(path + length, PATH - length, "/%s", words[pick(sizeof(words) / sizeof(words[0]))]);
	}
}

static void make_path(char *path, unsigned deepest)
{
	path[0] = '\0';
	if (pick(4))
		strcpy(path, pick(2) ? "/w" : "/w/a");
	add_words(path, 1 + pick(deepest));
}

static struct qsb__step *add(struct world *world, enum qsb__step_kind kind, const char *path)
{
	size_t at = world->plan.step_count++;
	struct qsb__step *step = &world->steps[at];

	memset(step, 0, sizeof(*step));
	strcpy(world->paths[at], path);
	step->kind = kind;
	step->path = world->paths[at];
	step->rule = world->texts[MOST_STEPS - 1];
	step->denies = QSB__ACCESS_WRITE;
	return step;
}

static void add_asked(struct world *world, const char *folder)
{
	struct qsb__step *step = add(world, QSB__STEP_NAME_RULE, folder);
	char *text = world->texts[world->plan.step_count - 1];
	unsigned parts = 1 + pick(4);

	text[0] = '\0';
	for (unsigned i = 0; i < parts; i++) {
		const char *part = pick(3) ? words[pick(sizeof(words) / sizeof(words[0]))]
					   : wild[pick(sizeof(wild) / sizeof(wild[0]))];

		strcat(strcat(text, i ? "/" : ""), part);
	}
	step->text = text;
	step->held = step->asked = true;
	step->denies |= pick(3) ? 0 : QSB__ACCESS_READ;
}

/* As the plan has them: each root with the same texts, and a missing path of a list. */
static void add_builtin(struct world *world, const char *folder)
{
	for (size_t i = 0; i < sizeof(protected_texts) / sizeof(protected_texts[0]); i++) {
		struct qsb__step *step = add(world, QSB__STEP_NAME_RULE, folder);

		step->text = (char *)(uintptr_t)protected_texts[i][0];
		step->held = step->builtin = true;
		step->project = protected_texts[i][1][0] != '\0';
		if (i)
			step->path = step[-1].path;
	}
	if (pick(2)) {
		struct qsb__step *step = add(world, QSB__STEP_NAME_RULE, folder);

		step->text = strcpy(world->texts[world->plan.step_count - 1], "b/secret");
		step->held = step->builtin = true;
	}
}

static bool is_held(const struct qsb__step *step)
{
	return step->held;
}

static bool make_world(struct world *world)
{
	static const enum qsb__step_kind mounts[] = {QSB__STEP_BIND_RW, QSB__STEP_BIND_RO, QSB__STEP_NAME_GRANT,
						     QSB__STEP_TMPFS};
	char path[PATH];
	struct qsb_error err;

	memset(world, 0, sizeof(*world));
	world->plan.steps = world->steps;
	add(world, QSB__STEP_BIND_RW, "/w");
	for (unsigned i = pick(4); i > 0; i--) {
		struct qsb__step *step;

		make_path(path, 3);
		step = add(world, mounts[pick(4)], path);
		step->allows = pick(2) ? QSB__ACCESS_READ : 0;
	}
	if (pick(4))
		add_builtin(world, "/w");
	if (pick(3) == 0)
		add_builtin(world, "/b");
	for (unsigned i = pick(8); i > 0; i--)
		add_asked(world, pick(3) ? "/w" : pick(2) ? "/w/a" : "/");
	return qsb__names_new(&world->names, &world->plan, is_held, &err) == 0;
}

/* -- The reference ------------------------------------------------------------------------------------------------- */

static bool is_in(const char *name, size_t length, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == length && memcmp(*list, name, length) == 0)
			return true;
	return false;
}

static bool is_package(const char *name, size_t length)
{
	const char *version = memchr(name, '@', length);

	return is_in(name, length, qsb__unscanned_folders) || is_in(name, length, qsb__package_folders) ||
	       (version && version > name && version[1] == 'v' && version[2] >= '0' && version[2] <= '9');
}

/* Does the pattern match the whole of `below`? For built-in ones "**" is tried by hand, for packages on its way. */
static bool matches(const struct qsb__step *step, const char *text, const char *below)
{
	if (!step->project)
		return *below && qsb__glob_match(text, below, step->builtin);
	for (const char *at = below;;) {
		size_t length = strcspn(at, "/");

		if (qsb__glob_match(text + 3, at, true))
			return true;
		if (is_package(at, length) || !at[length])
			return false;
		at += length + 1;
	}
}

/* A denied name covers all below it, until a mount gives something back: stars for any depth at the end say nothing,
 * but for a folder of that very name, where they mean what lies in it. */
static void trim(char *text)
{
	bool trimmed = strcmp(text, "**") == 0;
	char *last;

	while ((last = strrchr(text, '/')) && strcmp(last, "/**") == 0) {
		*last = '\0';
		trimmed = true;
	}
	if (strcmp(text, "**") == 0)
		strcpy(text, "*");
	else if (trimmed && !qsb__glob_is_pattern(text))
		strcat(text, "/*");
}

static bool rule_denies(const struct qsb__step *step, const char *path, unsigned access)
{
	char text[PATH];

	if (step->kind != QSB__STEP_NAME_RULE || !(step->denies & access) || !qsb__path_inside(path, step->path, false))
		return false;
	trim(strcpy(text, step->text));
	return matches(step, text, qsb__path_below(path, step->path));
}

static unsigned gives(const struct qsb__step *step)
{
	return step->kind == QSB__STEP_NAME_RULE ? 0
	       : step->kind == QSB__STEP_BIND_RO ? step->allows & QSB__ACCESS_READ
						 : QSB__ACCESS_READ | QSB__ACCESS_WRITE;
}

/* By a rule that matches a beginning of the path, and no mount or grant between there and the path. */
static bool denies(const struct world *world, const char *path, unsigned access)
{
	char part[PATH];
	bool denied = false;

	for (const char *at = path; *at;) {
		at += 1 + strcspn(at + 1, "/");
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		for (size_t i = 0; i < world->plan.step_count; i++)
			denied |= rule_denies(&world->steps[i], part, access);
		for (size_t i = 0; i < world->plan.step_count; i++)
			if (strcmp(world->steps[i].path, part) == 0 && (gives(&world->steps[i]) & access))
				denied = false;
	}
	return denied;
}

static bool only_any_depth(const char *text)
{
	for (; *text; text += strcspn(text, "/"), text += *text == '/')
		if (strcspn(text, "/") != 2 || memcmp(text, "**", 2) != 0)
			return false;
	return true;
}

/* Is there a denied path that goes on from here by name: a part of a pattern that ends in a name, or a rule's folder?
 */
static bool rule_begins(const struct qsb__step *step, const char *path)
{
	const char *text = step->text, *rest;
	char folder[PATH], head[PATH];

	if (step->kind != QSB__STEP_NAME_RULE)
		return false;
	snprintf(folder, sizeof(folder), "%s%s%.*s", strcmp(step->path, "/") == 0 ? "" : step->path, "/",
		 step->builtin ? 0 : (int)qsb__glob_literal_prefix(text), text);
	if (folder[strlen(folder) - 1] == '/')
		folder[strlen(folder) - 1] = '\0';
	if (qsb__path_inside(folder, path, false))
		return true;
	if (!qsb__path_inside(path, step->path, false))
		return false;
	for (rest = strchr(text, '/'); rest; rest = strchr(rest + 1, '/')) {
		const char *last;

		snprintf(head, sizeof(head), "%.*s", (int)(rest - text), text);
		last = strrchr(head, '/') ? strrchr(head, '/') + 1 : head;
		if (last[strspn(last, "*")] && !only_any_depth(rest + 1) &&
		    matches(step, head, qsb__path_below(path, step->path)))
			return true;
	}
	return false;
}

/* -- The comparison ------------------------------------------------------------------------------------------------ */

static unsigned failed;

static void differs(const struct world *world, const char *what, const char *path, const char *other)
{
	if (failed++ > 5)
		return;
	printf("# %s: %s %s\n", what, path, other);
	for (size_t i = 0; i < world->plan.step_count; i++)
		printf("#   step %d %s %s denies %u%s\n", (int)world->steps[i].kind, world->steps[i].path,
		       world->steps[i].text ? world->steps[i].text : "", world->steps[i].denies,
		       world->steps[i].builtin ? " builtin" : "");
}

static void compare_paths(const struct world *world)
{
	for (int i = 0; i < PATHS; i++) {
		unsigned access = pick(3) ? QSB__ACCESS_WRITE : QSB__ACCESS_READ;
		struct qsb__name_state state;
		char path[PATH];
		bool denied, begins = false;

		make_path(path, 6);
		denied = qsb__names_judge(world->names, path, access, &state) != NULL;
		if (denied != denies(world, path, access))
			differs(world, denied ? "denied, and should not be" : "not denied, and should be", path, "");
		for (size_t k = 0; k < world->plan.step_count; k++)
			begins |= rule_begins(&world->steps[k], path);
		if (access == QSB__ACCESS_WRITE && state.begins != begins)
			differs(world, begins ? "begins nothing, and should" : "begins something", path, "");
	}
}

static void compare_renames(const struct world *world)
{
	for (int i = 0; i < RENAMES; i++) {
		struct qsb__name_state before, after, difference;
		char from[PATH], to[PATH], below[PATH] = "", old[2 * PATH], new[2 * PATH];
		bool any, now, then, found;

		make_path(from, 4);
		make_path(to, 4);
		add_words(below, 1 + pick(4));
		snprintf(old, sizeof(old), "%s%s", from, below);
		snprintf(new, sizeof(new), "%s%s", to, below);
		if (strlen(old) >= PATH || strlen(new) >= PATH ||
		    qsb__names_judge(world->names, from, QSB__ACCESS_WRITE, &before) ||
		    qsb__names_judge(world->names, to, QSB__ACCESS_WRITE, &after))
			continue;
		any = qsb__names_difference(world->names, &after, &before, &difference);
		for (const char *at = below; *at; at += strcspn(at, "/")) {
			at += strspn(at, "/");
			qsb__names_enter(world->names, &difference, at, strcspn(at, "/"));
		}
		found = any && qsb__names_denied(world->names, &difference);
		now = denies(world, new, QSB__ACCESS_WRITE);
		then = denies(world, old, QSB__ACCESS_WRITE);
		if (now && !then && !found)
			differs(world, "a rename brings a denied name unseen", old, new);
		if (found && !now)
			differs(world, "a rename is refused for what is not denied", old, new);
	}
}

int main(void)
{
	unsigned denied = 0, worlds = 0;
	const char *text = getenv("QSB_TEST_SEED");

	seed = text ? strtoull(text, NULL, 10) : 20;
	for (int i = 0; i < WORLDS; i++) {
		struct world world;
		char path[PATH];

		if (!make_world(&world))
			break;
		worlds++;
		compare_paths(&world);
		compare_renames(&world);
		make_path(path, 6);
		denied += denies(&world, path, QSB__ACCESS_WRITE);
		qsb__names_free(world.names);
	}
	tap_is_number(worlds, WORLDS, "all worlds compile");
	tap_ok(denied > WORLDS / 10 && denied < WORLDS * 9 / 10, "both kinds of paths are met (%u of %d)", denied,
	       WORLDS);
	tap_is_number(failed, 0, "rules, beginnings and renames are what the slow reading says");
	return tap_done();
}
