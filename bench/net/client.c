#include "../bench.h"
#include "net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WARM_UPS = 5, READY_MS = 5000 };

static int failed(const char *what)
{
	fprintf(stderr, "qsb-net: %s: %s\n", what, errno ? strerror(errno) : "the connection ended too early");
	return 1;
}

static void wait_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

/* Throws away all that comes, and returns how much it was. -1 = it ended in an error. */
static int64_t drain(int fd, int64_t most)
{
	static char chunk[CHUNK];
	int64_t all = 0;
	ssize_t got = 1;

	while (all < most && got > 0) {
		got = read(fd, chunk, sizeof(chunk));
		all += got > 0 ? got : 0;
	}
	return got < 0 ? -1 : all;
}

/* Some ways need a moment until they are there: a bridge inside listens some time after the command began. */
static int warm_up(const struct way *way)
{
	int64_t began = now_us();

	for (int done = 0; done < WARM_UPS;) {
		int fd = way_ask(way, "/data/1");

		if (fd < 0 && now_us() - began > READY_MS * 1000)
			return -1;
		if (fd < 0) {
			wait_ms(5);
			continue;
		}
		errno = 0;
		if (read_to_body(fd) < 1) {
			close(fd);
			return -1;
		}
		close(fd);
		done++;
	}
	return 0;
}

int measure_data(struct way *way, int64_t bytes)
{
	char path[64];
	int64_t began, got;
	int fd;

	if (warm_up(way) < 0)
		return failed("no answer");
	snprintf(path, sizeof(path), "/data/%lld", (long long)bytes);
	began = now_us();
	fd = way_ask(way, path);
	errno = fd < 0 ? errno : 0;
	got = fd < 0 ? -1 : read_to_body(fd);
	if (got > 0)
		got += drain(fd, bytes - got);
	if (got != bytes)
		return failed("data");
	printf("{\"bytes\":%lld,\"us\":%lld}\n", (long long)bytes, (long long)(now_us() - began));
	return 0;
}

/* Microseconds to the first byte, -1 = it did not come. */
static int64_t once(const struct way *way)
{
	int64_t began = now_us(), took;
	int fd = way_ask(way, "/data/1");

	if (fd < 0)
		return -1;
	took = read_to_body(fd) == 1 ? now_us() - began : -1;
	/* To the end, so that the next connection does not meet what is left to do for this one. */
	shutdown(fd, SHUT_WR);
	drain(fd, INT64_MAX);
	close(fd);
	return took;
}

int measure_connect(struct way *way, int count)
{
	int failures = 0;

	if (warm_up(way) < 0)
		return failed("no answer");
	printf("{\"times\":[");
	for (int i = 0, printed = 0; i < count; i++) {
		int64_t took = once(way);

		failures += took < 0;
		if (took >= 0)
			printf("%s%lld", printed++ ? "," : "", (long long)took);
	}
	printf("],\"failures\":%d}\n", failures);
	return 0;
}

static void say(const char *what, int count, int64_t began, int pause_ms)
{
	printf("{\"%s\":%d,\"us\":%lld}\n", what, count, (long long)(now_us() - began));
	fflush(stdout);
	wait_ms(pause_ms);
}

/* All of them asked before the first answer is read: as many as there are wait at once. */
static int hold_open(const struct way *way, int *fds, int held)
{
	int open = 0;

	for (int i = 0; i < held; i++)
		fds[i] = way_ask(way, "/hold");
	for (int i = 0; i < held; i++)
		open += fds[i] >= 0 && read_to_body(fds[i]) == 1;
	return open;
}

static int let_go(const struct way *way, int *fds, int held)
{
	int served = 0, fd = way_ask(way, "/release");
	char byte;

	if (fd < 0 || read_to_body(fd) != 1)
		return 0;
	close(fd);
	for (int i = 0; i < held; i++) {
		served += fds[i] >= 0 && read(fds[i], &byte, 1) == 1;
		close(fds[i]);
	}
	return served;
}

int measure_crowd(struct way *way, int held, int serial, int pause_ms)
{
	int *fds = calloc((size_t)held, sizeof(*fds));
	int served = 0;
	int64_t began;

	if (!fds || warm_up(way) < 0)
		return failed("no answer");
	say("ready", 1, now_us(), pause_ms);
	began = now_us();
	say("open", hold_open(way, fds, held), began, pause_ms);
	began = now_us();
	say("released", let_go(way, fds, held), began, pause_ms);
	began = now_us();
	for (int i = 0; i < serial; i++)
		served += once(way) >= 0;
	say("serial", served, began, pause_ms);
	free(fds);
	return 0;
}
