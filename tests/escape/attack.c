/* The table of attacks, and how they tell what happened. */
#include "attack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct attack *const groups[] = {
	attacks_tty,        attacks_proc,       attacks_privilege,     attacks_ipc,        attacks_net,
	attacks_res,        attacks_sys,        attacks_sys_mount,     attacks_sys_race,   attacks_sys_oracle,
	attacks_fs,         attacks_fail,       attacks_guard,         attacks_guard_race, attacks_guard_random,
	attacks_guard_kept, attacks_guard_many, attacks_guard_signals, attacks_hold,
};

int attack_verdict(const char *call, long result)
{
	int number = errno;

	if (result < 0) {
		printf("refused: %s: %s\n", call, strerrorname_np(number) ? strerrorname_np(number) : "?");
		return ATTACK_REFUSED;
	}
	printf("worked: %s\n", call);
	return ATTACK_WORKED;
}

int attack_broken(const char *step)
{
	printf("broken: %s: %s\n", step, strerror(errno));
	return ATTACK_BROKEN;
}

uint64_t attack_number(const char *text)
{
	char *end;
	uint64_t value = text ? strtoull(text, &end, 0) : 0;

	if (!text || end == text || *end) {
		printf("broken: not a number: %s\n", text ? text : "(none)");
		exit(ATTACK_BROKEN);
	}
	return value;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t group = 0; argc > 1 && group < sizeof(groups) / sizeof(*groups); group++) {
		for (const struct attack *attack = groups[group]; attack->name; attack++) {
			if (strcmp(attack->name, argv[1]) == 0)
				return attack->run(argc - 1, argv + 1);
		}
	}
	printf("broken: no such attack: %s\n", argc > 1 ? argv[1] : "(none)");
	return ATTACK_BROKEN;
}
