/* The masks that tell, as one part of a sandbox: when they are tried, and whether they were had. */
#include <errno.h>
#include <sys/socket.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "core/error.h"

/* Where the device is not to be had, nothing needs to be tried. */
int qsb__masks_prepare(struct qsb__sandbox *sandbox, struct qsb_error *err)
{
	if (sandbox->mounts.masks.count == 0)
		return 0;
	/* The guard asks as whoever the supervisor is: it must be the masks' own user in every respect. */
	if (access("/dev/fuse", R_OK | W_OK) != 0 || getuid() != geteuid() || getgid() != getegid()) {
		sandbox->mask_step = QSB__MASK_STEP_DEVICE;
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sandbox->mask_sockets) != 0)
		return qsb__fail_os(err, errno, "launch", "cannot make a socket pair");
	return 0;
}

void qsb__masks_serve(struct qsb__sandbox *sandbox)
{
	if (sandbox->mask_sockets[0] < 0)
		return;
	sandbox->mask_server = qsb__mask_server_start(&sandbox->mounts.masks, qsb__take_fd(&sandbox->mask_sockets[0]));
	close(qsb__take_fd(&sandbox->mask_sockets[1]));
}
