/*
 * Random file calls, for comparing what they do with and without a guard: `guard-random SEED STEPS`, started in a
 * folder of its own. Every call's result and every open file's flags are printed; the same seed makes the same calls as
 * long as the answers are the same.
 */
#include "attack.h"
#include "attack_guard_random.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES_MAX = 10, PATH_SIZE = 3 * PATH_MAX, PAGE = 4096, SHOWN = 48 };

static uint64_t state;
static int files[FILES_MAX];
static unsigned file_count, step;
static bool is_child;
static char here[PATH_MAX], paths[2][PATH_SIZE];
static const char *shown[2]; /* the paths of the present call, in words where they cannot be read */
static char *border[2];      /* two pages, with none behind them */

unsigned random_below(unsigned limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 11) % limit;
}

static const char *a_name(void)
{
	static char longest[NAME_MAX + 2];
	static const char *const names[] = {"a", "b", "c",  "d",  "e",  "f1",  "f2",          "a",        "b",
					    "c", "d", "l1", "l2", "l3", "sub", "x (deleted)", "\xc3\xa9", "acl"};
	unsigned odd = random_below(40);

	if (odd > 1)
		return names[random_below(sizeof(names) / sizeof(*names))];
	/* As long as a name may be, or one more. */
	memset(longest, 'n', sizeof(longest) - 1);
	longest[NAME_MAX + odd] = '\0';
	return longest;
}

/* Where the path starts: here, by an absolute path, or by one of the detours of /proc. */
static void start_path(char *path)
{
	unsigned kind = random_below(24);

	path[0] = '\0';
	if (kind < 3)
		snprintf(path, PATH_SIZE, "%s/", here);
	else if (kind == 3)
		strcpy(path, "/proc/self/cwd/");
	else if (kind == 4)
		strcpy(path, "/proc/thread-self/cwd/");
	else if (kind == 5)
		snprintf(path, PATH_SIZE, "/proc/self/root%s/", here);
	else if (kind == 6 && file_count > 0)
		snprintf(path, PATH_SIZE, random_below(2) ? "/proc/self/fd/%d/" : "/dev/fd/%d/",
			 files[random_below(file_count)]);
	else if (kind == 7)
		for (int i = random_below(4) ? 900 : 2100; i > 0; i--)
			strcat(path, "./");
}

/* The last byte of the path is the last of its page; one byte less of it, and it has no end. */
static const char *at_border(int slot, const char *path)
{
	size_t size = strlen(path) + 1;
	char *at;

	if (size > 2 * PAGE || !border[slot])
		return path;
	if (random_below(8) == 0) {
		size--;
		shown[slot] = "(no end)";
	}
	at = border[slot] + 2 * PAGE - size;
	memcpy(at, path, size);
	return at;
}

static const char *a_path(int slot)
{
	char *path = paths[slot];
	unsigned kind = random_below(64), count;

	if (kind == 0)
		return "";
	if (kind == 1 || kind == 2)
		return kind == 1 ? (const char *)(uintptr_t)8 : NULL;
	if (kind == 3)
		return random_below(3) ? "/etc/passwd" : "/";
	if (kind == 4)
		return random_below(2) ? "/dev/null" : "/dev/full";
	if (kind == 5 && file_count > 0) {
		snprintf(path, PATH_SIZE, "/proc/self/fd/%d", files[random_below(file_count)]);
		return path;
	}
	start_path(path);
	count = 1 + (random_below(3) == 0) + (random_below(5) == 0);
	for (unsigned i = 0; i < count; i++) {
		unsigned dots = random_below(30);

		strcat(path, i ? "/" : "");
		strcat(path, dots == 0 ? ".." : dots == 1 ? "." : a_name());
	}
	strcat(path, random_below(16) == 0 ? "/" : "");
	return path;
}

const char *random_path(int slot)
{
	const char *path = a_path(slot);

	shown[slot] = (uintptr_t)path < PAGE ? "?" : path;
	return (uintptr_t)path >= PAGE && random_below(12) == 0 ? at_border(slot, path) : path;
}

const char *random_words(int slot)
{
	return shown[slot];
}

int random_folder(void)
{
	return file_count > 0 && random_below(3) == 0 ? files[random_below(file_count)]
	       : random_below(60)                     ? AT_FDCWD
						      : 77;
}

int random_file(void)
{
	return file_count > 0 ? files[random_below(file_count)] : 77;
}

