/* The hidden subcommand: runs one attack and says how it went. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/selftest.h"
#include "cli/selftest_attacks.h"
#include "core/error.h"

enum { PATIENCE = 30 /* seconds; then a probe that hangs ends by itself */ };

static const struct {
	const char *name;
	size_t arguments; /* at least */
	qsb__attack *attack;
	int (*other)(char *const *arguments);
} probes[] = {
	{"write", 1, qsb__attack_write, NULL},
	{"read", 2, qsb__attack_read, NULL},
	{"rename", 2, qsb__attack_rename, NULL},
	{"setuid", 1, qsb__attack_setuid, NULL},
	{"fill", 2, qsb__attack_fill, NULL},
	{"descriptor", 2, qsb__attack_descriptor, NULL},
	{"environment", 2, qsb__attack_environment, NULL},
	{"tcp", 1, qsb__attack_tcp, NULL},
	{"unix", 1, qsb__attack_unix, NULL},
	{"abstract", 1, qsb__attack_abstract, NULL},
	{"signal", 2, qsb__attack_signal, NULL},
	{"trace", 2, qsb__attack_trace, NULL},
	{"memory", 1, qsb__attack_memory, NULL},
	{"processes", 1, qsb__attack_processes, NULL},
	{"linger", 1, qsb__attack_linger, NULL},
	{"daemon", 1, qsb__attack_daemon, NULL},
	{"user-namespace", 0, qsb__attack_user_namespace, NULL},
	{"mount", 2, qsb__attack_mount, NULL},
	{"io-uring", 0, qsb__attack_io_uring, NULL},
	{"keyring", 0, qsb__attack_keyring, NULL},
	{"push", 0, qsb__attack_push, NULL},
	{"target", 1, NULL, qsb__probe_target},
	{"terminal", 1, NULL, qsb__probe_terminal},
	{"keeper", 1, NULL, qsb__probe_keeper},
};

static int run_attack(qsb__attack *attack, char *const *arguments)
{
	int fault;

	/* Whatever becomes of doctor, its probes do not outlive it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(PATIENCE);
	fault = attack(arguments);
	printf("%s\n", fault ? strerror(fault < 0 ? -fault : fault) : "it worked");
	return fault == 0 ? QSB__PROBE_WORKED : fault > 0 ? QSB__PROBE_REFUSED : QSB__PROBE_CANNOT;
}

static int run_probe(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	const char *name = invocation->operand_count ? invocation->operands[0] : "";

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		char *const *arguments = invocation->operands + 1;

		if (strcmp(probes[i].name, name) != 0)
			continue;
		if (invocation->operand_count - 1 < probes[i].arguments)
			return qsb__fail(err, QSB_E_INVALID, QSB__PROBE_COMMAND, "%s takes %zu arguments", name,
					 probes[i].arguments);
		return probes[i].attack ? run_attack(probes[i].attack, arguments) : probes[i].other(arguments);
	}
	return qsb__fail(err, QSB_E_UNKNOWN, QSB__PROBE_COMMAND, "no such probe: this command is doctor's own");
}

const struct qsb__command qsb__self_test_probe_command = {
	.name = QSB__PROBE_COMMAND,
	.operands = "NAME [ARGUMENTS]",
	.summary = "What `doctor --self-test` runs inside.",
	.stop_at_operand = true,
	.hidden = true,
	.run = run_probe,
};
