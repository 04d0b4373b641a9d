/*
 * Memory that no process owns: files of memfd_create that are open and not mapped, and System V segments that nobody
 * has attached. What is mapped or attached is counted with the processes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/linux/sandbox.h"
#include "core/cleanup.h"

/* Enough to be over any limit; further files are not told apart from known ones. */
enum { KNOWN_MAX = 4096, BLOCK = 512 };

struct seen {
	ino_t file[KNOWN_MAX];
	size_t count;
	uint64_t bytes;
};

static bool is_new(struct seen *seen, ino_t file)
{
	for (size_t i = 0; i < seen->count; i++)
		if (seen->file[i] == file)
			return false;
	if (seen->count < KNOWN_MAX)
		seen->file[seen->count++] = file;
	return true;
}

static void add_process(struct seen *seen, int proc, const char *pid)
{
	char path[272], target[16];
	struct dirent *entry;
	DIR *folder;
	int fd;

	snprintf(path, sizeof(path), "%s/fd", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(folder))) {
		struct stat status;
		ssize_t length = readlinkat(fd, entry->d_name, target, sizeof(target));

		if (length > 7 && memcmp(target, "/memfd:", 7) == 0 && fstatat(fd, entry->d_name, &status, 0) == 0 &&
		    is_new(seen, status.st_ino))
			seen->bytes += (uint64_t)status.st_blocks * BLOCK;
	}
	closedir(folder);
}

static uint64_t memory_files(const struct qsb__sandbox *sandbox)
{
	QSB_CLEANUP_FREE struct seen *seen = calloc(1, sizeof(*seen));
	int copy = openat(sandbox->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *proc = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!proc && copy >= 0)
		close(copy);
	while (proc && seen && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			add_process(seen, sandbox->proc_fd, entry->d_name);
	if (proc)
		closedir(proc);
	return seen ? seen->bytes : 0;
}

/* key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap */
static uint64_t segment_bytes(const char *line)
{
	unsigned long attached, resident, swapped;

	if (sscanf(line, "%*d %*d %*o %*u %*d %*d %lu %*u %*u %*u %*u %*u %*u %*u %lu %lu", &attached, &resident,
		   &swapped) != 3 ||
	    attached > 0)
		return 0;
	return (uint64_t)resident + swapped;
}

static uint64_t loose_segments(int list)
{
	char text[16384];
	size_t kept = 0;
	uint64_t bytes = 0;
	ssize_t length;

	if (list < 0 || lseek(list, 0, SEEK_SET) != 0)
		return 0;
	while ((length = read(list, text + kept, sizeof(text) - 1 - kept)) > 0) {
		char *line = text, *end;

		kept += (size_t)length;
		text[kept] = '\0';
		for (; (end = strchr(line, '\n')) != NULL; line = end + 1)
			bytes += segment_bytes(line);
		kept -= (size_t)(line - text);
		memmove(text, line, kept);
		if (kept == sizeof(text) - 1)
			return bytes;
	}
	return bytes;
}

uint64_t qsb__shared_memory(const struct qsb__sandbox *sandbox)
{
	return loose_segments(sandbox->shm_fd) +
	       (sandbox->memfd_seen && sandbox->proc_fd >= 0 ? memory_files(sandbox) : 0);
}
