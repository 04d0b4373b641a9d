/* Live rules by name, compiled: what they deny, what overrules them, and what a rename would change. */
#include <stdlib.h>
#include <string.h>

#include "guard/names.h"
#include "tap.h"

enum { STEPS = 16 };

struct world {
	struct qsb__plan plan;
	struct qsb__step steps[STEPS];
	struct qsb__names *names;
};

static bool is_rule(const struct qsb__step *step)
{
	return step->kind == QSB__STEP_NAME_RULE && step->asked;
}

static struct qsb__step *add(struct world *world, enum qsb__step_kind kind, const char *path)
{
	struct qsb__step *step = &world->steps[world->plan.step_count++];

	memset(step, 0, sizeof(*step));
	step->kind = kind;
	step->path = strdup(path);
	step->rule = strdup("/filesystem/denyWrite/0");
	return step;
}

static void add_rule(struct world *world, const char *folder, const char *glob, unsigned denies)
{
	struct qsb__step *step = add(world, QSB__STEP_NAME_RULE, folder);

	step->text = strdup(glob);
	step->asked = true;
	step->denies = denies;
}

static void begin(struct world *world)
{
	memset(world, 0, sizeof(*world));
	world->plan.steps = world->steps;
}

static bool compile(struct world *world)
{
	struct qsb_error err;

	return tap_ok(qsb__names_new(&world->names, &world->plan, is_rule, &err) == 0, "the rules compile");
}

static void end(struct world *world)
{
	for (size_t i = 0; i < world->plan.step_count; i++) {
		free(world->steps[i].path);
		free(world->steps[i].text);
		free(world->steps[i].rule);
	}
	qsb__names_free(world->names);
}

static bool denies(const struct world *world, const char *path, unsigned access)
{
	struct qsb__name_state state;

	return qsb__names_judge(world->names, path, access, &state) != NULL;
}

static void is_denied(const struct world *world, const char *path, bool wanted)
{
	tap_ok(denies(world, path, QSB__ACCESS_WRITE) == wanted, "%s is %s", path, wanted ? "denied" : "not denied");
}

static void test_names(void)
{
	struct world world;

	begin(&world);
	add_rule(&world, "/w", "**/*.key", QSB__ACCESS_WRITE);
	add_rule(&world, "/w", "one/two", QSB__ACCESS_WRITE);
	add_rule(&world, "/w", "src/*/gen[0-9]/**", QSB__ACCESS_WRITE);
	add_rule(&world, "/w/all", "**", QSB__ACCESS_WRITE);
	add_rule(&world, "/w", "[*]star", QSB__ACCESS_WRITE);
	if (!compile(&world))
		return;
	is_denied(&world, "/w/a.key", true);
	is_denied(&world, "/w/x/y/a.key", true);
	is_denied(&world, "/w/x/a.key/below/it", true);
	is_denied(&world, "/w/x/a.keys", false);
	is_denied(&world, "/a.key", false);
	is_denied(&world, "/w", false);
	is_denied(&world, "/ww/a.key", false);
	is_denied(&world, "/w/one", false);
	is_denied(&world, "/w/one/two", true);
	is_denied(&world, "/w/one/two/three", true);
	is_denied(&world, "/w/x/one/two", false);
	is_denied(&world, "/w/src/a/gen1", true);
	is_denied(&world, "/w/src/a/gen1/x", true);
	is_denied(&world, "/w/src/a/b/gen1", false);
	is_denied(&world, "/w/all", false);
	is_denied(&world, "/w/all/x", true);
	is_denied(&world, "/w/*star", true);
	is_denied(&world, "/w/xstar", false);
	is_denied(&world, "/w/A.KEY", false);
	end(&world);
}

static void test_case(void)
{
	struct world world;

	begin(&world);
	world.plan.fold_names = true;
	add_rule(&world, "/w", "**/*.key", QSB__ACCESS_WRITE);
	add_rule(&world, "/w", "one/Two", QSB__ACCESS_WRITE);
	if (!compile(&world))
		return;
	is_denied(&world, "/W/A.KEY", true);
	is_denied(&world, "/w/ONE/two", true);
	end(&world);
}

