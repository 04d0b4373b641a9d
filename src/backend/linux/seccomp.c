/*
 * Builds the seccomp program: the architecture is checked, then a balanced tree over the call's number leads to an
 * answer, or to a short block that looks at arguments. A tree, since the kernel walks the program at every call.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "backend/linux/seccomp_table.h"
#include "core/error.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no seccomp table for this architecture"
#endif

#define REFUSED(number) (SECCOMP_RET_ERRNO | (number))
/* Refused by the supervisor, which tells of it: see told.c. It never lets such a call go on. */
#define TOLD SECCOMP_RET_USER_NOTIF

enum { LEAF_ALLOW = QSB__CALL_KINDS, LEAF_KINDS, HIGHEST = 512, TYPE_MASK = 0xf };
enum { PROTOCOL_MPTCP = 262 };
/* ioctls with which a folder would compare names in another way, or that make names (btrfs), and those that only copy.
 */
enum {
	ioctl_SETFLAGS = 0x40086602,
	ioctl_FSSETXATTR = 0x401c5820,
	ioctl_BTRFS = 0x9400,
	ioctl_CLONE = 0x40049409,
	ioctl_CLONE_RANGE = 0x4020940d
};
static const unsigned ioctl_DEDUPE = 0xc0189436U;

/* Kept with their numbers: the headers that name them differ between C libraries. */
enum { fcntl_SETLEASE = 1024, fcntl_SETDELEG = 1040, fcntl_OFD_SETLK = 37, fcntl_OFD_SETLKW = 38 };
enum { ioctl_TIOCSTI = 0x5412, ioctl_TIOCLINUX = 0x541C, ioctl_TIOCCONS = 0x541D, ioctl_TIOCSETD = 0x5423 };

struct program {
	struct sock_filter *at;
	size_t length, size;
	size_t block[LEAF_KINDS]; /* where each argument block starts, 0 = not needed */
	struct {
		size_t instruction;
		unsigned char kind;
	} jump[HIGHEST]; /* jumps to blocks, to be resolved when the blocks stand */
	size_t jumps;
};

struct range {
	unsigned low;
	unsigned char leaf;
};

static void emit(struct program *program, struct sock_filter instruction)
{
	if (program->length < program->size)
		program->at[program->length] = instruction;
	program->length++;
}

static void load(struct program *program, size_t offset)
{
	emit(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

/* The low half of an argument: the kernel's own type for all that are looked at here is 32 bits wide, so bits above
 * neither matter to it nor to us. */
static void load_argument(struct program *program, unsigned number)
{
	load(program, offsetof(struct seccomp_data, args) + 8UL * number);
}

static void answer(struct program *program, unsigned value)
{
	emit(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
}

static void answer_if(struct program *program, unsigned comparison, unsigned operand, unsigned value)
{
	emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | comparison | BPF_K, operand, 0, 1));
	answer(program, value);
}

/* What is emitted until end_case() runs only when the loaded value equals `operand`; it must end in an answer. */
static size_t begin_case(struct program *program, unsigned operand)
{
	emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, operand, 0, 0));
	return program->length - 1;
}

static void end_case(struct program *program, size_t begin)
{
	if (program->length <= program->size)
		program->at[begin].jf = (unsigned char)(program->length - begin - 1);
}

static void load_socket_type(struct program *program)
{
	load_argument(program, 1);
	emit(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TYPE_MASK));
}

/* A datagram unix socket can name any address in sendmsg, where no filter sees it. */
static void unix_types(struct program *program, unsigned otherwise)
{
	load_socket_type(program);
	answer_if(program, BPF_JEQ, SOCK_STREAM, SECCOMP_RET_ALLOW);
	answer_if(program, BPF_JEQ, SOCK_SEQPACKET, SECCOMP_RET_ALLOW);
	answer(program, otherwise);
}

static void allow_protocols(struct program *program, const unsigned *protocols, size_t count)
{
	load_argument(program, 2);
	for (size_t i = 0; i < count; i++)
		answer_if(program, BPF_JEQ, protocols[i], SECCOMP_RET_ALLOW);
	answer(program, REFUSED(EPROTONOSUPPORT));
}

