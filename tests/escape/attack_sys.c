/* System calls: reaching the kernel by calls that a sandbox takes away, by numbers, by old entries, by namespaces. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { X32_BIT = 0x40000000 };

/* A system call's argument: a number, "s:TEXT" = a pointer to TEXT, "b:N" = a pointer to N zero bytes, "self" = our
 * process id. */
static long argument(const char *text)
{
	void *bytes;

	if (strncmp(text, "s:", 2) == 0)
		return (long)(text + 2);
	if (strcmp(text, "self") == 0)
		return getpid();
	if (strncmp(text, "b:", 2) != 0)
		return (long)attack_number(text);
	bytes = calloc(1, attack_number(text + 2));
	if (!bytes)
		exit(attack_broken("calloc"));
	return (long)bytes;
}

static long call_by_number(int argc, char **argv)
{
	long values[6] = {0};

	for (int i = 0; i < 6 && i + 2 < argc; i++)
		values[i] = argument(argv[i + 2]);
	errno = 0;
	return syscall(argument(argc > 1 ? argv[1] : ""), values[0], values[1], values[2], values[3], values[4],
		       values[5]);
}

/* call NUMBER ARGS…: one system call that would do harm if it succeeded. */
static int call(int argc, char **argv)
{
	return attack_verdict(argc > 1 ? argv[1] : "call", call_by_number(argc, argv));
}

/* reach NUMBER ARGS…: a call whose arguments make it fail harmlessly, but only once the kernel looks at them. That
 * the answer is neither EPERM nor ENOSYS shows that the call is there to be used. */
static int reach(int argc, char **argv)
{
	long result = call_by_number(argc, argv);

	if (result < 0 && (errno == EPERM || errno == ENOSYS))
		return attack_verdict(argv[1], result);
	printf("worked: %s: reached the kernel: %s\n", argv[1], result < 0 ? strerrorname_np(errno) : "success");
	return ATTACK_WORKED;
}

/* int80 NUMBER ARG: a 32-bit system call, whose numbers a filter for 64-bit calls would misread. */
static int call_int80(int argc, char **argv)
{
	long result = (long)attack_number(argc > 1 ? argv[1] : NULL);
	long first = argc > 2 ? (long)attack_number(argv[2]) : 0;

	__asm__ volatile("int $0x80"
			 : "+a"(result)
			 : "b"(first), "c"(0), "d"(0), "S"(0), "D"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	if (result < 0) {
		errno = (int)-result;
		if (errno != EPERM && errno != ENOSYS) {
			printf("worked: int80: reached the kernel: %s\n", strerrorname_np(errno));
			return ATTACK_WORKED;
		}
	}
	return attack_verdict("int80", result < 0 ? -1 : result);
}

/* x32 NUMBER: the same number with the x32 bit, which an equality test on numbers would let pass. */
static int call_x32(int argc, char **argv)
{
	long number = (long)attack_number(argc > 1 ? argv[1] : NULL) | X32_BIT;

	return attack_verdict("x32", syscall(number, 0, 0, 0, 0, 0, 0));
}

static int forked_by_clone(unsigned long flags)
{
	return (int)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
}

static int forked_by_clone3(unsigned long flags)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args = {.flags = flags, .exit_signal = SIGCHLD};

	return (int)syscall(SYS_clone3, &args, sizeof(args));
}

/* namespace HOW FLAGS: makes new namespaces by clone, clone3 or unshare. */
static int new_namespace(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	unsigned long flags = attack_number(argc > 2 ? argv[2] : NULL);
	int pid;

	if (strcmp(how, "unshare") == 0)
		return attack_verdict("unshare", syscall(SYS_unshare, flags));
	/* A clone that asks for a thread as well takes the flag word through another path of a filter. */
	pid = strcmp(how, "clone3") == 0 ? forked_by_clone3(flags) : forked_by_clone(flags);
	if (pid == 0)
		_exit(0);
	return attack_verdict(how, pid);
}

/* A process in namespaces of its own, stopped; negative when the system allows none. */
static pid_t namespaced_child(unsigned long flags)
{
	int ready[2];
	char made = 0;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0) {
		made = syscall(SYS_unshare, flags) == 0;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(ready[1], &made, 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &made, 1) != 1 || !made)
		return -1;
	return pid;
}

