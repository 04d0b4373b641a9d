/* Limits and privileges of the command, set in the child after the mounts and before the filter. */
#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <linux/securebits.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "core/error.h"
#include "os/capabilities.h"

static int set_limit(int resource, uint64_t value, const char *name, struct qsb_error *err)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) != 0)
		return qsb__fail_os(err, errno, "limits", "cannot read the limit of %s", name);
	/* What the caller was given already is a bound, too. */
	if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < value)
		value = limit.rlim_max;
	limit.rlim_cur = limit.rlim_max = value;
	if (setrlimit((__rlimit_resource_t)resource, &limit) != 0)
		return qsb__fail_os(err, errno, "limits", "cannot limit %s", name);
	return 0;
}

int qsb__limits_apply(const struct qsb__sandbox *sandbox, struct qsb_error *err)
{
	const struct qsb__plan *plan = sandbox->plan;
	/* Raising the soft limit again up to the hard one is the command's right; the hard limit is ours. Real-time
	 * scheduling would starve the host, core dumps write into the workspace what the memory held. */
	const struct {
		int resource;
		bool wanted;
		uint64_t value;
		const char *name;
	} limits[] = {
		{RLIMIT_CORE, true, 0, "core dumps"},
		{RLIMIT_RTPRIO, true, 0, "real-time priority"},
		/* Counted for this user inside this user namespace only, as of Linux 5.14. One more: our pid 1. */
		{RLIMIT_NPROC, plan->processes > 0, plan->processes + 1, "processes"},
		{RLIMIT_NOFILE, plan->open_files > 0, plan->open_files, "open files"},
		{RLIMIT_FSIZE, plan->file_bytes > 0, plan->file_bytes, "file sizes"},
	};
	int code = 0;

	for (size_t i = 0; code == 0 && i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].wanted)
			code = set_limit(limits[i].resource, limits[i].value, limits[i].name, err);
	if (code == 0 && sandbox->cpu_count > 0 && sched_setaffinity(0, sizeof(sandbox->cpus), &sandbox->cpus) != 0)
		code = qsb__fail_os(err, errno, "limits", "cannot limit the processors");
	return code;
}

int qsb__privileges_drop(struct qsb_error *err)
{
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
				   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
				   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	/* uid 0 gets nothing by executing a file; setuid programs and file capabilities give nothing. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return qsb__fail_os(err, errno, "privileges", "cannot set no_new_privs");
	if (prctl(PR_SET_SECUREBITS, bits) != 0)
		return qsb__fail_os(err, errno, "privileges", "cannot set the secure bits");
	errno = 0;
	/* EINVAL: one more than the kernel has. */
	for (unsigned long capability = 0; prctl(PR_CAPBSET_DROP, capability) == 0 || errno != EINVAL; capability++)
		if (errno == EPERM)
			return qsb__fail_os(err, errno, "privileges", "cannot drop capability %lu", capability);
	if (!qsb__capabilities_drop())
		return qsb__fail_os(err, errno, "privileges", "cannot drop capabilities");
	return 0;
}
