/* Which plans need the guard, which kernels can have it, and its making. */
#include "guard/guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <linux/filter.h>
#include <linux/fs.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "guard/git.h"

bool qsb__guard_holds_step(const struct qsb__step *step)
{
	return step->kind == QSB__STEP_NAME_RULE && step->held;
}

bool qsb__guard_needed(const struct qsb__plan *plan)
{
	if (plan->watched)
		return true;
	for (size_t i = 0; i < plan->step_count; i++)
		if (qsb__guard_holds_step(&plan->steps[i]))
			return true;
	return false;
}

bool qsb__guard_stops_reading(const struct qsb__plan *plan)
{
	if (plan->watched & QSB__ACCESS_READ)
		return true;
	for (size_t i = 0; i < plan->step_count; i++)
		if (qsb__guard_holds_step(&plan->steps[i]) && plan->steps[i].asked &&
		    (plan->steps[i].denies & QSB__ACCESS_READ))
			return true;
	return false;
}

bool qsb__guard_reports(const struct qsb__plan *plan)
{
	return plan->report_denials && !plan->allow_nested_sandbox && qsb__guard_available();
}

static bool is_one_of(const struct statfs *status, const unsigned long *types, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (((unsigned long)status->f_type & 0xffffffffUL) == types[i])
			return true;
	return false;
}

/* File systems of other worlds, which take two different names for one in ways that only they know. */
static bool is_foreign(const struct statfs *status)
{
	static const unsigned long types[] = {0x4d44 /* FAT */,
					      0x2011bab0 /* exFAT */,
					      0x5346544e /* NTFS */,
					      0x7366746e /* NTFS, ntfs3 */,
					      0x482b /* HFS+ */,
					      0xff534d42 /* CIFS */,
					      0xfe534d42 /* SMB */,
					      0x517b /* SMB, the old one */,
					      0x4244 /* HFS */};

	return is_one_of(status, types, sizeof(types) / sizeof(types[0]));
}

/* Those that may have one behind them: what a Mac or Windows shows a virtual machine, ntfs-3g. */
static bool may_be_foreign(const struct statfs *status)
{
	static const unsigned long types[] = {0x65735546 /* FUSE, virtiofs */, 0x01021997 /* 9p */,
					      0x786f4256 /* VirtualBox */, 0xbacbacbc /* VMware */,
					      0x7c7c6673 /* Parallels */};

	return is_foreign(status) || is_one_of(status, types, sizeof(types) / sizeof(types[0]));
}

/* Does this folder take different names for one (letter case, Unicode)? Then what a name is cannot be judged from
 * outside, but for names that are known beforehand. */
static bool compares_loosely(const char *folder)
{
	QSB_CLEANUP_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	struct statfs status;
	unsigned flags = 0;

	/* Not there yet: what it lies in will have been judged by its own rules, or is not writable. */
	if (fd < 0 || fstatfs(fd, &status) != 0)
		return false;
	return is_foreign(&status) || (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_CASEFOLD_FL));
}

static const struct qsb__step *find_loose(const struct qsb__plan *plan)
{
	const char *last = NULL;

	for (size_t i = 0; i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];

		if (!qsb__guard_holds_step(step) || !step->asked || (last && strcmp(last, step->path) == 0))
			continue;
		last = step->path;
		if (compares_loosely(last))
			return step;
	}
	return NULL;
}

/* The rule that must be held; one of the caller's own before the built-in ones. */
static const struct qsb__step *find_held(const struct qsb__plan *plan)
{
	const struct qsb__step *found = NULL;

	for (size_t i = 0; i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];

		if (qsb__guard_holds_step(step) && (!found || (step->asked && !found->asked)))
			found = step;
	}
	return found;
}

/* Why this host, or this policy, has no live rules; NULL = it has. */
static const char *find_obstacle(const struct qsb__plan *plan)
{
	if (plan->allow_nested_sandbox)
		return "not with allowNestedSandbox, since a sandbox inside makes mounts and folders of its own";
	/* A kernel without any such filter, or a host that forbids them, runs nothing at all: the start says so. */
	return qsb__guard_available() || errno != EINVAL ? NULL : "that needs Linux 5.19";
}

