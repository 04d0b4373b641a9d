/*
 * The timing core of `make bench`. It prints JSON with every single time; bench/run makes sentences of it.
 *
 *   qsb-bench latency RUNS --next NAME COMMAND… [--next NAME COMMAND…]…
 *   qsb-bench throughput SLICES SLICE_MS WORKERS --next NAME COMMAND… …
 *   qsb-bench reap NAME SETTLE_MS COMMAND…
 *   qsb-bench herd COUNT
 *   qsb-bench files COUNT      makes and removes an empty file, again and again
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "--next NAME COMMAND…" again and again. The arguments are cut up in place. */
static int read_candidates(struct plan *plan, char **argv)
{
	while (*argv && plan->count < CANDIDATES_MAX) {
		struct candidate *candidate = &plan->candidates[plan->count];

		if (strcmp(*argv, "--next") != 0 || !argv[1] || !argv[2])
			return -1;
		candidate->name = argv[1];
		candidate->argv = argv + 2;
		*argv = NULL;
		for (argv += 2; *argv && strcmp(*argv, "--next") != 0; argv++)
			;
		plan->count++;
	}
	if (*argv)
		return -1;
	return plan->count ? 0 : -1;
}

static int usage(void)
{
	fprintf(stderr, "usage: qsb-bench latency|throughput|reap|herd|files … (bench/run knows how)\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct plan plan = {0};
	const char *verb = argc > 2 ? argv[1] : "";

	if (strcmp(verb, "herd") == 0)
		return herd(atoi(argv[2]));
	if (strcmp(verb, "files") == 0)
		return make_files(atoi(argv[2]));
	if (strcmp(verb, "reap") == 0 && argc > 4)
		return measure_reap(argv[2], atoll(argv[3]), argv + 4);
	plan.runs = argc > 2 ? atoi(argv[2]) : 0;
	if (plan.runs <= 0)
		return usage();
	if (strcmp(verb, "latency") == 0 && read_candidates(&plan, argv + 3) == 0)
		return measure_latency(&plan);
	if (strcmp(verb, "throughput") == 0 && argc > 5) {
		plan.slice_ms = atoll(argv[3]);
		plan.workers = atoi(argv[4]);
		if (plan.slice_ms > 0 && plan.workers > 0 && read_candidates(&plan, argv + 5) == 0)
			return measure_throughput(&plan);
	}
	return usage();
}
