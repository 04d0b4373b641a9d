#include "cli/options.h"

#include <errno.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "core/suggest.h"

enum { MOST_NAMES = 96, LARGEST_FD = 1 << 20 };

const struct qsb__option qsb__common_options[] = {
	{.id = QSB__OPT_HELP,
	 .name = "--help",
	 .alias = "-h",
	 .group = QSB__GROUP_OTHER,
	 .summary = "Print this help."},
	{.id = QSB__OPT_VERSION, .name = "--version", .group = QSB__GROUP_OTHER, .summary = "Print the version."},
	{.id = 0},
};

/* One option of the command line, wherever it is described. */
struct found {
	const struct qsb__option *option;
	const struct qsb__row *row;
};

static bool in_table(const struct qsb__option *table, const char *name, struct found *out)
{
	for (const struct qsb__option *option = table; option && option->id; option++) {
		if (strcmp(option->name, name) == 0 || (option->alias && strcmp(option->alias, name) == 0)) {
			out->option = option;
			return true;
		}
	}
	return false;
}

/* A subcommand's own option wins over a row's of the same name: `--env` fills two rows. */
static bool find(const struct qsb__command *command, const char *name, struct found *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < QSB__OPTION_TABLES && command->tables[i]; i++)
		if (in_table(command->tables[i], name, out))
			return true;
	if (in_table(qsb__common_options, name, out))
		return true;
	if (command->policy_options)
		out->row = qsb__row_by_option(name);
	return out->row != NULL;
}

enum qsb__option_group qsb__row_group(const struct qsb__row *row)
{
	static const struct {
		const char *prefix;
		enum qsb__option_group group;
	} groups[] = {
		{"/filesystem/", QSB__GROUP_FILES},
		{"/network/", QSB__GROUP_NETWORK},
		{"/limits/", QSB__GROUP_LIMITS},
		{"/environment/", QSB__GROUP_ENVIRONMENT},
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strncmp(row->pointer, groups[i].prefix, strlen(groups[i].prefix)) == 0)
			return groups[i].group;
	return QSB__GROUP_POLICY;
}

bool qsb__row_is_flag(const struct qsb__row *row)
{
	return row->type == QSB__ROW_BOOL && !row->metavar;
}

/* The names that a command's options may have, for suggestions. */
struct names {
	const char *words[MOST_NAMES];
	size_t count;
};

static void add_name(struct names *names, const char *name)
{
	if (name && names->count < MOST_NAMES)
		names->words[names->count++] = name;
}

static void add_table(struct names *names, const struct qsb__option *table)
{
	for (const struct qsb__option *option = table; option && option->id; option++)
		add_name(names, option->name);
}

static int fail_unknown_option(struct qsb_error *err, const struct qsb__command *command, const char *name)
{
	struct names names = {.count = 0};
	const char *nearest;

	for (size_t i = 0; i < QSB__OPTION_TABLES && command->tables[i]; i++)
		add_table(&names, command->tables[i]);
	add_table(&names, qsb__common_options);
	for (size_t i = 0; command->policy_options && i < qsb__row_count; i++)
		add_name(&names, qsb__rows[i].option);
	nearest = qsb__suggest(name, names.words, names.count);
	if (nearest)
		return qsb__fail(err, QSB_E_UNKNOWN, name, "unknown option %s; did you mean %s?", name, nearest);
	return qsb__fail(err, QSB_E_UNKNOWN, name, "unknown option %s; `qiming-sandbox %s --help` lists them", name,
			 command->name);
}

int qsb__fail_unknown(struct qsb_error *err, const char *what, const char *word, const char *const *words, size_t count)
{
	const char *nearest = qsb__suggest(word, words, count);
	char list[200] = "";
	size_t used = 0;

	if (nearest)
		return qsb__fail(err, QSB_E_UNKNOWN, word, "unknown %s %s; did you mean %s?", what, word, nearest);
	for (size_t i = 0; i < count && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", words[i]);
	if (used < sizeof(list))
		return qsb__fail(err, QSB_E_UNKNOWN, word, "unknown %s %s; there are: %s", what, word, list);
	return qsb__fail(err, QSB_E_UNKNOWN, word, "unknown %s %s", what, word);
}

/* The parser's place in argv. */
struct place {
	char **argv;
	size_t at;
};

static const char *words_of(const struct found *found, char *buffer, size_t size)
{
	const char *const *words = found->option ? found->option->words : found->row->names;
	size_t used = 0;

	buffer[0] = '\0';
	for (size_t i = 0; words && words[i] && used < size; i++)
		used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? ", " : " (", words[i]);
	if (used > 0 && used < size - 1)
		snprintf(buffer + used, size - used, ")");
	return buffer;
}

