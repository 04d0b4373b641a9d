/* Runs the built program over made-up calls, as the kernel would. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#include "backend/linux/sandbox.h"
#include "backend/linux/seccomp_table.h"
#include "tap.h"

#if defined(__x86_64__)
#define ARCH       AUDIT_ARCH_X86_64
#define OTHER_ARCH AUDIT_ARCH_I386
#else
#define ARCH       AUDIT_ARCH_AARCH64
#define OTHER_ARCH AUDIT_ARCH_ARM
#endif

static struct qsb__sandbox *sandbox;
static struct qsb__plan plan;

static unsigned run(const struct seccomp_data *data)
{
	unsigned accumulator = 0;

	for (size_t at = 0; at < sandbox->filter_length; at++) {
		const struct sock_filter *i = &sandbox->filter[at];
		bool jump = false;

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&accumulator, (const char *)data + i->k, sizeof(accumulator));
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			accumulator &= i->k;
			continue;
		case BPF_RET | BPF_K:
			return i->k;
		case BPF_JMP | BPF_JA:
			at += i->k;
			continue;
		case BPF_JMP | BPF_JEQ | BPF_K:
			jump = accumulator == i->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			jump = accumulator >= i->k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			jump = (accumulator & i->k) != 0;
			break;
		default:
			printf("Bail out! instruction %x\n", i->code);
			exit(1);
		}
		at += jump ? i->jt : i->jf;
	}
	printf("Bail out! the program runs over its end\n");
	exit(1);
}

static unsigned call(long number, uint64_t a, uint64_t b, uint64_t c)
{
	struct seccomp_data data = {.nr = (int)number, .arch = ARCH, .args = {a, b, c}};

	return run(&data);
}

static void build(bool nested, uint64_t memory)
{
	struct qsb_error err;

	plan.allow_nested_sandbox = nested;
	plan.memory_bytes = memory;
	if (qsb__filter_build(sandbox, &err) != 0) {
		printf("Bail out! %s\n", err.message);
		exit(1);
	}
}

static void is(unsigned got, unsigned wanted, const char *name)
{
	tap_ok(got == wanted, "%s", name);
	if (got != wanted)
		printf("# got %x, expected %x\n", got, wanted);
}

#define REFUSED(number) (SECCOMP_RET_ERRNO | (number))
#define ALLOWED         SECCOMP_RET_ALLOW
#define TOLD            SECCOMP_RET_USER_NOTIF /* refused by the supervisor, which never lets it go on */

/* One without a name would be refused and never told. */
static void test_told(void)
{
	bool stops = true, named = true;

	for (size_t i = 0; i < qsb__call_count; i++) {
		bool found = qsb__calls[i].rule != QSB__CALL_TELL;

		if (!found && call(qsb__calls[i].number, 0, 0, 0) != TOLD)
			stops = false;
		for (size_t j = 0; j < qsb__told_call_count; j++)
			found |= qsb__told_calls[j].number == qsb__calls[i].number;
		named &= found;
	}
	tap_ok(stops, "every call that is to be told stops at the supervisor");
	tap_ok(named, "and has a name and a reason");
}

static void test_numbers(void)
{
	struct seccomp_data other = {.nr = SYS_read, .arch = OTHER_ARCH};
	bool open = true;

	is(run(&other), SECCOMP_RET_KILL_PROCESS, "a call of another architecture kills");
	is(call(0x40000000 | SYS_read, 0, 0, 0), REFUSED(ENOSYS), "x32 calls are absent");
	is(call(qsb__call_last + 1, 0, 0, 0), REFUSED(ENOSYS), "calls newer than the table are absent");
	is(call(-1, 0, 0, 0), REFUSED(ENOSYS), "number -1 is absent");
	is(call(SYS_clone3, 0, 0, 0), REFUSED(ENOSYS), "clone3 is absent, so that libc uses clone");
	is(call(SYS_connect, 0, 0, 0), SECCOMP_RET_USER_NOTIF, "connect stops at the supervisor");
	for (size_t i = 0; i < qsb__call_count; i++)
		if (qsb__calls[i].rule == QSB__CALL_REFUSE && call(qsb__calls[i].number, 0, 0, 0) != REFUSED(EPERM))
			open = false;
	tap_ok(open, "every call that the table refuses is refused");
	test_told();
	is(call(SYS_read, 0, 0, 0), ALLOWED, "read is allowed");
	is(call(SYS_execve, 0, 0, 0), ALLOWED, "execve is allowed");
}

