/*
 * The command line: one table-driven parser for every subcommand.
 *
 * A subcommand names the tables of its own options; the options that set a policy key are not written there: they
 * are the rows of the policy's table (row->option, row->metavar, row->summary). Help, the manual and the completions
 * are made from the same tables.
 *
 * `--name VALUE`, `--name=VALUE` and `-x VALUE` are understood; `--` ends the options. An option that is given twice
 * counts with its last value, where it does not add to a list. Everything after the options is data.
 */
#ifndef QSB_CLI_OPTIONS_H
#define QSB_CLI_OPTIONS_H

#include <stdio.h>

#include "core/policy.h"

enum qsb__option_id {
	QSB__OPT_HELP = 1,
	QSB__OPT_VERSION,
	QSB__OPT_POLICY,
	QSB__OPT_POLICY_FD,
	QSB__OPT_WORKSPACE,
	QSB__OPT_CWD,
	QSB__OPT_COMMAND,
	QSB__OPT_BACKEND,
	QSB__OPT_TTY,
	QSB__OPT_JSON,
	QSB__OPT_CAPTURE,
	QSB__OPT_EVENTS_FD,
	QSB__OPT_CONTROL_FD,
	QSB__OPT_RESULT_FD,
	QSB__OPT_PASS_FD,
	QSB__OPT_NETWORK_LOG,
	QSB__OPT_ASK_NETWORK,
	QSB__OPT_ASK_TIMEOUT,
	QSB__OPT_SELF_TEST,
	QSB__OPT_FORMAT,
	QSB__OPT_USER,
	QSB__OPT_PROJECT,
	QSB__OPT_FORCE,
	QSB__OPT_ALLOW_UNSANDBOXED,
	QSB__OPT_LEARN
};

/* Under which heading the help lists an option; in this order. */
enum qsb__option_group {
	QSB__GROUP_POLICY,
	QSB__GROUP_FILES,
	QSB__GROUP_NETWORK,
	QSB__GROUP_LIMITS,
	QSB__GROUP_ENVIRONMENT,
	QSB__GROUP_OUTPUT,
	QSB__GROUP_OTHER,
	QSB__GROUP_COUNT
};

/* What a value is, for the completions. */
enum qsb__option_value {
	QSB__VALUE_NONE, /* the option takes none */
	QSB__VALUE_TEXT,
	QSB__VALUE_PATH,
	QSB__VALUE_DIR,
	QSB__VALUE_WORD /* one of `words` */
};

struct qsb__option {
	enum qsb__option_id id; /* 0 ends a table */
	const char *name;       /* "--tty" */
	const char *alias;      /* "-t", NULL = none */
	enum qsb__option_value value;
	const char *metavar; /* "FILE"; NULL without a value */
	const char *const *words;
	enum qsb__option_group group;
	const char *summary;
};

struct qsb__invocation;

enum { QSB__OPTION_TABLES = 4 };

struct qsb__command {
	const char *name;
	const char *operands;     /* "[--] COMMAND [ARGUMENTS]", for the usage line */
	const char *summary;      /* one line */
	const char *const *verbs; /* what the first operand may be, for the completions; NULL-terminated, may be NULL */
	const char *const *notes; /* further paragraphs of the help, NULL-terminated; may be NULL */
	const struct qsb__option *tables[QSB__OPTION_TABLES]; /* NULL after the last; --help and --version are added */
	bool policy_options;                                  /* takes every option of the policy's table too */
	bool stop_at_operand;                                 /* the first operand ends the options */
	bool hidden;                                          /* not in the list of subcommands */

	/*
	 * The exit status, or a negative QSB_E_* with err filled in: main() prints it and exits with 125. Documents go
	 * to invocation->out, which main() flushes and checks; nothing is written to stderr.
	 */
	int (*run)(const struct qsb__invocation *invocation, struct qsb_error *err);
};

/* One option as it was given. Either `option` or `row` is set. */
struct qsb__option_use {
	const struct qsb__option *option; /* of the subcommand's tables */
	const struct qsb__row *row;       /* of the policy's table */
	const char *value;                /* "true" where the option takes none; borrowed from argv */
};

struct qsb__invocation {
	const struct qsb__command *command;
	struct qsb__option_use *uses; /* in the order given */
	size_t use_count;
	char **operands; /* NULL-terminated; the strings are argv's */
	size_t operand_count;
	size_t dashed_at; /* the operands from this one on stood after `--`; SIZE_MAX = no `--` */
	FILE *out;
};

/* --help and --version, which every subcommand takes. */
extern const struct qsb__option qsb__common_options[];

/* --policy, --policy-fd, --workspace: for a subcommand with policy_options. */
extern const struct qsb__option qsb__policy_source_options[];

/*
 * Parses what follows the subcommand's name. `argv` ends with NULL and must outlive the invocation.
 *   QSB_E_UNKNOWN  no such option; the message suggests the nearest one
 *   QSB_E_INVALID  a value is missing, or given to an option without one
 */
int qsb__options_parse(struct qsb__invocation *out, const struct qsb__command *command, char **argv,
		       struct qsb_error *err);
void qsb__invocation_clear(struct qsb__invocation *invocation);

/* The last value given for an option; NULL = not given. "true" for an option without a value. */
const char *qsb__invocation_value(const struct qsb__invocation *invocation, enum qsb__option_id id);

/* A descriptor number given by an option; -1 = not given. QSB_E_INVALID: not a number from 0 to 2^20. */
int qsb__invocation_fd(const struct qsb__invocation *invocation, enum qsb__option_id id, int *fd,
		       struct qsb_error *err);
int qsb__option_use_fd(const struct qsb__option_use *use, int *fd, struct qsb_error *err);

/* The group under which a row's option is listed. */
enum qsb__option_group qsb__row_group(const struct qsb__row *row);

/* Does the row's option take no value? */
bool qsb__row_is_flag(const struct qsb__row *row);

/*
 * QSB_E_UNKNOWN: "unknown <what> <word>; did you mean <nearest>?", the nearest of `count` words where one is near, else
 * their list when it is short.
 */
int qsb__fail_unknown(struct qsb_error *err, const char *what, const char *word, const char *const *words,
		      size_t count);

#endif
