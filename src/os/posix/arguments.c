#include "os/arguments.h"

#include <string.h>
#include <unistd.h>

/* The kernel lays argv's strings and then the environment's one after the other, each with its NUL. */
static char *first, *last;

static const char shown_name[] = "qiming-sandbox";

static void extend(char *string)
{
	if (string && string == last)
		last = string + strlen(string) + 1;
}

void qsb__program_arguments_keep(int argc, char **argv)
{
	if (argc < 1 || !argv[0])
		return;
	first = last = argv[0];
	for (int i = 0; i < argc; i++)
		extend(argv[i]);
	for (char **entry = environ; entry && *entry; entry++)
		extend(*entry);
}

void qsb__program_arguments_wipe(void)
{
	volatile char *at = first;

	/* Through a volatile pointer: the compiler must not leave out stores that this program never reads again. */
	while (at < (volatile char *)last)
		*at++ = '\0';
	at = first;
	for (size_t i = 0; first && i < sizeof(shown_name) - 1 && at < (volatile char *)last - 1; i++)
		*at++ = shown_name[i];
}