static void internet_types(struct program *program)
{
	static const unsigned stream[] = {0, IPPROTO_TCP, PROTOCOL_MPTCP};
	static const unsigned datagram[] = {0, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6};

	size_t at;

	load_socket_type(program);
	at = begin_case(program, SOCK_STREAM);
	allow_protocols(program, stream, sizeof(stream) / sizeof(stream[0]));
	end_case(program, at);
	at = begin_case(program, SOCK_DGRAM);
	allow_protocols(program, datagram, sizeof(datagram) / sizeof(datagram[0]));
	end_case(program, at);
	answer(program, TOLD);
}

static void socket_block(struct program *program)
{
	size_t at;

	load_argument(program, 0);
	at = begin_case(program, AF_UNIX);
	unix_types(program, TOLD);
	end_case(program, at);
	at = begin_case(program, AF_INET);
	internet_types(program);
	end_case(program, at);
	at = begin_case(program, AF_INET6);
	internet_types(program);
	end_case(program, at);
	at = begin_case(program, AF_NETLINK);
	load_argument(program, 2);
	answer_if(program, BPF_JEQ, NETLINK_ROUTE, SECCOMP_RET_ALLOW); /* getifaddrs asks it */
	answer(program, TOLD);
	end_case(program, at);
	answer(program, TOLD);
}

static void socketpair_block(struct program *program)
{
	size_t at;

	load_argument(program, 0);
	at = begin_case(program, AF_UNIX);
	unix_types(program, REFUSED(EPERM));
	end_case(program, at);
	answer(program, REFUSED(EAFNOSUPPORT));
}

static void guarded_ioctls(struct program *program)
{
	load_argument(program, 1);
	answer_if(program, BPF_JEQ, ioctl_SETFLAGS, REFUSED(EPERM));
	answer_if(program, BPF_JEQ, ioctl_FSSETXATTR, REFUSED(EPERM));
	answer_if(program, BPF_JEQ, ioctl_CLONE, SECCOMP_RET_ALLOW);
	answer_if(program, BPF_JEQ, ioctl_CLONE_RANGE, SECCOMP_RET_ALLOW);
	answer_if(program, BPF_JEQ, ioctl_DEDUPE, SECCOMP_RET_ALLOW);
	emit(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xFF00U));
	answer_if(program, BPF_JEQ, ioctl_BTRFS, REFUSED(ENOTTY));
}

static void ioctl_block(struct program *program)
{
	static const unsigned refused[] = {ioctl_TIOCSTI, ioctl_TIOCLINUX, ioctl_TIOCCONS, ioctl_TIOCSETD};

	load_argument(program, 1);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		answer_if(program, BPF_JEQ, refused[i], TOLD);
	/* KD* and VT_*: a console whose keys can be redefined types into the caller's shell. */
	emit(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xFFFFFF00U));
	answer_if(program, BPF_JEQ, 0x4B00, REFUSED(EPERM));
	answer_if(program, BPF_JEQ, 0x5600, REFUSED(EPERM));
	answer(program, SECCOMP_RET_ALLOW);
}

static void personality_block(struct program *program)
{
	/* gdb switches randomisation off for its child; setarch asks for a name. Nothing that weakens memory. */
	static const unsigned allowed[] = {0,          PER_LINUX32, UNAME26, UNAME26 | PER_LINUX32, ADDR_NO_RANDOMIZE,
					   0xFFFFFFFFU};

	load_argument(program, 0);
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		answer_if(program, BPF_JEQ, allowed[i], SECCOMP_RET_ALLOW);
	answer(program, REFUSED(EPERM));
}

static void fcntl_block(struct program *program, bool guarded)
{
	load_argument(program, 1);
	if (guarded) {
		answer_if(program, BPF_JEQ, fcntl_OFD_SETLK, SECCOMP_RET_USER_NOTIF);
		answer_if(program, BPF_JEQ, fcntl_OFD_SETLKW, SECCOMP_RET_USER_NOTIF);
	}
	answer_if(program, BPF_JEQ, fcntl_SETLEASE, REFUSED(EPERM));
	answer_if(program, BPF_JEQ, fcntl_SETDELEG, REFUSED(EPERM));
	answer(program, SECCOMP_RET_ALLOW);
}

static void mode_block(struct program *program, unsigned argument, unsigned otherwise)
{
	load_argument(program, argument);
	answer_if(program, BPF_JSET, S_ISUID | S_ISGID, REFUSED(EPERM));
	answer(program, otherwise);
}

