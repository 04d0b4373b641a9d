/* Which function makes which call: a table, with each call's arguments put into the one form that all its variants
 * share. */
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "guard/internal.h"

enum { nr_fchmodat2 = 452 };

typedef long (*handler)(struct qsb__stop *stop, const uint64_t *a);

struct entry {
	int number;
	handler make;
};

static long openat_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_open(stop, &(struct qsb__open_call){(int)a[0], a[1], (int)a[2], (mode_t)a[3]});
}

static long mkdirat_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_make_dir(stop, (int)a[0], a[1], (mode_t)a[2]);
}

static long mknodat_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_make_node(stop, (int)a[0], a[1], (mode_t)a[2], (dev_t)a[3]);
}

static long symlinkat_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_symlink(stop, a[0], (int)a[1], a[2]);
}

static long unlinkat_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_remove(stop, (int)a[0], a[1], (int)a[2]);
}

static long rename_with(struct qsb__stop *stop, const uint64_t *a, unsigned flags)
{
	return qsb__call_rename(stop, &(struct qsb__two_paths){(int)a[0], a[1], (int)a[2], a[3], flags});
}

static long renameat_(struct qsb__stop *stop, const uint64_t *a)
{
	return rename_with(stop, a, 0);
}

static long renameat2_(struct qsb__stop *stop, const uint64_t *a)
{
	return rename_with(stop, a, (unsigned)a[4]);
}

static long linkat_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_link(stop, &(struct qsb__two_paths){(int)a[0], a[1], (int)a[2], a[3], (unsigned)a[4]});
}

static long bind_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_bind(stop, (int)a[0], a[1], a[2]);
}

/* Takes no path. What was kept of anybody's is stale from now on. */
static long umask_(struct qsb__stop *stop, const uint64_t *a)
{
	qsb__umask_called(stop);
	return QSB__STOP_GO_ON;
}

/* The kernel finds the folder, nothing is judged, and so nothing is gained by rewriting the path meanwhile. What was
 * kept of anybody's folder is stale from now on. */
static long chdir_(struct qsb__stop *stop, const uint64_t *a)
{
	__atomic_fetch_add(&stop->guard->cwd_age, 1, __ATOMIC_RELEASE);
	return QSB__STOP_GO_ON;
}

/* A file that its caller has closed must not be locked any more because of us. */
static long lock_(struct qsb__stop *stop, const uint64_t *a)
{
	qsb__guard_settle(stop->guard);
	return QSB__STOP_GO_ON;
}

/* With the flags of the *at calls. */
static long change_at(struct qsb__stop *stop, struct qsb__change change, int flags)
{
	/* Of times the kernel looks at the values first. */
	if (change.what != QSB__CHANGE_TIMES && (flags & ~QSB__CHANGE_FLAGS))
		return -EINVAL;
	change.flags = flags;
	change.follow = !(flags & AT_SYMLINK_NOFOLLOW);
	change.empty = flags & AT_EMPTY_PATH;
	return qsb__call_change(stop, &change);
}

static long fchmodat_(struct qsb__stop *stop, const uint64_t *a)
{
	return change_at(stop, (struct qsb__change){QSB__CHANGE_MODE, (int)a[0], a[1], .x = a[2]}, 0);
}

static long fchmodat2_(struct qsb__stop *stop, const uint64_t *a)
{
	return change_at(stop, (struct qsb__change){QSB__CHANGE_MODE, (int)a[0], a[1], .x = a[2]}, (int)a[3]);
}

static long fchmod_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_change(stop, &(struct qsb__change){QSB__CHANGE_MODE, (int)a[0], .own = true, .x = a[1]});
}

static long fchownat_(struct qsb__stop *stop, const uint64_t *a)
{
	return change_at(stop, (struct qsb__change){QSB__CHANGE_OWNER, (int)a[0], a[1], .x = a[2], .y = a[3]},
			 (int)a[4]);
}

