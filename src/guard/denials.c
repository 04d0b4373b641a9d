/* What was refused, for the supervisor to take: bounded, and never waited for. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/path.h"
#include "guard/internal.h"

/* So many names in one folder, and the folder itself stands for the rest: a program that tries a new temporary name
 * each time must not push out what somebody wants to know. */
enum { NAMES_OF_A_FOLDER = 16 };

void qsb__guard_name_process(struct qsb__stop *stop, struct qsb__denial *denial)
{
	char status[QSB__STATUS_BYTES];

	if (!qsb__stop_status(stop, status))
		return;
	qsb__status_name(status, denial->process, sizeof(denial->process));
	denial->pid = qsb__status_inside(status, "NStgid");
}

static void wake(struct qsb__guard *guard)
{
	uint64_t one = 1;

	if (write(guard->denial_fd, &one, sizeof(one)) < 0)
		return; /* it is readable already */
}

void qsb__guard_add_denial(struct qsb__guard *guard, const struct qsb__denial *denial)
{
	if (qsb__ledger_add(&guard->denials, denial))
		wake(guard);
}

/* Is it told already, by itself or with its folder? */
bool qsb__guard_is_told(struct qsb__guard *guard, struct qsb__denial *denial)
{
	char *slash = strrchr(denial->target, '/');

	if (qsb__ledger_count(&guard->denials, denial))
		return true;
	if (!slash || denial->detail[0] || (size_t)(slash - denial->target) + 3 > sizeof(denial->target) ||
	    qsb__ledger_beside(&guard->denials, denial) < NAMES_OF_A_FOLDER)
		return false;
	memcpy(slash, "/*", 3);
	denial->detail[0] = '\0';
	return qsb__ledger_count(&guard->denials, denial);
}

/* Seen from outside, where nothing of the sandbox stands in the way. */
size_t qsb__guard_length_there(const char *path)
{
	char part[QSB__GUARD_PATH];
	size_t length = strlen(path);
	struct stat status;

	memcpy(part, path, length + 1);
	while (length > 1 && lstat(part, &status) != 0) {
		length = qsb__path_parent(part);
		part[length ? length : 1] = '\0';
	}
	return length ? length : 1;
}

static void deny(struct qsb__stop *stop, const char *operation, const char *target, const struct qsb__step *step,
		 const char *detail)
{
	bool reads = strcmp(operation, "read") == 0;
	struct qsb__denial denial;

	stop->told = true;
	if (!stop->guard->plan->report_denials)
		return;
	qsb__denial_begin(&denial, "file", operation);
	snprintf(denial.detail, sizeof(denial.detail), "%s", detail);
	qsb__denial_set_target(&denial, target);
	if (qsb__guard_is_told(stop->guard, &denial))
		return;
	if (!qsb__denial_explain(&denial, stop->guard->plan, target, qsb__guard_length_there(target),
				 reads ? QSB__ACCESS_READ : QSB__ACCESS_WRITE))
		snprintf(denial.rule, sizeof(denial.rule), "%.200s",
			 step      ? step->rule
			 : *detail ? "/filesystem/protectNames"
				   : "name rule: a link where a denied path begins");
	qsb__guard_name_process(stop, &denial);
	qsb__guard_add_denial(stop->guard, &denial);
}

void qsb__guard_deny(struct qsb__stop *stop, const char *operation, const char *target, const struct qsb__step *step)
{
	deny(stop, operation, target, step, "");
}

void qsb__guard_deny_part(struct qsb__stop *stop, const char *operation, const struct qsb__place *place,
			  const char *detail)
{
	deny(stop, operation, place->path, place->denied, detail);
}

int qsb__guard_fd(const struct qsb__guard *guard)
{
	return guard->wait_fd;
}

int qsb__guard_wake_fd(const struct qsb__guard *guard)
{
	return guard->denial_fd;
}

bool qsb__guard_next_denial(struct qsb__guard *guard, struct qsb__denial *denial)
{
	uint64_t count;

	/* Before the look: what comes after it wakes again. */
	if (read(guard->denial_fd, &count, sizeof(count)) < 0)
		errno = 0;
	return qsb__ledger_next(&guard->denials, denial);
}

size_t qsb__guard_denials_left_out(struct qsb__guard *guard)
{
	return qsb__ledger_left_out(&guard->denials);
}
