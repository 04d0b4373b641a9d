/* The processors that the command gives itself: any of those that the limit left it, no others. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "backend/linux/abi.h"
#include "backend/linux/proc_status.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"

/* The number of a thread in its innermost namespace. 0 = unknown. */
static pid_t inner_number(const char *folder, const char *thread)
{
	char path[128], text[QSB__STATUS_BYTES];

	snprintf(path, sizeof(path), "%s/%s/status", folder, thread);
	return qsb__status_read(AT_FDCWD, path, text) ? qsb__status_innermost(text, "NSpid") : 0;
}

/* The thread that the caller means by `wanted`, as a number of ours: itself or one of its own process. 0 = another. */
static pid_t find_thread(pid_t caller, pid_t wanted)
{
	char folder[64], name[32];
	struct dirent *entry;
	pid_t found = 0;
	DIR *tasks;

	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)caller);
	snprintf(name, sizeof(name), "%d", (int)caller);
	if (wanted == 0 || inner_number(folder, name) == wanted)
		return caller;
	tasks = opendir(folder);
	while (tasks && !found && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.' && inner_number(folder, entry->d_name) == wanted)
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	if (tasks)
		closedir(tasks);
	return found;
}

int qsb__affinity_set(const struct qsb__sandbox *sandbox, const struct seccomp_notif *request)
{
	size_t length = (size_t)request->data.args[1];
	pid_t thread = find_thread((pid_t)request->pid, (pid_t)request->data.args[0]);
	cpu_set_t wanted;
	struct iovec local = {.iov_base = &wanted, .iov_len = length < sizeof(wanted) ? length : sizeof(wanted)};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)request->data.args[2], .iov_len = local.iov_len};

	if (!thread)
		return EPERM;
	CPU_ZERO(&wanted);
	if (process_vm_readv((pid_t)request->pid, &local, 1, &remote, 1, 0) != (ssize_t)local.iov_len)
		return EFAULT;
	CPU_AND(&wanted, &wanted, &sandbox->cpus);
	if (CPU_COUNT(&wanted) == 0)
		return EINVAL;
	return sched_setaffinity(thread, sizeof(wanted), &wanted) == 0 ? 0 : errno;
}
