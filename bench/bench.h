/* The timing core of `make bench`: how a program is started and what is said about the times. */
#ifndef QSB_BENCH_BENCH_H
#define QSB_BENCH_BENCH_H

#include <stdint.h>
#include <sys/types.h>

/* One thing that is measured: a name and a command. */
struct candidate {
	const char *name;
	char **argv;       /* NULL-terminated */
	int64_t *times_us; /* one a run */
	int64_t *processor_us;
	int runs, failures;
};

enum { CANDIDATES_MAX = 32 };

struct plan {
	struct candidate candidates[CANDIDATES_MAX];
	int count;
	int runs;
	int workers;
	int64_t slice_ms;
};

/* Starts a command by posix_spawn, its standard streams on /dev/null. -1 = it could not be started. */
pid_t start(char *const *argv);

int64_t now_us(void);

int measure_latency(struct plan *plan);
int measure_throughput(struct plan *plan);

/* Makes an empty file and removes it, `count` times. */
int make_files(int count);

/* `count` processes that ignore SIGTERM and wait for ever, this one among them. */
int herd(int count);

/*
 * Starts the command of `argv`, waits `settle_ms`, takes hold of every process of this name (as in /proc/PID/comm), and
 * prints when the last one of them was dead, in microseconds after the start.
 */
int measure_reap(const char *name, int64_t settle_ms, char *const *argv);

#endif
