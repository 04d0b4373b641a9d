/*
 * The policy in memory: what the JSON, the presets and the command line become, and what the plan is made from.
 *
 * One row of the table in policy_table.c describes each key: its JSON pointer, type, range, default, command-line
 * option and text. The parser, the schema, `policy show`, `explain`, the option list and the manual read that table.
 */
#ifndef QSB_CORE_POLICY_H
#define QSB_CORE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <qiming/sandbox.h>

/* Where a value came from, weakest first. */
enum qsb__layer {
	QSB__LAYER_PRESET,
	QSB__LAYER_USER,    /* $XDG_CONFIG_HOME/qiming-sandbox/policy.json */
	QSB__LAYER_PROJECT, /* WORKSPACE/.qiming-sandbox.json: tightens only, unless the user trusts the folder */
	QSB__LAYER_FILE,    /* --policy FILE, --policy-fd N: stands instead of the user's and the project's file */
	QSB__LAYER_OPTION,  /* the command line's other options */
	QSB__LAYER_MANAGED, /* /etc/qiming-sandbox/policy.json: bounds all the others */
	QSB__LAYER_COUNT
};

/* One entry of a list, and the place that named it: its row's pointer, '/', `index`, in the file of `layer`. */
struct qsb__item {
	char *text;
	enum qsb__layer layer;
	unsigned index;
};

struct qsb__list {
	struct qsb__item *items;
	size_t count, room;
};

enum qsb__preset {
	QSB__PRESET_READ_ONLY,
	QSB__PRESET_WORKSPACE,
	QSB__PRESET_WORKSPACE_ONLINE,
	QSB__PRESET_LOCKED_DOWN,
	QSB__PRESET_FULL_ACCESS
};
enum qsb__network_mode { QSB__NETWORK_OFF, QSB__NETWORK_FILTERED, QSB__NETWORK_HOST };
enum qsb__tmp_mode { QSB__TMP_PRIVATE, QSB__TMP_HOST };
enum qsb__resolve_mode { QSB__RESOLVE_LOCAL, QSB__RESOLVE_PROXY };
enum qsb__inherit_mode { QSB__INHERIT_NONE, QSB__INHERIT_SAFE, QSB__INHERIT_ALL };
enum qsb__finding_mode { QSB__FINDINGS_QUARANTINE, QSB__FINDINGS_REPORT };
enum qsb__output_action { QSB__OUTPUT_TRUNCATE, QSB__OUTPUT_KILL };

enum { QSB__ROWS_MAX = 64 };

/* In `limits`, 0 means no limit ("none" in JSON and on the command line). */
struct qsb_policy {
	uint64_t version;
	enum qsb__preset extends;
	struct qsb__list comment; /* for people */
	struct {
		struct qsb__list allow_read, deny_read; /* paths or globs as written: "~/x", "./x", "/x", "*.pem" */
		struct qsb__list allow_write, deny_write;
		bool protect_names;
		bool protect_new_names; /* with protect_names: in folders made later, too */
		enum qsb__finding_mode git_findings;
		bool report_denials;
		enum qsb__tmp_mode tmp;
		struct qsb__list devices; /* "gpu", "kvm", "fuse" */
	} filesystem;
	struct {
		enum qsb__network_mode mode;
		struct qsb__list allowed_domains, denied_domains;
		struct qsb__list publish_ports, reach_ports;
		struct qsb__list unix_sockets;
		char *upstream_proxy; /* a URL, "environment"; NULL = "none" */
		enum qsb__resolve_mode upstream_resolve;
	} network;
	struct {
		uint64_t memory_bytes;
		uint64_t cpus_milli; /* thousandths of a processor */
		uint64_t timeout_ms;
		uint64_t processes;    /* processes and threads together */
		uint64_t open_files;   /* a process */
		uint64_t output_bytes; /* kept of each of stdout and stderr */
		enum qsb__output_action output_action;
		uint64_t tmp_bytes;          /* /tmp, /var/tmp, /dev/shm and /run together */
		uint64_t file_bytes;         /* the largest file that may be written */
		uint64_t disk_reserve_bytes; /* the run ends when a writable file system has less than this free */
	} limits;
	struct {
		enum qsb__inherit_mode inherit;
		struct qsb__list pass; /* names, also with a trailing '*' */
		struct qsb__list set;  /* "NAME=VALUE" */
	} environment;
	bool allow_nested_sandbox;
	bool allow_unsandboxed;
	struct qsb__list trusted_folders; /* the user's file only */

