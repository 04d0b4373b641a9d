/* The name a person probably meant: for misspelt keys, options, subcommands and presets. */
#ifndef QSB_CORE_SUGGEST_H
#define QSB_CORE_SUGGEST_H

#include <stddef.h>

/* The nearest of `names` by edit distance (a swap of neighbours counts once, case does not count), NULL when none is
 * near enough: at most one edit in three characters. NULL entries are skipped. */
const char *qsb__suggest(const char *word, const char *const *names, size_t count);

/* How many edits part the two; SIZE_MAX when either is longer than 64 bytes. */
size_t qsb__edit_distance(const char *one, const char *other);

#endif
