/* Resources: taking more of the machine than was given. All amounts are bounded by their arguments. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A child that dies with its parent, so that a control leaves nothing behind. */
static pid_t start_child(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		for (;;)
			pause();
	}
	return pid;
}

/* A limit that is not counted by the kernel is seen only while it lasts. */
static void hold_on(int error)
{
	if (error)
		sleep(1);
}

/* forks COUNT: that many processes at once. The first refusal ends it. */
static int forks(int argc, char **argv)
{
	unsigned long wanted = attack_number(argc > 1 ? argv[1] : NULL), made = 0;
	int error = 0;

	while (made < wanted) {
		if (start_child() < 0) {
			error = errno;
			break;
		}
		made++;
	}
	printf("made %lu\n", made);
	hold_on(error);
	errno = error;
	return attack_verdict("fork", error ? -1 : 0);
}

/* bomb: every process forks for ever. Should the sandbox not hold it, 2,000 processes and 10 seconds are the end. */
static int bomb(int argc, char **argv)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NPROC, &limit);
	limit.rlim_cur = limit.rlim_max = limit.rlim_max < 2000 ? limit.rlim_max : 2000;
	if (setrlimit(RLIMIT_NPROC, &limit) < 0)
		return attack_broken("setrlimit");
	for (;;) {
		if (fork() == 0)
			alarm(10);
	}
}

/* forks-deep COUNT: a chain in which each process starts the next, each in a session of its own. */
static int forks_deep(int argc, char **argv)
{
	unsigned long wanted = attack_number(argc > 1 ? argv[1] : NULL);
	unsigned *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t first = getpid();
	int status;

	if (made == MAP_FAILED)
		return attack_broken("mmap");
	for (;;) {
		pid_t pid = *made < wanted ? fork() : -1;

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			setsid();
			++*made;
			continue;
		}
		if (pid > 0)
			waitpid(pid, &status, 0);
		else
			hold_on(1);
		break;
	}
	if (getpid() == first) {
		printf("made %u\n", *made);
		errno = EAGAIN;
		return attack_verdict("fork", *made < wanted ? -1 : 0);
	}
	_exit(0);
}

