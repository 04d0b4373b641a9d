#include "broker/stand_ins.h"

#include <stdlib.h>
#include <string.h>

#include "core/hash.h"

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

struct qsb__stand_ins {
	unsigned buckets[BUCKETS];
	struct entry *entries; /* by number; 0 is none */
	unsigned count, room;
	unsigned hand; /* where the next one to be given anew is looked for */
};

static const uint8_t base4[4] = {198, 18, 0, 0};
static const uint8_t base6[12] = {0xfd, 0x71, 0x6d, 0x69, 0x6e, 0x67};

struct qsb__stand_ins *qsb__stand_ins_new(void)
{
	return calloc(1, sizeof(struct qsb__stand_ins));
}

void qsb__stand_ins_free(struct qsb__stand_ins *stand_ins)
{
	if (!stand_ins)
		return;
	for (unsigned i = 1; i <= stand_ins->count; i++)
		free(stand_ins->entries[i].name);
	free(stand_ins->entries);
	free(stand_ins);
}

static unsigned bucket_of(const char *name)
{
	return qsb__hash_text(name) % BUCKETS;
}

static void unlink_entry(struct qsb__stand_ins *stand_ins, unsigned number)
{
	unsigned *at = &stand_ins->buckets[bucket_of(stand_ins->entries[number].name)];

	while (*at != number)
		at = &stand_ins->entries[*at].next;
	*at = stand_ins->entries[number].next;
	free(stand_ins->entries[number].name);
	stand_ins->entries[number].name = NULL;
}

static unsigned grow(struct qsb__stand_ins *stand_ins)
{
	if (stand_ins->count + 1 >= stand_ins->room) {
		unsigned room = stand_ins->room ? stand_ins->room * 2 : 64;
		struct entry *entries = realloc(stand_ins->entries, room * sizeof(*entries));

		if (!entries)
			return 0;
		stand_ins->entries = entries;
		stand_ins->room = room;
	}
	stand_ins->entries[++stand_ins->count].name = NULL;
	return stand_ins->count;
}

/* One that nobody used for long; 0 = none. */
static unsigned take_old(struct qsb__stand_ins *stand_ins, uint64_t now)
{
	for (unsigned i = 0; i < NAMES_MAX; i++) {
		unsigned number = stand_ins->hand = stand_ins->hand % NAMES_MAX + 1;

		if (now - stand_ins->entries[number].used < KEPT_S)
			continue;
		unlink_entry(stand_ins, number);
		return number;
	}
	return 0;
}

unsigned qsb__stand_ins_number(struct qsb__stand_ins *stand_ins, const char *name, uint64_t now)
{
	unsigned bucket = bucket_of(name), number = stand_ins->buckets[bucket];

	while (number && strcmp(stand_ins->entries[number].name, name) != 0)
		number = stand_ins->entries[number].next;
	if (!number) {
		char *copy = strdup(name);

		number = !copy ? 0 : stand_ins->count < NAMES_MAX ? grow(stand_ins) : take_old(stand_ins, now);
		if (!number) {
			free(copy);
			return 0;
		}
		stand_ins->entries[number].name = copy;
		stand_ins->entries[number].next = stand_ins->buckets[bucket];
		stand_ins->buckets[bucket] = number;
	}
	stand_ins->entries[number].used = now;
	return number;
}

void qsb__stand_ins_address(unsigned number, int family, struct qsb__address *out)
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

bool qsb__stand_ins_have(const struct qsb__address *address)
{
	if (address->family == 4)
		return address->bytes[0] == base4[0] && (address->bytes[1] & 0xfe) == base4[1];
	return memcmp(address->bytes, base6, sizeof(base6)) == 0;
}

const char *qsb__stand_ins_find(struct qsb__stand_ins *stand_ins, const struct qsb__address *address, uint64_t now)
{
	const uint8_t *bytes = address->bytes;
	unsigned number;

	if (!qsb__stand_ins_have(address))
		return NULL;
	number = address->family == 4
			 ? (unsigned)(bytes[1] & 1) << 16 | (unsigned)bytes[2] << 8 | bytes[3]
			 : (unsigned)bytes[12] << 24 | (unsigned)bytes[13] << 16 | (unsigned)bytes[14] << 8 | bytes[15];
	if (number == 0 || number > stand_ins->count || !stand_ins->entries[number].name)
		return NULL;
	stand_ins->entries[number].used = now;
	return stand_ins->entries[number].name;
}
