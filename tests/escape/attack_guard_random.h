/* What the two files of the random calls share: where values come from, and how an answer is told. */
#ifndef QSB_TESTS_ESCAPE_ATTACK_GUARD_RANDOM_H
#define QSB_TESTS_ESCAPE_ATTACK_GUARD_RANDOM_H

#include <sys/types.h>

/* The same numbers for the same seed. */
unsigned random_below(unsigned limit);

/* A path of slot 0 or 1: good, odd, too long, at the end of a page, or no address at all. */
const char *random_path(int slot);
/* The same, in words where it cannot be read. */
const char *random_words(int slot);
int random_folder(void); /* for the *at calls: may be a file, or closed */
int random_file(void);
mode_t random_mode(void);
/* Flags that the kernel takes of the one who opened the file only, where that may have been a parent: linkat's
 * AT_EMPTY_PATH. Behind a guard, which opens for all, the opener is never the caller. */
int random_inherited(void);

/* Prints the call with the paths of slot 0 and 1 (`paths`: a bit each), its result and errno. */
void random_tell(const char *call, unsigned paths, long result);
/* The descriptor of an open file, or -1: told, and kept for later calls. */
void random_keep(long fd);

/* attack_guard_random_calls.c: one of the calls that have more than one form. */
void random_old_call(void);
void random_new_call(void);
void random_attribute(void);
void random_times(void);
void random_owner(void);
void random_bind(void);
void random_nameless(void);

#endif
