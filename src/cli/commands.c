#include "cli/commands.h"

#include "cli/help.h"
#include "cli/policy.h"

const struct qsb__command *const qsb__commands[] = {
	&qsb__policy_command,
	&qsb__help_dump_command,
	NULL,
};
