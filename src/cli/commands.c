#include "cli/commands.h"

#include "cli/help.h"

const struct qsb__command *const qsb__commands[] = {
	&qsb__help_dump_command,
	NULL,
};
