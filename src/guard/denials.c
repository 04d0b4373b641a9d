/* What was refused, for the supervisor to take: bounded, and never waited for. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "guard/internal.h"

/* "/filesystem/denyWrite/0 (user)", "--deny-write (command line)": without the layer. */
static void copy_pointer(char *to, size_t size, const char *rule)
{
	size_t length = rule[0] == '/' || rule[0] == '-' ? strcspn(rule, " ") : strlen(rule);

	snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), rule);
}

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("/._-+@%=:,~", *text))
			return false;
	return true;
}

/* An option that can be pasted into a shell; none for a name that would need more than quotes. */
static void suggest(struct qsb__denial *denial, const struct qsb__step *step)
{
	const char *option = step->denies & QSB__ACCESS_READ ? "--read" : "--write";
	const char *quote = is_plain(denial->target) ? "" : "'";

	if (strchr(denial->target, '\'') || strchr(denial->target, '\n') ||
	    strlen(denial->target) + 16 > sizeof(denial->suggestion))
		return;
	snprintf(denial->suggestion, sizeof(denial->suggestion), "%s %s%.180s%s", option, quote, denial->target, quote);
}

static void name_process(struct qsb__stop *stop, struct qsb__denial *denial)
{
	char status[4096];
	int fd = qsb__stop_open(stop, "comm", O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, denial->process, sizeof(denial->process) - 1);

	denial->process[length < 0 ? 0 : length] = '\0';
	denial->process[strcspn(denial->process, "\n")] = '\0';
	if (qsb__stop_status(stop, status, sizeof(status)) == 0)
		denial->pid = qsb__status_last(status, "NStgid:");
}

static void deny(struct qsb__stop *stop, const char *operation, const char *target, const struct qsb__step *step,
		 const char *detail)
{
	struct qsb__guard *guard = stop->guard;
	struct qsb__denial denial;
	uint64_t one = 1;

	memset(&denial, 0, sizeof(denial));
	snprintf(denial.kind, sizeof(denial.kind), "file");
	snprintf(denial.operation, sizeof(denial.operation), "%s", operation);
	snprintf(denial.target, sizeof(denial.target), "%.*s", (int)sizeof(denial.target) - 1, target);
	copy_pointer(denial.rule, sizeof(denial.rule),
		     step ? step->rule : "name rule: a link where a denied path begins");
	if (step)
		suggest(&denial, step);
	snprintf(denial.detail, sizeof(denial.detail), "%s", detail);
	name_process(stop, &denial);
	pthread_mutex_lock(&guard->denial_lock);
	/* The supervisor counts what it knows already; a flood that outruns it loses its newest. */
	if (guard->denial_count < QSB__GUARD_DENIALS)
		guard->denials[(guard->denial_first + guard->denial_count++) % QSB__GUARD_DENIALS] = denial;
	pthread_mutex_unlock(&guard->denial_lock);
	if (write(guard->denial_fd, &one, sizeof(one)) < 0)
		return; /* it is readable already */
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

bool qsb__guard_next_denial(struct qsb__guard *guard, struct qsb__denial *denial)
{
	uint64_t count;
	bool found;

	pthread_mutex_lock(&guard->denial_lock);
	found = guard->denial_count > 0;
	if (found) {
		*denial = guard->denials[guard->denial_first];
		guard->denial_first = (guard->denial_first + 1) % QSB__GUARD_DENIALS;
		guard->denial_count--;
	} else if (read(guard->denial_fd, &count, sizeof(count)) < 0) {
		found = false; /* nothing was there to read */
	}
	pthread_mutex_unlock(&guard->denial_lock);
	return found;
}