int qsb__guard_check(const struct qsb__plan *plan, struct qsb_error *err)
{
	const struct qsb__step *step = find_held(plan);
	const char *obstacle = step ? find_obstacle(plan) : NULL;

	if (obstacle && step->asked)
		return qsb__fail(err, QSB_E_UNSUPPORTED, step->rule,
				 "a pattern, or a path that does not exist, is held by answering system calls, which "
				 "cannot be done here (%s): deny paths that exist instead",
				 obstacle);
	if (obstacle && plan->protect_new_names)
		return qsb__fail(err, QSB_E_UNSUPPORTED, "/filesystem/protectNewNames",
				 "protected names that do not exist yet are held by answering system calls, which "
				 "cannot be done here (%s): --protect-new-names false runs with those alone that "
				 "exist",
				 obstacle);
	/* Nobody asked for this rule: the writable folder around it did, and its way out is another one. */
	if (obstacle)
		return qsb__fail(err, QSB_E_UNSUPPORTED, step->rule,
				 "the command could make %.150s/%.100s, a policy for later runs, and nothing here "
				 "stops it (%s): make that folder first, with mkdir -p",
				 step->path, step->text, obstacle);
	step = find_loose(plan);
	if (step)
		return qsb__fail(
			err, QSB_E_UNSUPPORTED, step->rule,
			"%.200s lies on a file system that takes different names for one (letter case): rules by name "
			"cannot be held there; deny paths that exist instead",
			step->path);
	return 0;
}

/* The built-in names are looked for in all spellings where the file system takes them for one. */
static void mark_loose(const struct qsb__plan *plan, struct qsb__names *names)
{
	const char *last = NULL;
	struct statfs status;

	for (size_t i = 0; i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];

		if (!qsb__guard_holds_step(step) || last == step->path)
			continue;
		last = step->path;
		/* Nobody can say: then it may. */
		if (statfs(last, &status) != 0 ? errno != ENOENT : may_be_foreign(&status))
			qsb__names_set_loose(names, last);
	}
}

static int compile(struct qsb__guard *guard, struct qsb_error *err)
{
	struct qsb__names *names;
	int code = qsb__names_new(&names, guard->plan, qsb__guard_holds_step, err);

	if (code == 0) {
		mark_loose(guard->plan, names);
		__atomic_store_n(&guard->names, names, __ATOMIC_RELEASE);
	}
	return code;
}

/* What the caller asks for may be wrong, and that must be said before anything runs. The built-in rules are not: the
 * first call that needs them pays for them, and most commands that change nothing never do. */
const struct qsb__names *qsb__guard_names(struct qsb__guard *guard)
{
	struct qsb__names *names = __atomic_load_n(&guard->names, __ATOMIC_ACQUIRE);
	struct qsb_error err;

	if (names)
		return names;
	pthread_mutex_lock(&guard->lock);
	if (!guard->names && compile(guard, &err) != 0)
		errno = ENOMEM;
	names = guard->names;
	pthread_mutex_unlock(&guard->lock);
	return names;
}

static bool asks_for_rules(const struct qsb__plan *plan)
{
	const struct qsb__step *step = find_held(plan);

	return step && step->asked;
}

int qsb__guard_new(struct qsb__guard **out, const struct qsb__plan *plan, struct qsb_error *err)
{
	struct qsb__guard *guard;
	int code;

	*out = NULL;
	if (!qsb__guard_needed(plan) && !qsb__guard_reports(plan))
		return 0;
	guard = calloc(1, sizeof(*guard));
	if (!guard)
		return qsb__fail_memory(err, "guard");
	guard->plan = plan;
	guard->listener = guard->proc = guard->wait_fd = guard->root_fd = -1;
	guard->proc_self_fd = guard->stop_fd = guard->denial_fd = -1;
	guard->umask = -1;
	guard->stops_reading = qsb__guard_stops_reading(plan);
	pthread_rwlock_init(&guard->tree, NULL);
	pthread_mutex_init(&guard->lock, NULL);
	pthread_mutex_init(&guard->other_lock, NULL);
	qsb__ledger_init(&guard->denials);
	pthread_cond_init(&guard->ended, NULL);
	code = asks_for_rules(plan) ? compile(guard, err) : 0;
	if (code == 0)
		code = qsb__git_new(guard, err);
	if (code == 0)
		*out = guard;
	else
		qsb__guard_free(guard);
	return code;
}

void qsb__guard_streams(struct qsb__guard *guard, const int *streams, bool passed)
{
	guard->passed = passed;
	for (int i = 0; i < 3; i++) {
		int fd = streams[i];
		struct stat status;

		if (fd >= 0 && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
			guard->passed = true;
		if (fd < 0 || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY || fstat(fd, &status) != 0)
			continue;
		guard->streams[guard->stream_count].device = status.st_dev;
		guard->streams[guard->stream_count++].inode = status.st_ino;
	}
}
