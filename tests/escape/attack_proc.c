/* Processes and descriptors: reaching what runs outside, or staying when the sandbox ends. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		continue;
}

/* What a folder of /proc/PID holds counts, not the numbers in it: the first entry whose link or text can be read. */
static int read_entries(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	char name[512], data[64];

	if (!folder)
		return attack_verdict("opendir", -1);
	errno = ENOENT;
	while ((entry = readdir(folder))) {
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (readlink(name, data, sizeof(data)) >= 0)
			return attack_verdict("readlink", 0);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0)
			return attack_verdict("read", read(fd, data, sizeof(data)));
	}
	return attack_verdict("entries", -1);
}

/* proc-read PATH: reads a file, what is in a folder, or a link; a file that opens but gives nothing is refused. */
static int read_any(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "";
	char data[4096];
	struct stat info;
	ssize_t got;
	int fd;

	got = readlink(path, data, sizeof(data));
	if (got >= 0)
		return attack_verdict("readlink", got);
	if (errno != EINVAL)
		return attack_verdict("readlink", -1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return attack_verdict("open", -1);
	if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
		return read_entries(path);
	got = read(fd, data, sizeof(data));
	if (got == 0)
		errno = ENODATA;
	return attack_verdict("read", got > 0 ? got : -1);
}

/* proc-memory PID ADDRESS: reads another process's memory through /proc/PID/mem. */
static int read_memory(int argc, char **argv)
{
	char path[64], data[16];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/mem", argc > 1 ? argv[1] : "1");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return attack_verdict("open", -1);
	return attack_verdict("pread", pread(fd, data, sizeof(data), (off_t)attack_number(argc > 2 ? argv[2] : "0")));
}

static int contains(const char *path, const char *needle)
{
	static char data[1 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	while (length < sizeof(data) && (got = read(fd, data + length, sizeof(data) - length)) > 0)
		length += (size_t)got;
	close(fd);
	return memmem(data, length, needle, strlen(needle)) != NULL;
}

/* find-text FIRST SECOND: looks for FIRST followed by SECOND in every other process's environment, arguments and
 * the like. In two pieces, so that our own arguments are no find. */
static int find_text(int argc, char **argv)
{
	static const char *const files[] = {"environ", "cmdline", "comm", "mountinfo", "cgroup", "status"};
	char needle[512], path[600];
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!proc || argc < 3)
		return attack_broken("opendir");
	snprintf(needle, sizeof(needle), "%s%s", argv[1], argv[2]);
	while ((entry = readdir(proc))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || atoi(entry->d_name) == getpid())
			continue;
		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
			snprintf(path, sizeof(path), "/proc/%s/%s", entry->d_name, files[i]);
			if (contains(path, needle)) {
				printf("found in %s\n", path);
				return attack_verdict("find", 0);
			}
		}
	}
	errno = ENOENT;
	return attack_verdict("find", -1);
}

static long call_ptrace(pid_t pid)
{
	return ptrace(PTRACE_SEIZE, pid, NULL, NULL);
}

static long call_vm_read(pid_t pid)
{
	char data[8], path[64];
	unsigned long address = 0;
	FILE *maps;
	struct iovec local = {data, sizeof(data)}, remote = {NULL, sizeof(data)};

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (maps && fscanf(maps, "%lx", &address) != 1)
		address = 0;
	if (maps)
		fclose(maps);
	memcpy(&remote.iov_base, &address, sizeof(address));
	return process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

static long call_pidfd_open(pid_t pid)
{
	return syscall(SYS_pidfd_open, pid, 0);
}

static long call_pidfd_getfd(pid_t pid)
{
	long pidfd = call_pidfd_open(pid);

	return pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, 0, 0);
}

static long call_prlimit(pid_t pid)
{
	struct rlimit limit;

	if (prlimit(pid, RLIMIT_CORE, NULL, &limit) < 0)
		return -1;
	return prlimit(pid, RLIMIT_CORE, &limit, NULL);
}

static long call_setpriority(pid_t pid)
{
	return setpriority(PRIO_PROCESS, (id_t)pid, 19);
}

static long call_affinity(pid_t pid)
{
	cpu_set_t set;

	return sched_getaffinity(pid, sizeof(set), &set) < 0 ? -1 : sched_setaffinity(pid, sizeof(set), &set);
}

static long call_scheduler(pid_t pid)
{
	struct sched_param parameter = {0};

	return sched_setscheduler(pid, SCHED_BATCH, &parameter);
}

static long call_ioprio(pid_t pid)
{
	return syscall(SYS_ioprio_set, 1, pid, 3 << 13); /* who: process; class: idle */
}

static long call_kill(pid_t pid)
{
	return kill(pid, SIGCONT);
}

static long call_tgkill(pid_t pid)
{
	return syscall(SYS_tgkill, pid, pid, SIGCONT);
}

static long call_sigqueue(pid_t pid)
{
	union sigval value = {0};

	return sigqueue(pid, SIGCONT, value);
}

static long call_pidfd_signal(pid_t pid)
{
	long pidfd = call_pidfd_open(pid);

	return pidfd < 0 ? -1 : syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, NULL, 0);
}

static long call_getpgid(pid_t pid)
{
	return getpgid(pid);
}

static long call_robust_list(pid_t pid)
{
	void *head;
	size_t length;

	return syscall(SYS_get_robust_list, pid, &head, &length);
}

static long call_migrate(pid_t pid)
{
	unsigned long nodes = 1;

	return syscall(SYS_migrate_pages, pid, sizeof(nodes) * 8, &nodes, &nodes);
}

