/*
 * One program that tries one thing an attacker would try: `escape-attack NAME ARGS…`. The tests start it outside the
 * sandbox (the positive control) and inside. Its exit status says which of three things happened, so that a broken
 * attack can never pass for a refused one.
 */
#ifndef QSB_TESTS_ESCAPE_ATTACK_H
#define QSB_TESTS_ESCAPE_ATTACK_H

#include <stdint.h>

enum {
	ATTACK_WORKED = 0,  /* the attacker got what he wanted */
	ATTACK_REFUSED = 1, /* the system said no; stdout has "refused: CALL: ERRNO NAME" */
	ATTACK_BROKEN = 2   /* wrong arguments, or a step before the attack failed: no verdict */
};

struct attack {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the attack's name */
};

/* Each group's table ends with a NULL name. */
extern const struct attack attacks_tty[], attacks_proc[], attacks_privilege[], attacks_ipc[], attacks_net[],
	attacks_res[], attacks_sys[], attacks_sys_mount[], attacks_sys_race[], attacks_sys_oracle[], attacks_fs[],
	attacks_fail[], attacks_guard[], attacks_guard_race[], attacks_guard_random[], attacks_guard_kept[],
	attacks_guard_many[], attacks_guard_signals[], attacks_hold[];

/* The verdict of one call: negative `result` = refused, with errno. Prints it and returns ATTACK_*. */
int attack_verdict(const char *call, long result);
/* A step before the attack failed. Prints errno and returns ATTACK_BROKEN. */
int attack_broken(const char *step);

/* The path, with the components that QSB_NAMES names called otherwise. */
const char *attack_name(const char *path);
/* A number of any base; ends the program as broken when `text` is none. */
uint64_t attack_number(const char *text);

#endif
