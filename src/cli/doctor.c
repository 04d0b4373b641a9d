#include "cli/doctor.h"

#include <string.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "supervisor/run.h"

static const struct qsb__option options[] = {
	{.id = QSB__OPT_JSON, .name = "--json", .group = QSB__GROUP_OUTPUT, .summary = "Print the facts as JSON."},
	{.id = QSB__OPT_SELF_TEST,
	 .name = "--self-test",
	 .group = QSB__GROUP_OTHER,
	 .summary = "Try real attacks, each one without the sandbox first, to show that it would work here."},
	{.id = 0},
};

static const char *const notes[] = {
	"For every mechanism: what was found, and the smallest change of this machine where something is missing. The "
	"policy is the one that `run` would use in this folder.",
	"--self-test works in a folder of its own, which it removes; it takes a few seconds. An attack that does not "
	"work without the sandbox either shows nothing: its row says `cannot tell`, and why.",
	"Exit status: 0 when a run here would be held to its policy, and with --self-test when every attack was shown "
	"to be held; else 125.",
	NULL,
};

static int print(const struct qsb__invocation *invocation, const struct qsb__doctor *doctor, struct qsb_error *err)
{
	QSB_CLEANUP_FREE char *json = NULL;

	if (!qsb__invocation_value(invocation, QSB__OPT_JSON)) {
		qsb__doctor_print(invocation->out, doctor);
		return 0;
	}
	json = qsb__doctor_json(doctor);
	if (!json)
		return qsb__fail_memory(err, "doctor");
	fprintf(invocation->out, "%s\n", json);
	return 0;
}

static int run_doctor(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	QSB_CLEANUP(qsb__doctor_clear) struct qsb__doctor doctor = {.chosen = NULL};
	struct qsb__self_test self_test = {.count = 0};
	bool good;
	int rc;

	if (invocation->operand_count > 0)
		return qsb__fail(err, QSB_E_INVALID, "doctor", "doctor does not take the argument '%s'",
				 invocation->operands[0]);
	rc = qsb__doctor_look(&doctor, invocation, err);
	if (rc)
		return rc;
	good = doctor.chosen != NULL;
	if (good && qsb__invocation_value(invocation, QSB__OPT_SELF_TEST)) {
		qsb__self_test_run(&self_test, doctor.chosen, doctor.loaded.facts.host.program);
		doctor.self_test = &self_test;
		good = qsb__self_test_held(&self_test);
	}
	rc = print(invocation, &doctor, err);
	return rc ? rc : good ? 0 : QSB__EXIT_SANDBOX;
}

const struct qsb__command qsb__doctor_command = {
	.name = "doctor",
	.operands = "",
	.summary = "Tell what this machine can enforce, why not, and what would help.",
	.notes = notes,
	.tables = {options},
	.run = run_doctor,
};
