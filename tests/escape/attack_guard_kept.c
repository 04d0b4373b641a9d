/*
 * What the guard keeps of its callers from call to call (working folder, umask, open files for a moment) must never be
 * seen to be stale. `guard-kept TIMES` works in an empty folder, and says what it found wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

static const char *const folders[] = {"a", "b", "c"};
static int folder_fds[3];
static sem_t changed, wanted;
static int at;
static unsigned mask;
static long wrong;

static void tell(const char *what, long round)
{
	if (wrong++ < 5)
		printf("%s in round %ld: %s\n", what, round, strerror(errno));
}

/* By a relative path, made and looked for: in the folder and with the mode that hold now. */
static void make(const char *who, long round)
{
	struct stat status;
	int fd = open("made", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);

	if (fd < 0 || fstatat(folder_fds[at], "made", &status, 0) != 0)
		tell(who, round);
	else if ((status.st_mode & 0777) != (0666 & ~mask))
		tell("mode", round);
	if (fd >= 0)
		close(fd);
	if (unlinkat(folder_fds[at], "made", 0) != 0)
		unlink("made");
}

static void change(long round)
{
	at = (int)(round % 3);
	if (fchdir(folder_fds[at]) != 0 || (round % 2 && (chdir("..") != 0 || chdir(folders[at]) != 0)))
		tell("chdir", round);
	if (round % 4 == 0)
		umask(mask = round % 8 ? 022 : 077);
}

/* Changes what all threads share, whenever it is asked to. */
static void *changer(void *argument)
{
	long rounds = *(const long *)argument;

	for (long round = 0; round < rounds; round++) {
		sem_wait(&wanted);
		change(round);
		sem_post(&changed);
	}
	return NULL;
}

static void *maker(void *argument)
{
	make("in another thread", *(const long *)argument);
	return NULL;
}

static int threads_share(long rounds)
{
	pthread_t thread;

	sem_init(&wanted, 0, 0);
	sem_init(&changed, 0, 0);
	if (pthread_create(&thread, NULL, changer, &rounds) != 0)
		return -1;
	for (long round = 0; round < rounds; round++) {
		sem_post(&wanted);
		sem_wait(&changed);
		make("in a thread", round);
		make("again", round);
		if (round % 16 == 0) {
			pthread_t other;

			if (pthread_create(&other, NULL, maker, &round) != 0)
				return -1;
			pthread_join(other, NULL);
		}
	}
	return pthread_join(thread, NULL);
}

static int alone(long rounds)
{
	for (long round = 0; round < rounds; round++) {
		pid_t child;
		int before = at;
		unsigned mask_before = mask;

		make("alone", round);
		if (round % 8 == 0) {
			child = fork();
			if (child == 0) {
				wrong = 0;
				change(round + 1);
				make("in a child", round);
				make("in a child again", round);
				_exit(wrong > 0);
			}
			if (waitpid(child, &before, 0) != child || before != 0)
				tell("child", round);
			make("beside a child", round);
		} else if (round % 3 == 0) {
			change(round);
		}
		mask_before = mask;
		if (umask(mask) != mask_before)
			tell("umask", round);
	}
	return 0;
}

/* A lock ends with its file's last descriptor, and the guard's must not be the last one. */
static int locks(long rounds)
{
	int other = open("lock", O_CREAT | O_RDWR | O_CLOEXEC, 0644);

	if (other < 0)
		return -1;
	for (long round = 0; round < rounds; round++) {
		int fd = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0644);

		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0 || close(fd) != 0 ||
		    flock(other, LOCK_EX | LOCK_NB) != 0 || flock(other, LOCK_UN) != 0)
			tell("flock", round);
	}
	close(other);
	return unlink("lock");
}

static void copy_program(int to)
{
	char buffer[65536];
	int from = open("/bin/true", O_RDONLY | O_CLOEXEC);
	ssize_t length;

	while (from >= 0 && (length = read(from, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, (size_t)length) != length)
			break;
	close(from);
}

/* A program that was just written can be executed at once. */
static int programs(long rounds)
{
	for (long round = 0; round < rounds; round++) {
		int fd = open("program", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, round % 2 ? 0755 : 0644);
		int status = -1;
		pid_t child;

		if (fd < 0)
			return -1;
		copy_program(fd);
		close(fd);
		if (round % 2 == 0 && chmod("program", 0755) != 0)
			return -1;
		child = fork();
		if (child == 0) {
			execl("program", "program", (char *)NULL);
			_exit(errno == ETXTBSY ? 100 : 101);
		}
		if (waitpid(child, &status, 0) != child || status != 0) {
			errno = WEXITSTATUS(status) == 100 ? ETXTBSY : ENOEXEC;
			tell("program", round);
		}
		unlink("program");
	}
	return 0;
}

static int kept(int argc, char **argv)
{
	long rounds = (long)attack_number(argc > 1 ? argv[1] : NULL);

	mask = 022;
	umask(mask);
	for (int i = 0; i < 3; i++)
		if (mkdir(folders[i], 0755) != 0 ||
		    (folder_fds[i] = open(folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
			return attack_broken("folders");
	if (chdir("a") != 0 || locks(rounds) != 0 || programs(rounds / 10) != 0 || alone(rounds) != 0 ||
	    threads_share(rounds) != 0 || alone(rounds) != 0)
		return attack_broken("a step");
	printf("%ld wrong\n", wrong);
	return wrong == 0 ? ATTACK_WORKED : ATTACK_BROKEN;
}

const struct attack attacks_guard_kept[] = {{"guard-kept", kept}, {NULL, NULL}};
