#include "backend/denial.h"

#include <stdio.h>
#include <string.h>

#include "core/path.h"
#include "plan/plan.h"

static void copy(char *to, size_t size, const char *text)
{
	size_t length = strnlen(text, size - 1);

	memcpy(to, text, length);
	to[length] = '\0';
}

void qsb__denial_begin(struct qsb__denial *denial, const char *kind, const char *operation)
{
	memset(denial, 0, sizeof(*denial));
	copy(denial->kind, sizeof(denial->kind), kind);
	copy(denial->operation, sizeof(denial->operation), operation);
}

bool qsb__denial_set_target(struct qsb__denial *denial, const char *target)
{
	static const char cut[] = "…";
	size_t length = strlen(target), room = sizeof(denial->target) - sizeof(cut);

	if (length < sizeof(denial->target)) {
		memcpy(denial->target, target, length + 1);
		return true;
	}
	while (room > 0 && ((unsigned char)target[room] & 0xC0U) == 0x80U)
		room--;
	memcpy(denial->target, target, room);
	memcpy(denial->target + room, cut, sizeof(cut));
	return false;
}

/* The layer belongs to `explain`: a result's reader knows their own options. The reason of a built-in list stays. */
static void copy_rule(char *to, size_t size, const char *rule)
{
	size_t length = rule[0] == '/' || rule[0] == '-' ? strcspn(rule, " ") : strlen(rule);

	snprintf(to, size, "%.*s", (int)length, rule);
}

bool qsb__denial_explain(struct qsb__denial *denial, const struct qsb__plan *plan, const char *path, size_t there,
			 unsigned access)
{
	struct qsb__verdict verdict;

	if (strlen(path) >= sizeof(verdict.resolved))
		return false;
	memcpy(verdict.resolved, path, strlen(path) + 1);
	qsb__plan_verdict(plan, there, &verdict);
	if (verdict.access & access)
		return false;
	copy_rule(denial->rule, sizeof(denial->rule),
		  access & QSB__ACCESS_READ ? verdict.read_rule : verdict.write_rule);
	/* The verdict's fix speaks of the first thing that is missing; what allows writing allows reading. */
	if (access & QSB__ACCESS_WRITE && strncmp(verdict.fix, "--read ", 7) == 0)
		snprintf(denial->suggestion, sizeof(denial->suggestion), "--write %.*s",
			 (int)sizeof(denial->suggestion) - 9, verdict.fix + 7);
	else
		snprintf(denial->suggestion, sizeof(denial->suggestion), "%s", verdict.fix);
	return true;
}