static void *sleep_long(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

/* threads COUNT: that many threads at once. */
static int threads(int argc, char **argv)
{
	unsigned long wanted = attack_number(argc > 1 ? argv[1] : NULL), made = 0;
	pthread_attr_t small;
	pthread_t thread;
	int error = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	while (made < wanted && (error = pthread_create(&thread, &small, sleep_long, NULL)) == 0)
		made++;
	printf("made %lu\n", made);
	hold_on(error);
	errno = error;
	return attack_verdict("pthread_create", error ? -1 : 0);
}

static int touch(char *at, size_t length)
{
	for (size_t i = 0; i < length; i += 4096)
		at[i] = 1;
	return 0;
}

/* Fills a descriptor of memory without mapping it: pages that no process's size shows. */
static int fill_descriptor(int fd, size_t length)
{
	static char block[1 << 20];

	memset(block, 1, sizeof(block));
	for (size_t done = 0; done < length; done += sizeof(block)) {
		if (write(fd, block, sizeof(block)) < 0)
			return -1;
	}
	return 0;
}

/* Memory in descriptors that are on their way: sent over a socket and closed, so that no process has them open. */
static int fill_in_flight(size_t length)
{
	size_t step = 16UL << 20;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	for (size_t done = 0; done < length; done += step) {
		char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
		struct iovec data = {&byte, 1};
		struct msghdr message = {
			.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		int fd = memfd_create("escape", MFD_CLOEXEC);

		if (fd < 0 || fill_descriptor(fd, step) < 0)
			return -1;
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
		if (sendmsg(pair[0], &message, 0) < 0)
			return -1;
		close(fd);
	}
	return 0;
}

/* Memory in the buffers of sockets that nobody reads: the kernel's own, in no process's size. */
static int fill_sockets(size_t length)
{
	static char block[4096];
	size_t done = 0;

	while (done < length) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
			return -1;
		for (int end = 0; end < 2; end++)
			while (write(pair[end], block, sizeof(block)) > 0)
				done += sizeof(block);
	}
	return 0;
}

static int take_memory(const char *kind, size_t length)
{
	int flags = strcmp(kind, "shared") == 0 ? MAP_SHARED : MAP_PRIVATE;
	void *at;

	if (strcmp(kind, "memfd") == 0) {
		int fd = memfd_create("escape", MFD_CLOEXEC);

		return fd < 0 ? -1 : fill_descriptor(fd, length);
	}
	if (strcmp(kind, "flight") == 0)
		return fill_in_flight(length);
	if (strcmp(kind, "sockets") == 0)
		return fill_sockets(length);
	if (strcmp(kind, "sysv") == 0) {
		int id = shmget(IPC_PRIVATE, length, IPC_CREAT | 0600);

		at = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
		if (id >= 0)
			shmctl(id, IPC_RMID, NULL);
		if (at == (void *)-1)
			return -1;
		return touch(at, length);
	}
	at = mmap(NULL, length, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	return at == MAP_FAILED ? -1 : touch(at, length);
}

/* memory KIND BYTES [PROCESSES]: takes and touches memory (private, shared, memfd, flight, sockets, sysv), holds it for
 * 2 seconds. */
static int memory(int argc, char **argv)
{
	size_t length = attack_number(argc > 2 ? argv[2] : NULL);
	unsigned long count = argc > 3 ? attack_number(argv[3]) : 1;
	int status, bad = 0;

	for (unsigned long i = 1; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return attack_verdict("fork", -1);
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (take_memory(argv[1], length) < 0)
				_exit(1);
			sleep(2);
			_exit(0);
		}
	}
	if (take_memory(argv[1], length) < 0)
		return attack_verdict("memory", -1);
	sleep(1);
	errno = ENOMEM;
	while (wait(&status) > 0)
		bad |= status;
	return attack_verdict("memory", bad ? -1 : 0);
}

/* sysv-keep BYTES: shared memory that stays when nobody is attached: in no process's size. */
static int sysv_keep(int argc, char **argv)
{
	size_t length = attack_number(argc > 1 ? argv[1] : NULL), step = 16UL << 20;

	for (size_t done = 0; done < length; done += step) {
		int id = shmget(IPC_PRIVATE, step, IPC_CREAT | 0600);
		char *at = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

		if (at == (char *)-1)
			return attack_verdict("shmget", -1);
		printf("id %d\n", id);
		touch(at, step);
		shmdt(at);
	}
	sleep(1);
	return attack_verdict("shmget", 0);
}

/* descriptors COUNT: that many open files in one process. */
static int descriptors(int argc, char **argv)
{
	unsigned long wanted = attack_number(argc > 1 ? argv[1] : NULL), made = 0;

	while (made < wanted && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		made++;
	printf("made %lu\n", made);
	return attack_verdict("open", made < wanted ? -1 : 0);
}

/* fill PATH BYTES: a file of that size, written. */
static int fill(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return attack_verdict("open", -1);
	signal(SIGXFSZ, SIG_IGN);
	return attack_verdict("write", fill_descriptor(fd, attack_number(argc > 2 ? argv[2] : NULL)));
}

/* files FOLDER COUNT: that many empty files. */
static int files(int argc, char **argv)
{
	unsigned long wanted = attack_number(argc > 2 ? argv[2] : NULL), made = 0;
	char path[512];

	for (; made < wanted; made++) {
		snprintf(path, sizeof(path), "%s/f%lu", argv[1], made);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0)
			break;
		close(fd);
	}
	printf("made %lu\n", made);
	return attack_verdict("open", made < wanted ? -1 : 0);
}

/* processors: asks for every processor there is; prints how many it may use then. */
static int processors(int argc, char **argv)
{
	unsigned long limit = attack_number(argc > 1 ? argv[1] : NULL);
	cpu_set_t all;
	int got;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return attack_broken("sched_getaffinity");
	got = CPU_COUNT(&all);
	printf("processors %d\n", got);
	errno = EPERM;
	return attack_verdict("sched_setaffinity", (unsigned long)got > limit ? 0 : -1);
}

static uint64_t clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* burn PROCESSES MS: spins that long, after asking for every processor; prints processor time per wall time in percent.
 */
static int burn(int argc, char **argv)
{
	unsigned long count = attack_number(argc > 1 ? argv[1] : NULL),
		      length = attack_number(argc > 2 ? argv[2] : NULL);
	uint64_t start = clock_ms(CLOCK_MONOTONIC), wall;
	cpu_set_t all, *ran = mmap(NULL, sizeof(*ran), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rusage usage;

	if (ran == MAP_FAILED)
		return attack_broken("mmap");
	memset(&all, 0xff, sizeof(all));
	for (unsigned long i = 0; i < count; i++) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			sched_setaffinity(0, sizeof(all), &all);
			while (clock_ms(CLOCK_MONOTONIC) - start < length)
				CPU_SET((size_t)sched_getcpu(), ran);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		continue;
	wall = clock_ms(CLOCK_MONOTONIC) - start;
	getrusage(RUSAGE_CHILDREN, &usage);
	printf("processors %d\n", CPU_COUNT(ran));
	printf("percent %llu\n",
	       (unsigned long long)((uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
				    (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000) *
		       100 / (wall ? wall : 1));
	return ATTACK_WORKED;
}

/* realtime POLICY: a scheduling class that starves everybody else (1 FIFO, 2 round robin), or a better priority. */
static int realtime(int argc, char **argv)
{
	struct sched_param parameter = {.sched_priority = 1};
	int policy = (int)attack_number(argc > 1 ? argv[1] : NULL), result;

	if (policy == 0)
		return attack_verdict("setpriority", setpriority(PRIO_PROCESS, 0, -5));
	result = sched_setscheduler(0, policy, &parameter);
	return attack_verdict("sched_setscheduler", result);
}

const struct attack attacks_res[] = {
	{"forks", forks},
	{"forks-deep", forks_deep},
	{"bomb", bomb},
	{"threads", threads},
	{"memory", memory},
	{"sysv-keep", sysv_keep},
	{"descriptors", descriptors},
	{"fill", fill},
	{"files", files},
	{"processors", processors},
	{"burn", burn},
	{"realtime", realtime},
	{NULL, NULL},
};
