/* The syntax of git's configuration files, character by character as git's own config.c has it. */
#include "guard/git_config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"

struct reader {
	const char *at, *end;
	bool over;
	unsigned line;
	char *name, *value; /* the value's buffer is as long as the text: no value is longer */
	size_t name_length, stem;
};

/* The end of the file is the end of its last line. */
static int next(struct reader *reader)
{
	int c;

	if (reader->at == reader->end) {
		reader->over = true;
		return '\n';
	}
	c = (unsigned char)*reader->at++;
	if (c == '\r' && reader->at < reader->end && *reader->at == '\n')
		c = (unsigned char)*reader->at++;
	if (c == '\n')
		reader->line++;
	return c;
}

/* Git's own idea of these, without a locale. */
static bool is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_key(int c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static int lower(int c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static bool add_name(struct reader *reader, int c)
{
	if (reader->name_length + 1 >= QSB__GIT_NAME_MAX)
		return false;
	reader->name[reader->name_length++] = (char)c;
	reader->name[reader->name_length] = '\0';
	return true;
}

/* [section "anything"], from the space on. */
static bool read_subsection(struct reader *reader, int c)
{
	while (is_space(c)) {
		if (c == '\n')
			return false;
		c = next(reader);
	}
	if (c != '"' || !add_name(reader, '.'))
		return false;
	while ((c = next(reader)) != '"') {
		if (c == '\\')
			c = next(reader);
		if (c == '\n' || !add_name(reader, c))
			return false;
	}
	return next(reader) == ']';
}

static bool read_section(struct reader *reader)
{
	reader->name_length = 0;
	reader->name[0] = '\0';
	for (;;) {
		int c = next(reader);

		if (reader->over)
			return false;
		if (c == ']')
			break;
		if (is_space(c)) {
			if (!read_subsection(reader, c))
				return false;
			break;
		}
		if ((!is_key(c) && c != '.') || !add_name(reader, lower(c)))
			return false;
	}
	if (!add_name(reader, '.'))
		return false;
	reader->stem = reader->name_length;
	return true;
}

/* What a backslash makes of the next character; 0 = no such escape. */
static int escaped(int c)
{
	switch (c) {
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'n':
		return '\n';
	case '\\':
	case '"':
		return c;
	default:
		return 0;
	}
}

/* Runs of space within a value keep their length, whatever they consist of; git's versions differ only in their kind.
 */
static bool read_value(struct reader *reader)
{
	bool quoted = false, comment = false;
	size_t length = 0, spaces = 0;

	for (;;) {
		int c = next(reader);

		if (c == '\n') {
			reader->value[length] = '\0';
			return !quoted;
		}
		if (comment)
			continue;
		if (is_space(c) && !quoted) {
			spaces += length > 0;
			continue;
		}
		if (!quoted && (c == ';' || c == '#')) {
			comment = true;
			continue;
		}
		for (; spaces > 0; spaces--)
			reader->value[length++] = ' ';
		if (c == '"') {
			quoted = !quoted;
			continue;
		}
		if (c == '\\') {
			c = next(reader);
			if (c == '\n')
				continue;
			c = escaped(c);
			if (!c)
				return false;
		}
		reader->value[length++] = (char)c;
	}
}

/* `c` is the first letter of the key. 1 = a setting was read, 0 = bad syntax. */
static bool read_setting(struct reader *reader, int c, struct qsb__git_setting *setting)
{
	reader->name_length = reader->stem;
	do {
		if (!add_name(reader, lower(c)))
			return false;
		c = next(reader);
	} while (!reader->over && is_key(c));
	while (c == ' ' || c == '\t')
		c = next(reader);
	setting->name = reader->name;
	setting->value = NULL;
	if (c == '\n')
		return true;
	if (c != '=' || !read_value(reader))
		return false;
	setting->value = reader->value;
	return true;
}

static int read_all(struct reader *reader, qsb__git_each each, void *context)
{
	bool comment = false;
	int code;

	for (;;) {
		struct qsb__git_setting setting;
		int c = next(reader);

		if (c == '\n') {
			if (reader->over)
				return 0;
			comment = false;
		} else if (comment || is_space(c)) {
			continue;
		} else if (c == '#' || c == ';') {
			comment = true;
		} else if (c == '[') {
			if (!read_section(reader))
				return -1;
		} else {
			/* A key above all sections means nothing to git; that somebody wrote it does to us. */
			if (!is_letter(c) || !reader->stem || !read_setting(reader, c, &setting))
				return -1;
			code = each(context, &setting);
			if (code != 0)
				return code;
		}
	}
}

int qsb__git_config_read(const char *text, size_t length, qsb__git_each each, void *context, unsigned *line)
{
	struct reader reader = {.at = text, .end = text + length, .line = 1};
	QSB_CLEANUP_FREE char *name = malloc(QSB__GIT_NAME_MAX);
	QSB_CLEANUP_FREE char *value = malloc(length + 1);
	int code = -1;

	reader.name = name;
	reader.value = value;
	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		reader.at += 3;
	/* Git's texts end at a NUL, and what follows is seen by some of its readers only. */
	if (name && value && length <= QSB__GIT_CONFIG_MAX && !memchr(text, '\0', length))
		code = read_all(&reader, each, context);
	if (line)
		*line = reader.line;
	return code;
}

/* ---- lists of keys ---- */

struct names {
	char *to;
	size_t size, length;
	unsigned more;
};

static bool holds(const struct names *names, const char *name)
{
	const char *at = names->to;
	size_t length = strlen(name);

	while ((at = strstr(at, name))) {
		bool begins = at == names->to || (at - names->to >= 2 && memcmp(at - 2, ", ", 2) == 0);

		if (begins && (at[length] == '\0' || at[length] == ','))
			return true;
		at++;
	}
	return false;
}

/* Room is left for "and 1234 more". */
static void add(struct names *names, const char *name)
{
	enum { REST = 20 };
	size_t length = strlen(name), start = names->length;

	if (names->length > 0 && holds(names, name))
		return;
	if (names->more || (start > 0 && start + length + 3 + REST > names->size)) {
		names->more++;
		return;
	}
	if (length + 1 + REST > names->size)
		length = names->size - REST - 1; /* of the first one: better a part than nothing */
	names->length += (size_t)snprintf(names->to + start, names->size - start, "%s%.*s", start ? ", " : "",
					  (int)length, name);
	for (char *at = names->to + start; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
}

static void finish(struct names *names)
{
	if (names->more)
		snprintf(names->to + names->length, names->size - names->length, "%s%u more",
			 names->length ? " and " : "", names->more);
}

struct judging {
	const char *folder;
	struct qsb__git_verdict *verdict;
	struct names names;
};

static int judge(void *context, const struct qsb__git_setting *setting)
{
	struct judging *judging = context;
	const char *reason = qsb__git_setting_reason(setting, judging->folder);

	if (!reason)
		return 0;
	if (judging->verdict->harmless)
		snprintf(judging->verdict->reason, sizeof(judging->verdict->reason), "%s", reason);
	judging->verdict->harmless = false;
	add(&judging->names, setting->name);
	return 0;
}

void qsb__git_config_judge(const char *text, size_t length, const char *folder, struct qsb__git_verdict *verdict)
{
	struct judging judging = {.folder = folder, .verdict = verdict};
	unsigned line = 0;

	memset(verdict, 0, sizeof(*verdict));
	verdict->harmless = true;
	judging.names = (struct names){.to = verdict->keys, .size = sizeof(verdict->keys)};
	if (qsb__git_config_read(text, length, judge, &judging, &line) != 0) {
		if (verdict->harmless)
			snprintf(verdict->reason, sizeof(verdict->reason),
				 "it is not written as git's settings are, so nobody can say what it does");
		verdict->harmless = false;
		if (!verdict->keys[0])
			snprintf(verdict->keys, sizeof(verdict->keys), "line %u", line);
	}
	finish(&judging.names);
}

/* ---- what two files differ in ---- */

struct list {
	char **items; /* "name\nvalue", or the name alone */
	size_t count, room;
};

static int collect(void *context, const struct qsb__git_setting *setting)
{
	struct list *list = context;
	char *item = NULL;

	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		char **items = realloc(list->items, room * sizeof(*items));

		if (!items)
			return 1;
		list->items = items;
		list->room = room;
	}
	if (asprintf(&item, setting->value ? "%s\n%s" : "%s", setting->name, setting->value) < 0)
		return 1;
	list->items[list->count++] = item;
	return 0;
}

static void clear(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_item(struct names *names, char *item)
{
	item[strcspn(item, "\n")] = '\0';
	add(names, item);
}

/* Both are sorted: what only one of them has. */
static void compare(const struct list *before, const struct list *after, struct names *names)
{
	size_t i = 0, k = 0;

	while (i < before->count || k < after->count) {
		int order = i == before->count ? 1 : k == after->count ? -1 : strcmp(before->items[i], after->items[k]);

		if (order < 0)
			add_item(names, before->items[i++]);
		else if (order > 0)
			add_item(names, after->items[k++]);
		else
			i++, k++;
	}
}

void qsb__git_config_difference(const struct qsb__git_text *before, const struct qsb__git_text *after, char *keys,
				size_t size)
{
	struct list old QSB_CLEANUP(clear) = {.count = 0};
	struct list new QSB_CLEANUP(clear) = {.count = 0};
	struct names names = {.to = keys, .size = size};

	keys[0] = '\0';
	if (qsb__git_config_read(before->at, before->length, collect, &old, NULL) != 0 ||
	    qsb__git_config_read(after->at, after->length, collect, &new, NULL) != 0)
		return;
	if (old.count)
		qsort(old.items, old.count, sizeof(*old.items), by_text);
	if (new.count)
		qsort(new.items, new.count, sizeof(*new.items), by_text);
	compare(&old, &new, &names);
	finish(&names);
}