static long fchown_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_change(stop,
				&(struct qsb__change){QSB__CHANGE_OWNER, (int)a[0], .own = true, .x = a[1], .y = a[2]});
}

static long utimensat_(struct qsb__stop *stop, const uint64_t *a)
{
	return change_at(stop, (struct qsb__change){QSB__CHANGE_TIMES, (int)a[0], a[1], .x = a[2]}, (int)a[3]);
}

static long truncate_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_change(stop,
				&(struct qsb__change){QSB__CHANGE_SIZE, AT_FDCWD, a[0], .follow = true, .x = a[1]});
}

static long setxattr_with(struct qsb__stop *stop, const uint64_t *a, struct qsb__change change)
{
	change.what = QSB__CHANGE_SET;
	change.x = a[1];
	change.y = a[2];
	change.z = a[3];
	change.flags = (int)a[4];
	return qsb__call_change(stop, &change);
}

static long setxattr_(struct qsb__stop *stop, const uint64_t *a)
{
	return setxattr_with(stop, a, (struct qsb__change){.folder = AT_FDCWD, .path = a[0], .follow = true});
}

static long lsetxattr_(struct qsb__stop *stop, const uint64_t *a)
{
	return setxattr_with(stop, a, (struct qsb__change){.folder = AT_FDCWD, .path = a[0]});
}

static long fsetxattr_(struct qsb__stop *stop, const uint64_t *a)
{
	return setxattr_with(stop, a, (struct qsb__change){.folder = (int)a[0], .own = true});
}

static long removexattr_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_change(stop,
				&(struct qsb__change){QSB__CHANGE_UNSET, AT_FDCWD, a[0], .follow = true, .x = a[1]});
}

static long lremovexattr_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_change(stop, &(struct qsb__change){QSB__CHANGE_UNSET, AT_FDCWD, a[0], .x = a[1]});
}

static long fremovexattr_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_change(stop, &(struct qsb__change){QSB__CHANGE_UNSET, (int)a[0], .own = true, .x = a[1]});
}

#ifdef SYS_open /* the calls that only older architectures have */
static long open_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_open(stop, &(struct qsb__open_call){AT_FDCWD, a[0], (int)a[1], (mode_t)a[2]});
}

static long creat_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_open(stop,
			      &(struct qsb__open_call){AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, (mode_t)a[1]});
}

static long mkdir_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_make_dir(stop, AT_FDCWD, a[0], (mode_t)a[1]);
}

static long mknod_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_make_node(stop, AT_FDCWD, a[0], (mode_t)a[1], (dev_t)a[2]);
}

static long symlink_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_symlink(stop, a[0], AT_FDCWD, a[1]);
}

static long unlink_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_remove(stop, AT_FDCWD, a[0], 0);
}

static long rmdir_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_remove(stop, AT_FDCWD, a[0], AT_REMOVEDIR);
}

static long rename_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_rename(stop, &(struct qsb__two_paths){AT_FDCWD, a[0], AT_FDCWD, a[1], 0});
}

static long link_(struct qsb__stop *stop, const uint64_t *a)
{
	return qsb__call_link(stop, &(struct qsb__two_paths){AT_FDCWD, a[0], AT_FDCWD, a[1], 0});
}

static long chmod_(struct qsb__stop *stop, const uint64_t *a)
{
	return change_at(stop, (struct qsb__change){QSB__CHANGE_MODE, AT_FDCWD, a[0], .x = a[1]}, 0);
}

static long chown_(struct qsb__stop *stop, const uint64_t *a)
{
	return change_at(stop, (struct qsb__change){QSB__CHANGE_OWNER, AT_FDCWD, a[0], .x = a[1], .y = a[2]}, 0);
}

static long lchown_(struct qsb__stop *stop, const uint64_t *a)
{
	return change_at(stop, (struct qsb__change){QSB__CHANGE_OWNER, AT_FDCWD, a[0], .x = a[1], .y = a[2]},
			 AT_SYMLINK_NOFOLLOW);
}