static void open_block(struct program *program, unsigned flags_argument)
{
	load_argument(program, flags_argument);
	/* The mode means something only when a file is made; else it may be any leftover of a register. */
	emit(program,
	     (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 1, 0));
	answer(program, SECCOMP_RET_ALLOW);
	mode_block(program, flags_argument + 1, SECCOMP_RET_ALLOW);
}

/* O_PATH beats every other flag, and opens nothing that could be read or written. */
static void guarded_open_block(struct program *program, unsigned flags_argument, bool reads)
{
	const unsigned makes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
	size_t at;

	load_argument(program, flags_argument);
	answer_if(program, BPF_JSET, O_PATH, SECCOMP_RET_ALLOW);
	emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, makes, 0, 0));
	at = program->length - 1;
	mode_block(program, flags_argument + 1, SECCOMP_RET_USER_NOTIF);
	end_case(program, at);
	if (!reads)
		answer_if(program, BPF_JSET, O_WRONLY | O_RDWR | O_TRUNC, SECCOMP_RET_USER_NOTIF);
	answer(program, reads ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
}

/* utimensat without a path works on a descriptor, and changes times only. */
static void path_block(struct program *program)
{
	load(program, offsetof(struct seccomp_data, args) + 8);
	emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
	answer(program, SECCOMP_RET_USER_NOTIF);
	load(program, offsetof(struct seccomp_data, args) + 12);
	emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
	answer(program, SECCOMP_RET_USER_NOTIF);
	answer(program, SECCOMP_RET_ALLOW);
}

/* A umask that two processes share could change unseen: only threads share one. */
static void guarded_clone_flags(struct program *program)
{
	load_argument(program, 0);
	emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_FS, 0, 2));
	emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
	answer(program, REFUSED(EPERM));
}

static void namespace_block(struct program *program)
{
	load_argument(program, 0);
	answer_if(program, BPF_JSET,
		  CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
			  CLONE_NEWCGROUP,
		  TOLD);
	answer(program, SECCOMP_RET_ALLOW);
}

static void block(struct program *program, unsigned char kind)
{
	switch (kind) {
	case QSB__CALL_NAMESPACES:
		namespace_block(program);
		break;
	case QSB__CALL_SOCKET:
		socket_block(program);
		break;
	case QSB__CALL_SOCKETPAIR:
		socketpair_block(program);
		break;
	case QSB__CALL_IOCTL:
		ioctl_block(program);
		break;
	case QSB__CALL_PERSONALITY:
		personality_block(program);
		break;
	case QSB__CALL_FCNTL:
	case QSB__CALL_GUARDED_FCNTL:
		fcntl_block(program, kind == QSB__CALL_GUARDED_FCNTL);
		break;
	case QSB__CALL_MODE_1:
	case QSB__CALL_MODE_2:
		mode_block(program, kind == QSB__CALL_MODE_1 ? 1 : 2, SECCOMP_RET_ALLOW);
		break;
	case QSB__CALL_ASK_MODE_1:
	case QSB__CALL_ASK_MODE_2:
		mode_block(program, kind == QSB__CALL_ASK_MODE_1 ? 1 : 2, SECCOMP_RET_USER_NOTIF);
		break;
	case QSB__CALL_ASK_OPEN_2:
	case QSB__CALL_ASK_OPEN_3:
		guarded_open_block(program, kind == QSB__CALL_ASK_OPEN_2 ? 1 : 2, false);
		break;
	case QSB__CALL_ASK_READ_2:
	case QSB__CALL_ASK_READ_3:
		guarded_open_block(program, kind == QSB__CALL_ASK_READ_2 ? 1 : 2, true);
		break;
	case QSB__CALL_ASK_PATH_1:
		path_block(program);
		break;
	case QSB__CALL_GUARDED_IOCTL:
		guarded_ioctls(program);
		ioctl_block(program);
		break;
	case QSB__CALL_GUARDED_CLONE:
		guarded_clone_flags(program);
		namespace_block(program);
		break;
	case QSB__CALL_OPEN_2:
	case QSB__CALL_OPEN_3:
		open_block(program, kind == QSB__CALL_OPEN_2 ? 1 : 2);
		break;
	default:
		break;
	}
}

