/*
 * Which failed calls the sandbox refused: those that a rule of the plan takes away, and that would have gone through
 * without it. What the host itself would refuse (its permissions, a read-only disk, a name that is there or is not) is
 * the command's own affair. Asked only after a call failed, of the host as it is outside; the answer decides about a
 * report and nothing else.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/path.h"
#include "guard/internal.h"

/* What a call wants of a place. */
enum want { CREATES, REMOVES, MOVES, TAKES, LINKS, CHANGES, WRITES, OPENS };

struct refusal {
	struct qsb__stop *stop;
	enum want want;
	const char *operation;
	int error;
};

static const struct {
	int number;
	enum want want;
	const char *operation;
} calls[] = {
	{SYS_openat, OPENS, "write"},       {SYS_mkdirat, CREATES, "create"}, {SYS_mknodat, CREATES, "create"},
	{SYS_symlinkat, CREATES, "create"}, {SYS_bind, CREATES, "create"},    {SYS_linkat, LINKS, "link"},
	{SYS_unlinkat, REMOVES, "remove"},  {SYS_renameat, MOVES, "rename"},  {SYS_renameat2, MOVES, "rename"},
	{SYS_truncate, WRITES, "write"},
#ifdef SYS_open
	{SYS_open, OPENS, "write"},         {SYS_creat, OPENS, "write"},      {SYS_mkdir, CREATES, "create"},
	{SYS_mknod, CREATES, "create"},     {SYS_symlink, CREATES, "create"}, {SYS_link, LINKS, "link"},
	{SYS_unlink, REMOVES, "remove"},    {SYS_rmdir, REMOVES, "remove"},   {SYS_rename, MOVES, "rename"},
#endif
};

static void classify(struct refusal *refusal)
{
	int number = refusal->stop->call.data.nr;

	refusal->want = CHANGES;
	refusal->operation = "change";
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number) {
			refusal->want = calls[i].want;
			refusal->operation = calls[i].operation;
		}
}

static int open_flags(const struct qsb__stop *stop)
{
	int flags = qsb__guard_open_flags(&stop->call);

#ifdef SYS_creat
	flags |= stop->call.data.nr == SYS_creat ? O_CREAT : 0;
#endif
	return flags;
}

/* A plain read: not told here. */
static bool opens_to_change(const struct qsb__stop *stop)
{
	return (open_flags(stop) & (O_ACCMODE | O_CREAT | O_TRUNC)) != O_RDONLY;
}

/* May the caller do it outside? The superuser's rights were laid down by this thread, but are there outside. */
static bool may(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 ||
	       ((errno == EACCES || errno == EPERM) && geteuid() == 0);
}

static bool get_folder(const char *path, char *folder)
{
	size_t length = strlen(path);

	memcpy(folder, path, length + 1);
	length = qsb__path_parent(folder);
	folder[length ? length : 1] = '\0';
	return strcmp(path, "/") != 0;
}

/* In a folder such as /tmp only the owner takes a name away. */
static bool may_take(const char *folder, const struct stat *what)
{
	struct stat status;

	return stat(folder, &status) == 0 && (!(status.st_mode & S_ISVTX) || geteuid() == 0 ||
					      geteuid() == what->st_uid || geteuid() == status.st_uid);
}

static bool is_empty(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry = NULL;

	if (!list) {
		if (fd >= 0)
			close(fd);
		return true;
	}
	do
		entry = readdir(list);
	while (entry && qsb__resolve_is_dots(entry->d_name));
	closedir(list);
	return !entry;
}

/* A file by unlink, an empty folder by rmdir. */
static bool fits_call(const struct refusal *refusal, const char *path, const struct stat *status)
{
	const struct seccomp_notif *call = &refusal->stop->call;
	bool folder = call->data.nr == SYS_unlinkat && (call->data.args[2] & AT_REMOVEDIR);

#ifdef SYS_rmdir
	folder |= call->data.nr == SYS_rmdir;
#endif
	return folder ? S_ISDIR(status->st_mode) && is_empty(path) : !S_ISDIR(status->st_mode);
}

