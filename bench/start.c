#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

pid_t start(char *const *argv)
{
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int failed;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	failed |= posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	failed |= posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!failed && posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) != 0)
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
