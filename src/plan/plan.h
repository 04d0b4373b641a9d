/*
 * The plan: what the operating system is asked to enforce, as a list of typed steps with resolved absolute paths.
 * Every back end reads it and nothing else. Made by pure code from a policy and the host's facts.
 */
#ifndef QSB_PLAN_PLAN_H
#define QSB_PLAN_PLAN_H

#include <stdbool.h>
#include <stdio.h>

#include "core/domain.h"
#include "core/policy.h"
#include "plan/host.h"

enum qsb__step_kind {
	/* Mounts come in the order in which they are to be made: a parent before what lies in it. The start is the
	 * host's whole tree, readable and not writable. */
	QSB__STEP_ROOT,      /* the start is an empty root instead (reading is denied by default); always first */
	QSB__STEP_BIND_RO,   /* path: the host's own file or folder, not writable */
	QSB__STEP_BIND_RW,   /* path: the host's own file or folder, writable */
	QSB__STEP_PIN,       /* path: a folder as it was, that must not be renamed or removed */
	QSB__STEP_MASK_FILE, /* path: a file nobody can open */
	QSB__STEP_MASK_DIR,  /* path: a folder nobody can list or write; later steps may lie inside it */
	QSB__STEP_TMPFS,     /* path: private scratch space (all of them share limits.tmp_bytes) */
	QSB__STEP_PROC,      /* path: a proc of the sandbox's own processes */
	QSB__STEP_DEV,       /* path: a minimal device folder; `text` names an opted-in device, or NULL */
	QSB__STEP_LINK,      /* path: a symbolic link to make, below ROOT or TMPFS; text: where it points */
	/* Rules by name, for files that need not exist; they come last. A BIND step at or below a path that matches is
	 * the more specific one and wins. */
	QSB__STEP_NAME_RULE, /* path: the folder the rule holds in; text: a glob relative to it */
	QSB__STEP_NAME_GRANT /* path: need not exist; the caller allows it where a built-in rule by name says no */
};

enum qsb__access { QSB__ACCESS_NONE = 0, QSB__ACCESS_READ = 1U << 0, QSB__ACCESS_WRITE = 1U << 1 };

struct qsb__step {
	enum qsb__step_kind kind;
	bool is_dir;     /* what `path` is */
	unsigned allows; /* mounts: QSB__ACCESS_* that the entry behind it gives, 0 = it takes away */
	unsigned denies; /* QSB__ACCESS_* that it takes away */
	bool asked;      /* NAME_RULE: by the caller's own entry, not a built-in list */
	bool held;       /* NAME_RULE: must be held or refused */
	bool builtin;    /* NAME_RULE: from a built-in list: letter case does not count */
	bool project;    /* NAME_RULE: counts in a project only, not below a folder of packages (node_modules) */
	bool sealed;     /* MASK_*: the caller's own permissions keep it shut, so that no mount is needed */
	char *path;
	char *text;   /* see above; NULL where it has no meaning */
	char *rule;   /* who asked: "/filesystem/denyRead/0 (user)", "built-in: secrets"; never NULL */
	char *reason; /* why, for people; may be NULL */
};

/* Who asked for a step and why, as `explain` and denials say it: "built-in: secrets (private keys …)". */
void qsb__step_text(const struct qsb__step *step, char *out, size_t size);

/* How much of a restriction the steps hold, where the plan itself cannot be complete. */
struct qsb__plan_gap {
	char *what; /* "protected names that do not exist yet" */
	char *rule;
	bool asked; /* the caller asked for it by name: a back end that cannot close the gap must refuse */
};

/* Never writable, whoever asks: our own files, the kernel's settings. The steps hold it; this tells `explain`. */
struct qsb__plan_held {
	char *path;
	char *rule;
};

struct qsb__plan {
	enum qsb__os os;
	char *workspace; /* resolved */
	char *cwd;       /* where the command starts, resolved; the workspace unless said otherwise */
	struct qsb__step *steps;
	size_t step_count;
	struct qsb__plan_gap *gaps;
	size_t gap_count;
	struct qsb__plan_held *held;
	size_t held_count;
	bool fold_names;    /* file names compare without regard to ASCII case */
	bool scan_complete; /* every existing protected name has its step */
	char **notes;       /* NULL-terminated: what the policy allows and this host does not have, one sentence each */

