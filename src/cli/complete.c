#include "cli/complete.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/describe.h"

static void print_words(FILE *to, const char *const *words)
{
	for (size_t i = 0; words && words[i]; i++)
		fprintf(to, "%s%s", i ? " " : "", words[i]);
}

static void print_command_names(FILE *to)
{
	for (size_t i = 0; qsb__commands[i]; i++)
		if (!qsb__commands[i]->hidden)
			fprintf(to, "%s%s", i ? " " : "", qsb__commands[i]->name);
}

static void print_bash_value(void *context, const struct qsb__described *option)
{
	FILE *to = context;

	if (option->value == QSB__VALUE_NONE)
		return;
	fprintf(to, "\t\t%s%s%s) ", option->name, option->alias ? "|" : "", option->alias ? option->alias : "");
	if (option->value == QSB__VALUE_WORD) {
		fputs("_qiming_sandbox_words \"", to);
		print_words(to, option->words);
		fputs("\"; return ;;\n", to);
	} else if (option->value == QSB__VALUE_TEXT) {
		fputs("return ;;\n", to);
	} else {
		fprintf(to, "_qiming_sandbox_files %s; return ;;\n", option->value == QSB__VALUE_DIR ? "-d" : "-f");
	}
}

static void print_bash_name(void *context, const struct qsb__described *option)
{
	fprintf(context, " %s", option->name);
}

static void print_value_name(void *context, const struct qsb__described *option)
{
	if (option->value != QSB__VALUE_NONE)
		fprintf(context, "%s|", option->name);
	if (option->value != QSB__VALUE_NONE && option->alias)
		fprintf(context, "%s|", option->alias);
}

static const char bash_start[] =
	"# bash completion of qiming-sandbox; made by `qiming-sandbox help-dump --format bash`\n"
	"_qiming_sandbox_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
	"_qiming_sandbox_files() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\"); }\n"
	"_qiming_sandbox() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} subcommand=${COMP_WORDS[1]} i\n"
	"\tCOMPREPLY=()\n"
	/* Readline makes three words of --name=value. */
	"\tif [ \"$cur\" = = ]; then cur=''; elif [ \"$previous\" = = ]; then previous=${COMP_WORDS[COMP_CWORD-2]}; "
	"fi\n"
	"\tif [ \"$COMP_CWORD\" = 1 ]; then\n";

/* Where the command of `run` begins, completion is that of the command itself. */
static const char bash_command_start[] = "\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
					 "\t\t\tcase ${COMP_WORDS[i]} in\n"
					 "\t\t\t--) i=$((i + 1)); break ;;\n"
					 "\t\t\t";

static const char bash_command_end[] = ") i=$((i + 1)); [ \"${COMP_WORDS[i]-}\" != = ] || i=$((i + 1)) ;;\n"
				       "\t\t\t-*|=) ;;\n"
				       "\t\t\t*) break ;;\n"
				       "\t\t\tesac\n"
				       "\t\tdone\n"
				       "\t\tif ((i < COMP_CWORD)); then\n"
				       "\t\t\tif declare -F _command_offset >/dev/null; then _command_offset \"$i\"; "
				       "else _qiming_sandbox_files -f; fi\n"
				       "\t\t\treturn\n"
				       "\t\tfi\n";

static void print_bash_operands(FILE *to, const struct qsb__command *command)
{
	fputs("\t\t*) ", to);
	if (command->verbs) {
		fputs("_qiming_sandbox_words \"", to);
		print_words(to, command->verbs);
		fputs("\"; [ ${#COMPREPLY[@]} != 0 ] || ", to);
	}
	fputs("_qiming_sandbox_files -f ;;\n", to);
}

