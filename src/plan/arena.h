/* Storage of one plan: thousands of short strings that live and die together. */
#ifndef QSB_PLAN_ARENA_H
#define QSB_PLAN_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct qsb__arena_chunk;

/* All zero is an empty arena. Once memory ran out `failed` stays true, and whoever builds looks once, at the end. */
struct qsb__arena {
	struct qsb__arena_chunk *chunks;
	char *next;
	size_t left;
	bool failed;
};

/* Aligned for any object, zeroed. NULL when there is no memory. */
void *qsb__arena_alloc(struct qsb__arena *arena, size_t size);
/* Copies. NULL gives NULL. */
char *qsb__arena_text(struct qsb__arena *arena, const char *text);
char *qsb__arena_text_n(struct qsb__arena *arena, const char *text, size_t length);
char *qsb__arena_format(struct qsb__arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void qsb__arena_clear(struct qsb__arena *arena);

#endif
