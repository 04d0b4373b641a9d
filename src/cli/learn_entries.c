#include "cli/learn_entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MANY_FILES = 4,   /* of one folder: then the folder */
	MANY_ENTRIES = 8, /* next to each other: then what holds them */
	MANY_BELOW = 32,  /* … in whatever folders of it */
	DEEPEST = 64,
	CHANGES = QSB__TOUCH_WRITE | QSB__TOUCH_CREATE | QSB__TOUCH_REPLACE | QSB__TOUCH_REMOVE
};

struct drawing {
	struct qsb__lessons *out;
	const struct qsb__learn_where *where;
	const struct qsb__learn_judge *judge;
	const struct qsb__touched_folder *folder; /* that is looked at */
	unsigned access;
	int result;
};

static enum qsb__file_kind kind_of(const struct drawing *drawing, const char *path)
{
	return drawing->judge->kind(drawing->judge->context, path);
}

static bool is_refused(const struct drawing *drawing, const char *path)
{
	return drawing->judge->refused(drawing->judge->context, path, drawing->access);
}

static bool is_held(const struct drawing *drawing, const char *path)
{
	return drawing->judge->held(drawing->judge->context, path, drawing->access);
}

static void name_processes(char *out, size_t size, const struct qsb__touched_folder *folder)
{
	size_t used = 0;

	out[0] = '\0';
	for (int i = 0; i < QSB__TOUCHED_PROCESSES && folder->processes[i][0] && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", folder->processes[i]);
	if (folder->more_processes && used < size)
		snprintf(out + used, size - used, " and others");
}

/* `name` = NULL: it is about the whole folder. */
static struct qsb__learnt *new_item(struct drawing *drawing, const char *path, const struct qsb__touched_name *name,
				    size_t count)
{
	struct qsb__lessons *out = drawing->out;
	struct qsb__learnt *item;

	if (out->count == out->room) {
		size_t room = out->room ? 2 * out->room : 64;
		struct qsb__learnt *larger = reallocarray(out->items, room, sizeof(*larger));

		if (larger) {
			out->items = larger;
			out->room = room;
		}
	}
	item = out->count < out->room ? &out->items[out->count] : NULL;
	if (item)
		*item = (struct qsb__learnt){.path = strdup(path), .access = drawing->access, .count = count};
	if (!item || !item->path) {
		drawing->result = QSB_E_MEMORY;
		return NULL;
	}
	out->count++;
	if (name)
		snprintf(item->processes, sizeof(item->processes), "%s", name->process);
	else
		name_processes(item->processes, sizeof(item->processes), drawing->folder);
	return item;
}

static void leave_out(struct drawing *drawing, const char *path, const struct qsb__touched_name *name, size_t count,
		      const char *why)
{
	struct qsb__learnt *item = new_item(drawing, path, name, count);

	if (!item)
		return;
	item->left_out = true;
	snprintf(item->why, sizeof(item->why), "%s", why);
}

/* An entry for something that is there and that is one program's. */
static void add(struct drawing *drawing, const char *path, const struct qsb__touched_name *name, size_t count)
{
	if (is_held(drawing, path))
		leave_out(drawing, path, name, count, "it holds names that are never opened by learning");
	else
		new_item(drawing, path, name, count);
}

/* The folder, or what is there of the folders above it: an entry for what is missing would allow nothing. */
static void add_folder(struct drawing *drawing, const char *folder, size_t count)
{
	char path[QSB__PATH_MAX];
	size_t length;

	snprintf(path, sizeof(path), "%s", folder);
	while (kind_of(drawing, path) == QSB__FILE_MISSING && (length = qsb__path_parent(path)) > 0)
		path[length] = '\0';
	if (qsb__learn_is_wide(drawing->where, path))
		leave_out(drawing, path, NULL, count,
			  "names were made, renamed or removed in it, which needs all of it");
	else
		add(drawing, path, NULL, count);
}

/* An entry for the name alone would not do: a file that is mounted can be neither renamed nor removed, and what is
 * gone cannot be named. */
static bool needs_folder(const struct drawing *drawing, const struct qsb__touched_name *name, const char *path)
{
	enum qsb__file_kind kind = kind_of(drawing, path);

	if (kind == QSB__FILE_DIR)
		return name->kinds & (QSB__TOUCH_REPLACE | QSB__TOUCH_REMOVE);
	return kind != QSB__FILE_PLAIN || (name->kinds & (QSB__TOUCH_REPLACE | QSB__TOUCH_REMOVE)) ||
	       ((name->kinds & QSB__TOUCH_CREATE) && qsb__learn_is_passing(name->name));
}

/* What counts of a folder's name; false = nothing. What was done with a name that is held (git makes the hooks and the
 * settings of a new repository) will be let be done again, whatever the entries say. */
static bool take_name(const struct drawing *drawing, const struct qsb__touched_name *name, char *path)
{
	unsigned wanted = drawing->access == QSB__ACCESS_WRITE ? CHANGES : QSB__TOUCH_READ;

	return (name->kinds & wanted) && qsb__path_join(path, drawing->folder->path, name->name) &&
	       is_refused(drawing, path) && !is_held(drawing, path);
}

/* A place that is there, or was, and that this folder or name is part of. */
static bool add_place(struct drawing *drawing, const char *path, size_t count)
{
	char place[QSB__PATH_MAX];

	if (!qsb__learn_known_place(drawing->where, path, place) || is_held(drawing, place) ||
	    kind_of(drawing, place) == QSB__FILE_MISSING || !is_refused(drawing, place))
		return false;
	new_item(drawing, place, NULL, count);
	return true;
}

/* How the changes of one folder look altogether. */
struct sight {
	size_t files, count; /* names that would be entries; what was done with all that was refused */
	bool whole;          /* entries for names would not do */
};

/* Changes of names that are not kept. */
static bool has_more(const struct drawing *drawing)
{
	const struct qsb__touched_folder *folder = drawing->folder;

	return ((folder->more | folder->below) & CHANGES) && is_refused(drawing, folder->path) &&
	       !is_held(drawing, folder->path);
}

static void look(const struct drawing *drawing, struct sight *sight)
{
	const struct qsb__touched_folder *folder = drawing->folder;
	char path[QSB__PATH_MAX];

	*sight = (struct sight){.whole = has_more(drawing)};
	for (size_t i = 0; i < folder->name_count; i++) {
		const struct qsb__touched_name *name = &folder->names[i];

		if (!take_name(drawing, name, path))
			continue;
		sight->count += name->count;
		if (needs_folder(drawing, name, path))
			sight->whole = true;
		else if (kind_of(drawing, path) != QSB__FILE_DIR)
			sight->files++;
	}
	if (sight->whole && folder->count > sight->count)
		sight->count = folder->count;
}

/* Names of a folder one by one, as far as that helps. */
static bool add_names(struct drawing *drawing)
{
	const struct qsb__touched_folder *folder = drawing->folder;
	char path[QSB__PATH_MAX];
	bool all = true;

	for (size_t i = 0; i < folder->name_count; i++) {
		const struct qsb__touched_name *name = &folder->names[i];

		if (!take_name(drawing, name, path))
			continue;
		if (kind_of(drawing, path) == QSB__FILE_MISSING || needs_folder(drawing, name, path))
			all = false;
		/* In a shared folder the name is all that can be had, also of what was made by a rename. */
		if (kind_of(drawing, path) == QSB__FILE_PLAIN ||
		    (kind_of(drawing, path) == QSB__FILE_DIR && !qsb__learn_is_wide(drawing->where, path)))
			add(drawing, path, name, name->count);
	}
	return all;
}

static void draw_changes(struct drawing *drawing)
{
	const struct qsb__touched_folder *folder = drawing->folder;
	bool wide = qsb__learn_is_wide(drawing->where, folder->path);
	struct sight sight;

	look(drawing, &sight);
	if (sight.count == 0 && !sight.whole)
		return;
	if (add_place(drawing, folder->path, sight.count))
		return;
	if (!wide && (sight.whole || sight.files >= MANY_FILES) && !is_held(drawing, folder->path)) {
		add_folder(drawing, folder->path, sight.count);
		return;
	}
	if (!add_names(drawing) || has_more(drawing))
		add_folder(drawing, folder->path, sight.count);
}

/* Only what is still there matters: what is missing was missing for everybody. */
static void draw_reads(struct drawing *drawing)
{
	const struct qsb__touched_folder *folder = drawing->folder;
	bool wide = qsb__learn_is_wide(drawing->where, folder->path);
	char path[QSB__PATH_MAX];
	size_t files = 0;

	for (size_t i = 0; i < folder->name_count; i++)
		files += take_name(drawing, &folder->names[i], path) && kind_of(drawing, path) == QSB__FILE_PLAIN;
	if (!wide && !is_held(drawing, folder->path) && is_refused(drawing, folder->path) &&
	    (files >= MANY_FILES || ((folder->more | folder->below) & QSB__TOUCH_READ))) {
		add_folder(drawing, folder->path, folder->count);
		return;
	}
	for (size_t i = 0; i < folder->name_count; i++) {
		enum qsb__file_kind kind;

		if (!take_name(drawing, &folder->names[i], path))
			continue;
		kind = kind_of(drawing, path);
		if (kind == QSB__FILE_DIR && qsb__learn_is_wide(drawing->where, path))
			leave_out(drawing, path, &folder->names[i], folder->names[i].count,
				  "it was listed, which needs all of it");
		else if (kind != QSB__FILE_MISSING)
			add(drawing, path, &folder->names[i], folder->names[i].count);
	}
	if (wide && ((folder->more | folder->below) & QSB__TOUCH_READ))
		leave_out(drawing, folder->path, NULL, folder->count, "more of it was read, which needs all of it");
}

/* Entries before what is left out; folders before what lies in them. Writing first: it includes reading. */
static int compare(const void *a, const void *b)
{
	const struct qsb__learnt *x = a, *y = b;
	int order;

	if (x->left_out != y->left_out)
		return x->left_out - y->left_out;
	order = qsb__path_compare(x->path, y->path, false);
	return order ? order : (int)y->access - (int)x->access;
}

static bool is_covered(const struct qsb__learnt *by, const struct qsb__learnt *item)
{
	return by->left_out == item->left_out && by->access >= item->access &&
	       (item->left_out ? strcmp(by->path, item->path) == 0 && strcmp(by->why, item->why) == 0
			       : qsb__path_inside(item->path, by->path, false));
}

static bool has_word(const char *list, const char *word, size_t length)
{
	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

/* Adds the names that are new, as far as there is room. */
static void join_processes(char *to, size_t size, const char *more)
{
	static const char others[] = " and others";
	char word[32];

	for (const char *at = more; *at; at += strcspn(at, ","), at += *at ? 2 : 0) {
		size_t length = strcspn(at, ","), used = strlen(to);

		snprintf(word, sizeof(word), "%.*s", (int)length, at);
		if (strstr(to, others) || has_word(to, word, strlen(word)))
			continue;
		if (used + length + sizeof(others) + 2 < size)
			snprintf(to + used, size - used, "%s%s", used ? ", " : "", word);
		else if (used + sizeof(others) <= size)
			memcpy(to + used, others, sizeof(others));
	}
}

static void join(struct qsb__learnt *to, struct qsb__learnt *item)
{
	to->count += item->count;
	join_processes(to->processes, sizeof(to->processes), item->processes);
	free(item->path);
}

/* Those of the kept ones that the next may lie in, the innermost last. */
struct chain {
	size_t at[DEEPEST];
	size_t length;
};

static struct qsb__learnt *find_cover(const struct qsb__lessons *lessons, struct chain *chain,
				      const struct qsb__learnt *item)
{
	while (chain->length && !qsb__path_inside(item->path, lessons->items[chain->at[chain->length - 1]].path, false))
		chain->length--;
	for (size_t i = 0; i < chain->length; i++)
		if (is_covered(&lessons->items[chain->at[i]], item))
			return &lessons->items[chain->at[i]];
	return NULL;
}

/* Takes out what lies in another entry: the sorted list has that one before it. */
static void merge(struct qsb__lessons *lessons)
{
	struct chain chain = {.length = 0};
	size_t kept = 0;

	if (lessons->count)
		qsort(lessons->items, lessons->count, sizeof(*lessons->items), compare);
	for (size_t i = 0; i < lessons->count; i++) {
		struct qsb__learnt *cover = find_cover(lessons, &chain, &lessons->items[i]);

		if (cover) {
			join(cover, &lessons->items[i]);
			continue;
		}
		lessons->items[kept] = lessons->items[i];
		if (chain.length < DEEPEST)
			chain.at[chain.length++] = kept;
		kept++;
	}
	lessons->count = kept;
}

/* Are there so many entries in `folder`, of which the one at `first` is the first, that it had better be one itself? */
static bool is_crowded(const struct qsb__lessons *lessons, size_t first, const char *folder)
{
	size_t right_in = 0, below = 0;

	for (size_t i = first; i < lessons->count && !lessons->items[i].left_out; i++) {
		const struct qsb__learnt *item = &lessons->items[i];

		if (!qsb__path_inside(item->path, folder, false))
			break;
		if (item->access != lessons->items[first].access)
			continue;
		below++;
		right_in += qsb__path_parent(item->path) == strlen(folder);
	}
	return right_in >= MANY_ENTRIES || below >= MANY_BELOW;
}

/* The nearest folder around the entry that is crowded, and may be an entry itself. `before`: the entry of its
 * kind before it. */
static bool find_crowd(struct drawing *drawing, size_t at, const struct qsb__learnt *before, char *folder)
{
	const struct qsb__lessons *lessons = drawing->out;
	const struct qsb__learnt *item = &lessons->items[at];
	size_t length;

	drawing->access = item->access;
	snprintf(folder, QSB__PATH_MAX, "%s", item->path);
	while ((length = qsb__path_parent(folder)) > 0) {
		folder[length] = '\0';
		/* Seen with the first entry of it already, or too wide: then all above it are, too. */
		if ((before && qsb__path_inside(before->path, folder, false)) ||
		    qsb__learn_is_wide(drawing->where, folder))
			return false;
		if (is_crowded(lessons, at, folder) && !is_held(drawing, folder) && is_refused(drawing, folder))
			return true;
	}
	return false;
}

/* One folder with many entries in it becomes one. true = something was gathered: look again. */
static bool gather(struct drawing *drawing)
{
	struct qsb__lessons *lessons = drawing->out;
	const struct qsb__learnt *before[] = {[QSB__ACCESS_READ] = NULL, [QSB__ACCESS_WRITE] = NULL};
	char folder[QSB__PATH_MAX];

	for (size_t i = 0; i < lessons->count && !lessons->items[i].left_out; i++) {
		bool crowded = find_crowd(drawing, i, before[lessons->items[i].access], folder);

		before[lessons->items[i].access] = &lessons->items[i];
		if (!crowded)
			continue;
		lessons->items[i].path[strlen(folder)] = '\0';
		merge(lessons);
		return true;
	}
	return false;
}

int qsb__lessons_draw(struct qsb__lessons *lessons, const struct qsb__touches *touches,
		      const struct qsb__learn_judge *judge)
{
	struct drawing drawing = {.out = lessons, .where = &touches->where, .judge = judge};

	*lessons = (struct qsb__lessons){.items = NULL};
	for (size_t i = 0; i < touches->folder_count && drawing.result == 0; i++) {
		drawing.folder = &touches->folders[i];
		drawing.access = QSB__ACCESS_WRITE;
		draw_changes(&drawing);
		drawing.access = QSB__ACCESS_READ;
		draw_reads(&drawing);
	}
	merge(lessons);
	while (drawing.result == 0 && gather(&drawing))
		;
	return drawing.result;
}

void qsb__lessons_clear(struct qsb__lessons *lessons)
{
	for (size_t i = 0; i < lessons->count; i++)
		free(lessons->items[i].path);
	free(lessons->items);
	*lessons = (struct qsb__lessons){.items = NULL};
}
