#include "cli/learn_touches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2 * QSB__TOUCHED_FOLDERS };

int qsb__touches_init(struct qsb__touches *touches, const struct qsb__learn_where *where)
{
	*touches = (struct qsb__touches){.where = *where};
	touches->folders = calloc(QSB__TOUCHED_FOLDERS, sizeof(*touches->folders));
	touches->index = calloc(SLOTS, sizeof(*touches->index));
	return touches->folders && touches->index ? 0 : QSB_E_MEMORY;
}

void qsb__touches_clear(struct qsb__touches *touches)
{
	for (size_t i = 0; i < touches->folder_count; i++) {
		struct qsb__touched_folder *folder = &touches->folders[i];

		for (size_t j = 0; j < folder->name_count; j++)
			free(folder->names[j].name);
		free(folder->names);
		free(folder->path);
	}
	free(touches->folders);
	free(touches->index);
	*touches = (struct qsb__touches){.folders = NULL};
}

static size_t hash_of(const char *text, size_t length)
{
	size_t hash = 5381;

	for (size_t i = 0; i < length; i++)
		hash = hash * 33 + (unsigned char)text[i];
	return hash;
}

/* The slot of the path, empty when it is not there. There are more slots than folders. */
static unsigned short *slot_of(const struct qsb__touches *touches, const char *path, size_t length)
{
	size_t at = hash_of(path, length) % SLOTS;

	while (touches->index[at]) {
		const char *other = touches->folders[touches->index[at] - 1].path;

		if (strncmp(other, path, length) == 0 && other[length] == '\0')
			break;
		at = (at + 1) % SLOTS;
	}
	return &touches->index[at];
}

bool qsb__touches_know(const struct qsb__touches *touches, const char *path)
{
	return *slot_of(touches, path, strlen(path)) || *slot_of(touches, path, qsb__path_parent(path));
}

static struct qsb__touched_folder *find_folder(struct qsb__touches *touches, const char *path, size_t length)
{
	unsigned short *slot = slot_of(touches, path, length);
	struct qsb__touched_folder *folder;

	if (*slot)
		return &touches->folders[*slot - 1];
	if (touches->folder_count == QSB__TOUCHED_FOLDERS)
		return NULL;
	folder = &touches->folders[touches->folder_count];
	folder->path = strndup(path, length);
	if (!folder->path)
		return NULL;
	*slot = (unsigned short)++touches->folder_count;
	return folder;
}

static void note_process(struct qsb__touched_folder *folder, const char *process)
{
	for (int i = 0; i < QSB__TOUCHED_PROCESSES; i++) {
		if (!folder->processes[i][0])
			snprintf(folder->processes[i], sizeof(folder->processes[i]), "%s", process);
		if (strncmp(folder->processes[i], process, sizeof(folder->processes[i]) - 1) == 0)
			return;
	}
	folder->more_processes = true;
}

/* NULL: there is no room for it. */
static struct qsb__touched_name *find_name(struct qsb__touched_folder *folder, const char *name, size_t room)
{
	struct qsb__touched_name *names;

	for (size_t i = 0; i < folder->name_count; i++)
		if (strcmp(folder->names[i].name, name) == 0)
			return &folder->names[i];
	if (folder->name_count == room)
		return NULL;
	names = reallocarray(folder->names, folder->name_count + 1, sizeof(*names));
	if (!names)
		return NULL;
	folder->names = names;
	names[folder->name_count] = (struct qsb__touched_name){.name = strdup(name)};
	return names[folder->name_count].name ? &names[folder->name_count++] : NULL;
}

/* The table is full: the nearest folder above that it has stands for this one. */
static void add_above(struct qsb__touches *touches, const char *path, size_t length, const struct qsb__touch *touch)
{
	char above[QSB__PATH_MAX];

	snprintf(above, sizeof(above), "%.*s", (int)length, path);
	while ((length = qsb__path_parent(above)) > 0) {
		unsigned short *slot;

		above[length] = '\0';
		slot = slot_of(touches, above, length);
		if (!*slot)
			continue;
		touches->folders[*slot - 1].below |= touch->kind;
		touches->folders[*slot - 1].count++;
		return;
	}
	touches->lost++;
}

void qsb__touches_add(struct qsb__touches *touches, const struct qsb__touch *touch)
{
	size_t length = qsb__path_parent(touch->path);
	struct qsb__touched_folder *folder = length ? find_folder(touches, touch->path, length) : NULL;
	struct qsb__touched_name *name;
	bool wide;

	/* The root itself: nobody can have made it. */
	if (length == 0 || strlen(touch->path) >= QSB__PATH_MAX)
		return;
	if (!folder) {
		add_above(touches, touch->path, length, touch);
		return;
	}
	folder->count++;
	note_process(folder, touch->process);
	wide = folder->name_count >= QSB__TOUCHED_NAMES && qsb__learn_is_wide(&touches->where, folder->path);
	name = find_name(folder, qsb__path_name(touch->path), wide ? QSB__TOUCHED_NAMES_WIDE : QSB__TOUCHED_NAMES);
	if (!name) {
		folder->more |= touch->kind;
		return;
	}
	if (name->count == 0)
		snprintf(name->process, sizeof(name->process), "%s", touch->process);
	name->kinds |= touch->kind;
	name->count++;
}