static void test_mounts(void)
{
	struct world world;

	begin(&world);
	add(&world, QSB__STEP_BIND_RW, "/w");
	add(&world, QSB__STEP_BIND_RO, "/w/shown.key")->allows = QSB__ACCESS_READ;
	add(&world, QSB__STEP_BIND_RO, "/w/fenced.key");
	add(&world, QSB__STEP_BIND_RW, "/w/open.key");
	add(&world, QSB__STEP_MASK_FILE, "/w/hidden.key");
	add_rule(&world, "/w", "**/*.key", QSB__ACCESS_READ | QSB__ACCESS_WRITE);
	if (!compile(&world))
		return;
	is_denied(&world, "/w/a.key", true);
	is_denied(&world, "/w/open.key", false);
	is_denied(&world, "/w/open.key/x", false);
	is_denied(&world, "/w/open.key/deeper.key", true);
	is_denied(&world, "/w/hidden.key", true);
	is_denied(&world, "/w/shown.key", true);
	tap_ok(!denies(&world, "/w/shown.key", QSB__ACCESS_READ), "a read-only mount at a denied name may be read");
	tap_ok(denies(&world, "/w/a.key", QSB__ACCESS_READ), "another denied name may not");
	tap_ok(denies(&world, "/w/fenced.key", QSB__ACCESS_READ),
	       "nor one that only a denial of writing made read-only");
	end(&world);
	begin(&world);
	add(&world, QSB__STEP_BIND_RW, "/w");
	add_rule(&world, "/w", "**/*.key", QSB__ACCESS_WRITE);
	if (!compile(&world))
		return;
	tap_ok(!denies(&world, "/w/a.key", QSB__ACCESS_READ), "a rule about writing says nothing of reading");
	end(&world);
}

static void test_fences(void)
{
	struct world world;
	struct qsb__name_state state;

	begin(&world);
	add(&world, QSB__STEP_BIND_RW, "/w");
	add(&world, QSB__STEP_TMPFS, "/tmp");
	add(&world, QSB__STEP_BIND_RO, "/w/kept");
	add_rule(&world, "/w", "x", QSB__ACCESS_WRITE);
	if (!compile(&world))
		return;
	qsb__names_judge(world.names, "/w/a/b", QSB__ACCESS_WRITE, &state);
	tap_ok(state.writable && !state.scratch, "a writable folder of the host is told from the sandbox's own");
	qsb__names_judge(world.names, "/tmp/a", QSB__ACCESS_WRITE, &state);
	tap_ok(state.writable && state.scratch, "the sandbox's own folder is both");
	qsb__names_judge(world.names, "/home/a", QSB__ACCESS_WRITE, &state);
	tap_ok(!state.writable, "elsewhere nothing is writable");
	end(&world);
}

static void is_beginning(const struct world *world, const char *path, bool wanted)
{
	struct qsb__name_state state;

	qsb__names_judge(world->names, path, QSB__ACCESS_WRITE, &state);
	tap_ok(state.begins == wanted, "a denied path %s at %s", wanted ? "begins" : "does not begin", path);
}

static void test_beginnings(void)
{
	struct world world;

	begin(&world);
	add_rule(&world, "/w", ".github/workflows", QSB__ACCESS_WRITE);
	add_rule(&world, "/w", "**/.git/hooks", QSB__ACCESS_WRITE);
	add_rule(&world, "/w", "src/**/*.key", QSB__ACCESS_WRITE);
	add_rule(&world, "/w", "*/deep.txt", QSB__ACCESS_WRITE);
	if (!compile(&world))
		return;
	is_beginning(&world, "/w/.github", true);
	is_beginning(&world, "/w/x/.git", true);
	is_beginning(&world, "/w/src", true);
	is_beginning(&world, "/w/src/a", false);
	is_beginning(&world, "/w/any", false);
	is_beginning(&world, "/w/x/y", false);
	end(&world);
}

/* Does a folder that moves bring, or take away, names that are denied? */
static bool changes(const struct world *world, const char *from, const char *to)
{
	struct qsb__name_state before, after, difference;

	qsb__names_judge(world->names, from, QSB__ACCESS_WRITE, &before);
	qsb__names_judge(world->names, to, QSB__ACCESS_WRITE, &after);
	return qsb__names_difference(world->names, &after, &before, &difference) ||
	       qsb__names_difference(world->names, &before, &after, &difference);
}