	enum qsb__layer origin[QSB__ROWS_MAX]; /* by row number: the strongest layer that named the key */
	char *source[QSB__LAYER_COUNT];        /* the file of the layer, NULL = none */
	struct qsb__list notes;                /* what a layer asked for and did not get, one sentence each */
};

enum qsb__row_type {
	QSB__ROW_BOOL,
	QSB__ROW_ENUM,    /* names[] in the order of the C enum */
	QSB__ROW_SIZE,    /* bytes: 4096, "512k", "2g" */
	QSB__ROW_SECONDS, /* kept in ms: 300, 1.5, "90s", "5m" */
	QSB__ROW_COUNT,   /* a whole number */
	QSB__ROW_CPUS,    /* kept in thousandths: 2, 0.5 */
	QSB__ROW_PATHS,   /* list of paths or globs */
	QSB__ROW_STRINGS, /* list of strings, checked by `check` */
	QSB__ROW_MAP,     /* object of strings; a list of "NAME=VALUE" in memory */
	QSB__ROW_PORTS,   /* list of port numbers; decimal text in memory */
	QSB__ROW_TEXT     /* one string, checked by `check`; NULL in memory is "none" */
};

/* How a weaker-bound layer (project, managed) may change the value. */
enum qsb__tighten {
	QSB__TIGHTEN_MIN,    /* numbers, and enums and booleans whose smaller value is the stricter one */
	QSB__TIGHTEN_MAX,    /* booleans and numbers whose larger value is the stricter one */
	QSB__TIGHTEN_ADD,    /* deny lists: entries are added */
	QSB__TIGHTEN_WITHIN, /* allow lists: only entries that the present list already covers are kept */
	QSB__TIGHTEN_NEVER   /* ignored, with a note */
};

struct qsb__row {
	const char *pointer; /* "/filesystem/allowWrite" */
	enum qsb__row_type type;
	enum qsb__tighten tighten;
	size_t offset;            /* in struct qsb_policy */
	uint64_t min, max;        /* of a number, in the unit in memory; for lists, the most entries in max */
	bool none_allowed;        /* a limit that "none" switches off */
	bool single_allowed;      /* STRINGS: one string may stand for a list of one */
	const char *const *names; /* ENUM and closed STRINGS */
	int (*check)(const char *text, char *why,
		     size_t why_size); /* STRINGS, PATHS, MAP, TEXT; 0 = good, else `why` */
	const char *option;            /* "--write", NULL = none */
	const char *metavar;           /* "PATH" */
	const char *summary;           /* one line for --help, the schema and the manual */
};

extern const struct qsb__row qsb__rows[];
extern const size_t qsb__row_count;

/* The row of a JSON pointer or an option ("--write"), NULL = none. */
const struct qsb__row *qsb__row_by_pointer(const char *pointer);
const struct qsb__row *qsb__row_by_option(const char *option);

/* "workspace" … ; QSB__PRESET_*, or -1. */
const char *qsb__preset_name(enum qsb__preset preset);
int qsb__preset_by_name(const char *name);

/* A scalar's value as the row's type keeps it in memory, 0 for a list. */
uint64_t qsb__row_get(const struct qsb_policy *policy, const struct qsb__row *row);
/* A list, borrowed; NULL for a scalar. */
const struct qsb__list *qsb__row_list(const struct qsb_policy *policy, const struct qsb__row *row);

/* A TEXT row's value, borrowed; "none" where there is none. */
const char *qsb__row_text(const struct qsb_policy *policy, const struct qsb__row *row);

/* Adds an entry to a list. The text is copied. 0 or QSB_E_MEMORY. */
int qsb__list_add(struct qsb__list *list, const char *text, enum qsb__layer layer, unsigned index);
void qsb__list_clear(struct qsb__list *list);
bool qsb__list_has(const struct qsb__list *list, const char *text);

/* "/filesystem/denyWrite/2 (user)" or "--deny-write (command line)": for messages, denials and `explain`. */
void qsb__item_origin(const struct qsb__row *row, const struct qsb__item *item, char *buffer, size_t size);
const char *qsb__layer_name(enum qsb__layer layer);

#endif
