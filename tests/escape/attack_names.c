/* Routes that were written for one set of names, tried with another. */
#include "attack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* QSB_NAMES="new.key=.envrc:gone=.github" stands for other rules: those components are called so. */
static const char *other_name(const char *part, size_t length, size_t *other_length)
{
	const char *at = getenv("QSB_NAMES");

	for (; at && *at; at += strcspn(at, ":"), at += *at == ':')
		if (strncmp(at, part, length) == 0 && at[length] == '=') {
			*other_length = strcspn(at + length + 1, ":");
			return at + length + 1;
		}
	*other_length = length;
	return part;
}

const char *attack_name(const char *path)
{
	static char texts[8][2 * PATH_MAX];
	static unsigned next;
	char *text = texts[next++ % 8], *to = text;

	while (*path) {
		size_t length = strcspn(path, "/"), other_length;
		const char *other = other_name(path, length, &other_length);

		memcpy(to, other, other_length);
		to += other_length;
		path += length;
		if (*path)
			*to++ = *path++;
	}
	*to = '\0';
	return text;
}
