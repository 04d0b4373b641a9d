/*
 * Much at once, against a guard that answers one call after another:
 *   guard-many PROCESSES FILES   each process makes its files, writes, renames and links them
 *   guard-flood CALLS            that many calls for denied names (*.never), all of which must be refused
 *   guard-hang OPENS             that many threads wait in the open of a FIFO, then others go on working
 *   guard-deep FOLDERS           that many folders below one another, with a denied name tried in each
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANGING_MAX = 512, STACK = 64 * 1024 };

static int write_file(const char *path, mode_t mode)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
	size_t size = strlen(path);

	if (fd < 0)
		return -1;
	if (write(fd, path, size) != (ssize_t)size || close(fd) != 0)
		return -1;
	return 0;
}

/* Each file holds the name that it was made with; its mode and its second name tell of its number. */
static int make_files(unsigned process, unsigned files)
{
	char folder[32], path[64], to[64];

	snprintf(folder, sizeof(folder), "p%u", process);
	umask(process % 2 ? 077 : 022);
	if (mkdir(folder, 0777) != 0)
		return -1;
	for (unsigned i = 0; i < files; i++) {
		snprintf(path, sizeof(path), "%s/new%u", folder, i);
		snprintf(to, sizeof(to), "%s/file%u", folder, i);
		if (write_file(path, i % 3 ? 0666 : 0777) != 0 || rename(path, to) != 0)
			return -1;
		snprintf(path, sizeof(path), "%s/second%u", folder, i);
		if (i % 4 == 0 && link(to, path) != 0)
			return -1;
		snprintf(path, sizeof(path), "%s/denied%u.never", folder, i);
		if (i % 8 == 0 && write_file(path, 0666) == 0 && unlink(path) == 0)
			puts("a denied name was made");
	}
	return 0;
}

static int many(int argc, char **argv)
{
	unsigned processes = (unsigned)attack_number(argc > 2 ? argv[1] : NULL);
	unsigned files = (unsigned)attack_number(argc > 2 ? argv[2] : NULL);
	bool failed = false;
	int status;

	for (unsigned i = 0; i < processes; i++) {
		pid_t child = fork();

		if (child < 0)
			return attack_broken("fork");
		if (child == 0) {
			int code = make_files(i, files);

			if (code != 0)
				attack_broken("make_files");
			fflush(stdout);
			_exit(code ? 1 : 0);
		}
	}
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed ? ATTACK_BROKEN : ATTACK_WORKED;
}

/* Turn by turn another call, as each is refused in a place of its own. */
static long denied_call(unsigned turn)
{
	char path[64];

	snprintf(path, sizeof(path), "n%u.never", turn % 1000);
	switch (turn % 4) {
	case 0:
		return mkdir(path, 0777);
	case 1:
		return symlink("x", path);
	case 2:
		return rename("plain", path);
	default:
		return open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
	}
}

static int flood(int argc, char **argv)
{
	unsigned calls = (unsigned)attack_number(argc > 1 ? argv[1] : NULL);
	unsigned wrong = 0;

	for (unsigned i = 0; i < calls; i++)
		wrong += denied_call(i) >= 0 || errno != EACCES;
	printf("%u of %u calls were not refused\n", wrong, calls);
	errno = EACCES;
	return attack_verdict("flood", wrong ? 0 : -1);
}

static atomic_uint opened, refused, waiting;

static void *open_pipe(void *argument)
{
	int fd;

	waiting++;
	fd = open(argument, O_RDONLY | O_CLOEXEC);
	opened += fd >= 0;
	refused += fd < 0;
	if (fd >= 0)
		close(fd);
	return argument;
}

/* While they wait, others must get their answers, and the right ones. */
static bool works_beside(void)
{
	bool works = write_file("beside", 0666) == 0 && rename("beside", "beside2") == 0 && unlink("beside2") == 0;

	return works && open("beside.never", O_CREAT | O_WRONLY | O_CLOEXEC, 0666) < 0 && errno == EACCES;
}

static int hang(int argc, char **argv)
{
	unsigned count = (unsigned)attack_number(argc > 1 ? argv[1] : NULL), started = 0;
	static pthread_t threads[HANGING_MAX];
	static char name[] = "/tmp/hanging";
	pthread_attr_t small;
	bool works = true;
	int writer;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	if (mkfifo(name, 0600) != 0 || count > HANGING_MAX)
		return attack_broken("mkfifo");
	while (started < count && pthread_create(&threads[started], &small, open_pipe, name) == 0)
		started++;
	while (waiting < started)
		usleep(1000);
	for (int i = 0; i < 20; i++) {
		works &= works_beside();
		usleep(20000);
	}
	puts("hanging");
	fflush(stdout);
	getchar(); /* the test looks at the supervisor now */
	works &= works_beside();
	/* Whoever still waits is let go by a writer that stays. */
	writer = open(name, O_RDWR | O_CLOEXEC);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	printf("%u started, %u opened, %u refused, others %s\n", started, (unsigned)opened, (unsigned)refused,
	       works ? "worked" : "did not work");
	close(writer);
	return started == count && opened + refused == started && works ? ATTACK_WORKED : ATTACK_BROKEN;
}

/* Until nobody can say any more what the place is called: then nothing may be made there at all. */
static int deep(int argc, char **argv)
{
	unsigned folders = (unsigned)attack_number(argc > 1 ? argv[1] : NULL), depth = 0, made = 0;
	char name[101];

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (; depth < folders; depth++) {
		int fd = open("x.never", O_CREAT | O_WRONLY | O_CLOEXEC, 0666);

		made += fd >= 0 || mkdir("y.never", 0777) == 0 || symlink("x", "z.never") == 0;
		if (fd >= 0)
			close(fd);
		if (mkdir(name, 0777) != 0 || chdir(name) != 0)
			break;
	}
	printf("%u folders deep, %u denied names made\n", depth, made);
	errno = EACCES;
	return depth < 20 ? attack_broken("mkdir") : attack_verdict("deep", made ? 0 : -1);
}

const struct attack attacks_guard_many[] = {
	{"guard-many", many}, {"guard-flood", flood}, {"guard-hang", hang}, {"guard-deep", deep}, {NULL, NULL}};
