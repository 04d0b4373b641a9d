/* The program: finds the subcommand, and is the only place that prints failures and exits. */
#include <string.h>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/message.h"
#include "core/error.h"
#include "os/arguments.h"
#include "os/descriptors.h"
#include "supervisor/run.h"

static int fail(const struct qsb_error *err)
{
	qsb__message("%s", err->message);
	return QSB__EXIT_SANDBOX;
}

static int fail_unknown_command(const char *word)
{
	struct qsb_error err;
	const char *names[16];
	size_t count = 0;

	for (size_t i = 0; qsb__commands[i] && count < sizeof(names) / sizeof(names[0]); i++)
		if (!qsb__commands[i]->hidden)
			names[count++] = qsb__commands[i]->name;
	if (word[0] == '-')
		qsb__fail(&err, QSB_E_UNKNOWN, word,
			  "unknown option %s; a subcommand comes first: qiming-sandbox run -- COMMAND", word);
	else
		qsb__fail_unknown(&err, "subcommand", word, names, count);
	return fail(&err);
}

static const struct qsb__command *find_command(const char *word)
{
	for (size_t i = 0; qsb__commands[i]; i++)
		if (strcmp(qsb__commands[i]->name, word) == 0)
			return qsb__commands[i];
	return NULL;
}

/* Help and version go to stdout; a reader that cannot have them is told so. */
static int finish_output(int status, struct qsb_error *err)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	qsb__fail(err, QSB_E_OS, "output", "cannot write to the standard output");
	return fail(err);
}

static int run_command(const struct qsb__command *command, char **argv, struct qsb_error *err)
{
	struct qsb__invocation invocation;
	int status = qsb__options_parse(&invocation, command, argv, err);

	if (status < 0)
		return fail(err);
	if (qsb__invocation_value(&invocation, QSB__OPT_HELP))
		qsb__help_command(stdout, command);
	else if (qsb__invocation_value(&invocation, QSB__OPT_VERSION))
		puts("qiming-sandbox " QSB_VERSION);
	else
		status = command->run(&invocation, err);
	qsb__invocation_clear(&invocation);
	return status < 0 ? fail(err) : finish_output(status, err);
}

static bool is_one_of(const char *word, const char *one, const char *other)
{
	return strcmp(word, one) == 0 || strcmp(word, other) == 0;
}

int main(int argc, char **argv)
{
	const struct qsb__command *command;
	struct qsb_error err = {.code = 0};

	qsb__program_arguments_keep(argc, argv);
	if (qsb__standard_streams_open(&err) < 0)
		return fail(&err);
	if (argc < 2) {
		qsb__help_short(stderr);
		return QSB__EXIT_SANDBOX;
	}
	command = find_command(argv[1]);
	if (command)
		return run_command(command, argv + 2, &err);
	if (strcmp(argv[1], "help") == 0 && argc > 2 && (command = find_command(argv[2])))
		qsb__help_command(stdout, command);
	else if (is_one_of(argv[1], "--help", "-h") || strcmp(argv[1], "help") == 0)
		qsb__help_program(stdout);
	else if (is_one_of(argv[1], "--version", "-V"))
		puts("qiming-sandbox " QSB_VERSION);
	else
		return fail_unknown_command(argv[1]);
	return finish_output(0, &err);
}
