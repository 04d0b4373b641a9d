#include "plan/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 32 * 1024 };

struct qsb__arena_chunk {
	struct qsb__arena_chunk *older;
	alignas(max_align_t) char bytes[];
};

static char *take(struct qsb__arena *arena, size_t size)
{
	char *taken;

	if (size > arena->left) {
		size_t room = size > CHUNK_BYTES ? size : (size_t)CHUNK_BYTES;
		struct qsb__arena_chunk *chunk = NULL;

		if (room <= SIZE_MAX - sizeof(*chunk))
			chunk = malloc(sizeof(*chunk) + room);
		if (!chunk) {
			arena->failed = true;
			return NULL;
		}
		chunk->older = arena->chunks;
		arena->chunks = chunk;
		arena->next = chunk->bytes;
		arena->left = room;
	}
	taken = arena->next;
	arena->next += size;
	arena->left -= size;
	return taken;
}

void *qsb__arena_alloc(struct qsb__arena *arena, size_t size)
{
	size_t misfit = (uintptr_t)arena->next % alignof(max_align_t);
	size_t skip = misfit ? alignof(max_align_t) - misfit : 0;
	char *taken;

	if (size > SIZE_MAX / 2) {
		arena->failed = true;
		return NULL;
	}
	/* A new chunk starts aligned, so what must be skipped counts only where it fits into the present one. */
	if (arena->left >= skip + size) {
		arena->next += skip;
		arena->left -= skip;
	} else {
		arena->left = 0;
	}
	taken = take(arena, size);
	if (taken)
		memset(taken, 0, size);
	return taken;
}

char *qsb__arena_text_n(struct qsb__arena *arena, const char *text, size_t length)
{
	char *copy = take(arena, length + 1);

	if (copy) {
		memcpy(copy, text, length);
		copy[length] = '\0';
	}
	return copy;
}

char *qsb__arena_text(struct qsb__arena *arena, const char *text)
{
	return text ? qsb__arena_text_n(arena, text, strlen(text)) : NULL;
}

char *qsb__arena_format(struct qsb__arena *arena, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	text = length < 0 ? NULL : take(arena, (size_t)length + 1);
	if (!text) {
		arena->failed = true;
		return NULL;
	}
	va_start(arguments, format);
	vsnprintf(text, (size_t)length + 1, format, arguments);
	va_end(arguments);
	return text;
}

void qsb__arena_clear(struct qsb__arena *arena)
{
	while (arena->chunks) {
		struct qsb__arena_chunk *chunk = arena->chunks;

		arena->chunks = chunk->older;
		free(chunk);
	}
	memset(arena, 0, sizeof(*arena));
}
