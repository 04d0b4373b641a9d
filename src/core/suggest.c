#include "core/suggest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { WORD_MAX = 64 };

static char lower(char character)
{
	return character >= 'A' && character <= 'Z' ? (char)(character - 'A' + 'a') : character;
}

static uint8_t least(uint8_t one, uint8_t two, uint8_t three)
{
	uint8_t smaller = one < two ? one : two;

	return smaller < three ? smaller : three;
}

size_t qsb__edit_distance(const char *one, const char *other)
{
	size_t rows = strlen(one), columns = strlen(other);
	uint8_t cost[3][WORD_MAX + 1];

	if (rows > WORD_MAX || columns > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= columns; j++)
		cost[0][j] = (uint8_t)j;
	for (size_t i = 1; i <= rows; i++) {
		uint8_t *now = cost[i % 3], *before = cost[(i + 2) % 3], *earlier = cost[(i + 1) % 3];

		now[0] = (uint8_t)i;
		for (size_t j = 1; j <= columns; j++) {
			bool same = lower(one[i - 1]) == lower(other[j - 1]);

			now[j] = least((uint8_t)(before[j] + 1), (uint8_t)(now[j - 1] + 1),
				       (uint8_t)(before[j - 1] + (same ? 0 : 1)));
			if (i > 1 && j > 1 && lower(one[i - 1]) == lower(other[j - 2]) &&
			    lower(one[i - 2]) == lower(other[j - 1]) && earlier[j - 2] + 1 < now[j])
				now[j] = (uint8_t)(earlier[j - 2] + 1);
		}
	}
	return cost[rows % 3][columns];
}

const char *qsb__suggest(const char *word, const char *const *names, size_t count)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		size_t length, allowed, distance;

		if (!names[i])
			continue;
		length = strlen(names[i]);
		allowed = length < 4 ? 1 : length / 3;
		distance = qsb__edit_distance(word, names[i]);
		if (distance <= allowed && distance < length && distance < best_distance) {
			best = names[i];
			best_distance = distance;
		}
	}
	return best;
}
