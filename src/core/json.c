#include "core/json.h"

#include <stdbool.h>
#include <string.h>

#include "core/utf8.h"

void qsb__json_release(json_t **value)
{
	json_decref(*value);
}

/* What would move a terminal's cursor: C0, DEL, and C1 as UTF-8 writes it. */
static bool is_control(const char *at, size_t length)
{
	unsigned char lead = (unsigned char)at[0];

	return lead < 0x20 || lead == 0x7F || (length == 2 && lead == 0xC2 && (unsigned char)at[1] < 0xA0);
}

void qsb__json_printable(char *buffer, size_t size, const char *text, size_t length)
{
	static const char more[] = "…";
	size_t used = 0;

	for (size_t at = 0, step; at < length; at += step) {
		size_t good = qsb__utf8_length(text + at, length - at);
		bool shown = good && !is_control(text + at, good);

		step = good ? good : 1;
		if (used + step + sizeof(more) > size) {
			memcpy(buffer + used, more, sizeof(more) - 1);
			used += sizeof(more) - 1;
			break;
		}
		memcpy(buffer + used, shown ? text + at : "?", shown ? good : 1);
		used += shown ? good : 1;
	}
	buffer[used] = '\0';
}

void qsb__json_pointer_add(char *buffer, size_t size, const char *segment, size_t length)
{
	size_t used = strlen(buffer), step;
	char shown[256];

	if (used + 1 >= size)
		return;
	buffer[used++] = '/';
	qsb__json_printable(shown, sizeof(shown), segment, length);
	for (const char *at = shown; *at && used + 4 < size; at += step) {
		step = qsb__utf8_length(at, strlen(at));
		if (*at == '~' || *at == '/') {
			buffer[used++] = '~';
			buffer[used++] = *at == '~' ? '0' : '1';
		} else {
			memcpy(buffer + used, at, step);
			used += step;
		}
	}
	buffer[used] = '\0';
}
