/* How a policy comes about: presets, files, options, and the managed bound over them all. */
#ifndef QSB_CORE_POLICY_LOAD_H
#define QSB_CORE_POLICY_LOAD_H

#include "core/policy.h"

/* A policy with a preset's values. The caller frees it. */
int qsb__policy_new(struct qsb_policy **out, enum qsb__preset preset, struct qsb_error *err);
void qsb__policy_free(struct qsb_policy *policy);
void qsb__policy_release(struct qsb_policy **policy);
#define QSB__CLEANUP_POLICY __attribute__((cleanup(qsb__policy_release)))

/*
 * One value as the command line gives it: "2g", "none", "off", "true". A list gets one entry added. `--env NAME` (the
 * row /environment/set without '=') adds the name to /environment/pass. /extends is remembered only, as with
 * qsb__policy_merge_json.
 *   QSB_E_INVALID, QSB_E_RANGE  the message shows the accepted forms
 */
int qsb__policy_set_text(struct qsb_policy *policy, const struct qsb__row *row, const char *text, enum qsb__layer layer,
			 struct qsb_error *err);

/*
 * Lays a JSON policy over the present one. `source` names the text in messages. The layers PROJECT and MANAGED only
 * tighten, the others win. `extends` is checked and remembered, its values are not taken: which preset is the start is
 * qsb__policy_load's choice.
 */
int qsb__policy_merge_json(struct qsb_policy *policy, enum qsb__layer layer, const char *text, size_t length,
			   const char *source, struct qsb_error *err);

struct qsb__policy_option {
	const struct qsb__row *row;
	const char *text;
};

struct qsb__policy_sources {
	const char *policy_file;  /* --policy; NULL = none */
	int policy_fd;            /* --policy-fd; -1 = none. Not closed; read from where it stands to its end */
	const char *preset;       /* --preset; NULL = none. Also an option of the row /extends chooses it */
	const char *workspace;    /* absolute; NULL = no project file */
	const char *home;         /* absolute; NULL = unknown */
	const char *config_home;  /* XDG_CONFIG_HOME; NULL, empty or relative = HOME/.config */
	const char *managed_file; /* NULL = QSB__MANAGED_FILE; "" = none, for tests */
	const struct qsb__policy_option *options; /* in the order given */
	size_t option_count;
};

#define QSB__MANAGED_FILE "/etc/qiming-sandbox/policy.json"
#define QSB__PROJECT_FILE ".qiming-sandbox.json"

/*
 * The whole layering: preset, user's file, project's file, or the named policy instead of both; options; managed bound.
 * The caller frees *out.
 *   QSB_E_NOT_FOUND  the named policy is not there
 *   QSB_E_INVALID    a file is not a policy: `where` is the JSON pointer
 *   QSB_E_DENIED     the managed file is not root's alone
 */
int qsb__policy_load(struct qsb_policy **out, const struct qsb__policy_sources *sources, struct qsb_error *err);

/* The user's file, whether it is there or not. false = no home, or too long. */
bool qsb__policy_user_file(const struct qsb__policy_sources *sources, char *out, size_t size);

/* The effective values as a policy that could be loaded again; with_origins: {"policy", "origins", "notes"}. The caller
 * frees it; NULL = no memory. */
char *qsb__policy_to_json(const struct qsb_policy *policy, bool with_origins);

/* Puts "***" in the place of every password, for a policy that is only to be shown. 0 or QSB_E_MEMORY. */
int qsb__policy_hide_passwords(struct qsb_policy *policy);

/* Ports that cannot both be: 0, or QSB_E_INVALID with the place of the second one. */
int qsb__policy_check_ports(const struct qsb_policy *policy, struct qsb_error *err);

/* One row's effective value as a person would write it: "2g", "off", "none"; lists are joined by ", ", a password is
 * not shown. The caller frees it; NULL = no memory. */
char *qsb__policy_value_text(const struct qsb_policy *policy, const struct qsb__row *row);

/* JSON Schema, draft 2020-12. The caller frees it; NULL = no memory. */
char *qsb__policy_schema_json(void);

#endif
