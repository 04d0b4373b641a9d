#include "backend/linux/diag.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>

enum { STATE_LISTEN = 10, KERNEL_DEV_MINOR_BITS = 20 };

/* The kernel's own form of a device number, as unix_diag gives it. */
static unsigned kernel_device(dev_t device)
{
	return (major(device) << KERNEL_DEV_MINOR_BITS) | minor(device);
}

/* Not const: the kernel's own macros walk these messages by casts that would drop it. */
static bool matches(struct nlmsghdr *header, const struct stat *wanted)
{
	struct unix_diag_msg *message = NLMSG_DATA(header);
	size_t left = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));

	for (struct rtattr *attribute = (struct rtattr *)(message + 1); RTA_OK(attribute, left);
	     attribute = RTA_NEXT(attribute, left)) {
		const struct unix_diag_vfs *place = RTA_DATA(attribute);

		if (attribute->rta_type == UNIX_DIAG_VFS && RTA_PAYLOAD(attribute) >= sizeof(*place))
			return place->udiag_vfs_ino == (unsigned)wanted->st_ino &&
			       place->udiag_vfs_dev == kernel_device(wanted->st_dev);
	}
	return false;
}

/* 1 = found, 0 = go on, -1 = the end. */
static int scan(char *buffer, size_t length, const struct stat *wanted)
{
	for (struct nlmsghdr *header = (struct nlmsghdr *)buffer; NLMSG_OK(header, length);
	     header = NLMSG_NEXT(header, length)) {
		if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR)
			return -1;
		if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY && matches(header, wanted))
			return 1;
	}
	return 0;
}

static void drain(int diag, char *buffer, size_t size)
{
	while (recv(diag, buffer, size, MSG_DONTWAIT) > 0)
		;
}

bool qsb__diag_listens(int diag, const struct stat *wanted)
{
	const struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} query = {
		.header = {.nlmsg_len = sizeof(query),
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.request = {.sdiag_family = AF_UNIX, .udiag_states = 1U << STATE_LISTEN, .udiag_show = UDIAG_SHOW_VFS},
	};
	char buffer[16384] __attribute__((aligned(8)));
	int found = 0;

	if (diag < 0 || send(diag, &query, sizeof(query), 0) != sizeof(query))
		return false;
	while (found == 0) {
		ssize_t length = recv(diag, buffer, sizeof(buffer), 0);

		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			return false;
		found = scan(buffer, (size_t)length, wanted);
	}
	drain(diag, buffer, sizeof(buffer));
	return found == 1;
}
