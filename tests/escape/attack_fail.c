/* Failing closed: a host on which a mechanism is missing, made by a filter that is put before the program. */
#include "attack.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MOST_RULES = 64 };

static const unsigned low_word_of_first = offsetof(struct seccomp_data, args[0]);

/* "ERRNO:NUMBER" or "ERRNO:NUMBER&MASK": the call answers ERRNO, with a mask only when its first argument has one of
 * the bits. Appends to the filter; returns how many instructions. */
static unsigned short add_rule(struct sock_filter *at, const char *text)
{
	char *end;
	unsigned error = (unsigned)strtoul(text, &end, 0);
	unsigned number = *end == ':' ? (unsigned)strtoul(end + 1, &end, 0) : ~0U;
	unsigned mask = *end == '&' ? (unsigned)strtoul(end + 1, &end, 0) : 0;

	if (*end || number == ~0U) {
		errno = EINVAL;
		exit(attack_broken(text));
	}
	at[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	at[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, mask ? 3 : 1);
	if (mask) {
		at[2] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low_word_of_first);
		at[3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1);
	}
	at[mask ? 4 : 2] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA));
	return mask ? 5 : 3;
}

/* without RULES… -- COMMAND ARGS…: runs a command on a host without some system calls. */
static int without(int argc, char **argv)
{
	struct sock_filter filter[MOST_RULES * 5 + 1];
	struct sock_fprog program = {.filter = filter};
	int i = 1;

	for (; i < argc && i <= MOST_RULES && strcmp(argv[i], "--") != 0; i++)
		program.len = (unsigned short)(program.len + add_rule(filter + program.len, argv[i]));
	if (i + 1 >= argc || strcmp(argv[i], "--") != 0) {
		errno = EINVAL;
		return attack_broken("without RULES… -- COMMAND");
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return attack_broken("seccomp");
	execvp(argv[i + 1], argv + i + 1);
	return attack_broken(argv[i + 1]);
}

const struct attack attacks_fail[] = {
	{"without", without},
	{NULL, NULL},
};
