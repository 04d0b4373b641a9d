/*
 * Calls that the filter withholds and that somebody may have to understand: they stop at the supervisor, which refuses
 * them and tells. What they ask for is read from their registers only. However many come, one costs a look at a list.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/seccomp.h>

#include "backend/linux/refusals.h"
#include "backend/linux/sandbox.h"
#include "backend/linux/seccomp_table.h"

enum { TYPE_MASK = 0xf };

struct word {
	unsigned value;
	const char *text;
};

static const struct word spaces[] = {
	{CLONE_NEWUSER, "user"}, {CLONE_NEWNS, "mount"}, {CLONE_NEWPID, "pid"},       {CLONE_NEWNET, "network"},
	{CLONE_NEWIPC, "ipc"},   {CLONE_NEWUTS, "uts"},  {CLONE_NEWCGROUP, "cgroup"}, {0, NULL},
};

static const struct word families[] = {
	{AF_UNIX, "unix"},       {AF_INET, "internet"},     {AF_INET6, "internet (IPv6)"},
	{AF_NETLINK, "netlink"}, {AF_PACKET, "packet"},     {AF_BLUETOOTH, "bluetooth"},
	{AF_VSOCK, "vsock"},     {AF_ALG, "kernel crypto"}, {AF_CAN, "can"},
	{AF_TIPC, "tipc"},       {AF_XDP, "xdp"},           {0, NULL},
};

static const struct word types[] = {
	{SOCK_STREAM, "stream"},       {SOCK_DGRAM, "datagram"}, {SOCK_RAW, "raw"},
	{SOCK_SEQPACKET, "seqpacket"}, {SOCK_RDM, "rdm"},        {0, NULL},
};

static const struct word terminals[] = {
	{TIOCSTI, "TIOCSTI"}, {TIOCLINUX, "TIOCLINUX"}, {TIOCCONS, "TIOCCONS"}, {TIOCSETD, "TIOCSETD"}, {0, NULL}};

static const char *find_word(const struct word *words, unsigned value)
{
	while (words->text && words->value != value)
		words++;
	return words->text;
}

/* "user, mount namespace" */
static void say_namespaces(char *text, size_t size, unsigned flags)
{
	size_t used = 0;

	for (const struct word *space = spaces; space->text; space++)
		if (flags & space->value && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", space->text);
	if (used > 0 && used < size)
		snprintf(text + used, size - used, " namespace");
}

static void say_socket(char *text, size_t size, const struct seccomp_data *data)
{
	const char *family = find_word(families, (unsigned)data->args[0]);
	const char *type = find_word(types, (unsigned)data->args[1] & TYPE_MASK);

	/* Not the number: whoever tries them all would fill the list. */
	snprintf(text, size, "%s, %s", family ? family : "another family", type ? type : "another type");
}

/* As the filter itself answered them: programs take another family then. */
static int errno_of(const struct seccomp_data *data)
{
	unsigned family = (unsigned)data->args[0];

	return data->nr != SYS_socket || family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
			       family == AF_NETLINK
		       ? EPERM
		       : EAFNOSUPPORT;
}

static void say_target(struct qsb__denial *denial, const struct seccomp_data *data)
{
	const char *word = NULL;

	if (data->nr == SYS_clone || data->nr == SYS_unshare)
		say_namespaces(denial->target, sizeof(denial->target), (unsigned)data->args[0]);
	else if (data->nr == SYS_setns)
		say_namespaces(denial->target, sizeof(denial->target), (unsigned)data->args[1]);
	else if (data->nr == SYS_socket)
		say_socket(denial->target, sizeof(denial->target), data);
	else if (data->nr == SYS_ioctl)
		word = find_word(terminals, (unsigned)data->args[1]);
	if (word)
		snprintf(denial->target, sizeof(denial->target), "%s", word);
}

static bool is_of_nested(int number)
{
	for (size_t i = 0; i < qsb__call_count; i++)
		if (qsb__calls[i].number == number)
			return qsb__calls[i].nested;
	return false;
}

static void say_rule(struct qsb__denial *denial, const struct qsb__told_call *call)
{
	if (is_of_nested(call->number)) {
		snprintf(denial->rule, sizeof(denial->rule), "/allowNestedSandbox");
		snprintf(denial->suggestion, sizeof(denial->suggestion), "\"allowNestedSandbox\": true");
	} else if (call->number == SYS_socket) {
		snprintf(denial->rule, sizeof(denial->rule), "built-in: sockets (%s)", call->reason);
	} else {
		snprintf(denial->rule, sizeof(denial->rule), "built-in: system calls (%s)", call->reason);
	}
}

int qsb__told_refuse(const struct seccomp_notif *request)
{
	const struct qsb__told_call *call = NULL;
	struct qsb__denial denial;

	for (size_t i = 0; i < qsb__told_call_count && !call; i++)
		if (qsb__told_calls[i].number == request->data.nr)
			call = &qsb__told_calls[i];
	/* What nobody answers is refused. */
	if (!call)
		return EPERM;
	qsb__denial_begin(&denial, "call", call->name);
	say_target(&denial, &request->data);
	if (!qsb__refusal_is_told(&denial)) {
		say_rule(&denial, call);
		qsb__calls_name_caller((pid_t)request->pid, &denial);
		qsb__refusal_add(&denial);
	}
	return errno_of(&request->data);
}
