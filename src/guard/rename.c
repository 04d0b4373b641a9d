/*
 * Renaming, the one call that changes what other paths mean. It is made while no other call is under way. Both ends are
 * judged, and so is what a moved folder holds: nothing may come to stand at a denied name, nor leave it, inside a
 * folder.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "guard/git.h"

struct end {
	int folder;
	char path[PATH_MAX], name[NAME_MAX + 1];
	const char *last;
	struct qsb__place place;
	bool exists;
	struct stat status;
};

static int find_folder(struct qsb__stop *stop, int folder, struct end *end)
{
	end->folder = qsb__resolve_folder(stop, folder, end->path, &end->last);
	return end->folder < 0 ? end->folder : 0;
}

static bool starts_in_file(const struct end *end)
{
	struct stat status;

	return end->last == end->path && (fstat(end->folder, &status) != 0 || !S_ISDIR(status.st_mode));
}

/* In the kernel's order of complaints. */
static int find_ends(struct qsb__stop *stop, const struct qsb__two_paths *call, struct end *from, struct end *to)
{
	int code = qsb__stop_path(stop, call->from, from->path, false);

	if (code == 0)
		code = find_folder(stop, call->from_folder, from);
	if (code == 0 && starts_in_file(from))
		code = -ENOTDIR;
	if (code == 0 && faccessat(from->folder, ".", X_OK, AT_EACCESS) != 0 && errno == EACCES)
		code = -EACCES;
	if (code == 0)
		code = qsb__stop_path(stop, call->to, to->path, false);
	if (code == 0)
		code = find_folder(stop, call->to_folder, to);
	if (code == 0)
		code = qsb__judge_place(stop, from->folder, from->last, &from->place);
	if (code == 0)
		code = qsb__judge_place(stop, to->folder, to->last, &to->place);
	return code;
}

