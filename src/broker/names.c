#include "broker/names.h"

#include <stdlib.h>
#include <string.h>

#include "broker/parse.h"

enum {
	NAMES_MAX = 16384, /* at one time */
	BUCKETS = 4096,
	KEPT_S = 900 /* a client may hold on to an answer far beyond its time: after that the number is given anew */
};

struct entry {
	char *name;
	uint64_t used; /* when it was last asked for, or connected to */
	unsigned next; /* in its bucket; 0 = the last one */
};

struct qsb__names {
	unsigned buckets[BUCKETS];
	struct entry *entries; /* by number; 0 is none */
	unsigned count, room;
	unsigned hand; /* where the next one to be given anew is looked for */
};

static const uint8_t base4[4] = {198, 18, 0, 0};
static const uint8_t base6[12] = {0xfd, 0x71, 0x6d, 0x69, 0x6e, 0x67};

struct qsb__names *qsb__names_new(void)
{
	return calloc(1, sizeof(struct qsb__names));
}

void qsb__names_free(struct qsb__names *names)
{
	if (!names)
		return;
	for (unsigned i = 1; i <= names->count; i++)
		free(names->entries[i].name);
	free(names->entries);
	free(names);
}

static unsigned bucket_of(const char *name)
{
	uint32_t hash = 2166136261U;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619U;
	return hash % BUCKETS;
}

static void unlink_entry(struct qsb__names *names, unsigned number)
{
	unsigned *at = &names->buckets[bucket_of(names->entries[number].name)];

	while (*at != number)
		at = &names->entries[*at].next;
	*at = names->entries[number].next;
	free(names->entries[number].name);
	names->entries[number].name = NULL;
}

static unsigned grow(struct qsb__names *names)
{
	if (names->count + 1 >= names->room) {
		unsigned room = names->room ? names->room * 2 : 64;
		struct entry *entries = realloc(names->entries, room * sizeof(*entries));

		if (!entries)
			return 0;
		names->entries = entries;
		names->room = room;
	}
	names->entries[++names->count].name = NULL;
	return names->count;
}

/* One that nobody used for long; 0 = none. */
static unsigned take_old(struct qsb__names *names, uint64_t now)
{
	for (unsigned i = 0; i < NAMES_MAX; i++) {
		unsigned number = names->hand = names->hand % NAMES_MAX + 1;

		if (now - names->entries[number].used < KEPT_S)
			continue;
		unlink_entry(names, number);
		return number;
	}
	return 0;
}

unsigned qsb__names_number(struct qsb__names *names, const char *name, uint64_t now)
{
	unsigned bucket = bucket_of(name), number = names->buckets[bucket];

	while (number && strcmp(names->entries[number].name, name) != 0)
		number = names->entries[number].next;
	if (!number) {
		char *copy = strdup(name);

		number = !copy ? 0 : names->count < NAMES_MAX ? grow(names) : take_old(names, now);
		if (!number) {
			free(copy);
			return 0;
		}
		names->entries[number].name = copy;
		names->entries[number].next = names->buckets[bucket];
		names->buckets[bucket] = number;
	}
	names->entries[number].used = now;
	return number;
}

void qsb__names_address(unsigned number, int family, struct qsb__address *out)
{
	memset(out, 0, sizeof(*out));
	out->family = family;
	if (family == 4) {
		memcpy(out->bytes, base4, sizeof(base4));
		out->bytes[1] += (uint8_t)(number >> 16);
		out->bytes[2] = (uint8_t)(number >> 8);
		out->bytes[3] = (uint8_t)number;
		return;
	}
	memcpy(out->bytes, base6, sizeof(base6));
	out->bytes[13] = (uint8_t)(number >> 16);
	out->bytes[14] = (uint8_t)(number >> 8);
	out->bytes[15] = (uint8_t)number;
}

bool qsb__names_is_stand_in(const struct qsb__address *address)
{
	if (address->family == 4)
		return address->bytes[0] == base4[0] && (address->bytes[1] & 0xfe) == base4[1];
	return memcmp(address->bytes, base6, sizeof(base6)) == 0;
}

const char *qsb__names_find(struct qsb__names *names, const struct qsb__address *address, uint64_t now)
{
	const uint8_t *bytes = address->bytes;
	unsigned number;

	if (!qsb__names_is_stand_in(address))
		return NULL;
	number = address->family == 4
			 ? (unsigned)(bytes[1] & 1) << 16 | (unsigned)bytes[2] << 8 | bytes[3]
			 : (unsigned)bytes[12] << 24 | (unsigned)bytes[13] << 16 | (unsigned)bytes[14] << 8 | bytes[15];
	if (number == 0 || number > names->count || !names->entries[number].name)
		return NULL;
	names->entries[number].used = now;
	return names->entries[number].name;
}
