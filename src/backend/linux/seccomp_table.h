/* Which system calls are refused, and how: data for seccomp.c. */
#ifndef QSB_LINUX_SECCOMP_TABLE_H
#define QSB_LINUX_SECCOMP_TABLE_H

#include <stddef.h>

enum qsb__call_rule {
	QSB__CALL_REFUSE, /* EPERM */
	QSB__CALL_TELL,   /* EPERM by the supervisor, which tells of it; seldom called, so that it may cost a stop */
	QSB__CALL_ABSENT, /* ENOSYS: programs then take an older way */
	QSB__CALL_NAMESPACES, /* clone, unshare: refused with a namespace flag in argument 0 */
	QSB__CALL_SOCKET,     /* the families and types that stay inside */
	QSB__CALL_SOCKETPAIR,
	QSB__CALL_IOCTL, /* terminal injection and console keys refused */
	QSB__CALL_PERSONALITY,
	QSB__CALL_FCNTL,  /* leases refused */
	QSB__CALL_MODE_1, /* argument 1 is a file mode: no setuid, no setgid */
	QSB__CALL_MODE_2,
	QSB__CALL_OPEN_2,     /* flags in argument 1, mode in 2 */
	QSB__CALL_OPEN_3,     /* flags in argument 2, mode in 3 */
	QSB__CALL_ASK_MEMORY, /* the supervisor answers, when it watches memory; else allowed */
	QSB__CALL_ASK_CPUS,   /* the same for processors held by affinity */
	QSB__CALL_ASK,        /* the supervisor answers */
	/* Only with live rules: the same checks first, then the supervisor. */
	QSB__CALL_ASK_MODE_1,
	QSB__CALL_ASK_MODE_2,
	QSB__CALL_ASK_OPEN_2, /* opens that can change something */
	QSB__CALL_ASK_OPEN_3,
	QSB__CALL_ASK_READ_2, /* every open but O_PATH's */
	QSB__CALL_ASK_READ_3,
	QSB__CALL_ASK_PATH_1,   /* argument 1 is a path, or NULL: then it is no name that changes */
	QSB__CALL_NO_ATTRIBUTE, /* EOPNOTSUPP */
	QSB__CALL_GUARDED_IOCTL,
	QSB__CALL_GUARDED_CLONE,
	QSB__CALL_GUARDED_FCNTL,
	QSB__CALL_KINDS
};

struct qsb__call {
	int number;
	enum qsb__call_rule rule;
	unsigned char nested; /* still allowed when the policy allows a sandbox inside */
};

extern const struct qsb__call qsb__calls[];
extern const size_t qsb__call_count;

/*
 * Refused calls that are told: those with which a program tries for something that the sandbox is there to withhold,
 * and whose loss somebody may have to understand. Not the ones that ordinary programs make by the way or by the
 * thousand (kcmp of graphics libraries, move_pages of allocators, leases, console queries, set-id bits of an unpacked
 * archive), nor those that are absent by design (io_uring, clone3): programs take another way then.
 */
struct qsb__told_call {
	int number;
	const char *name, *reason;
};

extern const struct qsb__told_call qsb__told_calls[];
extern const size_t qsb__told_call_count;

/* What live rules by name need instead: calls that the guard makes, and none that go past it. The last of the two lists
 * only where a rule denies reading. */
extern const struct qsb__call qsb__guarded_calls[], qsb__guarded_reads[];
extern const size_t qsb__guarded_call_count, qsb__guarded_read_count;

/* The newest system call that was looked at; later ones answer ENOSYS until somebody has. */
extern const int qsb__call_last;

#endif
