#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/glob.h"
#include "plan/build.h"

/* What holds at and below one path, until a deeper one changes it. */
struct frame {
	const char *path;
	const char *anchor; /* the nearest folder at or above with a step of its own */
	unsigned access;
	unsigned denied; /* of it, what a denial took away, and no entry that is not behind a link gave back */
	bool hard;       /* never writable again below */
	bool scratch;    /* the host's own files are not here */
	bool closed;     /* /proc and /dev: nothing of the policy reaches into them */
};

/* All that is said of one path. */
struct node {
	const char *path;
	const struct qsb__rule *allow[2], *deny[2]; /* by bit: read, write */
	const struct qsb__rule *special, *hard, *pin;
	enum qsb__file_kind file;
	bool quiet;
	bool overruled; /* a built-in denial gave way to the caller's own entry */
};

/* Names, reasons and folders come from storage that stays: thousands of steps share one copy of each. */
char *qsb__build_shared_text(struct qsb__build *build, const char *text)
{
	struct qsb__shared_text *shared = &build->shared[(uintptr_t)text / 8 % QSB__SHARED_TEXTS];

	if (text && shared->from != text) {
		shared->from = text;
		shared->copy = qsb__arena_text(build->arena, text);
	}
	return text ? shared->copy : NULL;
}

static int add_step(struct qsb__build *build, enum qsb__step_kind kind, const struct node *node,
		    const struct qsb__rule *rule)
{
	struct qsb__step *step;

	if (qsb__build_grow(&build->steps, build->step_count, &build->step_capacity, sizeof(*step)))
		return qsb__fail_memory(build->err, "plan");
	step = &build->steps[build->step_count++];
	memset(step, 0, sizeof(*step));
	step->kind = kind;
	step->is_dir = node->file == QSB__FILE_DIR;
	step->allows = rule->allow;
	step->path = qsb__arena_text(build->arena, node->path);
	step->text = qsb__arena_text(build->arena, rule->text);
	step->rule = qsb__build_shared_text(build, qsb__build_rule_text(build, rule));
	step->reason = qsb__build_shared_text(build, rule->reason);
	return 0;
}

int qsb__build_gap(struct qsb__build *build, const char *what, const char *rule, bool asked)
{
	struct qsb__plan_gap *gap;

	if (qsb__build_grow(&build->gaps, build->gap_count, &build->gap_capacity, sizeof(*gap)))
		return qsb__fail_memory(build->err, "plan");
	gap = &build->gaps[build->gap_count++];
	gap->what = qsb__arena_text(build->arena, what);
	gap->rule = qsb__arena_text(build->arena, rule);
	gap->asked = asked;
	return 0;
}

int qsb__build_note(struct qsb__build *build, const char *text)
{
	if (qsb__build_grow(&build->notes, build->note_count, &build->note_capacity, sizeof(*build->notes)))
		return qsb__fail_memory(build->err, "plan");
	build->notes[build->note_count++] = qsb__arena_text(build->arena, text);
	return 0;
}

/* The caller's own entry for exactly this path is worth more than a built-in list's. */
static bool is_stronger(const struct qsb__rule *allow, const struct qsb__rule *deny)
{
	return deny->builtin_list && !deny->hard && !allow->by_link && allow->item &&
	       allow->item->layer != QSB__LAYER_PRESET && strcmp(allow->item->text, ".") != 0;
}

static void gather(struct node *node, const struct qsb__rule *rule)
{
	if (rule->special != QSB__STEP_BIND_RO) {
		node->special = node->special ? node->special : rule;
		return;
	}
	if (rule->pin) {
		node->pin = node->pin ? node->pin : rule;
		return;
	}
	if (rule->hard)
		node->hard = rule;
	node->quiet = node->quiet || rule->quiet;
	for (unsigned bit = 0; bit < 2; bit++) {
		if ((rule->allow & (1U << bit)) &&
		    (!node->allow[bit] || node->allow[bit]->name || node->allow[bit]->by_link))
			node->allow[bit] = rule;
		/* A denial of the caller's own is named before a built-in one, which could be overruled. */
		if ((rule->deny & (1U << bit)) && (!node->deny[bit] || node->deny[bit]->builtin_list))
			node->deny[bit] = rule;
	}
}

static const struct qsb__rule *overrule(struct node *node)
{
	node->overruled = true;
	return NULL;
}