	enum qsb__network_mode network;
	char **allowed_domains, **denied_domains; /* NULL-terminated, canonical text */
	uint16_t *publish_ports, *reach_ports;    /* 0-terminated */
	char *upstream_proxy;                     /* its URL with user and password, NULL = none */
	char **upstream_bypass;                   /* what is reached without it, NULL-terminated; may be NULL */
	bool upstream_resolves;                   /* it gets names: only addresses asked for by themselves are judged */
	uint16_t proxy_port, socks_port;          /* of a filtered network's own proxies, on loopback; 0 = none */
	char **unix_sockets;                      /* NULL-terminated, resolved */

	uint64_t memory_bytes, cpus_milli, timeout_ms, processes, open_files, output_bytes, tmp_bytes, file_bytes,
		disk_reserve_bytes; /* 0 = no limit */
	enum qsb__output_action output_action;
	bool output_asked; /* limits.output came from a stronger layer than the preset */

	char **environment; /* NULL-terminated "NAME=VALUE", final */
	char **scrubbed;    /* NULL-terminated names that were dropped as secrets */

	bool protect_names;
	bool protect_new_names; /* the built-in name rules must be held live; false with protect_names = false */
	enum qsb__finding_mode git_findings;
	bool report_denials; /* files that were refused are wanted in the result */
	unsigned watched;    /* QSB__ACCESS_*: somebody wants to be told of every file that is used so */
	bool tmp_private;
	bool allow_nested_sandbox;
	bool allow_unsandboxed;
};

/* What is asked of one run besides the policy. Relative paths start at host->cwd. */
struct qsb__request {
	const char *workspace; /* NULL = host->cwd */
	const char *cwd;       /* NULL = the workspace when host->cwd lies outside it, else host->cwd */
};

/* Makes the plan. *out is the caller's, to be freed with qsb__plan_free. */
int qsb__plan_new(struct qsb__plan **out, const struct qsb_policy *policy, const struct qsb__host *host,
		  const struct qsb__request *request, struct qsb_error *err);
void qsb__plan_free(struct qsb__plan *plan);

/* The plan as text, one step a line, stable: the golden tests compare it. */
void qsb__plan_print(const struct qsb__plan *plan, FILE *to);

/* What the plan lets a command do with one path, and which rule decides. `path` is absolute. */
struct qsb__verdict {
	unsigned access; /* QSB__ACCESS_* */
	char resolved[4096];
	char read_rule[256]; /* "default: everything may be read", "built-in: secrets (…)" */
	char write_rule[256];
	char fix[1100]; /* what would allow what is refused: an option to paste, or what to change; "" = nothing */
	bool own;       /* the sandbox's own: what the host has there is not seen */
};
/* `out->resolved` is filled in already; its first `there` bytes name what exists on the host, where options begin to
 * work: all of it, or a folder above what is missing. */
void qsb__plan_verdict(const struct qsb__plan *plan, size_t there, struct qsb__verdict *out);
/* The same for any absolute path of the host. */
int qsb__plan_explain_path(const struct qsb__plan *plan, const struct qsb__host *host, const char *path,
			   struct qsb__verdict *out, struct qsb_error *err);

/*
 * "--write PATH" as it can be pasted into a shell: what is special in a pattern is quoted for the policy, and all of it
 * for the shell. False, and "": it does not fit, or a name holds what cannot be pasted (control characters, no UTF-8).
 */
bool qsb__suggest_option(char *out, size_t size, const char *option, const char *path);

/* "\"network\": {\"unixSockets\": [\"PATH\"]}", a line for a policy; under the same conditions. */
bool qsb__suggest_entry(char *out, size_t size, const char *group, const char *list, const char *path);

/* What the plan says of a host: a name or an address, with ":port" or without, where 443 is meant. Nothing is looked
 * up. QSB_E_INVALID  it is no host; the message shows the right spelling */
struct qsb__host_verdict {
	bool allowed;
	char host[QSB__DOMAIN_MAX]; /* canonical, without the port */
	unsigned port;
	char rule[QSB__DOMAIN_MAX + 100]; /* "/network/mode: off", "/network/allowedDomains: *.example.com" */
	char fix[QSB__DOMAIN_MAX + 100];  /* an option that would allow it, "" = none */
};
int qsb__plan_explain_host(const struct qsb__plan *plan, const char *host, struct qsb__host_verdict *out,
			   struct qsb_error *err);

#endif
