/* What the parts of the plan's maker share while one plan is made. Not for others. */
#ifndef QSB_PLAN_BUILD_H
#define QSB_PLAN_BUILD_H

#include "core/path.h"
#include "plan/arena.h"
#include "plan/builtin.h"
#include "plan/listing.h"
#include "plan/plan.h"

/* What one entry of the policy, or one built-in entry, says about one resolved path. */
struct qsb__rule {
	const char *path;
	const struct qsb__item *item; /* the policy's own entry, or NULL */
	const struct qsb__row *row;   /* the item's list */
	const char *name;             /* built-in: "built-in: secrets" */
	const char *reason;
	unsigned allow, deny;        /* QSB__ACCESS_* */
	unsigned order;              /* as collected: keeps sorting stable */
	enum qsb__file_kind file;    /* what is there now */
	enum qsb__step_kind special; /* TMPFS, PROC, DEV, LINK; BIND_RO = an ordinary rule */
	const char *text;            /* of a special step */
	bool hard;                   /* the denial also holds for whatever lies below, whoever allows it */
	bool builtin_list;           /* gives way to an entry of the caller's that names exactly this path */
	bool quiet;                  /* when missing: no name rule of its own */
	bool required;               /* when missing: its name rule counts as the caller's own */
	bool pin;                    /* only: the folder must keep its name and place */
	bool by_name;                /* the denial gets a name rule instead of a mount */
	bool project;                /* of that rule: see struct qsb__step */
	char *glob;                  /* of that rule: a text that stays */
	bool by_link;                /* its path leads through a link */
	const char *link;            /* that one, or the path as it was named */
	bool pin_all;                /* the folders between the writable root and this path get pins */
};

/* An entry with wildcards: a real folder and a pattern below it. */
struct qsb__glob_entry {
	const char *folder, *pattern;
	const struct qsb__item *item;
	const struct qsb__row *row;
	unsigned allow, deny;
	const char *link; /* its folder lies behind it, NULL = none */
	bool found;
	bool partly; /* there are more matches than were looked for */
};

struct qsb__rules {
	struct qsb__rule *items;
	size_t count, capacity;
};

enum { QSB__SHARED_TEXTS = 64, QSB__FILTER_BITS = 4096 };

/* The names of one folder, as far as they are worth remembering: see builtin_rules.c. */
struct qsb__name_filter {
	uint64_t bits[QSB__FILTER_BITS / 64];
	size_t names;
	bool fold;
	bool ready; /* false = too many names, or not to be read: everything may be there */
};

struct qsb__shared_text {
	const char *from;
	char *copy;
};

struct qsb__build {
	struct qsb__plan *plan;
	struct qsb__arena *arena;
	const struct qsb_policy *policy;
	const struct qsb__host *host;
	bool cwd_asked;             /* the caller named the folder where the command starts */
	struct qsb__path_base base; /* for entries of the policy: the workspace */
	struct qsb_error *err;
	struct qsb__rules rules;
	size_t sorted_count; /* of rules, from the start: those in order already */
	struct qsb__step *steps;
	size_t step_count, step_capacity;
	struct qsb__step *name_rules;
	size_t name_rule_count, name_rule_capacity;
	char **protected_globs; /* of the rows of qsb__protected_names, as far as they were needed */
	struct qsb__step *grants;
	size_t grant_count, grant_capacity;
	struct qsb__plan_gap *gaps;
	size_t gap_count, gap_capacity;
	struct qsb__plan_held *held;
	size_t held_count, held_capacity;
	char **notes;
	size_t note_count, note_capacity;
	struct qsb__glob_entry *globs;
	size_t glob_count, glob_capacity;
	char last_pin[QSB__PATH_MAX]; /* it and the folders above it have pins */
	char link[QSB__PATH_MAX];     /* the first link that the last resolve met, "" = none */
	struct qsb__listing listing;
	struct qsb__name_filter home_names;
	char missing[QSB__PATH_MAX];     /* the last path seen to be missing: so is all below it */
	char real_folder[QSB__PATH_MAX]; /* the last folder seen to hold no link on its path: spares system calls */
	struct {
		const char *name;
		size_t count;
	} missing_builtins[8];     /* built-in paths inside writable roots that do not exist yet, by list */
	const char **socket_links; /* of the plan's unix_sockets: the link that each leads through, NULL = none */
	size_t writable_count;     /* of rules.items, from the start: those that allow writing */
	struct qsb__shared_text shared[QSB__SHARED_TEXTS];
	const struct qsb__item *last_item;
	const char *last_text;
	bool fold;       /* names compare without regard to case */
	bool root_empty; /* reading is denied by default */
};

