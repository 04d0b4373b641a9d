#include "cli/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"

enum { LONGEST = 2000 };

void qsb__message(const char *format, ...)
{
	char text[LONGEST], shown[LONGEST];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	qsb__json_printable(shown, sizeof(shown), text, strlen(text));
	fprintf(stderr, "qiming-sandbox: %s\n", shown);
}