static void test_differences(void)
{
	struct world world;
	struct qsb__name_state before, after;

	begin(&world);
	add_rule(&world, "/w", "**/*.key", QSB__ACCESS_WRITE);
	add_rule(&world, "/w", "**/.git/hooks", QSB__ACCESS_WRITE);
	add_rule(&world, "/w", "certs/live/private", QSB__ACCESS_WRITE);
	if (!compile(&world))
		return;
	tap_ok(!changes(&world, "/w/a", "/w/b/c"), "an ordinary move within the folder changes nothing");
	tap_ok(changes(&world, "/w/a", "/w/.git"), "a folder that becomes .git may bring hooks");
	tap_ok(changes(&world, "/w/a", "/w/certs"),
	       "a folder that becomes the start of a literal rule may bring its end");
	tap_ok(changes(&world, "/w/a", "/elsewhere"), "a folder that leaves takes its keys out of the rule");
	tap_ok(!changes(&world, "/elsewhere", "/other"), "outside, nothing is at stake");
	qsb__names_judge(world.names, "/w/a", QSB__ACCESS_WRITE, &before);
	qsb__names_judge(world.names, "/w/.git", QSB__ACCESS_WRITE, &after);
	qsb__names_difference(world.names, &after, &before, &after);
	qsb__names_enter(world.names, &after, "hooks", 5);
	tap_ok(qsb__names_denied(world.names, &after) != NULL, "the difference denies what would newly be denied");
	qsb__names_judge(world.names, "/w/.git", QSB__ACCESS_WRITE, &after);
	qsb__names_difference(world.names, &after, &before, &after);
	qsb__names_enter(world.names, &after, "a.key", 5);
	tap_ok(!qsb__names_denied(world.names, &after), "and not what was denied before");
	end(&world);
}

static void test_bounds(void)
{
	struct world world;
	struct qsb__names *names;
	struct qsb_error err;
	struct qsb__step *many = calloc(QSB__NAMES_PATTERNS + 1, sizeof(*many));
	char folder[] = "/w", rule[] = "r", deep[400] = "*";
	char(*globs)[16] = calloc(QSB__NAMES_PATTERNS + 1, sizeof(*globs));

	begin(&world);
	for (int i = 0; i < QSB__NAMES_PARTS; i++)
		strcat(deep, "/a");
	add_rule(&world, "/w", deep, QSB__ACCESS_WRITE);
	tap_ok(qsb__names_new(&names, &world.plan, is_rule, &err) == QSB_E_RANGE, "too many components are an error");
	world.names = NULL;
	end(&world);
	for (size_t i = 0; i <= QSB__NAMES_PATTERNS; i++) {
		snprintf(globs[i], sizeof(globs[i]), "*.x%zu", i);
		many[i] = (struct qsb__step){.kind = QSB__STEP_NAME_RULE,
					     .asked = true,
					     .path = folder,
					     .text = globs[i],
					     .rule = rule,
					     .denies = QSB__ACCESS_WRITE};
	}
	begin(&world);
	world.plan.steps = many;
	world.plan.step_count = QSB__NAMES_PATTERNS;
	tap_ok(qsb__names_new(&names, &world.plan, is_rule, &err) == 0, "as many patterns as fit");
	qsb__names_free(names);
	world.plan.step_count++;
	tap_ok(qsb__names_new(&names, &world.plan, is_rule, &err) == QSB_E_RANGE && !names, "one more is an error");
	free(globs);
	free(many);
}

static void test_many_names(void)
{
	enum { COUNT = 10000 };
	struct qsb__plan plan;
	struct qsb__step *steps = calloc(COUNT, sizeof(*steps));
	struct qsb__name_state state;
	struct qsb__names *names;
	struct qsb_error err;
	char folder[] = "/w", rule[] = "r", path[64];
	size_t found = 0;

	memset(&plan, 0, sizeof(plan));
	for (int i = 0; i < COUNT; i++) {
		char text[32];

		snprintf(text, sizeof(text), "d%d/f%d", i % 100, i);
		steps[i] = (struct qsb__step){.kind = QSB__STEP_NAME_RULE,
					      .asked = true,
					      .path = folder,
					      .text = strdup(text),
					      .rule = rule,
					      .denies = QSB__ACCESS_WRITE};
	}
	plan.steps = steps;
	plan.step_count = COUNT;
	tap_ok(qsb__names_new(&names, &plan, is_rule, &err) == 0, "ten thousand names that do not exist are held");
	for (int i = 0; i < COUNT; i++) {
		snprintf(path, sizeof(path), "/w/d%d/f%d", i % 100, i);
		found += qsb__names_judge(names, path, QSB__ACCESS_WRITE, &state) == &steps[i];
		snprintf(path, sizeof(path), "/w/d%d/f%dx", i % 100, i);
		found -= qsb__names_judge(names, path, QSB__ACCESS_WRITE, &state) != NULL;
	}
	tap_is_number((long long)found, COUNT, "each by its own rule, and no other name");
	qsb__names_free(names);
	for (int i = 0; i < COUNT; i++)
		free(steps[i].text);
	free(steps);
}

int main(void)
{
	test_names();
	test_case();
	test_mounts();
	test_fences();
	test_beginnings();
	test_differences();
	test_bounds();
	test_many_names();
	return tap_done();
}
