#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "supervisor/internal.h"

/* A flood of refusals must not fill the supervisor's memory. */
enum { DENIALS_MAX = 200, FILES_MAX = 160, GROW_BY = 16 };

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct qsb__denial *find(struct qsb__result *result, const struct qsb__denial *wanted)
{
	for (size_t i = 0; i < result->denial_count; i++) {
		struct qsb__denial *denial = &result->denials[i];

		if (strcmp(denial->kind, wanted->kind) == 0 && strcmp(denial->operation, wanted->operation) == 0 &&
		    strcmp(denial->target, wanted->target) == 0 && strcmp(denial->detail, wanted->detail) == 0)
			return denial;
	}
	return NULL;
}

void qsb__deny(struct qsb__supervisor *supervisor, const struct qsb__denial *denial)
{
	struct qsb__result *result = supervisor->result;
	struct qsb__denial *known = find(result, denial);
	unsigned count = denial->count ? denial->count : 1;
	/* Programs try many files; what else there was must find room behind them. */
	size_t most = strcmp(denial->kind, "file") == 0 ? FILES_MAX : DENIALS_MAX;

	if (known) {
		known->count = known->count > UINT_MAX - count ? UINT_MAX : known->count + count;
		return;
	}
	if (result->denial_count >= most) {
		result->denials_left_out += count;
		return;
	}
	if (result->denial_count % GROW_BY == 0) {
		struct qsb__denial *more = realloc(result->denials, (result->denial_count + GROW_BY) * sizeof(*more));

		if (!more) {
			result->denials_left_out += count;
			return;
		}
		result->denials = more;
	}
	known = &result->denials[result->denial_count++];
	*known = *denial;
	known->count = count;
	known->time_ms = now_ms();
	qsb__events_denial(supervisor, known);
}

void qsb__deny_limit(struct qsb__supervisor *supervisor, const char *operation, const char *rule,
		     const char *suggestion)
{
	struct qsb__denial denial;

	qsb__denial_begin(&denial, "limit", operation);
	snprintf(denial.rule, sizeof(denial.rule), "%s", rule);
	snprintf(denial.suggestion, sizeof(denial.suggestion), "%s", suggestion);
	qsb__deny(supervisor, &denial);
}
