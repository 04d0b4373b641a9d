/* doctor's facts for people. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/message.h"

enum sign { GOOD, BAD, ABSENT, UNKNOWN };

struct style {
	FILE *to;
	const char *colour[4]; /* by sign */
	const char *bold, *plain;
	const char *sign[4];
};

static bool is_set(const char *value)
{
	return value && value[0];
}

/* The program is static and loads no locale: the names that say which one it would be are enough. */
static bool locale_is_utf8(void)
{
	static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i]);

		if (is_set(value))
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

static struct style choose_style(FILE *to)
{
	static const struct style colourful = {
		.colour = {"\033[32m", "\033[31m", "\033[33m", "\033[33m"},
		.bold = "\033[1m",
		.plain = "\033[0m",
	};
	static const struct style sober = {.colour = {"", "", "", ""}, .bold = "", .plain = ""};
	static const char *const signs[2][4] = {{"ok", "NO", "--", "??"}, {"✓", "✗", "–", "?"}};
	const char *terminal = getenv("TERM");
	bool colours =
		isatty(fileno(to)) && !is_set(getenv("NO_COLOR")) && is_set(terminal) && strcmp(terminal, "dumb") != 0;
	struct style style = colours ? colourful : sober;

	memcpy(style.sign, signs[locale_is_utf8()], sizeof(style.sign));
	style.to = to;
	return style;
}

static void print_heading(const struct style *style, const char *text)
{
	fprintf(style->to, "\n%s%s%s\n", style->bold, text, style->plain);
}

static void print_sign(const struct style *style, enum sign sign)
{
	fprintf(style->to, "%s%s%s", style->colour[sign], style->sign[sign], style->plain);
}

static void print_fact(const struct style *style, const struct qsb__probe_row *row)
{
	fputs("    ", style->to);
	print_sign(style, row->ok ? GOOD : row->needed ? BAD : ABSENT);
	fprintf(style->to, " %-20s ", row->name);
	qsb__print_text(style->to, row->detail);
	if (!row->ok && !row->needed)
		fputs(" (not needed)", style->to);
	fputc('\n', style->to);
	if (row->fix[0]) {
		fputs("       to fix it: ", style->to);
		qsb__print_text(style->to, row->fix);
		fputc('\n', style->to);
	}
}

static void print_backends(const struct style *style, const struct qsb__doctor *doctor)
{
	print_heading(style, "Back ends, best first");
	for (size_t i = 0; i < doctor->backend_count; i++) {
		const struct qsb__doctor_backend *found = &doctor->backends[i];

		fprintf(style->to, "  %s: %s\n", found->backend->name, found->backend->summary);
		for (size_t row = 0; row < found->probe.count; row++)
			print_fact(style, &found->probe.rows[row]);
		if (found->refusal.code) {
			fputs("    ", style->to);
			print_sign(style, BAD);
			fputs(" it cannot hold the policy that counts here: ", style->to);
			qsb__print_text(style->to, found->refusal.message);
			fputc('\n', style->to);
		}
	}
	if (doctor->backend_count == 0)
		fputs("  none for this system\n", style->to);
}

static void print_enforced(const struct style *style, const struct qsb__doctor *doctor)
{
	if (!doctor->chosen)
		return;
	print_heading(style, "Enforced");
	for (const char *const *name = qsb__restriction_names; *name; name++) {
		const char *held = doctor->chosen->enforces(doctor->loaded.plan, NULL, *name);

		fputs("  ", style->to);
		print_sign(style, strcmp(held, "yes") == 0 ? GOOD : strcmp(held, "no") == 0 ? BAD : ABSENT);
		fprintf(style->to, " %-22s %s\n", *name, held);
	}
}

static void print_limits(const struct style *style, const struct qsb__doctor *doctor)
{
	if (doctor->limit_count == 0)
		return;
	print_heading(style, "Limits                   value        held by");
	for (size_t i = 0; i < doctor->limit_count; i++) {
		const struct qsb__doctor_limit *limit = &doctor->limits[i];

		fprintf(style->to, "  %-22s %-12s %s\n", limit->name, limit->value,
			limit->by ? limit->by : "(not known)");
	}
}

static void print_gaps(const struct style *style, const struct qsb__doctor *doctor)
{
	if (doctor->gap_count == 0)
		return;
	print_heading(style, "Not enforced by this version, or not here");
	for (size_t i = 0; i < doctor->gap_count; i++) {
		fputs("  ", style->to);
		print_sign(style, ABSENT);
		fputc(' ', style->to);
		qsb__print_text(style->to, doctor->gaps[i].what);
		fputs("\n       ", style->to);
		qsb__print_text(style->to, doctor->gaps[i].why);
		fputc('\n', style->to);
	}
}

static void print_files(const struct style *style, const struct qsb__doctor *doctor)
{
	print_heading(style, "Policy files");
	for (size_t i = 0; i < doctor->file_count; i++) {
		const struct qsb__doctor_file *file = &doctor->files[i];

		if (!file->path[0])
			continue;
		fprintf(style->to, "  %-22s %-12s ", file->layer, file->problem[0] ? "bad" : file->state);
		qsb__print_text(style->to, file->path);
		fputc('\n', style->to);
		if (file->problem[0]) {
			fputs("       ", style->to);
			qsb__print_text(style->to, file->problem);
			fputc('\n', style->to);
		}
	}
}

static void print_self_test(const struct style *style, const struct qsb__self_test *test)
{
	static const enum sign signs[] = {[QSB__HELD] = GOOD, [QSB__NOT_HELD] = BAD, [QSB__CANNOT_TELL] = UNKNOWN};
	size_t count[3] = {0};

	print_heading(style, "Self-test: attacks that work without the sandbox");
	for (size_t i = 0; i < test->count; i++) {
		const struct qsb__self_test_row *row = &test->rows[i];

		count[row->verdict]++;
		fputs("  ", style->to);
		print_sign(style, signs[row->verdict]);
		fprintf(style->to, " %-11s  %-48s ", qsb__verdict_name(row->verdict), row->title);
		qsb__print_text(style->to, row->detail);
		fputc('\n', style->to);
	}
	if (test->problem[0]) {
		fputs("  it could not go on: ", style->to);
		qsb__print_text(style->to, test->problem);
		fputc('\n', style->to);
	}
	fprintf(style->to, "  %zu held, %zu not held, %zu cannot tell\n", count[QSB__HELD], count[QSB__NOT_HELD],
		count[QSB__CANNOT_TELL]);
}

void qsb__doctor_print(FILE *to, const struct qsb__doctor *doctor)
{
	const struct style chosen = choose_style(to), *style = &chosen;

	fputs("qiming-sandbox " QSB_VERSION ": ", to);
	if (doctor->chosen) {
		print_sign(style, GOOD);
		fprintf(to, " a run here is held to its policy, by %s\n", doctor->chosen->name);
	} else {
		print_sign(style, BAD);
		fputs(" a run here is refused (exit status 125): nothing would be started\n  ", to);
		qsb__print_text(style->to, doctor->cause.message);
		fputc('\n', to);
	}
	print_backends(style, doctor);
	print_enforced(style, doctor);
	print_limits(style, doctor);
	print_gaps(style, doctor);
	print_files(style, doctor);
	if (doctor->self_test)
		print_self_test(style, doctor->self_test);
}
