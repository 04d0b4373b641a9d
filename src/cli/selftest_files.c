/* The self-test's attacks on files, descriptors and the environment; and the keeper of its folder. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/selftest_attacks.h"
#include "core/cleanup.h"
#include "core/path.h"

enum { MEBIBYTE = 1 << 20 };

int qsb__attack_write(char *const *arguments)
{
	QSB_CLEANUP_FD int fd = open(arguments[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return errno;
	return write(fd, "changed", 7) == 7 ? 0 : errno;
}

static int compare(int fd, const char *expected)
{
	char text[128];
	ssize_t length = pread(fd, text, sizeof(text), 0);

	if (length < 0)
		return errno;
	return (size_t)length >= strlen(expected) && memcmp(text, expected, strlen(expected)) == 0 ? 0 : ENODATA;
}

int qsb__attack_read(char *const *arguments)
{
	QSB_CLEANUP_FD int fd = open(arguments[0], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : compare(fd, arguments[1]);
}

int qsb__attack_descriptor(char *const *arguments)
{
	return compare(atoi(arguments[0]), arguments[1]);
}

int qsb__attack_environment(char *const *arguments)
{
	const char *value = getenv(arguments[0]);

	return value && strcmp(value, arguments[1]) == 0 ? 0 : ENODATA;
}

int qsb__attack_rename(char *const *arguments)
{
	if (rename(arguments[0], arguments[1]) < 0)
		return errno;
	return rename(arguments[1], arguments[0]) < 0 ? -errno : 0;
}

/* Every call that can give a file its mode. */
int qsb__attack_setuid(char *const *arguments)
{
	enum { MODE = 04755 };
	struct stat status;
	QSB_CLEANUP_FD int fd = open(arguments[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	int created;

	if (fd < 0)
		return -errno;
	if (fchmod(fd, MODE) == 0 || chmod(arguments[0], MODE) == 0 || fchmodat(AT_FDCWD, arguments[0], MODE, 0) == 0)
		return fstat(fd, &status) == 0 && (status.st_mode & S_ISUID) ? 0 : EPERM;
	unlink(arguments[0]);
	created = open(arguments[0], O_WRONLY | O_CREAT | O_CLOEXEC, MODE);
	if (created < 0)
		return errno;
	close(created);
	return stat(arguments[0], &status) == 0 && (status.st_mode & S_ISUID) ? 0 : EPERM;
}

int qsb__attack_fill(char *const *arguments)
{
	static char block[MEBIBYTE];
	QSB_CLEANUP_FD int fd = open(arguments[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int fault = fd < 0 ? -errno : 0;

	memset(block, 'x', sizeof(block));
	for (int left = atoi(arguments[1]); left > 0 && fault == 0; left--) {
		ssize_t written = write(fd, block, sizeof(block));

		if (written < (ssize_t)sizeof(block))
			fault = written < 0 ? errno : ENOSPC;
	}
	unlink(arguments[0]);
	return fault;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	/* What cannot be removed now may be so later; the walk goes on. */
	remove(path);
	return 0;
}

static void remove_folder(const char *folder)
{
	enum { ATTEMPTS = 100, PAUSE_US = 20000, OPEN_FOLDERS = 16 };

	/* A process of the test that is about to die could still make a file. */
	for (int i = 0; i < ATTEMPTS && access(folder, F_OK) == 0; i++) {
		nftw(folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
		if (access(folder, F_OK) == 0)
			usleep(PAUSE_US);
	}
}

/*
 * Doctor may be killed at any moment, so that it cannot be the one that cleans up. This process outlives it: nobody can
 * reach it from the terminal, and it waits for the end of its input, which comes however doctor ends.
 */
int qsb__probe_keeper(char *const *arguments)
{
	const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP};
	char folder[QSB__PATH_MAX], byte;
	ssize_t got;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	setsid();
	if ((size_t)snprintf(folder, sizeof(folder), "%s/%sXXXXXX", arguments[0], QSB__PROBE_FOLDER) >=
		    sizeof(folder) ||
	    !mkdtemp(folder))
		return QSB__PROBE_CANNOT;
	puts(folder);
	fflush(stdout);
	close(STDOUT_FILENO);
	do
		got = read(STDIN_FILENO, &byte, 1);
	while (got > 0 || (got < 0 && errno == EINTR));
	remove_folder(folder);
	/* main() flushes a stream that must be open. */
	return open("/dev/null", O_WRONLY) == STDOUT_FILENO && access(folder, F_OK) != 0 ? 0 : QSB__PROBE_CANNOT;
}