static void test_sockets(void)
{
	is(call(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), ALLOWED,
	   "unix stream sockets are allowed");
	is(call(SYS_socket, AF_UNIX, SOCK_DGRAM, 0), TOLD, "unix datagram sockets are refused");
	is(call(SYS_socket, AF_UNIX, SOCK_RAW, 0), TOLD,
	   "raw unix sockets, which are datagram ones, are refused");
	is(call(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0), REFUSED(EPERM), "a pair of datagram sockets is refused");
	is(call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET, 0), ALLOWED, "a pair of seqpacket sockets is allowed");
	is(call(SYS_socket, AF_INET, SOCK_STREAM, 0), ALLOWED, "TCP is allowed");
	is(call(SYS_socket, AF_INET6, SOCK_DGRAM, 17), ALLOWED, "UDP over IPv6 is allowed");
	is(call(SYS_socket, AF_INET, SOCK_RAW, 1), TOLD, "raw sockets are refused");
	is(call(SYS_socket, AF_INET, SOCK_STREAM, 132), REFUSED(EPROTONOSUPPORT), "SCTP is refused");
	is(call(SYS_socket, AF_NETLINK, SOCK_RAW, 0), ALLOWED, "route netlink is allowed");
	is(call(SYS_socket, AF_NETLINK, SOCK_RAW, 12), TOLD, "netfilter netlink is refused");
	is(call(SYS_socket, AF_PACKET, SOCK_RAW, 0), TOLD, "packet sockets are refused");
	is(call(SYS_socket, AF_VSOCK, SOCK_STREAM, 0), TOLD, "vsock is refused");
	is(call(SYS_socket, 0x100000000ULL | AF_ALG, SOCK_STREAM, 0), TOLD,
	   "bits above 32 hide no family");
}

static void test_arguments(void)
{
	is(call(SYS_ioctl, 0, TIOCSTI, 0), TOLD, "TIOCSTI is refused");
	is(call(SYS_ioctl, 0, 0xABCD00000000ULL | TIOCSTI, 0), TOLD, "TIOCSTI is refused with high bits set");
	is(call(SYS_ioctl, 0, 0x541C, 0), TOLD, "TIOCLINUX is refused");
	is(call(SYS_ioctl, 0, 0x4B49, 0), REFUSED(EPERM), "console key strings are refused");
	is(call(SYS_ioctl, 0, TIOCGWINSZ, 0), ALLOWED, "asking for the window size is allowed");
	is(call(SYS_fcntl, 3, 1024, 0), REFUSED(EPERM), "a lease is refused");
	is(call(SYS_fcntl, 3, 0x100000000ULL | 1024, 0), REFUSED(EPERM), "also with high bits set");
	is(call(SYS_fcntl, 3, F_DUPFD_CLOEXEC, 3), ALLOWED, "a descriptor can be copied");
	is(call(SYS_clone, CLONE_VM | CLONE_FS, 0, 0), ALLOWED, "threads are allowed");
	is(call(SYS_clone, CLONE_NEWUSER, 0, 0), TOLD, "a new user namespace is refused");
	is(call(SYS_unshare, CLONE_NEWNET | CLONE_FILES, 0, 0), TOLD, "unshare of a network is refused");
	is(call(SYS_fchmod, 3, 0755, 0), ALLOWED, "an ordinary mode is allowed");
	is(call(SYS_fchmod, 3, 04755, 0), REFUSED(EPERM), "setuid is refused");
	is(call(SYS_fchmodat, 3, 0, 02755), REFUSED(EPERM), "setgid is refused");
	{
		struct seccomp_data made = {.nr = SYS_openat, .arch = ARCH, .args = {0, 0, O_CREAT | O_WRONLY, 04755}};
		struct seccomp_data read = {.nr = SYS_openat, .arch = ARCH, .args = {0, 0, O_RDONLY, 04755}};

		is(run(&made), REFUSED(EPERM), "a file is not made setuid");
		is(run(&read), ALLOWED, "leftovers where a mode would be do not matter when nothing is made");
	}
	is(call(SYS_personality, 0xFFFFFFFF, 0, 0), ALLOWED, "asking for the personality is allowed");
	is(call(SYS_personality, 0x0400000, 0, 0), REFUSED(EPERM), "READ_IMPLIES_EXEC is refused");
}

static void test_variants(void)
{
	is(call(SYS_memfd_create, 0, 0, 0), ALLOWED, "without a limit on memory, memory files are not asked about");
	is(call(SYS_sched_setaffinity, 0, 0, 0), ALLOWED, "without affinity in use it may be set");
	sandbox->cpu_count = 1;
	build(true, 1 << 30);
	is(call(SYS_memfd_create, 0, 0, 0), SECCOMP_RET_USER_NOTIF, "the watch hears of memory files");
	is(call(SYS_sched_setaffinity, 0, 0, 0), SECCOMP_RET_USER_NOTIF, "affinity goes through the supervisor");
	is(call(SYS_mount, 0, 0, 0), ALLOWED, "a sandbox inside may mount, when the policy allows one");
	is(call(SYS_bpf, 0, 0, 0), TOLD, "but never load programs into the kernel");
}