/* join KIND FLAG: setns to another process's namespace, or to our own when none can be made. */
static int join_namespace(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "user";
	int flag = (int)attack_number(argc > 2 ? argv[2] : NULL);
	pid_t other = namespaced_child(CLONE_NEWUSER | (unsigned long)(unsigned)flag);
	char path[64];
	int user, fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", other > 0 ? other : getpid());
	user = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", other > 0 ? other : getpid(), kind);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || user < 0)
		return attack_broken(path);
	if (syscall(SYS_setns, user, CLONE_NEWUSER) && other > 0)
		return attack_verdict("setns", -1);
	return flag == CLONE_NEWUSER ? attack_verdict("setns", other > 0 ? 0 : -1)
				     : attack_verdict("setns", syscall(SYS_setns, fd, flag));
}

/* personality VALUE: sets it and reads it back. */
static int set_personality(int argc, char **argv)
{
	unsigned long value = attack_number(argc > 1 ? argv[1] : NULL);

	if (syscall(SYS_personality, value) < 0)
		return attack_verdict("personality", -1);
	if ((unsigned long)syscall(SYS_personality, 0xffffffffUL) != value) {
		errno = EPERM;
		return attack_verdict("personality (ignored)", -1);
	}
	return attack_verdict("personality", 0);
}

/* device PATH TYPE MAJOR MINOR [old]: makes a device node, by mknodat or mknod; one that came to be goes again. */
static int make_device(int argc, char **argv)
{
	mode_t mode = 0600 | (argc > 2 && argv[2][0] == 'b' ? S_IFBLK : S_IFCHR);
	dev_t number = makedev((unsigned)attack_number(argc > 3 ? argv[3] : NULL),
			       (unsigned)attack_number(argc > 4 ? argv[4] : NULL));
	long result = argc > 5 ? syscall(SYS_mknod, argv[1], mode, number)
			       : syscall(SYS_mknodat, AT_FDCWD, argv[1], mode, number);

	if (result == 0)
		unlink(argv[1]);
	return attack_verdict("mknod", result);
}

/* open-for-writing PATHS…: opens each file for writing and closes it without writing. Names those that let it. */
static int open_for_writing(int argc, char **argv)
{
	int opened = 0;

	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

		if (fd < 0) {
			printf("refused: %s: %s\n", argv[i], strerrorname_np(errno));
			continue;
		}
		printf("worked: %s\n", argv[i]);
		close(fd);
		opened++;
	}
	return opened ? ATTACK_WORKED : ATTACK_REFUSED;
}

static long walked, writable;

static int try_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	int fd;

	if (type != FTW_F || !S_ISREG(status->st_mode))
		return 0;
	walked++;
	fd = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	close(fd);
	writable++;
	if (writable < 20)
		printf("writable: %s\n", path);
	return 0;
}

/* walk-for-writing FOLDER: opens every file in it for writing and closes it without writing. */
static int walk_for_writing(int argc, char **argv)
{
	if (nftw(argc > 1 ? argv[1] : "", try_one, 32, FTW_PHYS) || !walked)
		return attack_broken("nftw");
	printf("files: %ld, writable: %ld\n", walked, writable);
	errno = EROFS;
	return attack_verdict("open", writable ? 0 : -1);
}

/* rewrite PATH: writes a file's own present content back to it. */
static int rewrite(int argc, char **argv)
{
	char text[4096];
	int in = open(argc > 1 ? argv[1] : "", O_RDONLY | O_CLOEXEC), out;
	ssize_t length;

	if (in < 0)
		return attack_verdict("open for reading", -1);
	length = read(in, text, sizeof(text));
	if (length < 0)
		return attack_broken("read");
	out = open(argv[1], O_WRONLY | O_CLOEXEC);
	if (out < 0)
		return attack_verdict("open for writing", -1);
	return attack_verdict("write", write(out, text, (size_t)length));
}

/* own-sysctl PATH: as rewrite, from user and network namespaces of our own where the system lets us have them. */
static int own_sysctl(int argc, char **argv)
{
	static const char map[] = "/proc/self/uid_map";
	char line[64];
	unsigned uid = getuid();
	int fd;

	if (syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC) == 0) {
		fd = open(map, O_WRONLY | O_CLOEXEC);
		snprintf(line, sizeof(line), "0 %u 1", uid);
		if (fd < 0 || write(fd, line, strlen(line)) < 0)
			return attack_broken(map);
		close(fd);
	}
	return rewrite(argc, argv);
}

const struct attack attacks_sys[] = {
	{"call", call},
	{"reach", reach},
	{"int80", call_int80},
	{"x32", call_x32},
	{"namespace", new_namespace},
	{"join", join_namespace},
	{"personality", set_personality},
	{"device", make_device},
	{"open-for-writing", open_for_writing},
	{"walk-for-writing", walk_for_writing},
	{"rewrite", rewrite},
	{"own-sysctl", own_sysctl},
	{NULL, NULL},
};