static void leaf(struct program *program, unsigned char kind)
{
	switch (kind) {
	case LEAF_ALLOW:
		answer(program, SECCOMP_RET_ALLOW);
		break;
	case QSB__CALL_REFUSE:
		answer(program, REFUSED(EPERM));
		break;
	case QSB__CALL_ABSENT:
		answer(program, REFUSED(ENOSYS));
		break;
	case QSB__CALL_TELL:
		answer(program, TOLD);
		break;
	case QSB__CALL_ASK:
		answer(program, SECCOMP_RET_USER_NOTIF);
		break;
	case QSB__CALL_NO_ATTRIBUTE:
		answer(program, REFUSED(EOPNOTSUPP));
		break;
	default:
		program->jump[program->jumps].instruction = program->length;
		program->jump[program->jumps++].kind = kind;
		emit(program, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
	}
}

static bool tree(struct program *program, const struct range *ranges, size_t first, size_t last)
{
	size_t middle = (first + last + 1) / 2;
	size_t branch = program->length;
	size_t distance;

	if (first == last) {
		leaf(program, ranges[first].leaf);
		return true;
	}
	emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ranges[middle].low, 0, 0));
	if (!tree(program, ranges, first, middle - 1))
		return false;
	distance = program->length - branch - 1;
	if (distance > 255 || branch >= program->size)
		return false;
	program->at[branch].jt = (unsigned char)distance;
	return tree(program, ranges, middle, last);
}

/* What a rule of the table comes to for this sandbox. */
static unsigned char leaf_of(const struct qsb__sandbox *sandbox, const struct qsb__call *call)
{
	bool watched = sandbox->plan->memory_bytes > 0 && !sandbox->cgroup.path[QSB__CONTROLLER_MEMORY][0];

	if (call->nested && sandbox->plan->allow_nested_sandbox)
		return LEAF_ALLOW;
	if (call->rule == QSB__CALL_ASK_MEMORY)
		return watched ? QSB__CALL_ASK : LEAF_ALLOW;
	if (call->rule == QSB__CALL_ASK_CPUS)
		return sandbox->cpu_count > 0 ? QSB__CALL_ASK : LEAF_ALLOW;
	return (unsigned char)call->rule;
}

static size_t make_ranges(const struct qsb__sandbox *sandbox, struct range *ranges)
{
	unsigned char leaves[HIGHEST];
	size_t count = 0;

	memset(leaves, LEAF_ALLOW, sizeof(leaves));
	for (size_t i = 0; i < qsb__call_count; i++)
		leaves[qsb__calls[i].number] = leaf_of(sandbox, &qsb__calls[i]);
	for (size_t i = 0; sandbox->guard && i < qsb__guarded_call_count; i++)
		leaves[qsb__guarded_calls[i].number] = (unsigned char)qsb__guarded_calls[i].rule;
	for (size_t i = 0; sandbox->guard && qsb__guard_stops_reading(sandbox->plan) && i < qsb__guarded_read_count;
	     i++)
		leaves[qsb__guarded_reads[i].number] = (unsigned char)qsb__guarded_reads[i].rule;
	for (int number = 0; number <= qsb__call_last; number++)
		if (number == 0 || leaves[number] != leaves[number - 1])
			ranges[count++] = (struct range){(unsigned)number, leaves[number]};
	/* Also x32, whose numbers begin at 0x40000000. */
	ranges[count++] = (struct range){(unsigned)qsb__call_last + 1, QSB__CALL_ABSENT};
	return count;
}

int qsb__filter_build(struct qsb__sandbox *sandbox, struct qsb_error *err)
{
	struct range ranges[HIGHEST];
	struct program program = {.at = sandbox->filter, .size = QSB__FILTER_MAX};
	size_t count = make_ranges(sandbox, ranges);
	bool fits;

	load(&program, offsetof(struct seccomp_data, arch));
	emit(&program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
	answer(&program, SECCOMP_RET_KILL_PROCESS);
	load(&program, offsetof(struct seccomp_data, nr));
	fits = tree(&program, ranges, 0, count - 1);
	for (size_t i = 0; fits && i < program.jumps; i++) {
		unsigned char kind = program.jump[i].kind;

		if (program.block[kind] == 0) {
			program.block[kind] = program.length;
			block(&program, kind);
		}
		program.at[program.jump[i].instruction].k =
			(unsigned)(program.block[kind] - program.jump[i].instruction - 1);
	}
	if (!fits || program.length > program.size)
		return qsb__fail(err, QSB_E_UNSUPPORTED, "seccomp", "the system call filter does not fit");
	sandbox->filter_length = (unsigned short)program.length;
	return 0;
}
