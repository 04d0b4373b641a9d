/*
 * --tty: the command has a pseudo-terminal of its own, and the caller's terminal, when there is one, passes every key
 * on to it. The caller's settings come back on every way out that leaves us a chance.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
	qsb__stream_start(&supervisor->out, supervisor, fd, to);
	supervisor->in.ended = input_ended;
	qsb__stream_start(&supervisor->in, supervisor, STDIN_FILENO, fd);
}

void qsb__terminal_end(struct qsb__supervisor *supervisor)
{
	if (!supervisor->terminal_raw)
		return;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
	supervisor->terminal_raw = false;
}