/*
 * A command may have put the link there in an earlier run: data -> ~/.ssh makes "./data/config" name a secret. So an
 * entry behind a link gives back nothing that was denied, whether it is as specific or more.
 */
static unsigned settle(struct node *node, const struct frame *above, unsigned *denied)
{
	unsigned access = above->access;

	*denied = above->denied;

	for (unsigned bit = 0; bit < 2; bit++) {
		unsigned mask = 1U << bit;

		if (node->deny[bit] && node->allow[bit] && is_stronger(node->allow[bit], node->deny[bit]))
			node->deny[bit] = overrule(node);
		if (node->deny[bit]) {
			access &= ~mask;
			*denied |= mask;
		} else if (node->allow[bit] && !(node->allow[bit]->by_link && (*denied & mask))) {
			access |= mask;
			*denied &= ~mask;
		}
	}
	if (above->hard || node->hard || !(access & QSB__ACCESS_READ))
		access &= ~(unsigned)QSB__ACCESS_WRITE;
	return access;
}

static void count_missing(struct qsb__build *build, const struct qsb__rule *rule)
{
	const size_t most = sizeof(build->missing_builtins) / sizeof(build->missing_builtins[0]) - 1;
	size_t i = 0;

	while (i < most && build->missing_builtins[i].name && strcmp(build->missing_builtins[i].name, rule->name) != 0)
		i++;
	if (i == most)
		return;
	build->missing_builtins[i].name = rule->name;
	build->missing_builtins[i].count++;
}

/* One of many entries that exist, which the live rule alone holds: ten thousand mounts would take seconds. */
static int deny_live(struct qsb__build *build, const struct node *node, const struct frame *above, unsigned denies,
		     const struct qsb__rule *rule)
{
	return qsb__build_name_rule(build, above->anchor, qsb__path_below(node->path, above->anchor), rule, denies);
}

/*
 * The place of a policy that does not exist yet: who made one would rule the next run. It is held like an entry of the
 * caller's own, or nothing runs. Where everything may be written, so may what the user's next shell runs: there it is
 * told, and not held at the cost of every file that is made.
 */
static bool must_be_held(const struct frame *above, const struct qsb__rule *rule)
{
	return rule->required && strcmp(above->anchor, "/") != 0;
}

/* A denied name that is not there, or is a link, which is no file to mount over: the rule goes by name. */
static int deny_by_name(struct qsb__build *build, const struct node *node, const struct frame *above, unsigned denies)
{
	const struct qsb__rule *rule = node->deny[0] ? node->deny[0] : node->deny[1] ? node->deny[1] : node->hard;
	char glob[3 * QSB__PATH_MAX], what[QSB__PATH_MAX + 100];
	int result;

	if (!rule || !(above->access & QSB__ACCESS_WRITE) || above->scratch || node->quiet)
		return 0;
	if (!qsb__glob_quote(glob, sizeof(glob), qsb__path_below(node->path, above->anchor)))
		return qsb__fail(build->err, QSB_E_RANGE, "plan", "a denied path is too long: %.100s…", node->path);
	snprintf(what, sizeof(what),
		 node->file == QSB__FILE_LINK ? "%s is a link, which could be replaced by a file"
					      : "%s does not exist, and could be made",
		 node->path);
	if (!rule->item && !must_be_held(above, rule)) {
		if (!build->plan->protect_new_names || (denies & QSB__ACCESS_READ))
			count_missing(build, rule);
	} else if (qsb__build_gap(build, what, qsb__build_rule_text(build, rule), true)) {
		return QSB_E_MEMORY;
	}
	result = qsb__build_name_rule(build, above->anchor, glob, rule, denies);
	if (!result && must_be_held(above, rule))
		build->name_rules[build->name_rule_count - 1].held = true;
	return result;
}

static int allow_missing(struct qsb__build *build, const struct node *node, const struct frame *above)
{
	const struct qsb__rule *rule = node->allow[1] ? node->allow[1] : node->allow[0];
	char text[QSB__PATH_MAX + 400];

	if (!rule || !rule->item || node->file == QSB__FILE_LINK)
		return 0;
	if (node->allow[1] && (above->access & QSB__ACCESS_WRITE) && !above->scratch && !above->hard &&
	    qsb__build_needs_grant(build, node->path))
		return qsb__build_grant(build, node->path, rule);
	snprintf(text, sizeof(text), "%s does not exist, so %s allows nothing there", node->path,
		 qsb__build_rule_text(build, rule));
	return qsb__build_note(build, text);
}

