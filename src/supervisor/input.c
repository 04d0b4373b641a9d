/*
 * A standard input that somebody above us reads as well: a shell its script, a loop its next line, a server its next
 * request. Whoever has a pipe can open it again for writing (/proc/self/fd/0), and no filter sees that; so the command
 * gets a pipe of its own, with room for one piece. What it does not read stays in the caller's pipe: a piece is copied
 * by tee(2), and taken away only after the command has taken it. A pipe that is the command's alone is handed on as it
 * is, for that is eight times as fast.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "os/ancestors.h"
#include "os/readiness.h"
#include "supervisor/internal.h"

enum { PIECE = 4096 };

static void source_ready(uv_poll_t *handle, int status, int events);
static void sink_ready(uv_poll_t *handle, int status, int events);

/* Takes away what the command has read of the piece. Not by read(2), which would wait if somebody else took it. */
static void settle(struct qsb__input *input)
{
	int unread = 0;
	size_t rest;

	if (input->ahead == 0)
		return;
	if (ioctl(input->to, FIONREAD, &unread) != 0 || unread < 0)
		unread = 0;
	rest = input->ahead > (size_t)unread ? input->ahead - (size_t)unread : 0;
	while (rest > 0) {
		ssize_t taken = splice(STDIN_FILENO, NULL, input->nowhere, NULL, rest, SPLICE_F_NONBLOCK);

		if (taken < 0 && errno == EINTR)
			continue;
		if (taken <= 0)
			break;
		rest -= (size_t)taken;
	}
	input->ahead = 0;
}

static void stop(struct qsb__input *input)
{
	if (input->to < 0)
		return;
	settle(input);
	uv_poll_stop(&input->source);
	uv_poll_stop(&input->sink);
	close(qsb__take_fd(&input->to));
}

static void wait_for(struct qsb__input *input, bool room)
{
	uv_poll_stop(room ? &input->source : &input->sink);
	if (room)
		uv_poll_start(&input->sink, UV_READABLE, sink_ready);
	else
		uv_poll_start(&input->source, UV_READABLE, source_ready);
}

/* A pipe that the command has closed is an error, and not a signal to die of. */
static ssize_t copy_piece(int to)
{
	const struct timespec now = {.tv_nsec = 0};
	sigset_t broken, before;
	ssize_t copied;
	int error;

	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	sigprocmask(SIG_BLOCK, &broken, &before);
	copied = tee(STDIN_FILENO, to, PIECE, SPLICE_F_NONBLOCK);
	error = errno;
	if (copied < 0 && error == EPIPE && !sigismember(&before, SIGPIPE))
		sigtimedwait(&broken, NULL, &now);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return copied;
}

static void source_ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__input *input = handle->data;
	ssize_t copied;

	if (input->to < 0)
		return;
	copied = copy_piece(input->to);
	if (copied > 0) {
		input->ahead = (size_t)copied;
		wait_for(input, true);
	} else if (copied < 0 && errno == EAGAIN) {
		/* No room: the command has written into its own pipe. Or somebody else took what there was. */
		wait_for(input, true);
	} else if (copied == 0 || errno != EINTR) {
		stop(input);
	}
}

static void sink_ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__input *input = handle->data;
	struct pollfd state = {.fd = input->to, .events = POLLOUT};

	if (input->to < 0)
		return;
	/* The command has closed its end. */
	if (status < 0 || poll(&state, 1, 0) < 0 || (state.revents & POLLERR)) {
		stop(input);
	} else if (state.revents & POLLOUT) {
		settle(input);
		wait_for(input, false);
	}
}

void qsb__input_init(struct qsb__supervisor *supervisor)
{
	struct qsb__input *input = &supervisor->input;

	input->from = input->to = input->nowhere = input->source_fd = input->sink_fd = -1;
}

int qsb__input_prepare(struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	struct qsb__input *input = &supervisor->input;
	char name[64];
	int ends[2], reader;

	if (supervisor->request->tty || !qsb__pipe_is_read_above(STDIN_FILENO, &reader, name, sizeof(name)))
		return 0;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return qsb__fail_os(err, errno, "streams", "cannot make a pipe");
	input->from = ends[0];
	input->to = ends[1];
	supervisor->launch.stdio[0] = ends[0];
	input->nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (input->nowhere < 0 || fcntl(input->to, F_SETPIPE_SZ, PIECE) < 0)
		return qsb__fail_os(err, errno, "streams", "cannot set up the command's input");
	return 0;
}

int qsb__input_start(struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	struct qsb__input *input = &supervisor->input;

	if (input->to < 0)
		return 0;
	close(qsb__take_fd(&input->from));
	input->source_fd = qsb__readiness_open(STDIN_FILENO, false);
	input->sink_fd = qsb__readiness_open(input->to, true);
	input->source.data = input->sink.data = input;
	if (input->source_fd < 0 || input->sink_fd < 0 ||
	    uv_poll_init(&supervisor->loop, &input->source, input->source_fd) != 0 ||
	    uv_poll_init(&supervisor->loop, &input->sink, input->sink_fd) != 0)
		return qsb__fail(err, QSB_E_OS, "streams", "cannot watch the standard input");
	input->watched = true;
	wait_for(input, false);
	return 0;
}

void qsb__input_finish(struct qsb__supervisor *supervisor)
{
	struct qsb__input *input = &supervisor->input;
	int *const fds[] = {&input->from, &input->to, &input->nowhere, &input->source_fd, &input->sink_fd};

	if (input->watched)
		stop(input);
	input->watched = false;
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			close(qsb__take_fd(fds[i]));
}