/* All of these return 0 or a negative QSB_E_* with build->err filled in. */

/* rules.c: from the policy's lists to rules. */
int qsb__build_rules(struct qsb__build *build);
int qsb__build_add(struct qsb__build *build, const struct qsb__rule *rule);
/* Entries behind a link that the command can change lose what they allow. */
int qsb__build_drop_unsteady(struct qsb__build *build);
/* The link through which the path just resolved leads, else the path as it was named; NULL = none. false = no memory.
 */
bool qsb__build_find_link(struct qsb__build *build, const char *path, const char *real, const char **link);
/* Resolves the path and adds the rule for it, and one for the link where it leads through one. */
int qsb__build_add_path(struct qsb__build *build, struct qsb__rule *rule, const char *absolute);
/* May the command make this path, which does not exist? */
bool qsb__build_could_be_made(const struct qsb__build *build, const char *path);
/* builtin_rules.c: a rule like `like` for each entry of a built-in list that matters on this host. */
int qsb__build_add_builtin(struct qsb__build *build, const struct qsb__builtin_path *paths, size_t count,
			   const struct qsb__rule *like);
/* Is `path` below the home folder and surely not there? */
bool qsb__build_absent(const struct qsb__build *build, const char *path);
/* What the rules collected so far leave of `path`; *explicit_deny is true when a denial decides it. */
unsigned qsb__build_access(const struct qsb__build *build, const char *path, bool *explicit_deny);
const char *qsb__build_rule_text(struct qsb__build *build, const struct qsb__rule *rule);
void qsb__build_sort(struct qsb__rules *rules, bool fold);

/* resolve.c: the real path of an absolute one, missing components kept. `out` holds QSB__PATH_MAX bytes. */
int qsb__build_resolve(struct qsb__build *build, const char *path, char *out, enum qsb__file_kind *kind);

/* special.c: /proc, /dev, scratch folders, our own files. */
int qsb__build_special(struct qsb__build *build);

const char *qsb__build_variable(const struct qsb__build *build, const char *name); /* of the caller; NULL = not set */

/* git.c: a workspace whose git folder lies elsewhere. */
int qsb__build_git(struct qsb__build *build);

/* glob_scan.c: the existing matches of the globs in the lists. */
int qsb__build_globs(struct qsb__build *build);

/* name_scan.c: protected names that exist in writable roots. */
int qsb__build_names(struct qsb__build *build);

/* pins.c: folders that must not be renamed, and entries that only the live rule holds. The rules are sorted. */
int qsb__build_pins(struct qsb__build *build);

/* steps.c: from rules to steps, name rules and gaps. */
int qsb__build_steps(struct qsb__build *build);
/* Names, reasons and folders come from storage that stays: thousands of steps share one copy of each. */
char *qsb__build_shared_text(struct qsb__build *build, const char *text);
int qsb__build_gap(struct qsb__build *build, const char *what, const char *rule, bool asked);
int qsb__build_note(struct qsb__build *build, const char *text);

/* name_rules.c. `folder` and the rule's texts must stay until the plan is made. */
int qsb__build_name_rule(struct qsb__build *build, const char *folder, const char *glob, const struct qsb__rule *rule,
			 unsigned denies);
/* Length of the part of `path` that a name rule speaks of: the match; what lies below is meant too. 0 = none. */
size_t qsb__build_name_match(const struct qsb__step *step, const char *path, bool fold);
/* Does a built-in rule by name stand against this path, and no denial of the caller's own? */
bool qsb__build_needs_grant(const struct qsb__build *build, const char *path);
int qsb__build_grant(struct qsb__build *build, const char *path, const struct qsb__rule *rule);

/* hard_links.c: what is held under one name and has others. */
int qsb__build_hard_links(struct qsb__build *build);

/* explain.c: what the steps leave of a path that is resolved already. */
void qsb__build_verdict(const struct qsb__plan *plan, bool fold, struct qsb__verdict *out);

/* caches.c: the variables that a cache needs, up to two, NULL = none. */
struct qsb__cache;
int qsb__build_cache(struct qsb__build *build, const struct qsb__cache *cache, const char **settings);

/* environment.c */
int qsb__build_environment(struct qsb__build *build);

/* network.c: domains, ports and sockets. */
int qsb__build_network(struct qsb__build *build);

/* upstream.c: the proxy that leads on, and the ports of our own. */
int qsb__build_upstream(struct qsb__build *build);

/* Makes room for one more element. */
int qsb__build_grow(void *array, size_t count, size_t *capacity, size_t size);

#endif
