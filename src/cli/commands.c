#include "cli/commands.h"

#include "cli/doctor.h"
#include "cli/explain.h"
#include "cli/help.h"
#include "cli/policy.h"
#include "cli/run.h"

const struct qsb__command *const qsb__commands[] = {
	&qsb__run_command,
	&qsb__doctor_command,
	&qsb__explain_command,
	&qsb__policy_command,
	&qsb__self_test_probe_command,
	&qsb__help_dump_command,
	NULL,
};