static int take_value(struct place *place, const struct found *found, const char *name, char *attached,
		      const char **value, struct qsb_error *err)
{
	bool flag = found->option ? found->option->value == QSB__VALUE_NONE : qsb__row_is_flag(found->row);
	const char *metavar = found->option ? found->option->metavar : found->row->metavar;
	char words[160];

	if (flag) {
		*value = attached ? attached : "true";
		/* A key of the policy can also be switched off: `--allow-nested-sandbox=false`. */
		if (attached && found->option)
			return qsb__fail(err, QSB_E_INVALID, name, "%s takes no value", name);
		return 0;
	}
	*value = attached ? attached : place->argv[place->at];
	if (!*value)
		return qsb__fail(err, QSB_E_INVALID, name, "%s needs a value: %s%s", name, metavar ? metavar : "VALUE",
				 words_of(found, words, sizeof(words)));
	if (!attached)
		place->at++;
	return 0;
}

static int parse_option(struct qsb__invocation *out, struct place *place, struct qsb_error *err)
{
	QSB_CLEANUP_FREE char *name = strdup(place->argv[place->at++]);
	struct qsb__option_use *use = &out->uses[out->use_count];
	struct found found;
	char *equals;
	int rc;

	if (!name)
		return qsb__fail_memory(err, "options");
	equals = strncmp(name, "--", 2) == 0 ? strchr(name, '=') : NULL;
	if (equals)
		*equals = '\0';
	if (!find(out->command, name, &found))
		return fail_unknown_option(err, out->command, name);
	rc = take_value(place, &found, name, equals ? place->argv[place->at - 1] + (equals - name) + 1 : NULL,
			&use->value, err);
	if (rc)
		return rc;
	use->option = found.option;
	use->row = found.row;
	out->use_count++;
	return 0;
}

static void take_operand(struct qsb__invocation *out, struct place *place)
{
	out->operands[out->operand_count++] = place->argv[place->at++];
}

int qsb__options_parse(struct qsb__invocation *out, const struct qsb__command *command, char **argv,
		       struct qsb_error *err)
{
	struct place place = {.argv = argv};
	size_t count = 0;

	memset(out, 0, sizeof(*out));
	while (argv[count])
		count++;
	out->command = command;
	out->dashed_at = SIZE_MAX;
	out->out = stdout;
	out->uses = calloc(count + 1, sizeof(*out->uses));
	out->operands = calloc(count + 1, sizeof(*out->operands));
	if (!out->uses || !out->operands) {
		qsb__invocation_clear(out);
		return qsb__fail_memory(err, "options");
	}
	while (argv[place.at]) {
		const char *word = argv[place.at];

		if (strcmp(word, "--") == 0) {
			place.at++;
			out->dashed_at = out->operand_count;
			break;
		}
		if (word[0] == '-' && word[1]) {
			int rc = parse_option(out, &place, err);

			if (rc) {
				qsb__invocation_clear(out);
				return rc;
			}
			continue;
		}
		if (command->stop_at_operand)
			break;
		take_operand(out, &place);
	}
	while (argv[place.at])
		take_operand(out, &place);
	return 0;
}

void qsb__invocation_clear(struct qsb__invocation *invocation)
{
	free(invocation->uses);
	free(invocation->operands);
	invocation->uses = NULL;
	invocation->operands = NULL;
	invocation->use_count = invocation->operand_count = 0;
}

static const struct qsb__option_use *last_use(const struct qsb__invocation *invocation, enum qsb__option_id id)
{
	for (size_t i = invocation->use_count; i > 0; i--) {
		const struct qsb__option_use *use = &invocation->uses[i - 1];

		if (use->option && use->option->id == id)
			return use;
	}
	return NULL;
}

const char *qsb__invocation_value(const struct qsb__invocation *invocation, enum qsb__option_id id)
{
	const struct qsb__option_use *use = last_use(invocation, id);

	return use ? use->value : NULL;
}

int qsb__option_use_fd(const struct qsb__option_use *use, int *fd, struct qsb_error *err)
{
	const char *name = use->option->name;
	char *end = NULL;
	long number;

	errno = 0;
	number = use->value[0] >= '0' && use->value[0] <= '9' ? strtol(use->value, &end, 10) : -1;
	if (number < 0 || errno || *end || number > LARGEST_FD)
		return qsb__fail(err, QSB_E_INVALID, name, "%s needs the number of an open descriptor, not '%s'", name,
				 use->value);
	*fd = (int)number;
	return 0;
}

int qsb__invocation_fd(const struct qsb__invocation *invocation, enum qsb__option_id id, int *fd, struct qsb_error *err)
{
	const struct qsb__option_use *use = last_use(invocation, id);

	*fd = -1;
	return use ? qsb__option_use_fd(use, fd, err) : 0;
}
