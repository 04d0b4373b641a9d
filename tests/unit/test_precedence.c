/* Random policies on random trees: what the plan's steps say of each path must be what the one rule says. */
#include <stdlib.h>

#include "core/policy_load.h"
#include "plan/plan.h"

#include "../golden/made_host.h"
#include "tap.h"

enum { ROUNDS = 3000, MOST_RULES = 8 };

static const char *const folders[] = {"/w",     "/w/a", "/w/a/b", "/w/a/b/c", "/w/a/d", "/w/e",
				      "/w/e/f", "/x",   "/x/g",   "/x/g/h",   "/x/i"};
enum { FOLDERS = sizeof(folders) / sizeof(folders[0]) };

enum { ALLOW_READ, ALLOW_WRITE, DENY_READ, DENY_WRITE };

struct entry {
	int list;
	const char *path;
};

static uint64_t seed = 20240607;

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(seed >> 33) % below;
}

static bool holds(const char *folder, const char *path)
{
	size_t length = strlen(folder);

	if (strcmp(folder, "/") == 0)
		return true;
	return strncmp(folder, path, length) == 0 && (!path[length] || path[length] == '/');
}

/* The longest entry that speaks of the bit decides, a denial before an allowance. Writing includes reading, and what is
 * not to be read is not to be written. */
static unsigned expected(const struct entry *entries, size_t count, const char *path)
{
	unsigned access = 0;

	for (unsigned bit = 0; bit < 2; bit++) {
		size_t best = 0;
		bool allowed = false;

		for (size_t i = 0; i < count; i++) {
			size_t length = strlen(entries[i].path);
			bool deny = entries[i].list == DENY_READ || (bit == 1 && entries[i].list == DENY_WRITE);
			bool allow = entries[i].list == ALLOW_WRITE || (bit == 0 && entries[i].list == ALLOW_READ);

			if (!holds(entries[i].path, path) || (!deny && !allow) || length < best)
				continue;
			if (length == best && !deny)
				continue;
			allowed = allow;
			best = length;
		}
		access |= allowed ? 1U << bit : 0;
	}
	return access & QSB__ACCESS_READ ? access : 0;
}

static void fill(struct qsb_policy *policy, const struct entry *entries, size_t count)
{
	struct qsb__list *lists[] = {&policy->filesystem.allow_read, &policy->filesystem.allow_write,
				     &policy->filesystem.deny_read, &policy->filesystem.deny_write};

	for (int i = 0; i < 4; i++)
		qsb__list_clear(lists[i]);
	for (size_t i = 0; i < count; i++)
		qsb__list_add(lists[entries[i].list], entries[i].path, QSB__LAYER_USER, (unsigned)i);
	policy->filesystem.protect_names = false;
	policy->filesystem.tmp = QSB__TMP_HOST;
}

static void show(const struct entry *entries, size_t count)
{
	static const char *const names[] = {"allowRead", "allowWrite", "denyRead", "denyWrite"};

	for (size_t i = 0; i < count; i++)
		printf("#   %s %s\n", names[entries[i].list], entries[i].path);
}

static size_t check(const struct qsb__plan *plan, const struct qsb__host *host, const struct entry *entries,
		    size_t count)
{
	size_t wrong = 0;

	for (size_t i = 0; i < FOLDERS; i++) {
		unsigned wanted = expected(entries, count, folders[i]);
		struct qsb__verdict verdict;

		if (qsb__plan_explain_path(plan, host, folders[i], &verdict, NULL) == 0 && verdict.access == wanted)
			continue;
		printf("# %s: got %u, expected %u\n", folders[i], verdict.access, wanted);
		show(entries, count);
		wrong++;
	}
	return wrong;
}

/* A parent before its children, and no step that says again what holds already. */
static size_t check_order(const struct qsb__plan *plan)
{
	size_t wrong = 0;

	for (size_t i = 0; i < plan->step_count && plan->steps[i].kind != QSB__STEP_NAME_RULE; i++)
		for (size_t k = i + 1; k < plan->step_count && plan->steps[k].kind != QSB__STEP_NAME_RULE; k++)
			wrong += holds(plan->steps[k].path, plan->steps[i].path);
	return wrong;
}

static void run(const struct qsb__host *host)
{
	size_t wrong = 0, disordered = 0, refused = 0;

	for (int round = 0; round < ROUNDS && wrong < 5; round++) {
		struct entry entries[MOST_RULES + 1] = {{draw(4) ? ALLOW_READ : ALLOW_WRITE, "/"}};
		size_t count = draw(MOST_RULES) + 1;
		struct qsb_policy *policy = NULL;
		struct qsb__plan *plan = NULL;
		struct qsb_error err = {0};

		if (draw(5) == 0)
			entries[0].path = "/w";
		for (size_t i = 1; i < count; i++)
			entries[i] = (struct entry){(int)draw(4), folders[draw(FOLDERS)]};
		if (qsb__policy_new(&policy, QSB__PRESET_WORKSPACE, &err))
			break;
		fill(policy, entries, count);
		if (qsb__plan_new(&plan, policy, host, NULL, &err) == 0) {
			wrong += check(plan, host, entries, count);
			disordered += check_order(plan);
		} else if (err.code == QSB_E_DENIED && !expected(entries, count, "/w")) {
			refused++;
		} else {
			printf("# %s: %s\n", err.where, err.message);
			show(entries, count);
			wrong++;
		}
		qsb__plan_free(plan);
		qsb__policy_free(policy);
	}
	tap_is_number((long long)wrong, 0,
		      "every path of every plan has the access that the most specific entry gives it");
	tap_is_number((long long)disordered, 0, "every step comes before those inside it");
	tap_ok(refused > 10 && refused < ROUNDS / 2, "a workspace that may not be read is refused (%zu of %d plans)",
	       refused, ROUNDS);
}

int main(void)
{
	struct qsb__host host;
	json_t *json = json_pack("{s:s, s:s, s:s, s:{}}", "os", "linux", "home", "/home/a", "cwd", "/w", "tree");

	for (size_t i = 0; i < FOLDERS; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/", folders[i]);
		json_object_set_new(json_object_get(json, "tree"), path, json_string(""));
	}
	if (tap_ok(made_host_init(&host, json), "the made-up machine is complete")) {
		run(&host);
		made_host_clear(&host);
	}
	json_decref(json);
	return tap_done();
}
