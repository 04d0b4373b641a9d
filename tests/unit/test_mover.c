/* Bytes from one socket to another. */
#include "os/mover.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tap.h"

enum { PIECE = 4096, MANY = 64 };

struct ends {
	int from[2], to[2]; /* the mover has from[1] and to[0] */
};

static bool begin(struct ends *ends)
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends->from) == 0 &&
	       socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends->to) == 0;
}

static void end(struct ends *ends)
{
	for (int i = 0; i < 2; i++) {
		if (ends->from[i] >= 0)
			close(ends->from[i]);
		if (ends->to[i] >= 0)
			close(ends->to[i]);
	}
}

static size_t count_open(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void test_moves(struct qsb__movers *movers)
{
	struct ends ends;
	struct qsb__mover mover;
	char text[64] = "";

	qsb__mover_init(&mover);
	if (!tap_ok(begin(&ends), "there are two sockets"))
		return;
	tap_is_number(qsb__mover_fill(movers, &mover, ends.from[1], UINT64_MAX), -EAGAIN, "nothing comes of nothing");
	tap_ok(mover.pipe[0] < 0, "and nothing is held for it");
	tap_is_number(write(ends.from[0], "one two", 7), 7, "bytes come");
	tap_is_number(qsb__mover_fill(movers, &mover, ends.from[1], 3), 3, "no more of them are taken than is allowed");
	tap_is_number(qsb__mover_drain(movers, &mover, ends.to[0]), 3, "they are given");
	tap_is_number((long long)mover.held, 0, "none is held");
	tap_is_number(qsb__mover_fill(movers, &mover, ends.from[1], UINT64_MAX), 4, "the others follow");
	tap_is_number(qsb__mover_drain(movers, &mover, ends.to[0]), 4, "and are given");
	tap_ok(read(ends.to[1], text, sizeof(text)) == 7 && memcmp(text, "one two", 7) == 0, "they are the same bytes");
	shutdown(ends.from[0], SHUT_WR);
	tap_is_number(qsb__mover_fill(movers, &mover, ends.from[1], UINT64_MAX), 0, "the end is the end");
	tap_is_number(qsb__mover_drain(movers, &mover, ends.to[0]), 0, "nothing is given without bytes");
	qsb__mover_clear(movers, &mover);
	end(&ends);
}

/* Fills until nothing fits, then reads all: not a byte is lost or turned. */
static void test_slow_reader(struct qsb__movers *movers)
{
	struct ends ends;
	struct qsb__mover mover;
	unsigned char bytes[PIECE];
	size_t sent = 0, got = 0, wrong = 0;
	ssize_t moved;

	qsb__mover_init(&mover);
	begin(&ends);
	for (int i = 0; i < MANY * MANY && got < sent + 1 && i < 5000; i++) {
		for (size_t j = 0; j < sizeof(bytes); j++)
			bytes[j] = (unsigned char)((sent + j) % 251);
		moved = write(ends.from[0], bytes, sizeof(bytes));
		sent += moved > 0 ? (size_t)moved : 0;
		if (mover.held == 0)
			qsb__mover_fill(movers, &mover, ends.from[1], UINT64_MAX);
		moved = qsb__mover_drain(movers, &mover, ends.to[0]);
		if (moved == -EAGAIN)
			break;
	}
	tap_ok(mover.held > 0, "a reader that does not read leaves %zu bytes held", mover.held);
	shutdown(ends.from[0], SHUT_WR);
	for (;;) {
		while ((moved = read(ends.to[1], bytes, sizeof(bytes))) > 0) {
			for (ssize_t j = 0; j < moved; j++)
				wrong += bytes[j] != (unsigned char)((got + (size_t)j) % 251);
			got += (size_t)moved;
		}
		if (mover.held == 0 && qsb__mover_fill(movers, &mover, ends.from[1], UINT64_MAX) == 0)
			break;
		qsb__mover_drain(movers, &mover, ends.to[0]);
	}
	while ((moved = read(ends.to[1], bytes, sizeof(bytes))) > 0)
		got += (size_t)moved;
	tap_is_number((long long)got, (long long)sent, "all come when it reads");
	tap_is_number((long long)wrong, 0, "in their order");
	qsb__mover_clear(movers, &mover);
	end(&ends);
}

static void test_broken(struct qsb__movers *movers)
{
	struct ends ends;
	struct qsb__mover mover;
	size_t before = count_open();

	qsb__mover_init(&mover);
	begin(&ends);
	tap_is_number(write(ends.from[0], "one", 3), 3, "bytes come for somebody who is gone");
	close(ends.to[1]);
	ends.to[1] = -1;
	tap_is_number(qsb__mover_fill(movers, &mover, ends.from[1], UINT64_MAX), 3, "they are taken");
	tap_is_number(qsb__mover_drain(movers, &mover, ends.to[0]), -EPIPE, "and cannot be given");
	tap_is_number((long long)mover.held, 3, "they are still held");
	qsb__mover_clear(movers, &mover);
	tap_ok(mover.pipe[0] < 0 && mover.held == 0, "until they are let go");
	end(&ends);
	/* What was left in it must not reach the next one. */
	qsb__mover_init(&mover);
	begin(&ends);
	tap_is_number(write(ends.from[0], "two", 3), 3, "the next one's bytes come");
	qsb__mover_fill(movers, &mover, ends.from[1], UINT64_MAX);
	qsb__mover_drain(movers, &mover, ends.to[0]);
	tap_ok(recv(ends.to[1], &(char[8]){0}, 8, 0) == 3, "and none of the lost ones with them");
	qsb__mover_clear(movers, &mover);
	end(&ends);
	tap_ok(count_open() <= before + 2, "no descriptor is lost");
}

static void test_without_descriptors(void)
{
	struct qsb__movers *movers = qsb__movers_new();
	struct ends ends;
	struct qsb__mover mover;
	struct rlimit few, before;
	int lowest;

	qsb__mover_init(&mover);
	begin(&ends);
	tap_is_number(write(ends.from[0], "one", 3), 3, "bytes come when descriptors are out");
	lowest = dup(0);
	close(lowest);
	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = (rlim_t)lowest;
	setrlimit(RLIMIT_NOFILE, &few);
	tap_is_number(qsb__mover_fill(movers, &mover, ends.from[1], UINT64_MAX), -EMFILE, "they cannot be taken");
	setrlimit(RLIMIT_NOFILE, &before);
	tap_is_number(qsb__mover_fill(movers, &mover, ends.from[1], UINT64_MAX), 3, "until there are some again");
	qsb__mover_clear(movers, &mover);
	qsb__movers_free(movers);
	end(&ends);
}

int main(void)
{
	struct qsb__movers *movers = qsb__movers_new();
	size_t before = count_open();

	signal(SIGPIPE, SIG_IGN);
	test_moves(movers);
	test_slow_reader(movers);
	test_broken(movers);
	test_without_descriptors();
	qsb__movers_free(movers);
	tap_ok(count_open() == before, "in the end all is closed");
	return tap_done();
}
