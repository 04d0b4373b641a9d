#include "net.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int complain(const char *what)
{
	fprintf(stderr, "qsb-net: %s: %s\n", what, strerror(errno));
	return -1;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int failed = fd < 0 || write(fd, text, strlen(text)) < 0;

	if (failed)
		complain(path);
	if (fd >= 0)
		close(fd);
	return failed ? -1 : 0;
}

/* The caller stays who it is: the peers behave otherwise for root. */
static int keep_identity(unsigned uid, unsigned gid)
{
	char map[64];

	if (write_file("/proc/self/setgroups", "deny") < 0)
		return -1;
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (write_file("/proc/self/uid_map", map) < 0)
		return -1;
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return write_file("/proc/self/gid_map", map);
}

static int raise_loopback(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int result = fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &request);

	if (fd >= 0)
		close(fd);
	return result < 0 ? complain("loopback") : 0;
}

int make_world(const char *hosts)
{
	unsigned uid = getuid(), gid = getgid();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0)
		return complain("namespaces");
	if (keep_identity(uid, gid) < 0 || raise_loopback() < 0)
		return -1;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(hosts, "/etc/hosts", NULL, MS_BIND, NULL) < 0)
		return complain("/etc/hosts");
	/* More ports than the connections of a whole run, which linger for a minute after their end. */
	if (write_file("/proc/sys/net/ipv4/ip_local_port_range", "9000 65535") < 0)
		return -1;
	return write_file("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
}

int enter_world(const char *pid, char **argv)
{
	char here[PATH_MAX];
	int fd = (int)syscall(SYS_pidfd_open, atoi(pid), 0);

	if (!getcwd(here, sizeof(here)))
		return complain("working folder"), 1;
	if (fd < 0 || setns(fd, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0 || chdir(here) < 0)
		return complain("entering the world"), 1;
	close(fd);
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
	return complain(argv[0]), 127;
}
