/* Out of the way: to a name beside its own of which no rule speaks, and which no program looks for. */
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "guard/internal.h"

enum { NUMBERS = 100, CHANCES = 3 };

/* Not every file system knows how to replace nothing. A second name is refused where there is one; a folder takes the
 * place of an empty folder at the most. */
static int move_without_flag(int folder, const char *name, const char *to)
{
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	if (S_ISDIR(status.st_mode))
		return renameat(folder, name, folder, to) == 0 ? 0 : errno;
	return linkat(folder, name, folder, to, 0) == 0 && unlinkat(folder, name, 0) == 0 ? 0 : errno;
}

int qsb__move_aside(int folder, const char *name, char *to)
{
	int error = EEXIST;

	for (unsigned i = 1; error == EEXIST && i <= NUMBERS + CHANCES; i++) {
		uint64_t any = i;

		/* Whoever took all the numbers before could not know this one. */
		if (i > NUMBERS && getrandom(&any, sizeof(any), 0) != sizeof(any))
			return EIO;
		/* Of the longest name there is room for the number's longest. */
		if (i == 1)
			snprintf(to, NAME_MAX + 1, "%.220s.quarantined", name);
		else
			snprintf(to, NAME_MAX + 1, "%.220s.quarantined.%llu", name, (unsigned long long)any);
		if (renameat2(folder, name, folder, to, RENAME_NOREPLACE) == 0)
			return 0;
		error = errno == EINVAL ? move_without_flag(folder, name, to) : errno;
	}
	return error;
}
