/*
 * Random file calls, for comparing what they do with and without a guard: `guard-random SEED STEPS`, started in a
 * folder of its own. Every call's result and every open file's flags are printed; the same seed makes the same calls as
 * long as the answers are the same.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { FILES_MAX = 10, PATH_SIZE = 2 * PATH_MAX };

static uint64_t state;
static int files[FILES_MAX];
static unsigned file_count, step;
static char here[PATH_MAX], paths[2][PATH_SIZE];

static unsigned below(unsigned limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 11) % limit;
}

static const char *a_name(void)
{
	static const char *const names[] = {"a",  "b",  "c",  "d",   "e",           "f1",      "f2",
					    "l1", "l2", "l3", "sub", "x (deleted)", "\xc3\xa9"};

	return names[below(sizeof(names) / sizeof(*names))];
}

/* Where the path starts: here, by an absolute path, or by one of the detours of /proc. */
static void start_path(char *path)
{
	unsigned kind = below(24);

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
		snprintf(path, PATH_SIZE, below(2) ? "/proc/self/fd/%d/" : "/dev/fd/%d/", files[below(file_count)]);
	else if (kind == 7)
		for (int i = 0; i < 900; i++)
			strcat(path, "./");
}

static const char *a_path(int slot)
{
	char *path = paths[slot];
	unsigned kind = below(60), count;

	if (kind == 0)
		return "";
	if (kind == 1)
		return (const char *)(uintptr_t)8;
	if (kind == 2)
		return "/etc/passwd";
	if (kind == 3)
		return below(2) ? "/dev/null" : "/dev/full";
	if (kind == 4 && file_count > 0) {
		snprintf(path, PATH_SIZE, "/proc/self/fd/%d", files[below(file_count)]);
		return path;
	}
	start_path(path);
	count = 1 + (below(3) == 0) + (below(5) == 0);
	for (unsigned i = 0; i < count; i++) {
		unsigned dots = below(30);

		strcat(path, i ? "/" : "");
		strcat(path, dots == 0 ? ".." : dots == 1 ? "." : a_name());
	}
	strcat(path, below(16) == 0 ? "/" : "");
	return path;
}

static int a_folder(void)
{
	return file_count > 0 && below(3) == 0 ? files[below(file_count)] : below(60) ? AT_FDCWD : 77;
}

static int a_file(void)
{
	return file_count > 0 ? files[below(file_count)] : 77;
}

static int open_flags(void)
{
	static const int modes[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR};
	static const struct {
		unsigned one_in;
		int flag;
	} extra[] = {{2, O_CREAT},      {4, O_EXCL},    {6, O_TRUNC},    {6, O_APPEND}, {8, O_NOFOLLOW},
		     {12, O_DIRECTORY}, {3, O_CLOEXEC}, {20, O_NOATIME}, {20, O_SYNC}};
	int flags = modes[below(4)] | O_NONBLOCK;

	for (size_t i = 0; i < sizeof(extra) / sizeof(*extra); i++)
		if (below(extra[i].one_in) == 0)
			flags |= extra[i].flag;
	if (below(30) == 0)
		flags = (flags & ~O_CREAT) | O_TMPFILE;
	return flags;
}

static void tell(const char *call, const char *first, const char *second, long result)
{
	int number = errno;

	printf("%u %s %.40s %.40s = %ld %s\n", step, call, (uintptr_t)first < 4096 ? "?" : first,
	       !second || (uintptr_t)second < 4096 ? "" : second, result, result < 0 ? strerrorname_np(number) : "");
}

static void keep_file(long fd)
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

static mode_t a_mode(void)
{
	return below(4) ? 0644 | (below(2) ? 0111U : 0U) : 0600 | below(0200);
}

static void do_open(void)
{
	const char *path = a_path(0);
	int folder = a_folder(), flags = open_flags();
	long fd = syscall(SYS_openat, folder, path, flags, a_mode());
	int number = errno;

	printf("%u flags %o folder %d\n", step, flags, folder);
	errno = number;
	tell("open", path, NULL, fd);
	keep_file(fd);
}

static void do_make(void)
{
	const char *path = a_path(0), *other = a_path(1);
	int folder = a_folder();

	switch (below(6)) {
	case 0:
	case 1:
		tell("mkdir", path, NULL, syscall(SYS_mkdirat, folder, path, a_mode() | 0700U));
		break;
	case 2:
		tell("mknod", path, NULL, syscall(SYS_mknodat, folder, path, S_IFREG | a_mode(), 0));
		break;
	case 3:
		tell("mkfifo", path, NULL, syscall(SYS_mknodat, folder, path, S_IFIFO | a_mode(), 0));
		break;
	case 4:
		tell("symlink", other, path, syscall(SYS_symlinkat, other, folder, path));
		break;
	default:
		tell("link", other, path,
		     syscall(SYS_linkat, a_folder(), other, folder, path, below(2) ? AT_SYMLINK_FOLLOW : 0));
	}
}

