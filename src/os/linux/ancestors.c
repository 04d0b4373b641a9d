#include "os/ancestors.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cleanup.h"

enum { HIGHEST_ANCESTOR = 64 };

/* The parent of a process and its name. 0 = not known. */
static int parent_of(int pid, char *name, size_t size)
{
	char path[64], text[1024];
	QSB_CLEANUP_FD int fd = -1;
	const char *open_bracket, *close_bracket;
	ssize_t length;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	/* "PID (NAME) S PARENT …": the name may hold anything, brackets too. */
	open_bracket = strchr(text, '(');
	close_bracket = strrchr(text, ')');
	if (!open_bracket || !close_bracket || sscanf(close_bracket + 1, " %*c %d", &parent) != 1)
		return 0;
	snprintf(name, size, "%.*s", (int)(close_bracket - open_bracket - 1), open_bracket + 1);
	return parent;
}

bool qsb__pipe_is_read_above(int fd, int *pid, char *name, size_t size)
{
	struct stat ours, theirs;
	int ancestor = getppid();

	if (fstat(fd, &ours) != 0 || !S_ISFIFO(ours.st_mode))
		return false;
	for (int i = 0; i < HIGHEST_ANCESTOR && ancestor > 1; i++) {
		char path[64];
		int next = parent_of(ancestor, name, size);

		snprintf(path, sizeof(path), "/proc/%d/fd/0", ancestor);
		if (stat(path, &theirs) == 0 && theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino) {
			*pid = ancestor;
			return true;
		}
		ancestor = next;
	}
	return false;
}
