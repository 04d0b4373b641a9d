/* Against a supervisor that looks at a call's memory: change it after the look, or ask more than it can answer. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { FLOOD_THREADS = 8 };

/* The bytes that the call points to, and the two texts that a second thread keeps swapping in them. */
struct race {
	char path[PATH_MAX];
	const char *allowed, *denied;
	atomic_bool stop;
	long done; /* calls that went through, to either */
};

static void *flip(void *argument)
{
	struct race *race = argument;
	size_t length = strlen(race->allowed) + 1;

	for (unsigned turn = 0; !race->stop; turn++) {
		memcpy(race->path, turn & 1 ? race->denied : race->allowed, length);
		for (volatile unsigned wait = 0; wait < (turn * 37U) % 400U; wait++)
			;
	}
	return NULL;
}

static bool time_left(const struct timespec *start, long seconds)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - start->tv_sec < seconds;
}

static void try_create(struct race *race)
{
	int fd = open(race->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return;
	race->done++;
	close(fd);
}

static void try_mkdir(struct race *race)
{
	race->done += mkdir(race->path, 0755) == 0;
	rmdir(race->allowed);
}

static void try_symlink(struct race *race)
{
	race->done += symlink("planted", race->path) == 0;
	unlink(race->allowed);
}

static void try_rename(struct race *race)
{
	char from[PATH_MAX + 8];
	int fd;

	snprintf(from, sizeof(from), "%s.from", race->allowed);
	fd = open(from, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
	race->done += rename(from, race->path) == 0;
}

/* The address is copied by hand and not by libc, so that it changes under the call itself. */
static struct sockaddr_un shared_address = {.sun_family = AF_UNIX};

static void *flip_address(void *argument)
{
	struct race *race = argument;
	size_t length = strlen(race->allowed) + 1;

	for (unsigned turn = 0; !race->stop; turn++) {
		memcpy(shared_address.sun_path, turn & 1 ? race->denied : race->allowed, length);
		for (volatile unsigned wait = 0; wait < (turn * 37U) % 400U; wait++)
			;
	}
	return NULL;
}

/* A host's server greets with "host"; a connection to the own listener says nothing. */
static bool reached_host(int fd)
{
	char greeting[4] = "";
	struct timeval patience = {.tv_usec = 2000};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return recv(fd, greeting, sizeof(greeting), 0) == 4 && memcmp(greeting, "host", 4) == 0;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, path, strlen(path));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 4096))
		return -1;
	return fd;
}

/* race-connect ALLOWED DENIED SECONDS: connects while the address changes. ALLOWED is listened at here. */
static int race_connect(int argc, char **argv)
{
	struct race race = {.allowed = argc > 3 ? argv[1] : "", .denied = argc > 3 ? argv[2] : ""};
	long seconds = (long)attack_number(argc > 3 ? argv[3] : NULL);
	struct timespec start;
	pthread_t thread;
	bool host = false;
	int listener = listen_at(race.allowed);

	if (listener < 0 || strlen(race.allowed) != strlen(race.denied))
		return attack_broken("listen");
	memcpy(shared_address.sun_path, race.allowed, strlen(race.allowed));
	if (pthread_create(&thread, NULL, flip_address, &race))
		return attack_broken("pthread_create");
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (!host && time_left(&start, seconds)) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), other;

		if (connect(fd, (struct sockaddr *)&shared_address, sizeof(shared_address)) == 0) {
			race.done++;
			host = reached_host(fd);
		}
		close(fd);
		while ((other = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
			close(other);
	}
	race.stop = true;
	pthread_join(thread, NULL);
	printf("connected: %ld\n", race.done);
	if (!host && !race.done)
		return attack_broken("no connection went through at all");
	errno = EACCES;
	return attack_verdict("connect", host ? 0 : -1);
}

/* race CALL ALLOWED DENIED SECONDS: makes or replaces a file while its path changes. Worked = DENIED came to be. */
static int race_path(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*attempt)(struct race *race);
	} calls[] = {{"create", try_create}, {"mkdir", try_mkdir}, {"symlink", try_symlink}, {"rename", try_rename}};
	struct race race = {.allowed = argc > 4 ? argv[2] : "", .denied = argc > 4 ? argv[3] : ""};
	long seconds = (long)attack_number(argc > 4 ? argv[4] : NULL);
	void (*attempt)(struct race *) = NULL;
	struct timespec start;
	struct stat status;
	pthread_t thread;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (strcmp(calls[i].name, argv[1]) == 0)
			attempt = calls[i].attempt;
	}
	strcpy(race.path, race.allowed);
	if (!attempt || strlen(race.allowed) != strlen(race.denied) || pthread_create(&thread, NULL, flip, &race))
		return attack_broken("race CALL ALLOWED DENIED SECONDS");
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (time_left(&start, seconds) && lstat(race.denied, &status))
		attempt(&race);
	race.stop = true;
	pthread_join(thread, NULL);
	printf("went through: %ld\n", race.done);
	if (!race.done)
		return attack_broken("no call went through at all");
	errno = EACCES;
	return attack_verdict(argv[1], lstat(race.denied, &status) ? -1 : 0);
}

struct flood {
	const char *path;
	long count;
	atomic_long connected, refused;
};

static void *flood_thread(void *argument)
{
	struct flood *flood = argument;
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strncpy(address.sun_path, flood->path, sizeof(address.sun_path) - 1);
	for (long i = 0; i < flood->count; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			flood->connected++;
		else
			flood->refused++;
		close(fd);
	}
	return NULL;
}

/* flood PATH COUNT: asks COUNT times from each of eight threads for a socket that may not be reached. */
static int flood_connect(int argc, char **argv)
{
	struct flood flood = {.path = argc > 2 ? argv[1] : "", .count = (long)attack_number(argc > 2 ? argv[2] : NULL)};
	pthread_t threads[FLOOD_THREADS];

	for (int i = 0; i < FLOOD_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, flood_thread, &flood))
			return attack_broken("pthread_create");
	}
	for (int i = 0; i < FLOOD_THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("connected %ld, refused %ld\n", flood.connected, flood.refused);
	errno = EACCES;
	return attack_verdict("connect", flood.connected ? 0 : -1);
}

const struct attack attacks_sys_race[] = {
	{"race", race_path},
	{"race-connect", race_connect},
	{"flood", flood_connect},
	{NULL, NULL},
};