static long utime_(struct qsb__stop *stop, const uint64_t *a)
{
	return change_at(stop,
			 (struct qsb__change){QSB__CHANGE_TIMES, AT_FDCWD, a[0], .x = a[1], .form = QSB__TIMES_BUF}, 0);
}

static long utimes_(struct qsb__stop *stop, const uint64_t *a)
{
	return change_at(stop,
			 (struct qsb__change){QSB__CHANGE_TIMES, AT_FDCWD, a[0], .x = a[1], .form = QSB__TIMES_VAL}, 0);
}

/* Without a path it means the descriptor itself. */
static long futimesat_(struct qsb__stop *stop, const uint64_t *a)
{
	bool own = !a[1] && (int)a[0] != AT_FDCWD;

	return qsb__call_change(stop, &(struct qsb__change){QSB__CHANGE_TIMES, (int)a[0], a[1], .follow = true,
							    .own = own, .x = a[2], .form = QSB__TIMES_VAL});
}
#endif

static const struct entry entries[] = {
	{SYS_openat, openat_},
	{SYS_mkdirat, mkdirat_},
	{SYS_mknodat, mknodat_},
	{SYS_symlinkat, symlinkat_},
	{SYS_unlinkat, unlinkat_},
	{SYS_renameat, renameat_},
	{SYS_renameat2, renameat2_},
	{SYS_linkat, linkat_},
	{SYS_bind, bind_},
	{SYS_umask, umask_},
	{SYS_chdir, chdir_},
	{SYS_fchdir, chdir_},
	{SYS_flock, lock_},
	{SYS_fcntl, lock_},
	{SYS_fchmodat, fchmodat_},
	{nr_fchmodat2, fchmodat2_},
	{SYS_fchmod, fchmod_},
	{SYS_fchownat, fchownat_},
	{SYS_fchown, fchown_},
	{SYS_utimensat, utimensat_},
	{SYS_truncate, truncate_},
	{SYS_setxattr, setxattr_},
	{SYS_lsetxattr, lsetxattr_},
	{SYS_fsetxattr, fsetxattr_},
	{SYS_removexattr, removexattr_},
	{SYS_lremovexattr, lremovexattr_},
	{SYS_fremovexattr, fremovexattr_},
#ifdef SYS_open
	{SYS_open, open_},
	{SYS_creat, creat_},
	{SYS_mkdir, mkdir_},
	{SYS_mknod, mknod_},
	{SYS_symlink, symlink_},
	{SYS_unlink, unlink_},
	{SYS_rmdir, rmdir_},
	{SYS_rename, rename_},
	{SYS_link, link_},
	{SYS_chmod, chmod_},
	{SYS_chown, chown_},
	{SYS_lchown, lchown_},
	{SYS_utime, utime_},
	{SYS_utimes, utimes_},
	{SYS_futimesat, futimesat_},
#endif
};

bool qsb__guard_perform(struct qsb__stop *stop, long *result)
{
	uint64_t arguments[6];

	for (size_t i = 0; i < 6; i++)
		arguments[i] = stop->call.data.args[i];
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i].number == stop->call.data.nr) {
			*result = entries[i].make(stop, arguments);
			return true;
		}
	return false;
}

bool qsb__guard_is_open(int number)
{
#ifdef SYS_open
	if (number == SYS_open || number == SYS_creat)
		return true;
#endif
	return number == SYS_openat;
}

int qsb__guard_open_flags(const struct seccomp_notif *call)
{
#ifdef SYS_open
	if (call->data.nr == SYS_open)
		return (int)call->data.args[1];
	if (call->data.nr == SYS_creat)
		return O_WRONLY;
#endif
	return (int)call->data.args[2];
}

bool qsb__guard_acts_alone(int number)
{
#ifdef SYS_open
	if (number == SYS_rename)
		return true;
#endif
	return number == SYS_bind || number == SYS_renameat || number == SYS_renameat2;
}
