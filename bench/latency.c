#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { WARM_UPS = 3 };

static int64_t processor_us(const struct rusage *usage)
{
	return ((int64_t)usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 + usage->ru_utime.tv_usec +
	       usage->ru_stime.tv_usec;
}

static void run_once(struct candidate *candidate, int counts)
{
	struct rusage usage = {0};
	int status = -1;
	int64_t began = now_us();
	pid_t pid = start(candidate->argv);
	int64_t took;

	if (pid > 0)
		wait4(pid, &status, 0, &usage);
	took = now_us() - began;
	if (!counts)
		return;
	candidate->times_us[candidate->runs] = took;
	candidate->processor_us[candidate->runs] = processor_us(&usage);
	candidate->runs++;
	candidate->failures += status != 0;
}

static void print_times(const char *name, const int64_t *times, int count)
{
	printf("\"%s\":[", name);
	for (int i = 0; i < count; i++)
		printf("%s%lld", i ? "," : "", (long long)times[i]);
	printf("]");
}

static int allocate(struct plan *plan)
{
	for (int i = 0; i < plan->count; i++) {
		struct candidate *candidate = &plan->candidates[i];

		candidate->times_us = calloc((size_t)plan->runs, sizeof(*candidate->times_us));
		candidate->processor_us = calloc((size_t)plan->runs, sizeof(*candidate->processor_us));
		if (!candidate->times_us || !candidate->processor_us)
			return -1;
	}
	return 0;
}

/*
 * One run of each candidate in turn, so that whatever else this machine does falls on all of them alike. The order is
 * turned each round: nobody always runs in the caches that the same neighbour left.
 */
int measure_latency(struct plan *plan)
{
	int warm_ups = plan->runs < 10 ? 1 : WARM_UPS;

	if (allocate(plan) < 0)
		return 1;
	for (int round = -warm_ups; round < plan->runs; round++) {
		for (int i = 0; i < plan->count; i++)
			run_once(&plan->candidates[(i + round + warm_ups) % plan->count], round >= 0);
	}
	printf("{");
	for (int i = 0; i < plan->count; i++) {
		const struct candidate *candidate = &plan->candidates[i];

		printf("%s\"%s\":{\"failures\":%d,", i ? "," : "", candidate->name, candidate->failures);
		print_times("times", candidate->times_us, candidate->runs);
		printf(",");
		print_times("processor", candidate->processor_us, candidate->runs);
		printf("}");
	}
	printf("}\n");
	return 0;
}