static void do_move(void)
{
	const char *from = a_path(0), *to = a_path(1);
	int folder = a_folder();

	tell("rename", from, to, syscall(SYS_renameat2, folder, from, a_folder(), to, below(3) ? 0 : below(5)));
}

static void do_remove(void)
{
	const char *path = a_path(0);

	tell("remove", path, NULL, syscall(SYS_unlinkat, a_folder(), path, below(3) ? 0 : AT_REMOVEDIR));
}

static void do_change(void)
{
	const char *path = a_path(0);
	struct timespec times[2] = {{1000 + below(9), 5}, {2000, below(3) ? 7 : UTIME_OMIT}};
	int follow = below(3) ? 0 : AT_SYMLINK_NOFOLLOW;

	switch (below(8)) {
	case 0:
		tell("chmod", path, NULL, syscall(SYS_fchmodat, a_folder(), path, a_mode() | 0700U));
		break;
	case 1:
		tell("fchmod", "", NULL, fchmod(a_file(), a_mode() | 0600U));
		break;
	case 2:
		tell("utimens", path, NULL, syscall(SYS_utimensat, a_folder(), path, times, follow));
		break;
	case 3:
		tell("truncate", path, NULL, truncate(path, below(300)));
		break;
	case 4:
		tell("setxattr", path, NULL,
		     (below(2) ? setxattr : lsetxattr)(path, below(6) ? "user.k" : "trusted.k", "v", 1, 0));
		break;
	case 5:
		tell("removexattr", path, NULL, removexattr(path, "user.k"));
		break;
	case 6:
		tell("chown", path, NULL,
		     syscall(SYS_fchownat, a_folder(), path, below(2) ? (int)getuid() : -1, -1, follow));
		break;
	default:
		tell("fsetxattr", "", NULL, fsetxattr(a_file(), "user.f", "v", 1, 0));
	}
}

static void do_bind(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = a_path(0);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if ((uintptr_t)path > 4096)
		snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", path);
	tell("bind", path, NULL, bind(fd, (struct sockaddr *)&address, sizeof(address)));
	close(fd);
}

static void do_process(void)
{
	const char *path = a_path(0);
	char data[8] = "hello";

	switch (below(5)) {
	case 0:
		umask(below(2) ? 022 : below(0100));
		break;
	case 1:
		tell("chdir", path, NULL, syscall(SYS_chdir, path));
		break;
	case 2:
		tell("write", "", NULL, write(a_file(), data, 1 + below(5)));
		break;
	case 3:
		tell("read", "", NULL, read(a_file(), data, 4));
		break;
	default:
		if (file_count > 0)
			tell("close", "", NULL, close(files[--file_count]));
	}
}

/* The tree to begin with. */
static int prepare(void)
{
	int fd = open("f1", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, "one", 3) != 3 || close(fd) != 0 || mkdir("d", 0755) != 0 || mkdir("d/e", 0755) != 0 ||
	    mkdir("sub", 02775) != 0 || symlink("d", "l1") != 0 || symlink("f1", "l2") != 0 ||
	    symlink("nowhere", "l3") != 0 || symlink("l2", "d/l1") != 0 || mkdir("a", 0755) != 0)
		return -1;
	return 0;
}

static int random_calls(int argc, char **argv)
{
	static void (*const calls[])(void) = {do_open,   do_open,   do_open,   do_make, do_make,    do_move,
					      do_remove, do_change, do_change, do_bind, do_process, do_process};
	uint64_t seed = attack_number(argc > 2 ? argv[1] : NULL);
	unsigned steps = (unsigned)attack_number(argc > 2 ? argv[2] : NULL);
	struct rlimit size = {200, 200};

	state = (seed + 1) * 0x9E3779B97F4A7C15U;
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	umask(022);
	if (!getcwd(here, sizeof(here)) || prepare() != 0)
		return attack_broken("prepare");
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (below(6) == 0)
		setrlimit(RLIMIT_FSIZE, &size);
	for (step = 0; step < steps; step++)
		calls[below(sizeof(calls) / sizeof(*calls))]();
	return ATTACK_WORKED;
}

const struct attack attacks_guard_random[] = {{"guard-random", random_calls}, {NULL, NULL}};
