/*
 * Signals that meet a call on its way, for comparing with and without a guard: `guard-signals`. What each call answered
 * is printed, and nothing that depends on the moment.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STORM_CALLS = 7000, STORM_EVERY_US = 150, SOON_US = 100000 };

static char pipe_name[] = "/tmp/signals";
static atomic_uint handled;

static void count(int number)
{
	handled++;
}

static void handle(int number, int flags)
{
	struct sigaction action = {.sa_handler = count, .sa_flags = flags};

	sigaction(number, &action, NULL);
}

static void every(long first_us, long then_us)
{
	struct itimerval timer = {.it_value = {0, first_us}, .it_interval = {0, then_us}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void tell(const char *what, long result)
{
	int number = errno;

	printf("%s: %s%s\n", what, result < 0 ? strerrorname_np(number) : "done", handled ? ", handled" : "");
	handled = 0;
	if (result > 2)
		close((int)result);
}

/* Opens the other end after a while. */
static pid_t come_later(int flags)
{
	pid_t child = fork();

	if (child == 0) {
		usleep(3 * SOON_US);
		close(open(pipe_name, flags));
		_exit(0);
	}
	return child;
}

static void meet(const char *what, int flags, int handler_flags, bool later)
{
	pid_t child = later ? come_later(flags == O_RDONLY ? O_WRONLY : O_RDONLY) : 0;

	handle(SIGALRM, handler_flags);
	every(SOON_US, 0);
	tell(what, open(pipe_name, flags));
	every(0, 0);
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void ignored_and_blocked(void)
{
	sigset_t alarm;
	pid_t child = come_later(O_WRONLY);

	signal(SIGALRM, SIG_IGN);
	every(SOON_US, 0);
	tell("a reader, the signal ignored", open(pipe_name, O_RDONLY));
	waitpid(child, NULL, 0);
	handle(SIGALRM, 0);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	child = come_later(O_WRONLY);
	every(SOON_US, 0);
	tell("a reader, the signal blocked", open(pipe_name, O_RDONLY));
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	tell("and then let through", 0);
	waitpid(child, NULL, 0);
}

/* A child that waits in its open gets a signal. */
static void to_a_child(const char *what, int number, int flags)
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		int fd = open(pipe_name, flags);

		_exit(fd >= 0 ? 7 : 8);
	}
	usleep(SOON_US);
	kill(child, number);
	if (number == SIGSTOP) {
		usleep(SOON_US);
		kill(child, SIGCONT);
		usleep(SOON_US);
		close(open(pipe_name, flags == O_RDONLY ? O_WRONLY : O_RDONLY));
	}
	waitpid(child, &status, 0);
	printf("%s: %s %d\n", what, WIFEXITED(status) ? "exit" : "signal",
	       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	/* Nobody may be left behind at the other end. */
	usleep(SOON_US / 2);
	tell("and its end is gone", open(pipe_name, O_WRONLY | O_NONBLOCK));
}

static void *wait_in_open(void *argument)
{
	tell("a thread's open", open(pipe_name, O_RDONLY));
	return argument;
}

static void to_a_thread(void)
{
	pthread_t thread;

	handle(SIGUSR1, 0);
	if (pthread_create(&thread, NULL, wait_in_open, NULL) != 0)
		return;
	usleep(SOON_US);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
}

/* One after another; each fails when it is made twice. */
static long make_call(unsigned turn)
{
	long fd;

	switch (turn) {
	case 0:
		fd = open("storm", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
		return fd < 0 ? -1 : close((int)fd);
	case 1:
		return link("storm", "storm1");
	case 2:
		return rename("storm", "storm2");
	case 3:
		return unlink("storm2");
	case 4:
		return unlink("storm1");
	case 5:
		return mkdir("storm-folder", 0755);
	default:
		return rmdir("storm-folder");
	}
}

/* A call that a guard has not taken up yet may be interrupted where the kernel's own never is: then nothing of it was
 * done, and it is made again. */
static void storm(const char *what, int handler_flags)
{
	unsigned made = 0;
	bool good = true;

	handle(SIGALRM, handler_flags);
	every(STORM_EVERY_US, STORM_EVERY_US);
	while (made < STORM_CALLS && good) {
		long result = make_call(made % 7);

		good = result >= 0 || errno == EINTR;
		made += result >= 0;
	}
	every(0, 0);
	printf("%s: %u%s%s\n", what, made, good ? "" : ", ", good ? "" : strerrorname_np(errno));
	handled = 0;
}

static int signals(int argc, char **argv)
{
	if (mkfifo(pipe_name, 0600) != 0)
		return attack_broken("mkfifo");
	meet("a reader is interrupted", O_RDONLY, 0, false);
	meet("a writer is interrupted", O_WRONLY, 0, false);
	meet("a reader goes on", O_RDONLY, SA_RESTART, true);
	meet("a writer goes on", O_WRONLY, SA_RESTART, true);
	ignored_and_blocked();
	to_a_child("a reader is killed", SIGKILL, O_RDONLY);
	to_a_child("a writer is killed", SIGKILL, O_WRONLY);
	to_a_child("a reader is ended", SIGTERM, O_RDONLY);
	to_a_child("a reader is stopped and goes on", SIGSTOP, O_RDONLY);
	to_a_child("a writer is stopped and goes on", SIGSTOP, O_WRONLY);
	to_a_thread();
	storm("a storm of signals, restarting", SA_RESTART);
	storm("a storm of signals, interrupting", 0);
	return ATTACK_WORKED;
}

const struct attack attacks_guard_signals[] = {{"guard-signals", signals}, {NULL, NULL}};
