/*
 * The network namespace. Making one takes the kernel as long as all the mounts together, so another process of ours
 * makes it meanwhile: it shares our memory and descriptors, hands the namespace over, has a look at the masks, and is
 * gone. It also shares errno, which only a call that fails writes: then the sandbox fails anyway, and what may be
 * missing on a host is asked for before. It must not allocate.
 */
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <linux/netlink.h>
#include <linux/sockios.h>

#include "backend/linux/abi.h"
#include "backend/linux/routes.h"
#include "backend/linux/sandbox.h"
#include "broker/broker.h"
#include "core/cleanup.h"
#include "core/error.h"

enum { STACK_BYTES = 64 * 1024 };

static int raise_loopback(struct qsb__network *network)
{
	struct ifreq request;

	network->diag_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	network->probe_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	memset(&request, 0, sizeof(request));
	memcpy(request.ifr_name, "lo", sizeof("lo"));
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (network->probe_fd < 0 || ioctl(network->probe_fd, SIOCSIFFLAGS, &request) != 0)
		return -errno;
	network->namespace_fd = ioctl(network->probe_fd, SIOCGSKNS);
	return network->namespace_fd < 0 ? -errno : 0;
}

static int make_for_broker(struct qsb__network *network)
{
	int code = 0;

	if (network->plan->network == QSB__NETWORK_FILTERED) {
		network->step = "make the routes of the filtered network";
		code = qsb__routes_make_local(&network->six);
	}
	if (code == 0) {
		network->step = "make the listeners of the sandbox's network";
		code = qsb__listeners_make(&network->listeners, network->plan, network->six, network->netfilter);
	}
	return code;
}

int qsb__network_furnish(struct qsb__network *network)
{
	int code = raise_loopback(network);

	return code == 0 && qsb__listeners_wanted(network->plan) ? make_for_broker(network) : code;
}

static int make_namespace(void *argument)
{
	struct qsb__network *network = argument;

	network->code = unshare(CLONE_NEWNET) == 0 ? qsb__network_furnish(network) : -errno;
	if (network->masks && network->code == 0)
		qsb__mask_mount_ask(network->masks);
	/* Returning ends the process as _exit does, and does not make the address sanitizer wonder at this stack. */
	return 0;
}

static bool has_protocol(int domain, int type, int protocol)
{
	QSB_CLEANUP_FD int fd = socket(domain, type | SOCK_CLOEXEC, protocol);

	return fd >= 0;
}

int qsb__network_begin(struct qsb__network *network, const struct qsb__plan *plan, struct qsb__mask_mount *masks,
		       struct qsb_error *err)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));

	memset(network, 0, sizeof(*network));
	network->plan = plan;
	network->masks = masks;
	network->namespace_fd = network->diag_fd = network->probe_fd = -1;
	network->code = -ECHILD;
	network->step = "make a network namespace with a loopback interface";
	network->six = qsb__listeners_wanted(plan) && has_protocol(AF_INET6, SOCK_STREAM, 0);
	network->netfilter =
		plan->network == QSB__NETWORK_FILTERED && has_protocol(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
	network->pid = clone(make_namespace, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD, network);
	if (network->pid < 0)
		return qsb__fail_os(err, errno, "network", "cannot start making the network namespace");
	return 0;
}

/* The broker connects to published ports in it. */
static int keep_for_publishing(struct qsb__network *network, struct qsb_error *err)
{
	const uint16_t *ports = network->plan->publish_ports;
	int code;

	if (!ports || !ports[0]) {
		close(qsb__take_fd(&network->namespace_fd));
		return 0;
	}
	code = qsb__listeners_add(&network->listeners, network->namespace_fd, QSB__LISTENER_NAMESPACE, 0);
	return code == 0 ? 0 : qsb__fail_os(err, -code, "network", "cannot keep the network namespace");
}

int qsb__network_wait(struct qsb__network *network)
{
	while (network->pid > 0)
		if (waitpid(network->pid, NULL, __WALL) > 0)
			network->pid = 0;
		else if (errno != EINTR)
			return -errno;
	return 0;
}

int qsb__network_enter(struct qsb__network *network, struct qsb_error *err)
{
	int code = qsb__network_wait(network);

	if (code != 0)
		return qsb__fail_os(err, -code, "network", "cannot wait for the network namespace");
	if (network->code != 0)
		return qsb__fail_os(err, -network->code, "network", "cannot %s", network->step);
	if (setns(network->namespace_fd, CLONE_NEWNET) != 0)
		return qsb__fail_os(err, errno, "network", "cannot enter the network namespace");
	close(qsb__take_fd(&network->probe_fd));
	return keep_for_publishing(network, err);
}
