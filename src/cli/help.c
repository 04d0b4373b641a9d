#include "cli/help.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/describe.h"

enum { WIDTH = 79, COLUMN = 27 };

static const char *const group_titles[QSB__GROUP_COUNT] = {
	[QSB__GROUP_POLICY] = "Policy",
	[QSB__GROUP_FILES] = "Files",
	[QSB__GROUP_NETWORK] = "Network",
	[QSB__GROUP_LIMITS] = "Limits",
	[QSB__GROUP_ENVIRONMENT] = "Environment",
	[QSB__GROUP_OUTPUT] = "Streams and results",
	[QSB__GROUP_OTHER] = "Other",
};

const char *qsb__group_title(enum qsb__option_group group)
{
	return group_titles[group];
}

static void pad(FILE *to, size_t columns)
{
	fprintf(to, "%*s", (int)columns, "");
}

/* Words from `column` on, each further line indented by `indent`. A newline in the text starts a line. */
static void print_wrapped(FILE *to, const char *text, size_t column, size_t indent)
{
	bool fresh = true;

	while (*text) {
		size_t length = strcspn(text, " \n");

		if (!fresh && column + 1 + length > WIDTH) {
			fputc('\n', to);
			pad(to, indent);
			column = indent;
			fresh = true;
		}
		column += (size_t)fprintf(to, "%s%.*s", fresh ? "" : " ", (int)length, text);
		fresh = false;
		text += length;
		if (*text == '\n') {
			fputc('\n', to);
			pad(to, indent);
			column = indent;
			fresh = true;
		}
		text += *text != '\0';
	}
	fputc('\n', to);
}

struct listing {
	FILE *to;
	enum qsb__option_group group;
	bool titled;
};

static void print_option(void *context, const struct qsb__described *option)
{
	struct listing *listing = context;
	char head[100];
	size_t used;

	if (option->group != listing->group)
		return;
	if (!listing->titled)
		fprintf(listing->to, "\n%s:\n", group_titles[listing->group]);
	listing->titled = true;
	used = (size_t)snprintf(head, sizeof(head), "  %s%s%s%s%s", option->alias ? option->alias : "",
				option->alias ? ", " : "", option->name, option->metavar ? " " : "",
				option->metavar ? option->metavar : "");
	fputs(head, listing->to);
	if (used + 2 > COLUMN) {
		fputc('\n', listing->to);
		used = 0;
	}
	pad(listing->to, COLUMN - used);
	print_wrapped(listing->to, option->summary, COLUMN, COLUMN);
}

static void print_examples(FILE *to)
{
	fputs("\nExamples:\n"
	      "  qiming-sandbox run -- npm test\n"
	      "  qiming-sandbox run --write ../cache --memory 4g --timeout 600 -- make -j2\n"
	      "  qiming-sandbox run --network filtered --allow-domain '*.example.com' -- npm ci\n"
	      "  qiming-sandbox run --network host --env GITHUB_TOKEN -- gh pr list\n"
	      "  qiming-sandbox run --json -c 'echo $((1+2))'\n"
	      "  qiming-sandbox explain path ~/.ssh/id_ed25519\n",
	      to);
}

void qsb__help_short(FILE *to)
{
	fputs("usage: qiming-sandbox run [options] [--] COMMAND [ARGUMENTS]\n"
	      "       qiming-sandbox --help\n",
	      to);
}

void qsb__help_program(FILE *to)
{
	fputs("Usage: qiming-sandbox SUBCOMMAND [options]\n\n"
	      "Runs a command in a sandbox: it reads no secrets, writes only in the project,\n"
	      "has no network, and keeps to limits on memory, processors, processes, time and\n"
	      "output, unless you say otherwise.\n\nSubcommands:\n",
	      to);
	for (size_t i = 0; qsb__commands[i]; i++) {
		if (qsb__commands[i]->hidden)
			continue;
		fprintf(to, "  %-10s", qsb__commands[i]->name);
		print_wrapped(to, qsb__commands[i]->summary, 12, 12);
	}
	print_examples(to);
	fputs("\n`qiming-sandbox SUBCOMMAND --help` lists the options of a subcommand.\n", to);
}

void qsb__help_command(FILE *to, const struct qsb__command *command)
{
	fprintf(to, "Usage: qiming-sandbox %s [options]%s%s\n\n", command->name, command->operands ? " " : "",
		command->operands ? command->operands : "");
	print_wrapped(to, command->summary, 0, 0);
	for (int group = 0; group < QSB__GROUP_COUNT; group++) {
		struct listing listing = {.to = to, .group = (enum qsb__option_group)group};

		qsb__describe_options(command, print_option, &listing);
	}
	for (size_t i = 0; command->notes && command->notes[i]; i++) {
		fputc('\n', to);
		print_wrapped(to, command->notes[i], 0, 0);
	}
	if (strcmp(command->name, "run") == 0)
		print_examples(to);
}
