/* Inside the policy code only: what one layer says, before it is laid over the others. */
#ifndef QSB_CORE_POLICY_PATCH_H
#define QSB_CORE_POLICY_PATCH_H

#include "core/policy.h"
#include "core/size.h"

/* The values of one layer; a key that it does not name has no meaning here. */
struct qsb__patch {
	struct qsb_policy values;
	bool named[QSB__ROWS_MAX];
	enum qsb__layer layer;
	const char *source; /* for messages; borrowed */
	bool quiet;         /* a preset's values: tightening leaves no note of each */
};

void qsb__patch_clear(struct qsb__patch *patch);

/* Reads JSON into a patch (policy_parse.c). `patch` has its layer and source and is otherwise zero. */
int qsb__patch_parse(struct qsb__patch *patch, const char *text, size_t length, struct qsb_error *err);

/* Lays a patch over a policy: it wins (policy_merge.c). Its lists are moved out of it. */
int qsb__patch_merge(struct qsb_policy *policy, struct qsb__patch *patch, struct qsb_error *err);

/* What `qsb__patch_tighten` needs to know to compare paths; either may be NULL, then fewer of them are comparable. */
struct qsb__places {
	const char *workspace; /* absolute */
	const char *home;      /* absolute */
};

/* Lays a patch over a policy where it is stricter, and leaves a note where it is not (policy_tighten.c). */
int qsb__patch_tighten(struct qsb_policy *policy, struct qsb__patch *patch, const struct qsb__places *places,
		       struct qsb_error *err);

/* A new allow entry that lies within the present ones and below no rule that refuses (policy_cover.c)? `row` is the
 * list's row. Only what is certain counts: a link is resolved, and a glob covers nothing but itself. */
bool qsb__cover_allows(const struct qsb_policy *policy, const struct qsb__row *row, const struct qsb__list *present,
		       const char *entry, const struct qsb__places *places);

/* Does one of `list` hold all that `entry` names? */
bool qsb__cover_holds(const struct qsb__row *row, const struct qsb__list *list, const char *entry,
		      const struct qsb__places *places);

/* Sets every "NAME=VALUE" of `more`, by name. */
int qsb__map_merge(struct qsb__list *list, const struct qsb__list *more);

/* Adds a sentence to the policy's notes. */
int qsb__note(struct qsb_policy *policy, enum qsb__layer layer, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Makes room for `count` entries altogether. */
int qsb__list_reserve(struct qsb__list *list, size_t count);

/* Storage of a row in a policy. */
void qsb__row_set(struct qsb_policy *policy, const struct qsb__row *row, uint64_t value);
struct qsb__list *qsb__row_list_at(struct qsb_policy *policy, const struct qsb__row *row);
char **qsb__row_text_at(struct qsb_policy *policy, const struct qsb__row *row);                 /* NULL = no TEXT row */
int qsb__row_set_text(struct qsb_policy *policy, const struct qsb__row *row, const char *text); /* is copied */
bool qsb__row_is_list(const struct qsb__row *row);
bool qsb__row_is_number(const struct qsb__row *row); /* SIZE, SECONDS, COUNT or CPUS */
size_t qsb__row_index(const struct qsb__row *row);

/* Where a value stands, for messages: a pointer and its file, or an option. */
struct qsb__place {
	const char *pointer; /* "/limits/memory" or "--memory" */
	const char *source;  /* NULL for an option */
	const char *key;     /* further into a map; NULL = not */
	const size_t *index; /* further into a list; NULL = not */
};

int qsb__place_fail(struct qsb_error *err, int code, const struct qsb__place *place, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads a scalar from text ("2g", "off", "true", "none"); checks its range (policy_value.c). */
int qsb__value_parse(const struct qsb__row *row, const char *text, const struct qsb__place *place, uint64_t *value,
		     struct qsb_error *err);
/* The number in the row's unit in memory. `shown` is how the value was written. */
int qsb__value_check(const struct qsb__row *row, uint64_t value, const char *shown, const struct qsb__place *place,
		     struct qsb_error *err);
/* "must be …; it is …" with the forms and the range that the row accepts. */
int qsb__value_refuse(const struct qsb__row *row, int code, const char *shown, const struct qsb__place *place,
		      struct qsb_error *err);
/* A number in the row's unit in memory as a person would write it: "2g", "1.5". */
void qsb__value_format(const struct qsb__row *row, uint64_t value, char out[QSB__NUMBER_TEXT_MAX]);
/* Is the text a good entry of the row's list? */
int qsb__entry_check(const struct qsb__row *row, const char *text, const struct qsb__place *place,
		     struct qsb_error *err);

#endif