static int add_held(struct qsb__build *build, const struct node *node)
{
	struct qsb__plan_held *held;

	if (qsb__build_grow(&build->held, build->held_count, &build->held_capacity, sizeof(*held)))
		return qsb__fail_memory(build->err, "plan");
	held = &build->held[build->held_count++];
	held->path = qsb__arena_text(build->arena, node->path);
	held->rule = qsb__arena_format(build->arena, "%s (%s)", node->hard->name, node->hard->reason);
	return 0;
}

static enum qsb__step_kind step_for(unsigned access, const struct node *node)
{
	if (access & QSB__ACCESS_WRITE)
		return QSB__STEP_BIND_RW;
	if (access & QSB__ACCESS_READ)
		return QSB__STEP_BIND_RO;
	return node->file == QSB__FILE_DIR ? QSB__STEP_MASK_DIR : QSB__STEP_MASK_FILE;
}

/* The rule that brought about the change from `before` to `access`. */
static const struct qsb__rule *cause(const struct node *node, unsigned before, unsigned access)
{
	const struct qsb__rule *order[] = {
		(before & ~access) & QSB__ACCESS_READ ? node->deny[0] : NULL,
		(access & ~before) & QSB__ACCESS_WRITE ? node->allow[1] : NULL,
		(access & ~before) & QSB__ACCESS_READ ? node->allow[0] : NULL,
		(before & ~access) & QSB__ACCESS_WRITE ? node->hard : NULL,
		(before & ~access) & QSB__ACCESS_WRITE ? node->deny[1] : NULL,
		node->deny[1],
		node->deny[0],
		node->allow[1],
		node->allow[0],
		node->hard,
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (order[i])
			return order[i];
	return NULL;
}

static int add_devices(struct qsb__build *build, const struct node *folder)
{
	const struct qsb__list *devices = &build->policy->filesystem.devices;

	for (size_t i = 0; i < devices->count; i++) {
		struct qsb__rule rule = {.item = &devices->items[i],
					 .text = devices->items[i].text,
					 .row = qsb__row_by_pointer("/filesystem/devices")};

		if (add_step(build, QSB__STEP_DEV, folder, &rule))
			return QSB_E_MEMORY;
	}
	return 0;
}

static int place_special(struct qsb__build *build, const struct node *node, const struct frame *above,
			 struct frame *here)
{
	enum qsb__step_kind kind = node->special->special;
	struct node folder = *node;

	folder.file = kind == QSB__STEP_LINK ? QSB__FILE_LINK : QSB__FILE_DIR;
	*here = (struct frame){.path = node->path,
			       .anchor = node->path,
			       .scratch = true,
			       .access = QSB__ACCESS_READ | QSB__ACCESS_WRITE,
			       .hard = above->hard,
			       .closed = kind == QSB__STEP_PROC || kind == QSB__STEP_DEV};
	if (kind == QSB__STEP_LINK) {
		*here = *above;
		here->path = node->path;
		if (above->access && !above->scratch)
			return 0; /* the host's own link is there */
	}
	if (add_step(build, kind, &folder, node->special))
		return QSB_E_MEMORY;
	return kind == QSB__STEP_DEV ? add_devices(build, &folder) : 0;
}

/* Inside scratch space only what is allowed by name comes back; a denial has nothing to hide there. */
static unsigned settle_in_scratch(struct node *node, const struct frame *above, unsigned *denied)
{
	struct frame nothing = {.path = above->path, .hard = above->hard};

	return settle(node, &nothing, denied);
}

/* Whoever names /tmp itself, or works in it, means the host's. */
static bool asks_for_host(const struct node *node)
{
	return node->special->special == QSB__STEP_TMPFS &&
	       ((node->allow[0] && node->allow[0]->item) || (node->allow[1] && node->allow[1]->item));
}

/* The one writable place in /dev is scratch space like any other: a workspace in it is brought back. */
static bool is_shared_memory(const struct qsb__build *build, const char *path)
{
	return build->host->os == QSB__OS_LINUX && qsb__path_inside(path, "/dev/shm", false);
}

/*
 * Root's own files, which this user may not open anyway: a mask would add nothing but a mount at each start. Only for
 * the built-in lists, and only where the command can change nothing: there the permissions stay what they are.
 */
static bool is_sealed(const struct qsb__build *build, const struct node *node, const struct frame *above,
		      const struct qsb__rule *rule)
{
	const struct qsb__host *host = build->host;

	return rule->builtin_list && host->uid != 0 && !(above->access & QSB__ACCESS_WRITE) &&
	       !(host->home && qsb__path_inside(node->path, host->home, build->fold)) &&
	       host->ops->sealed(host->context, node->path, node->file == QSB__FILE_DIR);
}

static int place(struct qsb__build *build, struct node *node, const struct frame *above, struct frame *here)
{
	unsigned before = above->scratch ? 0 : above->access;
	struct qsb__step *step;
	unsigned access;

	*here = *above;
	here->path = node->path;
	if (node->hard && add_held(build, node))
		return QSB_E_MEMORY;
	if (above->closed && !is_shared_memory(build, node->path))
		return 0;
	if (node->special && !asks_for_host(node))
		return place_special(build, node, above, here);
	access = above->scratch ? settle_in_scratch(node, above, &here->denied) : settle(node, above, &here->denied);
	if (above->scratch && !access)
		return 0;
	here->access = access;
	here->hard = above->hard || node->hard;
	if (node->file == QSB__FILE_MISSING || node->file == QSB__FILE_LINK) {
		here->access = access & above->access;
		if (above->scratch || !(above->access & ~access))
			return allow_missing(build, node, above);
		return deny_by_name(build, node, above, above->access & ~access);
	}
	here->scratch = here->closed = false;
	if (access != before) {
		const struct qsb__rule *rule = cause(node, before, access);

		if (rule->by_name && !(access & ~before))
			return deny_live(build, node, above, before & ~access, rule);
		here->anchor = node->path;
		if (add_step(build, step_for(access, node), node, rule))
			return QSB_E_MEMORY;
		step = &build->steps[build->step_count - 1];
		step->denies = before & ~access;
		step->sealed = !access && is_sealed(build, node, above, rule);
		return 0;
	}
	/* Allowed in so many words where a built-in name rule says no: the step is what tells them apart. */
	if (access && node->allow[1] && node->allow[1]->item && !node->deny[1] && node->overruled)
		return add_step(build, step_for(access, node), node, node->allow[1]);
	if (node->pin && (access & QSB__ACCESS_WRITE))
		return add_step(build, QSB__STEP_PIN, node, node->pin);
	return 0;
}

static int add_root(struct qsb__build *build)
{
	const struct qsb__rule rule = {.name = "default: only what is named may be read"};
	const struct node root = {.path = "/", .file = QSB__FILE_DIR};

	return build->root_empty ? add_step(build, QSB__STEP_ROOT, &root, &rule) : 0;
}

/* All rules of the path at `first` become one node. The index of the next path. */
static size_t gather_node(const struct qsb__build *build, size_t first, struct node *node)
{
	const struct qsb__rule *rules = build->rules.items;
	size_t i = first;

	*node = (struct node){.path = rules[first].path, .file = rules[first].file};
	while (i < build->rules.count && qsb__path_compare(rules[i].path, node->path, build->fold) == 0)
		gather(node, &rules[i++]);
	return i;
}

static int place_all(struct qsb__build *build, struct frame **frames, size_t *capacity)
{
	size_t depth = 0, i = 0;

	while (i < build->rules.count) {
		struct frame here;
		struct node node;
		int result;

		i = gather_node(build, i, &node);
		while (depth && !qsb__path_inside(node.path, (*frames)[depth].path, build->fold))
			depth--;
		result = place(build, &node, &(*frames)[depth], &here);
		if (result)
			return result;
		if (qsb__build_grow(frames, ++depth, capacity, sizeof(here)))
			return qsb__fail_memory(build->err, "plan");
		(*frames)[depth] = here;
	}
	return 0;
}

int qsb__build_steps(struct qsb__build *build)
{
	struct frame *frames = NULL;
	size_t capacity = 0;
	int result;

	qsb__build_sort(&build->rules, build->fold);
	result = qsb__build_pins(build);
	if (!result)
		result = add_root(build);
	if (!result && qsb__build_grow(&frames, 0, &capacity, sizeof(*frames)))
		result = qsb__fail_memory(build->err, "plan");
	if (!result) {
		frames[0] =
			(struct frame){.path = "/", .anchor = "/", .access = build->root_empty ? 0 : QSB__ACCESS_READ};
		result = place_all(build, &frames, &capacity);
	}
	free(frames);
	return result;
}
