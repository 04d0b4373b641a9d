/*
 * A standard input that somebody above us reads as well: a shell that takes its orders from a pipe, an agent that takes
 * its messages from one. Whoever holds a pipe can open it anew through /proc, for writing too, and so could give orders
 * to that program, outside the sandbox; no filter sees it. Then the command gets a pipe of its own, and we pass on what
 * comes, a little at a time, since what we read is lost to the other reader.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "os/ancestors.h"
#include "supervisor/internal.h"

/* As little as the kernel makes a pipe. */
enum { AT_A_TIME = 4096 };

static void input_ended(struct qsb__stream *stream)
{
	struct qsb__supervisor *supervisor = stream->supervisor;

	if (supervisor->input[1] >= 0)
		close(qsb__take_fd(&supervisor->input[1]));
}

int qsb__input_prepare(struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	int pid = 0;

	supervisor->input[0] = supervisor->input[1] = -1;
	if (supervisor->request->tty || !qsb__pipe_is_read_above(STDIN_FILENO, &pid, supervisor->input_reader,
	                                                         sizeof(supervisor->input_reader)))
		return 0;
	if (pipe2(supervisor->input, O_CLOEXEC) != 0 || fcntl(supervisor->input[1], F_SETPIPE_SZ, AT_A_TIME) < 0 ||
	    fcntl(supervisor->input[1], F_SETFL, O_NONBLOCK) != 0)
		return qsb__fail_os(err, errno, "streams", "cannot make a pipe");
	supervisor->launch.stdio[0] = supervisor->input[0];
	return 0;
}

int qsb__input_start(struct qsb__supervisor *supervisor, struct qsb_error *err)
{
	if (supervisor->input[1] < 0)
		return 0;
	supervisor->in.part = AT_A_TIME;
	supervisor->in.ended = input_ended;
	if (qsb__stream_start(&supervisor->in, supervisor, STDIN_FILENO, supervisor->input[1]) != 0)
		return qsb__fail_memory(err, "streams");
	return 0;
}

void qsb__input_finish(struct qsb__supervisor *supervisor)
{
	const struct qsb__stream *in = &supervisor->in;
	int unread = 0;
	size_t lost;

	if (supervisor->input[0] < 0)
		return;
	if (ioctl(supervisor->input[0], FIONREAD, &unread) != 0)
		unread = 0;
	lost = (size_t)unread + in->length - in->offset;
	if (lost > 0)
		snprintf(supervisor->result->note, sizeof(supervisor->result->note),
		         "%zu bytes of the standard input, which %s reads as well, were taken and not used: add </dev/null "
		         "to leave them",
		         lost, supervisor->input_reader);
	for (int i = 0; i < 2; i++)
		if (supervisor->input[i] >= 0)
			close(qsb__take_fd(&supervisor->input[i]));
}
