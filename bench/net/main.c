/*
 * Server, client and surroundings of the bench's network section. bench/network.py knows how.
 *
 *   qsb-net world HOSTS PORT…
 *   qsb-net enter PID COMMAND…
 *   qsb-net data BYTES WAY…
 *   qsb-net connect COUNT WAY…
 *   qsb-net crowd HELD SERIAL PAUSE_MS WAY…
 */
#include "net.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LONGEST_S = 120 };

static void open_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: qsb-net world|enter|data|connect|crowd … (bench/network.py knows how)\n");
	return 2;
}

static int measure(const char *verb, int argc, char **argv)
{
	struct way way = {0};
	int numbers = strcmp(verb, "crowd") == 0 ? 3 : 1;

	/* Whatever does not answer, the client ends. */
	alarm(LONGEST_S);
	if (argc < numbers + 3 || way_init(&way, argv + numbers) < 0)
		return argc < numbers + 3 ? usage() : 1;
	if (strcmp(verb, "data") == 0)
		return measure_data(&way, atoll(argv[0]));
	if (strcmp(verb, "connect") == 0)
		return measure_connect(&way, atoi(argv[0]));
	if (strcmp(verb, "crowd") == 0)
		return measure_crowd(&way, atoi(argv[0]), atoi(argv[1]), atoi(argv[2]));
	return usage();
}

int main(int argc, char **argv)
{
	const char *verb = argc > 3 ? argv[1] : "";

	signal(SIGPIPE, SIG_IGN);
	if (strcmp(verb, "enter") == 0)
		return enter_world(argv[2], argv + 3);
	open_many_files();
	if (strcmp(verb, "world") == 0)
		return make_world(argv[2]) < 0 ? 1 : serve(argv + 3);
	return argc > 3 ? measure(verb, argc - 2, argv + 2) : usage();
}
