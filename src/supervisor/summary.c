#include "supervisor/summary.h"

#include <stdio.h>
#include <string.h>

/* Places in the order of how likely they are the matter. */
enum weight { LIMIT, NAMED, NETWORK, DEFAULT, CALL, BY_THE_WAY };

struct line {
	const struct qsb__denial *first;
	enum weight weight;
	unsigned targets, shown; /* names; denials */
	unsigned long count;
};

/* Programs keep caches where they can, and do without where they cannot. */
static bool is_cache(const char *target)
{
	return strstr(target, "/__pycache__/") || strstr(target, "/.cache/") || strstr(target, "/.npm/") ||
	       strncmp(target, "/var/cache/", 11) == 0;
}

static enum weight weigh(const struct qsb__denial *denial)
{
	if (strcmp(denial->kind, "limit") == 0)
		return LIMIT;
	if (strcmp(denial->kind, "network") == 0)
		return NETWORK;
	if (strcmp(denial->kind, "call") == 0)
		return CALL;
	if (is_cache(denial->target))
		return BY_THE_WAY;
	return strncmp(denial->rule, "default: ", 9) == 0 ? DEFAULT : NAMED;
}

/* Files that one option would allow. */
static bool belongs(const struct line *line, const struct qsb__denial *denial)
{
	const struct qsb__denial *first = line->first;

	return strcmp(denial->kind, "file") == 0 && strcmp(first->kind, "file") == 0 && first->suggestion[0] &&
	       strcmp(first->rule, denial->rule) == 0 && strcmp(first->suggestion, denial->suggestion) == 0;
}

static void add(struct line *line, const struct qsb__denial *denial)
{
	line->shown++;
	line->targets += strcmp(line->first->target, denial->target) != 0;
	line->count += denial->count;
}

/* The first in the list of a weight stays the first. */
static size_t insert(struct line *lines, size_t count, const struct qsb__denial *denial)
{
	const struct line line = {denial, weigh(denial), 1, 1, denial->count};
	size_t at = count;

	while (at > 0 && lines[at - 1].weight > line.weight)
		at--;
	if (at == QSB__SUMMARY_LINES)
		return count;
	if (count == QSB__SUMMARY_LINES)
		count--;
	memmove(lines + at + 1, lines + at, (count - at) * sizeof(*lines));
	lines[at] = line;
	return count + 1;
}

static size_t choose(const struct qsb__result *result, struct line *lines)
{
	size_t count = 0;

	for (size_t i = 0; i < result->denial_count; i++) {
		const struct qsb__denial *denial = &result->denials[i];
		size_t at = 0;

		if (weigh(denial) == BY_THE_WAY)
			continue;
		while (at < count && !belongs(&lines[at], denial))
			at++;
		if (at < count)
			add(&lines[at], denial);
		else
			count = insert(lines, count, denial);
	}
	return count;
}

/* " (touch, 3 times)" */
static void say_who(const struct line *line, char *text, size_t size)
{
	const char *process = line->first->process;
	char times[40] = "";

	text[0] = '\0';
	if (line->count > 1)
		snprintf(times, sizeof(times), "%s%lu times", process[0] ? ", " : "", line->count);
	if (process[0] || times[0])
		snprintf(text, size, " (%s%s)", process, times);
}

static void write_line(const struct line *line, char *text)
{
	const struct qsb__denial *first = line->first;
	bool limit = line->weight == LIMIT;
	const char *lead_in = !first->suggestion[0]                            ? ""
			      : limit                                          ? "; to raise it: "
			      : strncmp(first->suggestion, "take it ", 8) == 0 ? "; "
									       : "; to allow it: ";
	char others[40] = "", who[100];

	say_who(line, who, sizeof(who));
	if (line->targets > 1)
		snprintf(others, sizeof(others), " and %u more", line->targets - 1);
	/* A long name leaves room for what helps. */
	snprintf(text, QSB__SUMMARY_WIDTH, "%s: %s%s%.300s%s%s%s%s%s%s%s%s%s", limit ? "limit reached" : "refused",
		 first->operation, first->target[0] ? " " : "", first->target, others, limit ? "" : who,
		 first->rule[0] ? (limit ? " (" : ": ") : "", first->rule, first->rule[0] && limit ? ")" : "",
		 first->detail[0] ? ", about " : "", first->detail, lead_in, first->suggestion);
}

size_t qsb__summary(const struct qsb__result *result, char (*lines)[QSB__SUMMARY_WIDTH])
{
	struct line chosen[QSB__SUMMARY_LINES + 1];
	size_t count = choose(result, chosen), shown = 0, all = result->denial_count + result->denials_left_out;

	for (size_t i = 0; i < count; i++) {
		write_line(&chosen[i], lines[i]);
		shown += chosen[i].shown;
	}
	if (count > 0 && all > shown) {
		char *last = lines[count - 1];
		size_t length = strlen(last);

		snprintf(last + length, QSB__SUMMARY_WIDTH - length, "; and %zu more, which --json tells", all - shown);
	}
	return count;
}
