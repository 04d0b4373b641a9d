#include <string.h>

#include "broker/http_head.h"
#include "broker/http_line.h"

enum { SIZE_DIGITS = 16, LINE_MAX_BYTES = 4096 };

/* What the next byte of a chunked body belongs to. */
enum state {
	SIZE_FIRST, /* of a chunk */
	SIZE,
	EXTENSION,
	SIZE_LF, /* the LF of that line */
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER_FIRST,
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	LAST_LF
};

static int hexadecimal(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool is_text_byte(char byte)
{
	return (unsigned char)byte >= 0x20 ? byte != 0x7F : byte == '\t';
}

/* One byte of the line that says how large a chunk is. The state after it; -1 = not such a line. */
static int take_size(struct qsb__http_body *body, char byte)
{
	int digit = hexadecimal(byte);

	if (body->state == SIZE_FIRST)
		body->remaining = 0;
	if (body->state == EXTENSION)
		return byte == '\r' ? SIZE_LF : is_text_byte(byte) ? EXTENSION : -1;
	if (digit >= 0 && body->line <= SIZE_DIGITS) {
		body->remaining = body->remaining << 4 | (unsigned)digit;
		return SIZE;
	}
	if (body->state == SIZE_FIRST)
		return -1;
	return byte == '\r' ? SIZE_LF : byte == ';' ? EXTENSION : -1;
}

/* One byte of the headers that may follow the last chunk. */
static int take_trailer(const struct qsb__http_body *body, char byte)
{
	if (body->state == TRAILER_VALUE)
		return byte == '\r' ? TRAILER_LF : is_text_byte(byte) ? TRAILER_VALUE : -1;
	if (body->state == TRAILER_FIRST && byte == '\r')
		return LAST_LF;
	if (body->state == TRAILER_NAME && byte == ':')
		return TRAILER_VALUE;
	return qsb__http_is_token_byte(byte) ? TRAILER_NAME : -1;
}

static int take_byte(struct qsb__http_body *body, char byte)
{
	switch ((enum state)body->state) {
	case SIZE_FIRST:
	case SIZE:
	case EXTENSION:
		return take_size(body, byte);
	case SIZE_LF:
		return byte != '\n' ? -1 : body->remaining > 0 ? DATA : TRAILER_FIRST;
	case DATA:
		break; /* not byte by byte */
	case DATA_CR:
		return byte == '\r' ? DATA_LF : -1;
	case DATA_LF:
		return byte == '\n' ? SIZE_FIRST : -1;
	case TRAILER_FIRST:
	case TRAILER_NAME:
	case TRAILER_VALUE:
		return take_trailer(body, byte);
	case TRAILER_LF:
		return byte == '\n' ? TRAILER_FIRST : -1;
	case LAST_LF:
		body->done = byte == '\n';
		return body->done ? LAST_LF : -1;
	}
	return -1;
}

/* As much of the body, or of the chunk, as is there. */
static size_t take_data(struct qsb__http_body *body, size_t length)
{
	size_t size = body->remaining < length ? (size_t)body->remaining : length;

	body->remaining -= size;
	return size;
}

void qsb__http_body_init(struct qsb__http_body *body, const struct qsb__http_head *head)
{
	memset(body, 0, sizeof(*body));
	body->chunked = head->chunked;
	body->remaining = head->chunked || !head->has_length ? 0 : head->length;
	body->state = SIZE_FIRST;
	body->done = !head->chunked && body->remaining == 0;
}

size_t qsb__http_body_take(struct qsb__http_body *body, const char *bytes, size_t length)
{
	size_t at = 0;

	if (!body->chunked && !body->done) {
		at = take_data(body, length);
		body->done = body->remaining == 0;
		return at;
	}
	while (at < length && !body->done && !body->bad) {
		int next = DATA;

		if (body->state == DATA) {
			at += take_data(body, length - at);
			if (body->remaining == 0)
				body->state = DATA_CR;
			continue;
		}
		body->line++;
		next = take_byte(body, bytes[at]);
		body->bad = next < 0 || body->line > LINE_MAX_BYTES;
		if (body->bad)
			break;
		if (next == DATA || next == SIZE_FIRST || next == TRAILER_FIRST)
			body->line = 0;
		body->state = (unsigned)next;
		at++;
	}
	return at;
}