static void look_at(struct end *end)
{
	qsb__resolve_bare(end->last, end->name);
	end->exists = fstatat(end->folder, end->name, &end->status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What stands at `what` goes to `where`. */
static int judge_content(struct qsb__stop *stop, const struct end *what, const struct end *where)
{
	int fd, code = 0;

	if (!S_ISDIR(what->status.st_mode))
		return 0;
	fd = openat(what->folder, what->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (qsb__judge_holds(stop->guard, fd, &where->place.state, &what->place.state))
		code = qsb__judge_refuse(stop, "rename", &where->place);
	else if (qsb__judge_holds(stop->guard, fd, &what->place.state, &where->place.state))
		code = qsb__judge_refuse(stop, "rename", &what->place);
	close(fd);
	return code;
}

/* Landlock counts it as making the file anew. */
static bool may_move(const struct end *what, const struct end *where)
{
	mode_t mode = what->status.st_mode;

	return !S_ISCHR(mode) && !S_ISBLK(mode) && (!S_ISFIFO(mode) || where->place.state.scratch);
}

/* What came to stand at `where`, by its name there now, and by what it holds. */
static bool stands(struct qsb__stop *stop, const struct end *what, const struct end *where)
{
	const struct qsb__act act = {where->folder, where->last, "rename", S_ISLNK(what->status.st_mode), 0};
	struct qsb__place now = where->place;
	bool holds;
	int fd;

	if (!qsb__again_is_good(stop, &act, &where->place, &now))
		return false;
	if (!S_ISDIR(what->status.st_mode) || !now.named)
		return true;
	fd = openat(where->folder, where->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	holds = qsb__judge_holds(stop->guard, fd, &now.state, &what->place.state);
	close(fd);
	if (holds)
		qsb__judge_refuse(stop, "rename", &now);
	return !holds;
}

static int judge_ends(struct qsb__stop *stop, unsigned flags, const struct end *from, const struct end *to)
{
	bool exchange = flags & RENAME_EXCHANGE;
	int code;

	if (from->place.denied)
		return qsb__judge_refuse(stop, "rename", &from->place);
	if (to->place.denied && (exchange || !S_ISREG(from->status.st_mode) ||
				 !qsb__git_lets(stop, QSB__GIT_LIST, to->folder, to->last, &to->place)))
		return qsb__judge_refuse(stop, "rename", &to->place);
	if (to->place.state.begins && S_ISLNK(from->status.st_mode))
		return qsb__judge_refuse(stop, "rename", &to->place);
	if (exchange && from->place.state.begins && S_ISLNK(to->status.st_mode))
		return qsb__judge_refuse(stop, "rename", &from->place);
	if (qsb__judge_is_read_only(from->folder))
		return 0; /* it answers by itself */
	code = qsb__judge_mount(from->folder, from->name);
	if (code == 0 && to->exists)
		code = qsb__judge_mount(to->folder, to->name);
	if (code != 0)
		return code;
	/* Where both are one, the kernel would say that it is done. */
	if (strncmp(from->place.path, "/proc/", 6) == 0 && qsb__resolve_is_proc(from->folder))
		return -EACCES;
	if (!may_move(from, to) || (exchange && !may_move(to, from)))
		return -EACCES;
	code = qsb__judge_fence(stop, from->folder, &from->place, NULL);
	if (code == 0)
		code = qsb__judge_fence(stop, to->folder, &to->place, NULL);
	if (code == 0)
		code = judge_content(stop, from, to);
	return code == 0 && exchange ? judge_content(stop, to, from) : code;
}

long qsb__call_rename(struct qsb__stop *stop, const struct qsb__two_paths *call)
{
	const unsigned known = RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT;
	struct end from, to;
	int code;

	if ((call->flags & ~known) || ((call->flags & RENAME_EXCHANGE) && (call->flags & ~(unsigned)RENAME_EXCHANGE)))
		return -EINVAL;
	code = find_ends(stop, call, &from, &to);
	if (code != 0)
		return code;
	/* The kernel's own errors say more where nothing can happen anyway; from one mount to another it moves nothing,
	 * and says so before anything else. */
	look_at(&from);
	look_at(&to);
	if (qsb__resolve_share_mount(from.folder, to.folder) && !qsb__resolve_is_dots(from.last) &&
	    !qsb__resolve_is_dots(to.last) && from.exists && (to.exists || !(call->flags & RENAME_EXCHANGE)) &&
	    !(to.exists && (call->flags & RENAME_NOREPLACE))) {
		const struct qsb__git_move move = {from.folder, to.folder, from.name, to.name, call->flags, &to.place};

		/* A mount holds what was there, also where no rule by name does. */
		if (!from.place.denied && qsb__git_is_config(&move) &&
		    (to.place.denied || qsb__judge_mount(to.folder, to.name) != 0))
			return qsb__git_put_config(stop, &move);
		code = judge_ends(stop, call->flags, &from, &to);
		if (code == 0 && (!to.exists || call->flags & RENAME_EXCHANGE))
			code = qsb__git_judge_room(stop, to.last, &to.place);
		if (code == 0 && call->flags & RENAME_EXCHANGE)
			code = qsb__git_judge_room(stop, from.last, &from.place);
	}
	if (code != 0)
		return code;
	if (!qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	stop->guard->moves++;
	code = renameat2(from.folder, from.last, to.folder, to.last, call->flags) < 0 ? -errno : 0;
	if (code == 0 &&
	    (!stands(stop, &from, &to) || ((call->flags & RENAME_EXCHANGE) && !stands(stop, &to, &from)))) {
		qsb__again_move_back(&(struct qsb__moved){from.folder, to.folder, from.name, to.name,
							  call->flags & RENAME_EXCHANGE});
		code = -EACCES;
	}
	if (code == 0)
		qsb__git_made_entry(stop, to.folder, to.name, &to.place);
	if (code == 0 && (call->flags & RENAME_EXCHANGE))
		qsb__git_made_entry(stop, from.folder, from.name, &from.place);
	qsb__guard_touched(stop, QSB__TOUCH_REPLACE, &from.place, code);
	return qsb__guard_touched(stop, QSB__TOUCH_REPLACE, &to.place, code);
}