static long call_move_pages(pid_t pid)
{
	return syscall(SYS_move_pages, pid, 0, NULL, NULL, NULL, 0);
}

static const struct {
	const char *name;
	long (*call)(pid_t pid);
} process_calls[] = {
	{"ptrace", call_ptrace},
	{"process_vm_readv", call_vm_read},
	{"pidfd_open", call_pidfd_open},
	{"pidfd_getfd", call_pidfd_getfd},
	{"prlimit", call_prlimit},
	{"setpriority", call_setpriority},
	{"sched_setaffinity", call_affinity},
	{"sched_setscheduler", call_scheduler},
	{"ioprio_set", call_ioprio},
	{"kill", call_kill},
	{"tgkill", call_tgkill},
	{"rt_sigqueueinfo", call_sigqueue},
	{"pidfd_send_signal", call_pidfd_signal},
	{"getpgid", call_getpgid},
	{"get_robust_list", call_robust_list},
	{"migrate_pages", call_migrate},
	{"move_pages", call_move_pages},
};

/* on-process CALL PID: a call that looks into or changes another process. */
static int on_process(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(process_calls) / sizeof(*process_calls); i++) {
		if (strcmp(process_calls[i].name, argv[1]) == 0) {
			errno = 0;
			return attack_verdict(argv[1], process_calls[i].call((pid_t)attack_number(argv[2])));
		}
	}
	return attack_broken("no such call");
}

/* kill-group SIGNAL: signals the process group that it was started in, itself shielded. */
static int kill_group(int argc, char **argv)
{
	int number = (int)attack_number(argc > 1 ? argv[1] : NULL);
	pid_t child = fork();

	if (child < 0)
		return attack_broken("fork");
	if (child == 0) {
		pause_ms(100); /* for the parent's exit status to be out of the way */
		kill(0, number);
		_exit(0);
	}
	signal(number, SIG_IGN);
	waitpid(child, NULL, 0);
	return attack_verdict("kill", 0);
}

/* nice-group: changes the priority of the process group that it was started in. */
static int nice_group(int argc, char **argv)
{
	return attack_verdict("setpriority", setpriority(PRIO_PGRP, 0, 17));
}

/* kill-all: signals every process there is, one at least. Never outside a process namespace of its own. */
static int kill_all(int argc, char **argv)
{
	if (fork() == 0) {
		for (;;)
			pause();
	}
	return attack_verdict("kill", kill(-1, SIGKILL));
}

/* read-fd FD, list-fd FD, write-fd FD: uses an inherited descriptor. */
static int read_fd(int argc, char **argv)
{
	char data[64];

	return attack_verdict("read", pread((int)attack_number(argc > 1 ? argv[1] : NULL), data, sizeof(data), 0));
}

static int open_below_fd(int argc, char **argv)
{
	int fd = (int)attack_number(argc > 1 ? argv[1] : NULL);

	return attack_verdict("openat", openat(fd, argc > 2 ? argv[2] : "", O_RDONLY | O_CLOEXEC));
}

static int write_fd(int argc, char **argv)
{
	return attack_verdict("send", send((int)attack_number(argc > 1 ? argv[1] : NULL), "pwned", 5, MSG_NOSIGNAL));
}

/* open-fds: prints every open descriptor above 2 and what it is; refused = there is none. */
static int open_descriptors(int argc, char **argv)
{
	char path[64], target[256];
	struct rlimit limit;
	struct stat info;
	int found = 0;

	getrlimit(RLIMIT_NOFILE, &limit);
	/* A descriptor may lie above a limit that was lowered later; 200,000 covers what the tests leave open. */
	for (int fd = 3; fd < 200000; fd++) {
		ssize_t length;

		if (fstat(fd, &info) < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		length = readlink(path, target, sizeof(target) - 1);
		printf("open %d %.*s\n", fd, length < 0 ? 1 : (int)length, length < 0 ? "?" : target);
		found++;
	}
	errno = EBADF;
	return attack_verdict("fstat", found ? found : -1);
}

static void beat(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	for (;;) {
		if (write(fd, ".", 1) < 0)
			_exit(0);
		pause_ms(10);
	}
}

/* heart FILE: writes a dot every 10 ms, whatever signal comes. */
static int heart(int argc, char **argv)
{
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_IGN);
	beat(argc > 1 ? argv[1] : "heart");
	return ATTACK_BROKEN;
}

/* daemon FILE [keep]: a daemon by double fork and setsid that ignores every signal; keep = it holds the streams. */
static int make_daemon(int argc, char **argv)
{
	pid_t child = fork();

	if (child < 0)
		return attack_broken("fork");
	if (child > 0) {
		struct stat info;

		waitpid(child, NULL, 0);
		while (stat(argv[1], &info) < 0 || info.st_size == 0)
			pause_ms(5);
		return attack_verdict("setsid", 0);
	}
	if (setsid() < 0 || fork() != 0)
		_exit(0);
	for (int fd = 0; argc < 3 && fd < 3; fd++)
		close(fd);
	return heart(argc, argv);
}

const struct attack attacks_proc[] = {
	{"proc-read", read_any},          {"proc-memory", read_memory},
	{"find-text", find_text},         {"on-process", on_process},
	{"kill-group", kill_group},       {"nice-group", nice_group},
	{"kill-all", kill_all},           {"read-fd", read_fd},
	{"open-below-fd", open_below_fd}, {"write-fd", write_fd},
	{"open-fds", open_descriptors},   {"heart", heart},
	{"daemon", make_daemon},          {NULL, NULL},
};
