#include "plan/listing.h"

#include <stdlib.h>
#include <string.h>
#include "core/hash.h"

/* So many questions about one folder cost as much as listing it; a folder with more names than this is not held. */
enum { PAYS_AFTER = 48, MOST_NAMES = 200000, FIRST_SIZE = 1024 };

struct filling {
	struct qsb__listing *listing;
	struct qsb__arena *arena;
};

static size_t hash_name(const char *name)
{
	uint32_t hash = qsb__hash_text(name);

	return hash ^ hash >> 15;
}

static struct qsb__listed_name *find(const struct qsb__listing *listing, const char *name)
{
	size_t at = hash_name(name) & (listing->size - 1);

	while (listing->table[at].name && strcmp(listing->table[at].name, name) != 0)
		at = (at + 1) & (listing->size - 1);
	return &listing->table[at];
}

static bool grow(struct qsb__listing *listing)
{
	struct qsb__listing larger = {.size = listing->size ? 4 * listing->size : (size_t)FIRST_SIZE};

	larger.table = calloc(larger.size, sizeof(larger.table[0]));
	if (!larger.table)
		return false;
	for (size_t i = 0; i < listing->size; i++)
		if (listing->table[i].name)
			*find(&larger, listing->table[i].name) = listing->table[i];
	free(listing->table);
	listing->table = larger.table;
	listing->size = larger.size;
	return true;
}

static int note(void *to, const char *name, enum qsb__file_kind kind)
{
	struct filling *filling = to;
	struct qsb__listing *listing = filling->listing;
	struct qsb__listed_name *place;

	if (listing->count == MOST_NAMES || (2 * listing->count >= listing->size && !grow(listing)))
		return 1;
	place = find(listing, name);
	place->name = qsb__arena_text(filling->arena, name);
	place->kind = kind;
	listing->count++;
	return place->name ? 0 : 1;
}

static void fill(struct qsb__listing *listing, const struct qsb__host *host, struct qsb__arena *arena)
{
	struct filling filling = {.listing = listing, .arena = arena};

	free(listing->table);
	listing->table = NULL;
	listing->size = listing->count = 0;
	memcpy(listing->folder, listing->asked, sizeof(listing->folder));
	listing->whole = grow(listing) && host->ops->list(host->context, listing->folder, note, &filling) == 0;
}

enum qsb__file_kind qsb__listing_kind(struct qsb__listing *listing, const struct qsb__host *host,
				      struct qsb__arena *arena, const char *path)
{
	size_t length = qsb__path_parent(path);

	if (length > 1 && !host->case_insensitive) {
		if (strncmp(listing->asked, path, length) != 0 || listing->asked[length]) {
			memcpy(listing->asked, path, length);
			listing->asked[length] = '\0';
			listing->questions = 0;
		}
		if (++listing->questions == PAYS_AFTER && strcmp(listing->folder, listing->asked) != 0)
			fill(listing, host, arena);
		if (listing->questions >= PAYS_AFTER && listing->whole &&
		    strcmp(listing->folder, listing->asked) == 0) {
			const struct qsb__listed_name *found = find(listing, path + length + 1);

			return found->name ? found->kind : QSB__FILE_MISSING;
		}
	}
	return host->ops->kind(host->context, path);
}

void qsb__listing_clear(struct qsb__listing *listing)
{
	free(listing->table);
	memset(listing, 0, sizeof(*listing));
}
