/*
 * What the sandbox uses now: from its control group where there is one, else added up over its own /proc, as cheaply as
 * the distance to the limit permits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <sys/statvfs.h>

#include "backend/linux/sandbox.h"
#include "core/cleanup.h"

struct directory_entry {
	uint64_t number;
	int64_t offset;
	unsigned short size;
	unsigned char type;
	char name[];
};

static ssize_t read_file(int folder, const char *path, char *buffer, size_t size)
{
	QSB_CLEANUP_FD int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, buffer, size - 1);

	if (length >= 0)
		buffer[length] = '\0';
	return length;
}

/*
 * The sum of the named fields, each "NAME: <number> kB" on a line of its own, of one process's file. They are looked
 * for behind the end of a line: the process gives itself its name, which stands in the first one. False: cannot be
 * read.
 */
static bool fields(int proc, const char *pid, const char *file, const char *const *names, uint64_t *sum)
{
	char path[64], text[4096];

	*sum = 0;
	snprintf(path, sizeof(path), "%s/%s", pid, file);
	if (read_file(proc, path, text, sizeof(text)) <= 0)
		return false;
	for (; *names; names++) {
		const char *at = strstr(text, *names);
		unsigned long kilobytes = 0;

		if (at)
			sscanf(at + strlen(*names), "%lu", &kilobytes);
		*sum += (uint64_t)kilobytes * 1024U;
	}
	return true;
}

/* All that is resident, shared or not: an upper bound for one read of a short line. */
static uint64_t resident_bytes(int proc, const char *pid)
{
	unsigned long resident;
	char path[32], text[128];

	snprintf(path, sizeof(path), "%s/statm", pid);
	if (read_file(proc, path, text, sizeof(text)) <= 0 || sscanf(text, "%*u %lu", &resident) != 1)
		return 0;
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Without the pages of files; what several processes share in memory still counts once for each. */
static uint64_t unbacked_bytes(int proc, const char *pid)
{
	static const char *const names[] = {"\nRssAnon:", "\nRssShmem:", "\nVmSwap:", NULL};
	uint64_t sum;

	fields(proc, pid, "status", names, &sum);
	return sum;
}

/* Exact: every shared page is divided among those who share it. Costs fifty times the first look. What does not let
 * itself be looked into counts in full. */
static uint64_t fair_bytes(int proc, const char *pid)
{
	static const char *const names[] = {"\nPss_Anon:", "\nPss_Shmem:", "\nSwapPss:", NULL};
	uint64_t sum;

	return fields(proc, pid, "smaps_rollup", names, &sum) ? sum : unbacked_bytes(proc, pid);
}

/* Threads count as processes, as for the kernel's limit: the folder of them has two links more than there are. */
static uint64_t threads(int proc, const char *pid)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "%s/task", pid);
	return fstatat(proc, path, &status, 0) == 0 && status.st_nlink > 2 ? (uint64_t)status.st_nlink - 2 : 1;
}

static bool walk(int proc, uint64_t (*bytes)(int proc, const char *pid), uint64_t *memory, uint64_t *processes)
{
	char buffer[8192] __attribute__((aligned(8)));
	long length;

	*memory = *processes = 0;
	if (lseek(proc, 0, SEEK_SET) < 0)
		return false;
	while ((length = syscall(SYS_getdents64, proc, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < length;) {
			const struct directory_entry *entry = (const struct directory_entry *)(buffer + at);

			at += entry->size;
			/* pid 1 is ours. */
			if (entry->name[0] < '1' || entry->name[0] > '9' || strcmp(entry->name, "1") == 0)
				continue;
			*processes += threads(proc, entry->name);
			*memory += bytes(proc, entry->name);
		}
	return length == 0;
}

/* Each look is dearer and lower than the one before: stop at the first that stays below half, or the whole, limit. */
static bool look(int proc, uint64_t limit, uint64_t *memory, uint64_t *processes)
{
	if (!walk(proc, resident_bytes, memory, processes))
		return false;
	if (*memory > limit / 2 && !walk(proc, unbacked_bytes, memory, processes))
		return false;
	return *memory <= limit || walk(proc, fair_bytes, memory, processes);
}

bool qsb__measure(struct qsb__sandbox *sandbox, uint64_t *memory_bytes, uint64_t *processes)
{
	uint64_t limit = sandbox->plan->memory_bytes;
	bool memory_known = qsb__cgroup_memory(&sandbox->cgroup, memory_bytes);
	bool processes_known = qsb__cgroup_processes(&sandbox->cgroup, processes);
	uint64_t memory, count;

	if (memory_known && processes_known)
		return true;
	if (sandbox->proc_fd < 0 ||
	    !look(sandbox->proc_fd, memory_known || !limit ? UINT64_MAX : limit, &memory, &count))
		return false;
	if (!memory_known)
		*memory_bytes = memory + (limit ? qsb__shared_memory(sandbox) : 0);
	if (!processes_known)
		*processes = count;
	return true;
}

/* Nothing tells that a write found no room; that there is none left is what remains of it. */
bool qsb__scratch_is_full(const struct qsb__sandbox *sandbox)
{
	struct statvfs status;

	return sandbox->plan->tmp_bytes && sandbox->scratch_fd >= 0 && fstatvfs(sandbox->scratch_fd, &status) == 0 &&
	       ((status.f_blocks && status.f_bavail == 0) || (status.f_files && status.f_ffree == 0));
}
