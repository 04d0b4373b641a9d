#include "supervisor/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096, MARK_MAX = 96 };

void qsb__keeper_init(struct qsb__keeper *keeper, uint64_t limit, bool tail_only)
{
	memset(keeper, 0, sizeof(*keeper));
	keeper->tail_limit = (size_t)(tail_only ? limit : limit / 2);
	keeper->head_limit = limit ? (size_t)limit - keeper->tail_limit : SIZE_MAX;
}

static bool make_room(struct qsb__keeper *keeper, size_t wanted)
{
	size_t room = keeper->head_room ? keeper->head_room : FIRST_ROOM;
	char *head;

	if (wanted <= keeper->head_room)
		return true;
	while (room < wanted)
		room *= 2;
	if (room > keeper->head_limit)
		room = keeper->head_limit;
	head = realloc(keeper->head, room);
	if (!head)
		return false;
	keeper->head = head;
	keeper->head_room = room;
	return true;
}

static void add_to_tail(struct qsb__keeper *keeper, const char *data, size_t length)
{
	size_t first;

	if (!keeper->tail) {
		keeper->tail = malloc(keeper->tail_limit);
		if (!keeper->tail) {
			keeper->failed = true;
			return;
		}
	}
	if (length > keeper->tail_limit) {
		data += length - keeper->tail_limit;
		length = keeper->tail_limit;
	}
	first = keeper->tail_limit - keeper->tail_at;
	if (first > length)
		first = length;
	memcpy(keeper->tail + keeper->tail_at, data, first);
	memcpy(keeper->tail, data + first, length - first);
	keeper->tail_at = (keeper->tail_at + length) % keeper->tail_limit;
}

void qsb__keeper_add(struct qsb__keeper *keeper, const char *data, size_t length)
{
	size_t to_head = keeper->head_limit - keeper->head_length;

	keeper->total += length;
	if (keeper->failed)
		return;
	if (to_head > length)
		to_head = length;
	if (to_head > 0) {
		if (!make_room(keeper, keeper->head_length + to_head)) {
			keeper->failed = true;
			return;
		}
		memcpy(keeper->head + keeper->head_length, data, to_head);
		keeper->head_length += to_head;
	}
	if (length > to_head && keeper->tail_limit > 0)
		add_to_tail(keeper, data + to_head, length - to_head);
}

bool qsb__keeper_is_over(const struct qsb__keeper *keeper)
{
	return keeper->failed ||
	       (keeper->tail_limit > 0 && keeper->total > (uint64_t)keeper->head_limit + keeper->tail_limit);
}

/* The tail in order: the oldest byte of a full ring lies where the next one would go. */
static size_t copy_tail(const struct qsb__keeper *keeper, char *to)
{
	uint64_t after_head = keeper->total - keeper->head_length;
	size_t first;

	if (!keeper->tail || after_head == 0)
		return 0;
	if (after_head <= keeper->tail_limit) {
		memcpy(to, keeper->tail, (size_t)after_head);
		return (size_t)after_head;
	}
	first = keeper->tail_limit - keeper->tail_at;
	memcpy(to, keeper->tail + keeper->tail_at, first);
	memcpy(to + first, keeper->tail, keeper->tail_at);
	return keeper->tail_limit;
}

void qsb__keeper_take(struct qsb__keeper *keeper, struct qsb__capture *out)
{
	bool over = qsb__keeper_is_over(keeper);
	uint64_t kept = (uint64_t)keeper->head_length + (keeper->tail ? keeper->tail_limit : 0);
	char *all = malloc(keeper->head_length + (keeper->tail ? keeper->tail_limit : 0) + MARK_MAX + 1);

	memset(out, 0, sizeof(*out));
	out->truncated = over || !all;
	if (all) {
		if (keeper->head_length)
			memcpy(all, keeper->head, keeper->head_length);
		out->length = keeper->head_length;
		if (over)
			out->length += (size_t)snprintf(
				all + out->length, MARK_MAX, "\n[qiming-sandbox: %llu bytes left out]\n",
				(unsigned long long)(keeper->total > kept ? keeper->total - kept : 0));
		out->length += copy_tail(keeper, all + out->length);
		all[out->length] = '\0';
		out->data = all;
	}
	free(keeper->head);
	free(keeper->tail);
	memset(keeper, 0, sizeof(*keeper));
}