/* Somebody outside has mounted something there: it is as busy for everybody. */
static bool is_mount(const char *path)
{
	struct statx status;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &status) == 0 &&
	       (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static bool may_change(const char *path, const struct stat *status)
{
	return geteuid() == 0 || status->st_uid == geteuid() || may(path, W_OK);
}

/* Would it have worked outside? */
static bool would_work(const struct refusal *refusal, const char *path)
{
	char folder[QSB__GUARD_PATH];
	struct stat status;
	bool exists = lstat(path, &status) == 0;
	bool named = get_folder(path, folder);

	switch (refusal->want) {
	case OPENS:
	case WRITES:
		if (exists)
			return may(path, W_OK);
		return refusal->want == OPENS && (open_flags(refusal->stop) & O_CREAT) && named &&
		       may(folder, W_OK | X_OK);
	case CREATES:
	case LINKS:
		return named && !exists && may(folder, W_OK | X_OK);
	case REMOVES:
	case MOVES:
		return named && exists && (refusal->want == MOVES || fits_call(refusal, path, &status)) &&
		       may(folder, W_OK | X_OK) && may_take(folder, &status) &&
		       !(refusal->error == EBUSY && is_mount(path));
	case TAKES:
		return named && may(folder, W_OK | X_OK) && (!exists || may_take(folder, &status)) &&
		       !(refusal->error == EBUSY && is_mount(path));
	case CHANGES:
		return exists && may_change(path, &status);
	}
	return false;
}

static void tell(const struct refusal *refusal, struct qsb__denial *denial)
{
	qsb__guard_name_process(refusal->stop, denial);
	qsb__guard_add_denial(refusal->stop->guard, denial);
}

static void begin(const struct refusal *refusal, const char *path, struct qsb__denial *denial)
{
	qsb__denial_begin(denial, "file", refusal->operation);
	qsb__denial_set_target(denial, path);
}

/* Where it is one of our own mounts, or holds one, that cannot be taken away: whoever asked for the mount decides. */
static bool explain_mount(const struct refusal *refusal, const char *path, struct qsb__denial *denial)
{
	const struct qsb__plan *plan = refusal->stop->guard->plan;

	for (size_t i = 0; refusal->error == EBUSY && i < plan->step_count; i++) {
		const struct qsb__step *step = &plan->steps[i];

		if (step->kind == QSB__STEP_NAME_RULE || strcmp(step->path, path) != 0)
			continue;
		qsb__step_text(step, denial->rule, sizeof(denial->rule));
		return true;
	}
	return false;
}

/* Landlock tells kinds of files apart: FIFOs and devices are made in the sandbox's own folders only. */
static bool explain_kind(const struct refusal *refusal, struct qsb__denial *denial)
{
	const struct seccomp_notif *call = &refusal->stop->call;
	mode_t mode = 0;

	if (call->data.nr == SYS_mknodat)
		mode = (mode_t)call->data.args[2];
#ifdef SYS_mknod
	if (call->data.nr == SYS_mknod)
		mode = (mode_t)call->data.args[1];
#endif
	if (refusal->error != EACCES || !(S_ISFIFO(mode) || ((S_ISCHR(mode) || S_ISBLK(mode)) && geteuid() == 0)))
		return false;
	snprintf(denial->rule, sizeof(denial->rule), "built-in: special files (FIFOs and devices in /tmp only)");
	return true;
}

/* Writing is taken away from the place, or from the folder whose names would change. */
static bool explain(const struct refusal *refusal, const char *path, struct qsb__denial *denial)
{
	const struct qsb__plan *plan = refusal->stop->guard->plan;
	bool changes_names = refusal->want != CHANGES && refusal->want != WRITES;
	char folder[QSB__GUARD_PATH];
	size_t there = qsb__guard_length_there(path);

	if (refusal->want == OPENS && there == strlen(path))
		changes_names = false;
	if (changes_names && get_folder(path, folder) && there > strlen(folder))
		there = strlen(folder);
	return qsb__denial_explain(denial, plan, path, there, QSB__ACCESS_WRITE) ||
	       (changes_names && qsb__denial_explain(denial, plan, folder, there, QSB__ACCESS_WRITE)) ||
	       explain_mount(refusal, path, denial) || explain_kind(refusal, denial);
}

/* The numbers in there are of its own processes, and mean others outside. */
static bool is_of_process(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9';
}

/* False = nothing is told. */
static bool note_place(struct qsb__stop *stop, enum want want, const struct refusal *of, const char *path)
{
	struct refusal refusal = {stop, want, of->operation, of->error};
	struct qsb__denial denial;
	struct stat status;

	if (is_of_process(path) || !would_work(&refusal, path))
		return false;
	/* A file without a name would have come to be in the folder. */
	if (want == OPENS && (lstat(path, &status) != 0 || (open_flags(stop) & O_TMPFILE) == O_TMPFILE))
		refusal.operation = "create";
	begin(&refusal, path, &denial);
	if (qsb__guard_is_told(stop->guard, &denial))
		return true;
	/* Asked of the place itself: the target may stand for its folder by now. */
	if (!explain(&refusal, path, &denial))
		return false;
	tell(&refusal, &denial);
	return true;
}

static bool in_one_system(const char *a, const char *b)
{
	char x[QSB__GUARD_PATH], y[QSB__GUARD_PATH];
	struct stat one, two;

	get_folder(a, x);
	get_folder(b, y);
	return stat(x, &one) == 0 && stat(y, &two) == 0 && one.st_dev == two.st_dev;
}

/* The place that is left, then the place that is taken. Between two of our mounts nothing is moved, and most programs
 * copy then; between two disks of the host nothing is moved either. */
static void note_move(const struct refusal *refusal)
{
	struct qsb__stop *stop = refusal->stop;
	const struct refusal taking = {stop, TAKES, refusal->operation, refusal->error};

	if (stop->seen_count < 2 || (refusal->error == EXDEV && !in_one_system(stop->seen[0], stop->seen[1])) ||
	    !would_work(refusal, stop->seen[0]) || !would_work(&taking, stop->seen[1]))
		return;
	if (!note_place(stop, MOVES, refusal, stop->seen[0]))
		note_place(stop, TAKES, refusal, stop->seen[1]);
}

/*
 * The way to the place is shut already (a folder that nobody may look into): what the path says, as far as it leads,
 * and the rest of it by its letters.
 */
static bool find_asked(struct qsb__stop *stop, char *path)
{
	char rest[PATH_MAX];
	const char *rest_of;
	size_t length = strlen(stop->asked);
	ssize_t found = -1;
	int fd = -1;

	memcpy(rest, stop->asked, length + 1);
	while (length > 0 && fd < 0) {
		fd = qsb__resolve(stop, stop->asked_start, rest, true, false);
		if (fd >= 0)
			break;
		length = strrchr(rest, '/') ? (size_t)(strrchr(rest, '/') - rest) : 0;
		rest[length] = '\0';
	}
	if (fd < 0 && stop->asked[0] != '/')
		fd = stop->asked_start;
	if (fd >= 0)
		found = qsb__judge_real_name(stop->guard, fd, path);
	if (found < 0 || path[0] != '/' || (size_t)found + strlen(stop->asked + length) + 2 > QSB__GUARD_PATH)
		return false;
	rest_of = stop->asked + length + strspn(stop->asked + length, "/");
	snprintf(path + (found > 1 ? found : 0), QSB__GUARD_PATH - (size_t)found, "/%s", rest_of);
	qsb__path_fold_dots(path);
	return true;
}

static void tell_limit(struct qsb__stop *stop, const char *limit, const char *suggestion)
{
	struct qsb__denial denial;

	qsb__denial_begin(&denial, "limit", limit);
	if (qsb__ledger_count(&stop->guard->denials, &denial))
		return;
	snprintf(denial.rule, sizeof(denial.rule), "/limits/%s", limit);
	snprintf(denial.suggestion, sizeof(denial.suggestion), "%s", suggestion);
	qsb__guard_name_process(stop, &denial);
	qsb__guard_add_denial(stop->guard, &denial);
}

/* A lower limit than the plan's is the command's own. */
static void note_limit(struct qsb__stop *stop, long result)
{
	const struct qsb__plan *plan = stop->guard->plan;
	bool files = result == -EMFILE;
	uint64_t most = files ? plan->open_files : plan->file_bytes;
	struct rlimit limit;

	if (most && prlimit((pid_t)stop->call.pid, files ? RLIMIT_NOFILE : RLIMIT_FSIZE, NULL, &limit) == 0 &&
	    limit.rlim_cur == most)
		tell_limit(stop, files ? "openFiles" : "fileSize", files ? "--open-files N" : "--file-size SIZE");
}

/* Where opens for reading stop here, the masks are asked by this process and not by the caller: so what they would have
 * told is told here. */
static void note_read(struct qsb__stop *stop, const char *path)
{
	const struct refusal refusal = {stop, OPENS, open_flags(stop) & O_DIRECTORY ? "list" : "read", EACCES};
	struct qsb__denial denial;

	begin(&refusal, path, &denial);
	if (qsb__guard_is_told(stop->guard, &denial) ||
	    !qsb__denial_explain(&denial, stop->guard->plan, path, qsb__guard_length_there(path), QSB__ACCESS_READ))
		return;
	tell(&refusal, &denial);
}

void qsb__guard_note_failure(struct qsb__stop *stop, long result)
{
	struct refusal refusal = {.stop = stop, .error = (int)-result};
	char path[QSB__GUARD_PATH];

	if (result == -EMFILE || result == -EFBIG)
		note_limit(stop, result);
	if (stop->told || !stop->guard->plan->report_denials ||
	    (result != -EROFS && result != -EACCES && result != -EPERM && result != -EBUSY && result != -EXDEV))
		return;
	classify(&refusal);
	if (result == -EXDEV && refusal.want != MOVES)
		return;
	if (refusal.want == OPENS && !opens_to_change(stop)) {
		if (result == -EACCES && stop->seen_count > 0)
			note_read(stop, stop->seen[(stop->seen_count - 1) & 1]);
		else if (result == -EACCES && stop->asked[0] && find_asked(stop, path))
			note_read(stop, path);
		return;
	}
	if (refusal.want == MOVES && stop->seen_count > 0)
		note_move(&refusal);
	else if (refusal.want == LINKS && stop->seen_count > 0)
		note_place(stop, LINKS, &refusal, stop->seen[0]);
	else if (stop->seen_count > 0)
		note_place(stop, refusal.want, &refusal, stop->seen[(stop->seen_count - 1) & 1]);
	else if (stop->asked[0] && find_asked(stop, path))
		note_place(stop, refusal.want, &refusal, path);
}