static void print_bash_command(FILE *to, const struct qsb__command *command)
{
	fprintf(to, "\t%s)\n", command->name);
	if (command->stop_at_operand) {
		fputs(bash_command_start, to);
		qsb__describe_options(command, print_value_name, to);
		/* The list above ends with a bar; an empty word closes it. */
		fputs("''", to);
		fputs(bash_command_end, to);
	}
	fputs("\t\tcase $previous in\n", to);
	qsb__describe_options(command, print_bash_value, to);
	fputs("\t\tesac\n\t\tcase $cur in\n\t\t-*) _qiming_sandbox_words \"", to);
	qsb__describe_options(command, print_bash_name, to);
	fputs("\" ;;\n", to);
	if (command->stop_at_operand)
		fputs("\t\t*) mapfile -t COMPREPLY < <(compgen -c -- \"$cur\") ;;\n", to);
	else
		print_bash_operands(to, command);
	fputs("\t\tesac ;;\n", to);
}

void qsb__complete_bash(FILE *to)
{
	fputs(bash_start, to);
	fputs("\t\t_qiming_sandbox_words \"", to);
	print_command_names(to);
	fputs(" --help --version\"\n\t\treturn\n\tfi\n\tcase $subcommand in\n", to);
	for (size_t i = 0; qsb__commands[i]; i++)
		if (!qsb__commands[i]->hidden)
			print_bash_command(to, qsb__commands[i]);
	fputs("\tesac\n}\ncomplete -F _qiming_sandbox qiming-sandbox\n", to);
}

/* Text inside a single-quoted _arguments specification. */
static void print_zsh_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", to);
		else if (strchr("\\[]:", *text))
			fputc('\\', to);
		fputc(*text, to);
	}
}

static void print_zsh_spec(FILE *to, const struct qsb__described *option, const char *name)
{
	fprintf(to, "\t\t\t'*%s%s[", name, option->metavar && strncmp(name, "--", 2) == 0 ? "=" : "");
	print_zsh_text(to, option->summary);
	fputc(']', to);
	if (option->metavar) {
		fputc(':', to);
		print_zsh_text(to, option->metavar);
		fputc(':', to);
	}
	if (option->value == QSB__VALUE_WORD) {
		fputc('(', to);
		print_words(to, option->words);
		fputc(')', to);
	} else if (option->value == QSB__VALUE_PATH || option->value == QSB__VALUE_DIR) {
		fputs(option->value == QSB__VALUE_DIR ? "_files -/" : "_files", to);
	}
	fputs("' \\\n", to);
}

static void print_zsh_option(void *context, const struct qsb__described *option)
{
	print_zsh_spec(context, option, option->name);
	if (option->alias)
		print_zsh_spec(context, option, option->alias);
}

static void print_zsh_operands(FILE *to, const struct qsb__command *command)
{
	fputs("\t\t\t", to);
	if (command->verbs) {
		fputs("'1:what:(", to);
		print_words(to, command->verbs);
		fputs(")' ", to);
	}
	fputs("'*:operand:_files' ;;\n", to);
}

static void print_zsh_command(FILE *to, const struct qsb__command *command)
{
	fprintf(to, "\t%s)\n\t\t_arguments -S \\\n", command->name);
	qsb__describe_options(command, print_zsh_option, to);
	if (command->stop_at_operand)
		fputs("\t\t\t'(-)1:command:_command_names -e' '*::arguments:_normal' ;;\n", to);
	else
		print_zsh_operands(to, command);
}

void qsb__complete_zsh(FILE *to)
{
	fputs("#compdef qiming-sandbox\n# made by `qiming-sandbox help-dump --format zsh`\n"
	      "_qiming-sandbox() {\n\tlocal subcommand=$words[2]\n\tlocal -a subcommands=(\n",
	      to);
	for (size_t i = 0; qsb__commands[i]; i++) {
		if (qsb__commands[i]->hidden)
			continue;
		fprintf(to, "\t\t'%s:", qsb__commands[i]->name);
		print_zsh_text(to, qsb__commands[i]->summary);
		fputs("'\n", to);
	}
	fputs("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe subcommand subcommands\n\t\treturn\n\tfi\n"
	      "\tshift words\n\t(( CURRENT-- ))\n\tcase $subcommand in\n",
	      to);
	for (size_t i = 0; qsb__commands[i]; i++)
		if (!qsb__commands[i]->hidden)
			print_zsh_command(to, qsb__commands[i]);
	fputs("\tesac\n}\n_qiming-sandbox \"$@\"\n", to);
}
