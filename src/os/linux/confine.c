/* Landlock for files, sockets and signals; a list of system calls for the rest; no capabilities. */
#include "os/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "backend/linux/abi.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "os/capabilities.h"

enum { ABI_REFER = 2, ABI_TRUNCATE = 3, ABI_NETWORK = 4, ABI_DEVICES = 5, ABI_SCOPES = 6 };

#define EVERY_FILE_RIGHT                                                                                \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |    \
	 LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |     \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |  \
	 LANDLOCK_ACCESS_FS_MAKE_SYM)

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the system calls of this processor have no list yet"
#endif

static int version(void)
{
	long found = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return found > 0 ? (int)found : 0;
}

static int shut_files(int abi, struct qsb_error *err)
{
	struct qsb__landlock_ruleset rules = {
		.handled_access_fs = EVERY_FILE_RIGHT,
		.handled_access_net = abi >= ABI_NETWORK ? QSB__LANDLOCK_NET_BIND_TCP : 0,
		.scoped = abi >= ABI_SCOPES ? QSB__LANDLOCK_SCOPE_ABSTRACT_UNIX | QSB__LANDLOCK_SCOPE_SIGNAL : 0,
	};
	QSB_CLEANUP_FD int ruleset = -1;
	int code = 0;

	rules.handled_access_fs |= abi >= ABI_REFER ? LANDLOCK_ACCESS_FS_REFER : 0;
	rules.handled_access_fs |= abi >= ABI_TRUNCATE ? LANDLOCK_ACCESS_FS_TRUNCATE : 0;
	rules.handled_access_fs |= abi >= ABI_DEVICES ? QSB__LANDLOCK_FS_IOCTL_DEV : 0;
	/* A kernel older than a field wants it left out. */
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules,
			       abi >= ABI_SCOPES    ? sizeof(rules)
			       : abi >= ABI_NETWORK ? offsetof(struct qsb__landlock_ruleset, scoped)
						    : offsetof(struct qsb__landlock_ruleset, handled_access_net),
			       0);
	if (ruleset < 0)
		return qsb__fail_os(err, errno, "broker", "cannot make the broker's Landlock rules");
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
		code = qsb__fail_os(err, errno, "broker", "cannot confine the broker with Landlock");
	return code;
}

/* A socket of any other family, or a raw one, is another way out. */
static const int calls[] = {
	/* sockets */
	SYS_connect,
	SYS_accept4,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_sendto,
	SYS_sendmsg,
	SYS_recvmmsg,
	SYS_sendmmsg,
	SYS_shutdown,
	SYS_getsockname,
	SYS_getpeername,
	SYS_getsockopt,
	SYS_setsockopt,
	/* bytes */
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_splice,
	SYS_pipe2,
	SYS_lseek,
	SYS_fstat,
	SYS_close,
	/* waiting */
	SYS_epoll_pwait,
	SYS_epoll_ctl,
	SYS_ppoll,
	SYS_restart_syscall,
#ifdef SYS_poll
	SYS_poll,
	SYS_epoll_wait,
#endif
	SYS_futex,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_gettimeofday,
	/* memory */
	SYS_brk,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_getrandom,
	/* itself */
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_rt_sigaction,
	SYS_sigaltstack,
	SYS_getpid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_uname,
	SYS_wait4,
	SYS_exit,
	SYS_exit_group,
};

enum { CALL_COUNT = sizeof(calls) / sizeof(calls[0]), PROGRAM_MAX = CALL_COUNT + 80 };

struct program {
	struct sock_filter list[PROGRAM_MAX];
	unsigned short length;
};

static void emit(struct program *program, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
	program->list[program->length++] = (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = value};
}

