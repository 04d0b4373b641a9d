/* Starts the program, for a command or as a tool. */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "addon.h"
#include "client/program.h"
#include "core/cleanup.h"
#include "os/child.h"

static int start_sandbox(struct process *process, const struct launch *launch, struct qsb_error *err)
{
	struct qsb_spawn_options options;
	int rc;

	qsb_spawn_options_init(&options, QSB_SPAWN_OPTIONS_SIZE);
	options.argv = (const char *const *)launch->argv;
	options.command = launch->command;
	options.workspace = launch->workspace;
	options.cwd = launch->cwd;
	options.policy_json = launch->policy;
	options.program = launch->program;
	options.backend = launch->backend;
	options.environment = (const char *const *)launch->surroundings;
	options.stdin_fd = launch->stdio[0];
	options.stdout_fd = launch->stdio[1];
	options.stderr_fd = launch->stdio[2];
	options.flags = launch->flags;
	options.rows = launch->rows;
	options.columns = launch->columns;
	rc = qsb__sandbox_spawn(&process->sandbox, &options, err);
	if (rc)
		return rc;
	process->pid = qsb_sandbox_pid(process->sandbox);
	process->in.watch.fd = qsb_sandbox_take_fd(process->sandbox, QSB_FD_STDIN);
	process->out.watch.fd = qsb_sandbox_take_fd(process->sandbox, QSB_FD_STDOUT);
	process->err.watch.fd = qsb_sandbox_take_fd(process->sandbox, QSB_FD_STDERR);
	process->lines.watch.fd = qsb_sandbox_take_fd(process->sandbox, QSB_FD_EVENTS);
	process->end.fd = qsb_sandbox_fd(process->sandbox, QSB_FD_RESULT);
	return 0;
}

static void close_pair(int (*ends)[2])
{
	for (int i = 0; i < 2; i++)
		if ((*ends)[i] >= 0)
			close((*ends)[i]);
}

/* It ends when nobody holds its output any more, and so both are pipes. */
static int start_tool(struct process *process, const struct launch *launch, struct qsb_error *err)
{
	QSB_CLEANUP(close_pair) int in[2] = {-1, -1};
	QSB_CLEANUP(close_pair) int out[2] = {-1, -1};
	QSB_CLEANUP(close_pair) int complaints[2] = {-1, -1};
	struct qsb__child child = {
		.program = launch->program, .argv = launch->argv, .environment = launch->surroundings};
	int rc = launch->stdio[0] == QSB_STREAM_PIPE ? qsb__pipe(in, err) : 0;

	if (rc == 0)
		rc = qsb__pipe(out, err);
	if (rc == 0)
		rc = qsb__pipe(complaints, err);
	if (rc)
		return rc;
	child.stdio[0] = in[0];
	child.stdio[1] = out[1];
	child.stdio[2] = complaints[1];
	rc = qsb__child_start(&process->pid, &child, err);
	if (rc)
		return rc;
	process->in.watch.fd = qsb__take_fd(&in[1]);
	process->out.watch.fd = qsb__take_fd(&out[0]);
	process->err.watch.fd = qsb__take_fd(&complaints[0]);
	return 0;
}

int start_program(struct process *process, const struct launch *launch, struct qsb_error *err)
{
	return launch->tool ? start_tool(process, launch, err) : start_sandbox(process, launch, err);
}
