#include "os/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/arguments.h"
#include "tap.h"

static struct qsb_error err;

static void test_check(void)
{
	int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int place = open("/etc/passwd", O_PATH | O_CLOEXEC);
	int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	int ends[2];

	tap_is_number(qsb__descriptor_check(folder, &err), QSB_E_DENIED, "a folder is no descriptor for a command");
	tap_is_number(qsb__descriptor_check(place, &err), QSB_E_DENIED, "neither is one that only names a place");
	tap_is_number(qsb__descriptor_check(file, &err), 0, "a file is");
	tap_ok(pipe2(ends, O_CLOEXEC) == 0 && qsb__descriptor_check(ends[0], &err) == 0, "a pipe is");
	close(file);
	tap_is_number(qsb__descriptor_check(file, &err), QSB_E_INVALID, "a closed one is none");
	close(folder);
	close(place);
	close(ends[0]);
	close(ends[1]);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* In a process of its own: the runner keeps its descriptors. Each bit of the answer is something that went wrong. */
static int keep_only(void)
{
	int keep[] = {40, 1, 30, 40, 20};
	int wrong = 0;

	for (int fd = 3; fd < 60; fd++)
		dup2(0, fd);
	dup2(0, 1500);
	if (qsb__descriptors_keep_only(keep, sizeof(keep) / sizeof(keep[0]), &err) != 0)
		return 1;
	for (int fd = 3; fd < 60; fd++) {
		bool kept = fd == 20 || fd == 30 || fd == 40;

		if (is_open(fd) != kept)
			wrong |= 2;
		if (kept && fcntl(fd, F_GETFD) != FD_CLOEXEC)
			wrong |= 4;
	}
	if (is_open(1500))
		wrong |= 8;
	if (!is_open(0) || !is_open(1) || !is_open(2) || (fcntl(1, F_GETFD) & FD_CLOEXEC))
		wrong |= 16;
	keep[0] = 50;
	if (qsb__descriptors_keep_only(keep, 1, &err) != QSB_E_INVALID)
		wrong |= 32;
	return wrong;
}

/* As on a kernel that does not know the call. */
static int keep_only_on_an_old_kernel(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 128;
	if (syscall(SYS_close_range, 100, 100, 0) == 0 || errno != ENOSYS)
		return 128;
	return keep_only();
}

static int open_streams(void)
{
	char nothing;

	close(0);
	close(2);
	if (qsb__standard_streams_open(&err) != 0)
		return 1;
	return !is_open(0) || !is_open(2) || read(0, &nothing, 1) != 0 || write(2, "x", 1) != 1;
}

static int wipe(void)
{
	char text[4096];
	int file;
	ssize_t length;

	qsb__program_arguments_wipe();
	file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	length = read(file, text, sizeof(text) - 1);
	close(file);
	if (length < 14 || memcmp(text, "qiming-sandbox", 14) != 0)
		return 1;
	for (ssize_t i = 14; i < length; i++)
		if (text[i] != '\0')
			return 2;
	file = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	length = read(file, text, sizeof(text));
	close(file);
	for (ssize_t i = 0; i < length; i++)
		if (text[i] != '\0')
			return 4;
	return 0;
}

static int in_child(int (*work)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(work());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
	/* A second start has arguments and an environment to wipe. */
	if (argc == 1) {
		char *const again[] = {argv[0], (char *)(uintptr_t) "--a", (char *)(uintptr_t) "secret argument", NULL};

		setenv("QSB_TEST_TOKEN", "secret", 1);
		execv("/proc/self/exe", again);
		return 1;
	}
	qsb__program_arguments_keep(argc, argv);
	test_check();
	tap_is_number(in_child(keep_only), 0, "all descriptors but the named ones are closed");
	tap_is_number(in_child(keep_only_on_an_old_kernel), 0, "also where the kernel has no call for it");
	tap_is_number(in_child(open_streams), 0, "closed streams become the null device");
	tap_is_number(in_child(wipe), 0, "the program's arguments and environment can be wiped");
	return tap_done();
}
