/* Against the patience of the supervisor and of others: what they might wait for, for ever. */
#include "attack.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ROUNDS = 2000000, LONGEST_PAUSE = 20000 };

/* A call that the supervisor answers: it comes back only while somebody is at home there. */
static void ask_supervisor(void)
{
	const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/nonexistent"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		printf("somebody lives there\n");
	close(fd);
}

/* steal: writes one byte at a time to the standard output, a pipe, while another process takes it out again: whoever
 * reads that pipe is told of a byte that is not there any more. Goes on until it is ended. */
static int steal(int argc, char **argv)
{
	int back = open("/proc/self/fd/1", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char byte = 'x';
	pid_t thief;

	if (back < 0)
		return attack_broken("open the pipe for reading");
	thief = fork();
	if (thief < 0)
		return attack_broken("fork");
	while (thief == 0) {
		char taken[64];

		if (read(back, taken, sizeof(taken)) == 0)
			_exit(0);
	}
	for (int round = 0; round < ROUNDS; round++) {
		if (write(STDOUT_FILENO, &byte, 1) != 1)
			return attack_broken("write");
		for (volatile int at = 0; at < (round * 37) % LONGEST_PAUSE; at++)
			;
		ask_supervisor();
	}
	return ATTACK_WORKED;
}

/* lease FILE: whoever opens it from now on waits until the lease is given back. */
static int lease(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return attack_broken("open");
	return attack_verdict("fcntl F_SETLEASE", fcntl(fd, F_SETLEASE, F_WRLCK));
}

const struct attack attacks_hold[] = {{"steal", steal}, {"lease", lease}, {NULL, NULL}};