static void load(struct program *program, size_t offset)
{
	emit(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct program *program, uint32_t value)
{
	emit(program, BPF_RET | BPF_K, value, 0, 0);
}

/* socket(): IPv4 and IPv6, streams and datagrams, of their usual protocol. */
static void emit_socket_rule(struct program *program)
{
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 14);
	load(program, offsetof(struct seccomp_data, args[2]));
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, 6, 2, 0);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, 17, 1, 0);
	answer(program, SECCOMP_RET_ERRNO | EACCES);
	load(program, offsetof(struct seccomp_data, args[1]));
	emit(program, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 1, 0);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 3);
	load(program, offsetof(struct seccomp_data, args[0]));
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, 2, 2, 0);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, 10, 1, 0);
	answer(program, SECCOMP_RET_ERRNO | EACCES);
	answer(program, SECCOMP_RET_ALLOW);
}

/* A call whose argument must be one of these values; its lower half is all that the kernel looks at. */
struct limited {
	uint32_t call;
	uint8_t argument, count;
	uint32_t mask;
	uint32_t values[6];
};

static void emit_limited(struct program *program, const struct limited *limited)
{
	bool masked = limited->mask != 0;

	emit(program, BPF_JMP | BPF_JEQ | BPF_K, limited->call, 0, (uint8_t)(limited->count + 3 + masked));
	load(program, offsetof(struct seccomp_data, args[0]) + limited->argument * sizeof(uint64_t));
	if (masked)
		emit(program, BPF_ALU | BPF_AND | BPF_K, limited->mask, 0, 0);
	for (uint8_t i = 0; i < limited->count; i++)
		emit(program, BPF_JMP | BPF_JEQ | BPF_K, limited->values[i], (uint8_t)(limited->count - i), 0);
	answer(program, SECCOMP_RET_ERRNO | EPERM);
	answer(program, SECCOMP_RET_ALLOW);
}

/*
 * fcntl() and ioctl() also give a descriptor to a process that then gets its signals, of a kind that can be chosen;
 * where Landlock is old, any signal reaches whoever belongs to the same user. And no memory becomes code.
 */
static void emit_limits(struct program *program)
{
	const struct limited limits[] = {
		{SYS_fcntl, 1, 6, 0, {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_SETPIPE_SZ, F_DUPFD_CLOEXEC}},
		{SYS_ioctl, 1, 4, 0, {FIONBIO, FIONREAD, FIOCLEX, FIONCLEX}},
		{SYS_tgkill, 0, 1, 0, {(uint32_t)getpid()}},
		{SYS_mmap, 2, 1, PROT_EXEC, {0}},
		{SYS_mprotect, 2, 1, PROT_EXEC, {0}},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		emit_limited(program, &limits[i]);
}

static int shut_calls(struct qsb_error *err)
{
	struct program program = {.length = 0};
	struct sock_fprog loaded;

	load(&program, offsetof(struct seccomp_data, arch));
	emit(&program, BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0);
	answer(&program, SECCOMP_RET_KILL_PROCESS);
	load(&program, offsetof(struct seccomp_data, nr));
	emit_socket_rule(&program);
	emit_limits(&program);
	for (size_t i = 0; i < CALL_COUNT; i++)
		emit(&program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], (uint8_t)(CALL_COUNT - i), 0);
	/* What a library tries besides is refused, not deadly: it has another way. What an intruder wants is either. */
	answer(&program, SECCOMP_RET_ERRNO | EPERM);
	answer(&program, SECCOMP_RET_ALLOW);
	loaded = (struct sock_fprog){.len = program.length, .filter = program.list};
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &loaded) != 0)
		return qsb__fail_os(err, errno, "broker", "cannot install the broker's system call filter");
	return 0;
}

int qsb__confine_server(struct qsb_error *err)
{
	const struct rlimit nothing = {0, 0};
	int abi = version(), code = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !qsb__capabilities_drop() ||
	    setrlimit(RLIMIT_CORE, &nothing) != 0)
		return qsb__fail_os(err, errno, "broker", "cannot take the broker's privileges away");
	if (abi > 0)
		code = shut_files(abi, err);
	return code == 0 ? shut_calls(err) : code;
}
