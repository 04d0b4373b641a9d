#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

struct slice {
	long finished, failed;
	double per_second;
};

/* Keeps `workers` commands running until the slice is over; those that began in it are waited for and counted. */
static struct slice run_slice(const struct candidate *candidate, int workers, int64_t slice_ms)
{
	struct slice slice = {0};
	int64_t began = now_us();
	int running = 0, status;

	for (;;) {
		int open = now_us() - began < slice_ms * 1000;

		if (open && running < workers && start(candidate->argv) > 0) {
			running++;
			continue;
		}
		if (!running || wait(&status) < 0)
			break;
		running--;
		slice.finished++;
		slice.failed += status != 0;
	}
	slice.per_second = (double)slice.finished * 1e6 / (double)(now_us() - began);
	return slice;
}

/* One slice of each in turn, as often as there are runs. */
int measure_throughput(struct plan *plan)
{
	struct slice *slices = calloc((size_t)(plan->runs * plan->count), sizeof(*slices));

	if (!slices)
		return 1;
	for (int round = 0; round < plan->runs; round++) {
		for (int i = 0; i < plan->count; i++)
			slices[i * plan->runs + round] = run_slice(&plan->candidates[i], plan->workers, plan->slice_ms);
	}
	printf("{");
	for (int i = 0; i < plan->count; i++) {
		long failed = 0;

		printf("%s\"%s\":{\"rates\":[", i ? "," : "", plan->candidates[i].name);
		for (int round = 0; round < plan->runs; round++) {
			const struct slice *slice = &slices[i * plan->runs + round];

			printf("%s%.1f", round ? "," : "", slice->per_second);
			failed += slice->failed;
		}
		printf("],\"failures\":%ld}", failed);
	}
	printf("}\n");
	free(slices);
	return 0;
}
