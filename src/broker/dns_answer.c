#include <string.h>

#include "broker/dns_message.h"

enum { TYPE_OPT = 41, OPTION_ERROR = 15, BLOCKED = 15, LABEL_MAX_BYTES = 63, WIRE_NAME_MAX = 255, WHY_MAX = 255 };
enum { FLAG_ANSWER = 0x80, FLAG_TRUNCATED = 0x02, FLAG_RECURSION_HERE = 0x80 };

/* A message being written; `full` once something found no room. */
struct message {
	uint8_t *out;
	size_t used, size;
	bool full;
};

static void put(struct message *message, const void *bytes, size_t size)
{
	if (message->full || size > message->size - message->used) {
		message->full = true;
		return;
	}
	if (size)
		memcpy(message->out + message->used, bytes, size);
	message->used += size;
}

static void put16(struct message *message, unsigned value)
{
	const uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};

	put(message, bytes, sizeof(bytes));
}

/* What an answer says of itself: id, kind and flags of the question, our code. The counts are zero. */
static void put_header(struct message *message, const uint8_t *query, int code)
{
	uint8_t header[QSB__DNS_HEADER] = {query[0], query[1]};

	header[2] = FLAG_ANSWER | (query[2] & 0x79); /* opcode and "recursion desired" */
	header[3] = (uint8_t)(FLAG_RECURSION_HERE | (query[3] & 0x10) | (code & 15));
	put(message, header, sizeof(header));
}

/* The wire form of a name; 0 = it has none. `out` holds WIRE_NAME_MAX bytes. */
static size_t encode_name(const char *name, uint8_t *out)
{
	size_t used = 0;

	while (*name) {
		size_t label = strcspn(name, ".");

		if (label == 0 || label > LABEL_MAX_BYTES || used + 1 + label >= WIRE_NAME_MAX)
			return 0;
		out[used++] = (uint8_t)label;
		memcpy(out + used, name, label);
		used += label;
		name += label;
		if (*name == '.')
			name++;
	}
	out[used++] = 0;
	return used;
}

/* The data of the record that answers this question; 0 = there is none. */
static size_t record_data(const struct qsb__dns_query *query, const struct qsb__dns_answer *answer, uint8_t *out)
{
	size_t size = query->type == QSB__DNS_A ? 4 : 16;

	if (answer->code != QSB__DNS_OK || query->class != QSB__DNS_IN)
		return 0;
	if (query->type == QSB__DNS_PTR)
		return answer->pointer ? encode_name(answer->pointer, out) : 0;
	if (!answer->has_address || (query->type != QSB__DNS_A && query->type != QSB__DNS_AAAA))
		return 0;
	memcpy(out, answer->address, size);
	return size;
}

static void put_record(struct message *message, const struct qsb__dns_query *query,
		       const struct qsb__dns_answer *answer)
{
	uint8_t data[WIRE_NAME_MAX];
	size_t size = record_data(query, answer, data);

	if (size == 0)
		return;
	put16(message, 0xC000 | QSB__DNS_HEADER); /* the name of the question */
	put16(message, query->type);
	put16(message, QSB__DNS_IN);
	put16(message, answer->ttl >> 16);
	put16(message, answer->ttl & 0xFFFF);
	put16(message, (unsigned)size);
	put(message, data, size);
	if (!message->full)
		message->out[7] = 1;
}

/* The OPT record, with the reason in words where there is one. */
static void put_option(struct message *message, const char *why)
{
	static const uint8_t name_and_type[] = {0, 0, TYPE_OPT};
	size_t size = why ? strlen(why) : 0;

	if (size > WHY_MAX)
		for (size = WHY_MAX; size > 0 && ((unsigned char)why[size] & 0xC0) == 0x80;)
			size--;
	put(message, name_and_type, sizeof(name_and_type));
	put16(message, QSB__DNS_ANSWER_MAX);
	put16(message, 0);
	put16(message, 0);
	put16(message, why ? (unsigned)(6 + size) : 0);
	if (why) {
		put16(message, OPTION_ERROR);
		put16(message, (unsigned)(2 + size));
		put16(message, BLOCKED);
		put(message, why, size);
	}
	if (!message->full)
		message->out[11] = 1;
}

/* Cuts the message back to `used` bytes if what came after them found no room. */
static bool undo_if_full(struct message *message, size_t used)
{
	bool full = message->full;

	if (full) {
		message->used = used;
		message->full = false;
	}
	return full;
}

size_t qsb__dns_answer_write(const uint8_t *message, const struct qsb__dns_query *query,
			     const struct qsb__dns_answer *answer, uint8_t *out, size_t size)
{
	struct message text = {.out = out, .size = size};
	size_t used;

	put_header(&text, message, answer->code);
	put(&text, message + QSB__DNS_HEADER, query->question_size - QSB__DNS_HEADER);
	if (text.full)
		return 0;
	out[5] = 1;
	used = text.used;
	put_record(&text, query, answer);
	/* The OPT record belongs to every answer to a client that sent one; the words in it may be left out. */
	if (query->edns && !text.full) {
		size_t before = text.used;

		put_option(&text, answer->why);
		if (undo_if_full(&text, before) && answer->why)
			put_option(&text, NULL);
		if (text.used == before)
			text.full = true;
	}
	if (!undo_if_full(&text, used))
		return text.used;
	out[2] |= FLAG_TRUNCATED;
	out[7] = 0;
	out[11] = 0;
	if (query->edns)
		put_option(&text, NULL);
	undo_if_full(&text, used);
	return text.used;
}

size_t qsb__dns_error_write(const uint8_t *message, int code, uint8_t *out, size_t size)
{
	struct message text = {.out = out, .size = size};

	put_header(&text, message, code);
	return text.full ? 0 : text.used;
}
