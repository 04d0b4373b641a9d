/*
 * --tty: the command has a pseudo-terminal of its own, and the caller's terminal, when there is one, passes every key
 * on to it. The caller's settings come back on every way out that leaves us a chance.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "supervisor/internal.h"

enum { END_OF_INPUT = 4 /* Ctrl-D */, DEFAULT_ROWS = 24, DEFAULT_COLUMNS = 80 };

static struct termios saved;

void qsb__terminal_begin(struct qsb__supervisor *supervisor)
{
	struct winsize size;

	supervisor->launch.rows = DEFAULT_ROWS;
	supervisor->launch.columns = DEFAULT_COLUMNS;
	for (int fd = 0; fd < 3; fd++) {
		if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
			continue;
		supervisor->launch.rows = size.ws_row;
		supervisor->launch.columns = size.ws_col;
		break;
	}
	qsb__control_first_size(supervisor, &supervisor->launch);
}

void qsb__terminal_resize(struct qsb__supervisor *supervisor)
{
	struct winsize size;
	int fd = supervisor->request->backend->tty_fd(supervisor->sandbox);

	for (int from = 0; fd >= 0 && from < 3; from++)
		if (ioctl(from, TIOCGWINSZ, &size) == 0) {
			ioctl(fd, TIOCSWINSZ, &size);
			return;
		}
}

/* The caller's input is at its end: a terminal says so by a key, not by closing. */
static void input_ended(struct qsb__stream *stream)
{
	static const char key = END_OF_INPUT;

	if (stream->to >= 0 && write(stream->to, &key, 1) < 0 && errno != EAGAIN)
		stream->to = -1;
}

static void make_raw(struct qsb__supervisor *supervisor)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &saved) != 0)
		return;
	raw = saved;
	cfmakeraw(&raw);
	supervisor->terminal_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void qsb__terminal_attach(struct qsb__supervisor *supervisor, int fd)
{
	int to = supervisor->request->capture ? -1 : STDOUT_FILENO;

	if (supervisor->out.buffer)
		return;
	if (supervisor->request->capture)
		supervisor->out.keeper = &supervisor->kept_out;
	make_raw(supervisor);
	/* Ours alone. A terminal that nobody reads inside takes a part of a write and would wait with the rest. */
	fcntl(fd, F_SETFL, O_NONBLOCK);
	qsb__stream_start(&supervisor->out, supervisor, fd, to);
	supervisor->in.ended = input_ended;
	qsb__stream_start(&supervisor->in, supervisor, STDIN_FILENO, fd);
}

/* Makes a group the terminal's foreground one. We may be in the background, where this would stop us. */
static void hand_terminal_to(pid_t group)
{
	void (*before)(int) = signal(SIGTTOU, SIG_IGN);

	tcsetpgrp(STDIN_FILENO, group);
	signal(SIGTTOU, before);
}

static void restore_settings(struct qsb__supervisor *supervisor)
{
	if (!supervisor->terminal_raw)
		return;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
	supervisor->terminal_raw = false;
}

void qsb__terminal_suspend(struct qsb__supervisor *supervisor)
{
	const struct qsb__launch *launch = &supervisor->launch;
	pid_t group = supervisor->request->backend->group(supervisor->sandbox);
	bool raw = supervisor->terminal_raw;

	/* Stopped by somebody's signal, with no terminal that another program would wait for. */
	if ((!launch->foreground && !raw) || group <= 0)
		return;
	restore_settings(supervisor);
	if (launch->foreground)
		hand_terminal_to(getpgrp());
	/* As the key would have done: the whole job stops. This line returns when it is continued. */
	kill(0, SIGTSTP);
	if (tcgetpgrp(STDIN_FILENO) == getpgrp()) {
		if (raw)
			make_raw(supervisor);
		else
			hand_terminal_to(group);
	}
	kill(-group, SIGCONT);
}

void qsb__terminal_end(struct qsb__supervisor *supervisor)
{
	const struct qsb__outcome *outcome = &supervisor->outcome;

	restore_settings(supervisor);
	if (!supervisor->launch.foreground || !supervisor->sandbox)
		return;
	hand_terminal_to(getpgrp());
	/* Ctrl-C went to the command alone; the others of our job, such as a script that calls us, wait for it too. */
	if (outcome->end == QSB__END_EXITED && WIFSIGNALED(outcome->wait_status) &&
	    WTERMSIG(outcome->wait_status) == SIGINT) {
		supervisor->result->die_of_signal = true;
		kill(0, SIGINT);
	}
}
