/*
 * Which system calls does this process have? libseccomp knows the names and numbers; each call is then really made, in
 * a child of its own, with every argument -1: it fails harmlessly once the kernel looks at it. One line a call:
 * NUMBER NAME ANSWER, where ANSWER is an errno name, "success", "exit", a signal's name or "waits".
 */
#include "attack.h"

#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Beyond every number that a kernel has today: what a filter says to calls of the future. */
enum { NUMBERS = 520, PATIENCE_MS = 300 };

struct answer {
	int done, error;
};

/* vhangup cannot fail for root, msgget makes a queue that stays, and a raw vfork would run on our stack. */
static bool cannot_be_tried(long number)
{
	return number == SYS_vhangup || number == SYS_msgget || number == SYS_vfork;
}

static void make_call(long number, volatile struct answer *answer)
{
	long result = syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);

	answer->error = result == -1 ? errno : 0;
	answer->done = 1;
	_exit(0);
}

static void describe(int status, const volatile struct answer *answer, char *text, size_t size)
{
	const char *name = answer->error ? strerrorname_np(answer->error) : "success";

	if (answer->done)
		snprintf(text, size, "%s", name ? name : "unknown");
	else if (WIFSIGNALED(status))
		snprintf(text, size, "SIG%s", sigabbrev_np(WTERMSIG(status)));
	else
		snprintf(text, size, "exit");
}

/* A call that waits for ever has reached the kernel as well. */
static void try_call(long number, volatile struct answer *answer, char *text, size_t size)
{
	struct timespec step = {.tv_nsec = 1000000};
	pid_t child;
	int status;

	answer->done = answer->error = 0;
	child = fork();
	if (child < 0) {
		snprintf(text, size, "fork failed");
		return;
	}
	if (child == 0)
		make_call(number, answer);
	for (int waited = 0; waited < PATIENCE_MS; waited++) {
		if (waitpid(child, &status, WNOHANG) == child) {
			describe(status, answer, text, size);
			return;
		}
		nanosleep(&step, NULL);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	snprintf(text, size, "waits");
}

/* oracle: the answers to all calls, one line each. */
static int ask_all(int argc, char **argv)
{
	struct answer *answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char text[32];

	(void)argc;
	(void)argv;
	if (answer == MAP_FAILED)
		return attack_broken("mmap");
	for (int number = 0; number < NUMBERS; number++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, number);

		if (!cannot_be_tried(number)) {
			try_call(number, answer, text, sizeof(text));
			printf("%d %s %s\n", number, name ? name : "-", text);
		}
		free(name);
	}
	return ATTACK_WORKED;
}

const struct attack attacks_sys_oracle[] = {
	{"oracle", ask_all},
	{NULL, NULL},
};
