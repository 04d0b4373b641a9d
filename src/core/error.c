#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

/* A message may hold a path with any bytes in it, and goes to terminals and into JSON: blanks for what would break the
 * line, question marks for what would steer a terminal or is not UTF-8. */
static void replace_strange_bytes(char *text)
{
	for (size_t left = strlen(text), step; left > 0; text += step, left -= step) {
		size_t good = qsb__utf8_length(text, left);

		step = good ? good : 1;
		if (*text == '\n' || *text == '\r' || *text == '\t')
			*text = ' ';
		else if (!good || qsb__utf8_is_control(text, good))
			memset(text, '?', step);
	}
}

static void make_one_line(char *text)
{
	size_t length = strlen(text);
	size_t lead = length;

	while (lead > 0 && length - lead < 3 && ((unsigned char)text[lead - 1] & 0xC0) == 0x80)
		lead--;
	if (lead > 0 && (unsigned char)text[lead - 1] >= 0xC0) {
		unsigned char byte = (unsigned char)text[lead - 1];
		size_t wanted = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;

		if (length - (lead - 1) < wanted)
			text[lead - 1] = '\0';
	}
	replace_strange_bytes(text);
}

static void fill(struct qsb_error *err, int code, int os_code, const char *where)
{
	memset(err, 0, sizeof(*err));
	err->code = code;
	err->os_code = os_code;
	snprintf(err->where, sizeof(err->where), "%s", where ? where : "");
	make_one_line(err->where);
}

int qsb__fail(struct qsb_error *err, int code, const char *where, const char *format, ...)
{
	va_list arguments;

	if (!err)
		return code;
	fill(err, code, 0, where);
	va_start(arguments, format);
	vsnprintf(err->message, sizeof(err->message), format, arguments);
	va_end(arguments);
	make_one_line(err->message);
	return code;
}

int qsb__fail_os(struct qsb_error *err, int os_code, const char *where, const char *format, ...)
{
	va_list arguments;
	size_t used;

	if (!err)
		return QSB_E_OS;
	fill(err, QSB_E_OS, os_code, where);
	va_start(arguments, format);
	vsnprintf(err->message, sizeof(err->message), format, arguments);
	va_end(arguments);
	used = strlen(err->message);
	snprintf(err->message + used, sizeof(err->message) - used, ": %s", strerror(os_code));
	make_one_line(err->message);
	return QSB_E_OS;
}

int qsb__fail_memory(struct qsb_error *err, const char *where)
{
	return qsb__fail(err, QSB_E_MEMORY, where, "out of memory");
}

static const char *const names[] = {"",          "memory",      "os",     "invalid",  "range", "unknown",
				    "not-found", "unsupported", "denied", "protocol", "state"};

enum { NAME_COUNT = sizeof(names) / sizeof(names[0]) };

const char *qsb__error_name(int code)
{
	return code < 0 && code > -NAME_COUNT ? names[-code] : "unknown";
}

int qsb__error_of_name(const char *name)
{
	for (int i = 1; i < NAME_COUNT; i++)
		if (strcmp(names[i], name) == 0)
			return -i;
	return QSB_E_PROTOCOL;
}
