/*
 * A name is judged, and then made. No rename of this sandbox comes between; one of another sandbox in the same folder,
 * or of a program of the host, may: `d` becomes `.github` while `d/workflows` is made in it. So both sides look again
 * when they have acted. Whoever was second sees what the first one did, and takes its own step back: no such name
 * stays.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include "guard/internal.h"

enum { ATTEMPTS = 16 };

bool qsb__again_is_good(struct qsb__stop *stop, const struct qsb__act *act, const struct qsb__place *judged,
			struct qsb__place *now)
{
	if (!judged->named || qsb__judge_is_still(stop, act->folder, judged))
		return true;
	if (qsb__judge_place(stop, act->folder, act->last, now) != 0)
		return false;
	if (!now->denied && !(act->is_link && now->state.begins))
		return true;
	qsb__judge_refuse(stop, act->operation, now);
	return false;
}

long qsb__again(struct qsb__stop *stop, const struct qsb__act *act, const struct qsb__place *judged)
{
	char name[NAME_MAX + 1];
	struct qsb__place now;

	if (qsb__again_is_good(stop, act, judged, &now))
		return 0;
	qsb__resolve_bare(act->last, name);
	/* Another of the command's calls may be in it, and is about to take its own step back. */
	for (unsigned i = 0; i < ATTEMPTS && unlinkat(act->folder, name, act->remove_flags) != 0; i++)
		if (errno != ENOTEMPTY || sched_yield() != 0)
			break;
	return -EACCES;
}

void qsb__again_move_back(const struct qsb__moved *moved)
{
	char name[NAME_MAX + 1];

	if (renameat2(moved->at, moved->name, moved->from, moved->old_name,
		      moved->exchanged ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0 &&
	    qsb__move_aside(moved->at, moved->name, name) != 0)
		errno = 0; /* it is gone, or nobody may move it from here */
}
