#include "client/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "os/child.h"

static const char name[] = "qiming-sandbox";

static int take(char *out, const char *path, const char *who, struct qsb_error *err)
{
	if ((size_t)snprintf(out, QSB__PROGRAM_PATH, "%s", path) >= QSB__PROGRAM_PATH)
		return qsb__fail(err, QSB_E_RANGE, "program", "the path of the program is too long");
	if (!qsb__is_program(out))
		return qsb__fail(err, QSB_E_NOT_FOUND, "program", "there is no program %s (%s)", path, who);
	return 0;
}

int qsb__program_find(char out[QSB__PROGRAM_PATH], const char *asked, struct qsb_error *err)
{
	char folder[QSB__PROGRAM_PATH - sizeof(name) - 1];
	const char *named;

	/* First: another thread of the host may be changing the environment, and need not be kept from it here. */
	if (asked)
		return take(out, asked, "the option `program`", err);
	/* A host with the rights of another user must not start what its caller's environment names. */
	named = secure_getenv("QIMING_SANDBOX_PROGRAM");
	if (named && *named)
		return take(out, named, "the variable QIMING_SANDBOX_PROGRAM", err);
	if (!qsb__own_folder(folder, sizeof(folder)))
		snprintf(folder, sizeof(folder), ".");
	else if (snprintf(out, QSB__PROGRAM_PATH, "%s/%s", folder, name) > 0 && qsb__is_program(out))
		return 0;
	if (take(out, QSB_PROGRAM_INSTALLED, "where it is installed", NULL) == 0)
		return 0;
	return qsb__fail(err, QSB_E_NOT_FOUND, "program",
			 "cannot find the program %s, neither in %s nor at %s; set QIMING_SANDBOX_PROGRAM to its path",
			 name, folder, QSB_PROGRAM_INSTALLED);
}
