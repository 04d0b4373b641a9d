/* The attacks of the self-test: what the hidden subcommand runs, inside as outside. */
#ifndef QSB_CLI_SELFTEST_ATTACKS_H
#define QSB_CLI_SELFTEST_ATTACKS_H

#include <stdbool.h>
#include <stddef.h>

#define QSB__PROBE_COMMAND "self-test-probe"
#define QSB__PROBE_FOLDER  "qiming-sandbox-self-test-"

/* Exit statuses of the hidden subcommand; none that a shell, a signal or `run` gives. */
enum { QSB__PROBE_WORKED = 60, QSB__PROBE_REFUSED = 61, QSB__PROBE_CANNOT = 62, QSB__PROBE_PUSHED = 63 };

/*
 * 0: the attack worked. A positive errno: it was refused. Negative: it could not be tried. The arguments are as many
 * as the table says, with a NULL behind them.
 */
typedef int qsb__attack(char *const *arguments);

/* selftest_files.c */
qsb__attack qsb__attack_write, qsb__attack_read, qsb__attack_rename, qsb__attack_setuid, qsb__attack_fill,
	qsb__attack_descriptor, qsb__attack_environment;
/* selftest_processes.c */
qsb__attack qsb__attack_tcp, qsb__attack_unix, qsb__attack_abstract, qsb__attack_signal, qsb__attack_trace,
	qsb__attack_memory, qsb__attack_processes, qsb__attack_linger, qsb__attack_daemon;
/* selftest_kernel.c */
qsb__attack qsb__attack_user_namespace, qsb__attack_mount, qsb__attack_io_uring, qsb__attack_keyring, qsb__attack_push;

/* Not attacks but their surroundings: these end with an exit status. */
int qsb__probe_target(char *const *arguments);   /* a process to be attacked */
int qsb__probe_terminal(char *const *arguments); /* runs a command on a terminal of its own, and looks what came in */
int qsb__probe_keeper(char *const *arguments);   /* makes a folder, and removes it when stdin ends */

#endif
