/* splice(2) through a pipe: the bytes never come to us. A pipe is only kept while it holds some. */
#include "os/mover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/cleanup.h"

enum {
	PIPE_BYTES = 1024 * 1024,
	KEPT = 16 /* an ordinary user's pipes may hold 64 MiB in all before the kernel makes them small */
};

struct qsb__movers {
	int pipes[KEPT][2];
	size_t count;
};

struct qsb__movers *qsb__movers_new(void)
{
	return calloc(1, sizeof(struct qsb__movers));
}

void qsb__movers_free(struct qsb__movers *movers)
{
	for (size_t i = 0; movers && i < movers->count; i++) {
		close(movers->pipes[i][0]);
		close(movers->pipes[i][1]);
	}
	free(movers);
}

void qsb__mover_init(struct qsb__mover *mover)
{
	mover->pipe[0] = mover->pipe[1] = -1;
	mover->held = 0;
}

static void give_back(struct qsb__movers *movers, struct qsb__mover *mover)
{
	int in = qsb__take_fd(&mover->pipe[1]), out = qsb__take_fd(&mover->pipe[0]);

	if (mover->held == 0 && movers->count < KEPT) {
		movers->pipes[movers->count][0] = out;
		movers->pipes[movers->count++][1] = in;
		return;
	}
	close(in);
	close(out);
	mover->held = 0;
}

void qsb__mover_clear(struct qsb__movers *movers, struct qsb__mover *mover)
{
	if (mover->pipe[0] >= 0)
		give_back(movers, mover);
}

static int take_pipe(struct qsb__movers *movers, struct qsb__mover *mover)
{
	if (mover->pipe[0] >= 0)
		return 0;
	if (movers->count > 0) {
		movers->count--;
		mover->pipe[0] = movers->pipes[movers->count][0];
		mover->pipe[1] = movers->pipes[movers->count][1];
		return 0;
	}
	if (pipe2(mover->pipe, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	/* A small one does as well, only slower. */
	fcntl(mover->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

ssize_t qsb__mover_fill(struct qsb__movers *movers, struct qsb__mover *mover, int from, uint64_t limit)
{
	int code = take_pipe(movers, mover);
	ssize_t moved;

	if (code != 0)
		return code;
	moved = splice(from, NULL, mover->pipe[1], NULL, limit < PIPE_BYTES ? (size_t)limit : PIPE_BYTES,
		       SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (moved < 0)
		moved = -errno;
	if (moved > 0)
		mover->held += (size_t)moved;
	else if (mover->held == 0)
		give_back(movers, mover);
	return moved;
}

ssize_t qsb__mover_drain(struct qsb__movers *movers, struct qsb__mover *mover, int to)
{
	ssize_t moved;

	if (mover->held == 0)
		return 0;
	moved = splice(mover->pipe[0], NULL, to, NULL, mover->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (moved < 0)
		return -errno;
	mover->held -= (size_t)moved;
	if (mover->held == 0)
		give_back(movers, mover);
	return moved;
}
