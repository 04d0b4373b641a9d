#include "broker/host_table.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/host_name.h"
#include "broker/parse.h"
#include "core/cleanup.h"

enum { FILE_MAX = 8 << 20, PIECE = 64 * 1024 };

static const char blanks[] = " \t\r\v\f";

struct entry {
	struct qsb__address address;
	uint32_t name; /* where it stands in `names` */
};

struct qsb__host_table {
	struct entry *entries; /* as in the file */
	uint32_t *sorted;      /* numbers of entries by name, and in the file's order where names are the same */
	size_t count, room;
	char *names;
	size_t names_size, names_room;
};

/* The block with room for `more` beyond what is used; NULL = no memory, and it stays as it is. */
static void *make_room(void *block, size_t used, size_t *room, size_t more, size_t size)
{
	size_t wanted = *room ? *room : 64;
	void *grown;

	while (wanted < used + more)
		wanted *= 2;
	if (wanted == *room)
		return block;
	grown = realloc(block, wanted * size);
	if (grown)
		*room = wanted;
	return grown;
}

static bool add(struct qsb__host_table *table, const struct qsb__address *address, const char *name)
{
	size_t size = strlen(name) + 1;
	struct entry *entries = make_room(table->entries, table->count, &table->room, 1, sizeof(*entries));
	char *names;

	if (!entries)
		return false;
	table->entries = entries;
	names = make_room(table->names, table->names_size, &table->names_room, size, 1);
	if (!names)
		return false;
	table->names = names;
	memcpy(table->names + table->names_size, name, size);
	table->entries[table->count++] = (struct entry){.address = *address, .name = (uint32_t)table->names_size};
	table->names_size += size;
	return true;
}

/* "ADDRESS NAME…", and whatever behind a '#'. An address with a zone is for one interface only: left out. */
static bool read_line(struct qsb__host_table *table, char *line)
{
	char canonical[QSB__HOST_MAX], *rest = NULL, *word;
	struct qsb__address address;
	bool added = true;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, blanks, &rest);
	if (!word || !qsb__address_parse(word, strlen(word), &address))
		return true;
	while (added && (word = strtok_r(NULL, blanks, &rest)) != NULL)
		if (qsb__host_name_canonical(word, strlen(word), canonical))
			added = add(table, &address, canonical);
	return added;
}

static const struct qsb__host_table *sorting;

static int compare(const void *left, const void *right)
{
	const uint32_t one = *(const uint32_t *)left, other = *(const uint32_t *)right;
	int order = strcmp(sorting->names + sorting->entries[one].name, sorting->names + sorting->entries[other].name);

	return order ? order : one < other ? -1 : one > other;
}

static bool sort(struct qsb__host_table *table)
{
	table->sorted = malloc((table->count + 1) * sizeof(*table->sorted));
	if (!table->sorted)
		return false;
	for (size_t i = 0; i < table->count; i++)
		table->sorted[i] = (uint32_t)i;
	sorting = table;
	qsort(table->sorted, table->count, sizeof(*table->sorted), compare);
	return true;
}

/* NULL = no memory. */
static char *read_file(const char *path)
{
	QSB_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *text = NULL;
	size_t used = 0, room = 0;
	ssize_t length = 1;

	while (length > 0 && used < FILE_MAX) {
		char *grown = make_room(text, used, &room, PIECE + 1, 1);

		if (!grown) {
			free(text);
			return NULL;
		}
		text = grown;
		length = fd < 0 ? 0 : read(fd, text + used, PIECE);
		if (length > 0)
			used += (size_t)length;
	}
	text[used] = '\0';
	return text;
}

struct qsb__host_table *qsb__host_table_read(const char *path)
{
	struct qsb__host_table *table = calloc(1, sizeof(*table));
	QSB_CLEANUP_FREE char *text = read_file(path);
	bool good = table && text;
	char *rest = NULL;

	for (char *line = good ? strtok_r(text, "\n", &rest) : NULL; good && line; line = strtok_r(NULL, "\n", &rest))
		good = read_line(table, line);
	if (good && sort(table))
		return table;
	qsb__host_table_free(table);
	return NULL;
}

void qsb__host_table_free(struct qsb__host_table *table)
{
	if (!table)
		return;
	free(table->entries);
	free(table->sorted);
	free(table->names);
	free(table);
}

static const char *name_at(const struct qsb__host_table *table, size_t at)
{
	return table->names + table->entries[table->sorted[at]].name;
}

size_t qsb__host_table_find(const struct qsb__host_table *table, const char *name, struct qsb__address *out,
			    size_t most)
{
	size_t low = 0, high = table->count, found = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(name_at(table, middle), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < table->count && found < most && strcmp(name_at(table, low), name) == 0; low++)
		out[found++] = table->entries[table->sorted[low]].address;
	return found;
}

const char *qsb__host_table_name(const struct qsb__host_table *table, const struct qsb__address *address,
				 bool (*wanted)(void *data, const char *name), void *data)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct entry *entry = &table->entries[i];
		const char *name = table->names + entry->name;

		if (entry->address.family == address->family &&
		    memcmp(entry->address.bytes, address->bytes, sizeof(address->bytes)) == 0 && wanted(data, name))
			return name;
	}
	return NULL;
}
