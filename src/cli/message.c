#include "cli/message.h"

#include <stdarg.h>
#include <string.h>

#include "core/json.h"
#include "core/path.h"

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

void qsb__print_text(FILE *to, const char *text)
{
	char shown[2 * QSB__PATH_MAX];

	qsb__json_printable(shown, sizeof(shown), text, strlen(text));
	fputs(shown, to);
}
