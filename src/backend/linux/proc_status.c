#include "backend/linux/proc_status.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cleanup.h"

enum { INNERMOST = 64 /* more namespaces are never inside each other */ };

bool qsb__status_read(int folder, const char *path, char text[QSB__STATUS_BYTES])
{
	QSB_CLEANUP_FD int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, QSB__STATUS_BYTES - 1);

	text[length < 0 ? 0 : length] = '\0';
	return length > 0;
}

/* What stands behind the key; "" = it is not there. */
static const char *find(const char *status, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = strchr(status, '\n'); line; line = strchr(line + 1, '\n'))
		if (strncmp(line + 1, key, length) == 0 && line[1 + length] == ':')
			return line + 1 + length + 1;
	return "";
}

unsigned long long qsb__status_number(const char *status, const char *key, int base)
{
	return strtoull(find(status, key), NULL, base);
}

/* The number at a place of the line, or the last one before it. */
static int number_at(const char *status, const char *key, unsigned place, unsigned *count)
{
	const char *at = find(status, key);
	long number = 0;

	for (*count = 0; *count <= place; ++*count) {
		char *end;

		at += strspn(at, " \t");
		if (*at < '0' || *at > '9')
			break;
		number = strtol(at, &end, 10);
		at = end;
	}
	return (int)number;
}

int qsb__status_inside(const char *status, const char *key)
{
	unsigned count;
	int number = number_at(status, key, 1, &count);

	return count > 1 ? number : 0;
}

int qsb__status_innermost(const char *status, const char *key)
{
	unsigned count;

	return number_at(status, key, INNERMOST, &count);
}

void qsb__status_name(const char *status, char *name, size_t size)
{
	static const char key[] = "Name:\t";
	const char *at = status + sizeof(key) - 1;

	name[0] = '\0';
	if (strncmp(status, key, sizeof(key) - 1) == 0)
		snprintf(name, size, "%.*s", (int)strcspn(at, "\n"), at);
}
