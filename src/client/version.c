/* What belongs to the library as a whole. */
#include <stdlib.h>

#include <qiming/sandbox.h>

void qsb_string_free(char *text)
{
	free(text);
}

const char *qsb_version(void)
{
	return QSB_VERSION;
}
