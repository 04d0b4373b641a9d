/*
 * Races against a guard that looks at a path and then acts: `guard-race SECONDS`, started in a folder that
 * guard_rules.py has prepared. Threads swap the path's bytes, a descriptor, a link and a folder's name while others use
 * them; one looks for the denied names all the time.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char allowed[] = "free/file-0000", denied[] = "hold/secret/xx";
static char path[sizeof(denied)];
static atomic_bool stop;
static atomic_long made, seen;
static int turning_fd;

static void *flip_path(void *argument)
{
	for (unsigned turn = 0; !stop; turn++) {
		memcpy(path, turn & 1 ? denied : allowed, sizeof(path));
		for (volatile unsigned wait = 0; wait < (turn * 37U) % 400U; wait++)
			;
	}
	return argument;
}

static void *use_path(void *argument)
{
	while (!stop) {
		int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

		if (fd >= 0) {
			made++;
			close(fd);
		}
		unlink(path);
		if (mkdir(path, 0755) == 0)
			rmdir(path);
	}
	return argument;
}

static void *flip_descriptor(void *argument)
{
	int good = open("free", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    bad = open("hold/secret", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (!stop) {
		dup2(good, turning_fd);
		dup2(bad, turning_fd);
	}
	return argument;
}

static void *use_descriptor(void *argument)
{
	while (!stop) {
		int fd = openat(turning_fd, "by-fd", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

		if (fd >= 0) {
			made++;
			close(fd);
		}
		made += linkat(AT_FDCWD, "plain", turning_fd, "by-link", 0) == 0;
		unlink("free/by-link");
	}
	return argument;
}

static void *flip_link(void *argument)
{
	while (!stop) {
		if (symlink("free", "turn") == 0)
			rename("turn", "link");
		if (symlink("hold/secret", "turn") == 0)
			rename("turn", "link");
	}
	return argument;
}

static void *use_link(void *argument)
{
	while (!stop) {
		int fd = open("link/by-name", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

		if (fd >= 0) {
			made++;
			close(fd);
		}
	}
	return argument;
}

static void *move_folder(void *argument)
{
	while (!stop) {
		mkdir("there", 0755);
		rename("there", "sub/.conf");
		rmdir("sub/.conf");
	}
	return argument;
}

static void *fill_folder(void *argument)
{
	while (!stop) {
		int folder = open("there", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (folder < 0)
			continue;
		if (mkdirat(folder, "rc", 0755) == 0)
			made++;
		unlinkat(folder, "rc", AT_REMOVEDIR);
		close(folder);
	}
	return argument;
}

static void *look(void *argument)
{
	static const char *const names[] = {"hold/secret/xx", "hold/secret/by-fd", "hold/secret/by-link",
					    "hold/secret/by-name", "sub/.conf/rc"};
	struct stat status;

	while (!stop)
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (lstat(names[i], &status) == 0) {
				seen++;
				unlink(names[i]);
				rmdir(names[i]);
			}
	return argument;
}

static int race(int argc, char **argv)
{
	void *(*const parts[])(void *) = {flip_path, use_path, use_path,    flip_descriptor, use_descriptor,
					  flip_link, use_link, move_folder, fill_folder,     look};
	enum { PARTS = sizeof(parts) / sizeof(*parts) };
	unsigned seconds = (unsigned)attack_number(argc > 1 ? argv[1] : NULL);
	pthread_t threads[PARTS];

	memcpy(path, allowed, sizeof(path));
	turning_fd = open("free", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (turning_fd < 0)
		return attack_broken("open free");
	for (size_t i = 0; i < PARTS; i++)
		if (pthread_create(&threads[i], NULL, parts[i], NULL) != 0)
			return attack_broken("pthread_create");
	sleep(seconds);
	stop = true;
	for (size_t i = 0; i < PARTS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld calls went through, %ld times a denied name was there\n", (long)made, (long)seen);
	errno = EACCES;
	if (made == 0)
		return attack_broken("nothing went through at all");
	return attack_verdict("race", seen > 0 ? 0 : -1);
}

const struct attack attacks_guard_race[] = {{"guard-race", race}, {NULL, NULL}};