static int open_flags(void)
{
	static const int modes[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR};
	static const struct {
		unsigned one_in;
		int flag;
	} extra[] = {{2, O_CREAT},      {4, O_EXCL},    {6, O_TRUNC},    {6, O_APPEND}, {8, O_NOFOLLOW},
		     {12, O_DIRECTORY}, {3, O_CLOEXEC}, {20, O_NOATIME}, {20, O_SYNC}};
	int flags = modes[random_below(4)] | O_NONBLOCK;

	for (size_t i = 0; i < sizeof(extra) / sizeof(*extra); i++)
		if (random_below(extra[i].one_in) == 0)
			flags |= extra[i].flag;
	if (random_below(30) == 0)
		flags = random_below(4) ? (flags & ~O_CREAT) | O_TMPFILE : flags | O_TMPFILE;
	if (random_below(20) == 0)
		flags |= O_PATH;
	return random_below(60) ? flags : flags | (1 << 27);
}

/* The end of a path says most. */
static const char *end_of(const char *path)
{
	size_t length = strlen(path);

	return length > SHOWN ? path + length - SHOWN : path;
}

void random_tell(const char *call, unsigned which, long result)
{
	int number = errno;

	printf("%u %s %s %s = %ld %s\n", step, call, which & 1 ? end_of(shown[0]) : "",
	       which & 2 ? end_of(shown[1]) : "", result, result < 0 ? strerrorname_np(number) : "");
}

void random_keep(long fd)
{
	struct stat status;

	if (fd < 0)
		return;
	fstat((int)fd, &status);
	printf("   flags %o close %d mode %o size %ld\n", fcntl((int)fd, F_GETFL), fcntl((int)fd, F_GETFD),
	       status.st_mode, S_ISREG(status.st_mode) ? (long)status.st_size : 0L);
	if (file_count < FILES_MAX)
		files[file_count++] = (int)fd;
	else
		close((int)fd);
}

int random_inherited(void)
{
	return is_child ? AT_EMPTY_PATH : 0;
}

mode_t random_mode(void)
{
	return random_below(40) == 0 ? 0100644
	       : random_below(4)     ? 0644 | (random_below(2) ? 0111U : 0U)
				     : 0600 | random_below(0200);
}

static void do_open(void)
{
	const char *path = random_path(0);
	int folder = random_folder(), flags = open_flags();
	long fd = syscall(SYS_openat, folder, path, flags, random_mode());
	int number = errno;

	printf("%u flags %o folder %d\n", step, flags, folder);
	errno = number;
	random_tell("open", 1, fd);
	random_keep(fd);
}

static void do_make(void)
{
	const char *path = random_path(0), *other = random_path(1);
	int folder = random_folder();

	switch (random_below(6)) {
	case 0:
	case 1:
		random_tell("mkdir", 1, syscall(SYS_mkdirat, folder, path, random_mode() | 0700U));
		break;
	case 2:
		random_tell("mknod", 1, syscall(SYS_mknodat, folder, path, S_IFREG | random_mode(), 0));
		break;
	case 3:
		random_tell("mkfifo", 1, syscall(SYS_mknodat, folder, path, S_IFIFO | random_mode(), 0));
		break;
	case 4:
		random_tell("symlink", 3, syscall(SYS_symlinkat, other, folder, path));
		break;
	default:
		random_tell("link", 3,
			    syscall(SYS_linkat, random_folder(), other, folder, path,
				    random_below(2) ? AT_SYMLINK_FOLLOW : 0));
	}
}

static void do_move(void)
{
	const char *from = random_path(0), *to = random_path(1);
	int folder = random_folder();

	random_tell("rename", 3,
		    syscall(SYS_renameat2, folder, from, random_folder(), to, random_below(3) ? 0 : random_below(5)));
}

static void do_remove(void)
{
	const char *path = random_path(0);

	random_tell("remove", 1, syscall(SYS_unlinkat, random_folder(), path, random_below(3) ? 0 : AT_REMOVEDIR));
}

static void do_change(void)
{
	const char *path = random_path(0);

	switch (random_below(4)) {
	case 0:
		random_tell("chmod", 1, syscall(SYS_fchmodat, random_folder(), path, random_mode() | 0700U));
		break;
	case 1:
		random_tell("fchmod", 0, fchmod(random_file(), random_mode() | 0600U));
		break;
	case 2:
		/* A folder that nothing is made in, or that nobody looks into; one with the sticky bit. */
		random_tell("close folder", 1,
			    syscall(SYS_fchmodat, AT_FDCWD, path,
				    random_below(3)   ? 01777
				    : random_below(2) ? 0555
						      : 0666));
		break;
	default:
		random_tell("truncate", 1, truncate(path, random_below(10) ? (off_t)random_below(300) : -1));
	}
}