/* Calls that live rules by name stop. */
static void test_guarded(unsigned denies)
{
	char folder[] = "/w", glob[] = "*.key", rule[] = "r";
	struct qsb__step step = {.kind = QSB__STEP_NAME_RULE,
				 .path = folder,
				 .text = glob,
				 .rule = rule,
				 .asked = true,
				 .held = true,
				 .denies = denies};
	unsigned reading = denies & QSB__ACCESS_READ ? SECCOMP_RET_USER_NOTIF : ALLOWED;
	struct seccomp_data made = {.nr = SYS_openat, .arch = ARCH, .args = {0, 0, O_CREAT | O_RDONLY, 04755}};
	struct qsb_error err;

	plan.steps = &step;
	plan.step_count = 1;
	tap_ok(qsb__guard_new(&sandbox->guard, &plan, &err) == 0 && sandbox->guard,
	       "a rule that was asked for has a guard");
	build(false, 0);
	is(call(SYS_openat, 0, 0, O_RDONLY), reading, "opening to read stops only where a rule denies reading");
	is(call(SYS_openat, 0, 0, O_RDONLY | O_DIRECTORY | O_CLOEXEC), reading, "so does opening a folder");
	is(call(SYS_openat, 0, 0, O_PATH | O_WRONLY), ALLOWED, "O_PATH opens nothing that could be read or written");
	is(call(SYS_openat, 0, 0, O_WRONLY), SECCOMP_RET_USER_NOTIF, "opening to write stops");
	is(call(SYS_openat, 0, 0, O_RDONLY | O_TRUNC), SECCOMP_RET_USER_NOTIF, "truncating stops");
	is(call(SYS_openat, 0, 0, O_TMPFILE | O_RDWR), SECCOMP_RET_USER_NOTIF, "a nameless file stops");
	is(call(SYS_openat, 0, 0, O_CREAT | O_RDONLY), SECCOMP_RET_USER_NOTIF, "creating stops");
	is(run(&made), REFUSED(EPERM), "a setuid mode is refused before anybody is asked");
	is(call(SYS_fchmod, 0, 04755, 0), REFUSED(EPERM), "also by fchmod");
	is(call(SYS_fchmod, 0, 0755, 0), SECCOMP_RET_USER_NOTIF, "another mode stops");
	is(call(SYS_renameat2, 0, 0, 0), SECCOMP_RET_USER_NOTIF, "renaming stops");
	is(call(SYS_bind, 0, 0, 0), SECCOMP_RET_USER_NOTIF, "binding stops");
	is(call(SYS_utimensat, 0, 0, 0), ALLOWED, "times of a descriptor do not");
	is(call(SYS_utimensat, 0, 4096, 0), SECCOMP_RET_USER_NOTIF, "those of a path do");
	is(call(SYS_utimensat, 0, UINT64_C(1) << 32, 0), SECCOMP_RET_USER_NOTIF, "wherever it lies in memory");
	is(call(SYS_landlock_create_ruleset, 0, 0, 0), REFUSED(ENOSYS),
	   "rules of a program's own would not bind the guard");
	is(call(SYS_clone, CLONE_FS, 0, 0), REFUSED(EPERM), "no two processes share a umask");
	is(call(SYS_clone, CLONE_FS | CLONE_THREAD, 0, 0), ALLOWED, "threads may");
	is(call(SYS_clone, CLONE_NEWUSER, 0, 0), TOLD, "namespaces stay refused");
	is(call(SYS_ioctl, 0, 0x40086602, 0), REFUSED(EPERM),
	   "a folder cannot be made to compare names in another way");
	is(call(SYS_ioctl, 0, 0x5000940e, 0), REFUSED(ENOTTY), "nor a subvolume be made");
	is(call(SYS_ioctl, 0, 0x40049409, 0), ALLOWED, "a file can be cloned");
	is(call(SYS_ioctl, 0, 0x5412, 0), TOLD, "characters still cannot be pushed into a terminal");
	is(call(SYS_getxattr, 0, 0, 0), reading == ALLOWED ? ALLOWED : REFUSED(EOPNOTSUPP),
	   "attributes are read where everything may be");
	is(call(SYS_read, 0, 0, 0), ALLOWED, "reading what is open never stops");
	qsb__guard_free(sandbox->guard);
	sandbox->guard = NULL;
	plan.step_count = 0;
}

int main(void)
{
	sandbox = calloc(1, sizeof(*sandbox));
	sandbox->plan = &plan;
	build(false, 0);
	test_numbers();
	test_sockets();
	test_arguments();
	test_variants();
	test_guarded(QSB__ACCESS_WRITE);
	test_guarded(QSB__ACCESS_READ | QSB__ACCESS_WRITE);
	return tap_done();
}
