/*
 * The live guard of Linux: rules by name, for files that need not exist when the command starts. Calls that take a path
 * and can change something stop in the kernel (seccomp's user notification). A thread of the supervisor copies the path
 * once, resolves it inside the caller's own root and folders, asks the kernel for the real name of what it found,
 * judges that name, and then makes the call itself on what it holds. The caller's memory is never read a second time,
 * and no call is told to continue but those of which nothing is judged (umask, chdir, locks): a thread that rewrites
 * the path gains nothing.
 *
 * "Judge, then act" is sound because a name changes only when it, or a folder above it, is renamed; every rename of
 * the sandbox is made here, and renames hold a lock alone that all other calls share. For those of another sandbox, or
 * of the host, both sides look again when they have acted, and take their step back (again.c): a name that was brought
 * about together may be there for a moment, and does not stay. The sandbox's own mounts stand behind it: the guard
 * acts through them, without capabilities, so that a fault in it cannot widen the policy.
 *
 * Beside the rules:
 * - what is refused is told, with rule and process, also where there is no rule to hold;
 * - git may write settings of repositories that the run makes, once they were read and found harmless; when the run is
 *   over, each such repository is looked at (git.h);
 * - who learns from a run is told what it does with files.
 *
 * What it does not hold:
 * - a rule that denies reading keeps a file from being opened, linked, renamed or having its attributes read; its
 *   existence and size can be seen, and a program file with an execute bit can be run, though not read. Nobody can
 *   execute on behalf of another process, and "continue" could be raced. A mask (a mount) holds that, too.
 * - a second name of a denied file (a hard link) that the host made.
 * - changes made through a descriptor that the caller of the sandbox handed in.
 */
#ifndef QSB_GUARD_GUARD_H
#define QSB_GUARD_GUARD_H

#include <sys/types.h>
#include <linux/seccomp.h>

#include "backend/denial.h"
#include "backend/finding.h"
#include "backend/touch.h"
#include "plan/plan.h"

struct qsb__guard;

/* Stopped calls that are not the guard's: connect, and those that are refused and told. Called on the guard's threads,
 * one at a time. */
typedef void (*qsb__guard_other)(void *context, const struct seccomp_notif *call);

/* Must this step be held live? The one condition is here. */
bool qsb__guard_holds_step(const struct qsb__step *step);
bool qsb__guard_needed(const struct qsb__plan *plan);
/* Does one of them deny reading? Then opens for reading stop as well. */
bool qsb__guard_stops_reading(const struct qsb__plan *plan);

/* Can this kernel hold live rules at all? Cheap: a start asks it. Whether a sandbox around this one is in the way shows
 * when the filter is installed. */
bool qsb__guard_available(void);

/* Are refused files wanted, and can they be told here? Then the guard runs also where it has no rule to hold. A sandbox
 * inside makes mounts of its own, which it would get in the way of. */
bool qsb__guard_reports(const struct qsb__plan *plan);

/* What is missing, found by trying: for doctor. */
enum qsb__guard_lack {
	QSB__LACK_NOTHING,
	QSB__LACK_FLAGS,       /* WAIT_KILLABLE_RECV */
	QSB__LACK_DESCRIPTORS, /* ADDFD with SEND */
	QSB__LACK_FILTER,
	QSB__LACK_LISTENER /* there is one already */
};
enum qsb__guard_lack qsb__guard_lacks(void);
/* NULL = nothing; *fix is the smallest change that would help. */
const char *qsb__guard_lack_text(enum qsb__guard_lack lack, const char **fix);

/* Can this plan's live rules be held by this kernel, from here? 0, or QSB_E_UNSUPPORTED with the cause and the fix. */
int qsb__guard_check(const struct qsb__plan *plan, struct qsb_error *err);

/*
 * Compiles the rules; *out = NULL when there is nothing to hold and nothing to report. `streams` are the three
 * descriptors that the command gets as its own: what they refer to may be opened again for writing, when they can be
 * written; `passed`: it gets further descriptors of the host. The plan is borrowed until the guard is freed.
 *   QSB_E_RANGE  more patterns than can be held live, or one with too many components
 */
int qsb__guard_new(struct qsb__guard **out, const struct qsb__plan *plan, struct qsb_error *err);
void qsb__guard_streams(struct qsb__guard *guard, const int *streams, bool passed);

/* Who is to be told of every change, and of what is read where the plan says so; borrowed. Before it starts. */
void qsb__guard_listen(struct qsb__guard *guard, const struct qsb__touch_listener *listener);

/* From now on what comes from the listener is answered (both descriptors are borrowed); `proc` is the root of the
 * sandbox's own /proc. Its threads begin with the first call: most commands make none. */
int qsb__guard_start(struct qsb__guard *guard, int listener, int proc, qsb__guard_other other, void *context,
		     struct qsb_error *err);

/* Readable when there is something to do for qsb__guard_serve, which fails when nobody can answer the command's calls,
 * or when there are denials to take; next_denial is false when there are none (left). */
int qsb__guard_fd(const struct qsb__guard *guard);
int qsb__guard_serve(struct qsb__guard *guard, struct qsb_error *err);
bool qsb__guard_next_denial(struct qsb__guard *guard, struct qsb__denial *denial);
size_t qsb__guard_denials_left_out(struct qsb__guard *guard); /* there was no room for */
int qsb__guard_wake_fd(const struct qsb__guard *guard);       /* an eventfd that makes the one above readable */

/* Looks, once, at the git folders that were made, when every process of the sandbox is dead; false = no (more)
 * findings. */
bool qsb__guard_next_finding(struct qsb__guard *guard, struct qsb__finding *finding);
size_t qsb__guard_findings_left_out(const struct qsb__guard *guard);

/* Every process of the sandbox must be dead: then the threads end, and this waits for them. NULL is allowed. */
void qsb__guard_free(struct qsb__guard *guard);

#endif