static void do_process(void)
{
	const char *path = random_path(0);
	char data[8] = "hello";

	switch (random_below(6)) {
	case 0:
		umask(random_below(2) ? 022 : random_below(0100));
		break;
	case 1:
		random_tell("chdir", 1, syscall(SYS_chdir, path));
		break;
	case 2:
		random_tell("write", 0, write(random_file(), data, 1 + random_below(5)));
		break;
	case 3:
		random_tell("fchdir", 0, fchdir(random_file()));
		break;
	case 4:
		random_tell("read", 0, read(random_file(), data, 4));
		break;
	default:
		if (file_count > 0)
			random_tell("close", 0, close(files[--file_count]));
	}
}

static const struct {
	void (*make)(void);
	unsigned weight;
} calls[] = {{do_open, 6},      {do_make, 4},         {do_move, 2},         {do_remove, 2},        {do_change, 2},
	     {do_process, 4},   {random_old_call, 5}, {random_new_call, 3}, {random_attribute, 3}, {random_times, 2},
	     {random_owner, 1}, {random_bind, 2},     {random_nameless, 2}};

static void any_call(void)
{
	unsigned total = 0, left;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		total += calls[i].weight;
	left = random_below(total);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (left < calls[i].weight) {
			calls[i].make();
			return;
		}
		left -= calls[i].weight;
	}
}

/* A thread with a working folder, umask and descriptors of its own: what it does there, others must not get. */
static void *alone(void *argument)
{
	if (unshare(CLONE_FS | CLONE_FILES) != 0)
		return argument;
	umask(random_below(0100));
	for (unsigned i = 0; i < 6; i++)
		any_call();
	return NULL;
}

static void in_a_thread(void)
{
	int kept[FILES_MAX];
	unsigned kept_count = file_count;
	pthread_t thread;
	void *failed = NULL;

	memcpy(kept, files, sizeof(kept));
	if (pthread_create(&thread, NULL, alone, kept) != 0 || pthread_join(thread, &failed) != 0 || failed)
		puts("no thread of its own");
	/* Its descriptors are gone with it, ours are as they were. */
	memcpy(files, kept, sizeof(kept));
	file_count = kept_count;
}

static void in_a_child(void)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		is_child = true;
		for (unsigned i = 0; i < 4; i++)
			any_call();
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	/* The same numbers once more would be the same calls. */
	random_below(2);
}

/* The tree to begin with. */
static int prepare(void)
{
	int fd = open("f1", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, "one", 3) != 3 || close(fd) != 0 || mkdir("d", 0755) != 0 || mkdir("d/e", 0755) != 0 ||
	    mkdir("sub", 02775) != 0 || symlink("d", "l1") != 0 || symlink("f1", "l2") != 0 ||
	    symlink("nowhere", "l3") != 0 || symlink("l2", "d/l1") != 0 || mkdir("a", 0755) != 0 ||
	    mkdir("acl", 0755) != 0)
		return -1;
	return 0;
}

static char *pages(void)
{
	char *at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED || mprotect(at + 2 * PAGE, PAGE, PROT_NONE) != 0 ? NULL : at;
}

/* Some sequences run out of what they may have. */
static void limit(void)
{
	const struct rlimit size = {200, 200}, descriptors = {16, 16};
	unsigned kind = random_below(8);

	if (kind == 0)
		setrlimit(RLIMIT_FSIZE, &size);
	if (kind == 1)
		setrlimit(RLIMIT_NOFILE, &descriptors);
}

static int random_calls(int argc, char **argv)
{
	uint64_t seed = attack_number(argc > 2 ? argv[1] : NULL);
	unsigned steps = (unsigned)attack_number(argc > 2 ? argv[2] : NULL);

	state = (seed + 1) * 0x9E3779B97F4A7C15U;
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	umask(022);
	border[0] = pages();
	border[1] = pages();
	if (!border[0] || !border[1] || !getcwd(here, sizeof(here)) || prepare() != 0)
		return attack_broken("prepare");
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	limit();
	for (step = 0; step < steps; step++) {
		unsigned who = random_below(25);

		if (who == 0)
			in_a_thread();
		else if (who == 1)
			in_a_child();
		else
			any_call();
	}
	return ATTACK_WORKED;
}

const struct attack attacks_guard_random[] = {{"guard-random", random_calls}, {NULL, NULL}};
