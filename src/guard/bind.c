/* bind(2) of a unix socket makes a name. It is made on the caller's own socket, like every other bind that stops here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "guard/internal.h"

enum { PRIVILEGED_PORTS = 1024 };

union address {
	struct sockaddr any;
	struct sockaddr_un un;
	struct sockaddr_in in;
	struct sockaddr_storage storage;
};

static int domain_of(int socket)
{
	int domain = 0;
	socklen_t size = sizeof(domain);

	return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 ? domain : -errno;
}

static bool is_path(int domain, const union address *address, socklen_t length)
{
	return domain == AF_UNIX && address->any.sa_family == AF_UNIX &&
	       length > offsetof(struct sockaddr_un, sun_path) && length <= sizeof(address->un) &&
	       address->un.sun_path[0] != '\0';
}

/* The network namespace's owner may take any port; the command, who is not, may not. */
static bool is_privileged(int domain, const union address *address, socklen_t length)
{
	unsigned port;

	if ((domain != AF_INET && domain != AF_INET6) || length < offsetof(struct sockaddr_in, sin_addr))
		return false;
	port = ntohs(address->in.sin_port);
	return port > 0 && port < PRIVILEGED_PORTS;
}

/* A name without a folder, or one that /proc leads to (of another process there): by the last name alone, from the
 * folder that was judged, since this thread's working folder is its own. */
static int bind_here(struct qsb__stop *stop, int socket, int folder, const char *last)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t size = strlen(last);

	stop->tasks->at = -1;
	if (fchdir(folder) != 0)
		return -errno;
	memcpy(address.sun_path, last, size);
	/* The longest name has no room for its NUL, and needs none. */
	size += size < sizeof(address.sun_path);
	size += offsetof(struct sockaddr_un, sun_path);
	return bind(socket, (const struct sockaddr *)&address, (socklen_t)size) < 0 ? -errno : 0;
}

static long bind_path(struct qsb__stop *stop, int socket, union address *address, socklen_t length)
{
	size_t offset = offsetof(struct sockaddr_un, sun_path);
	char path[sizeof(address->un.sun_path) + 1];
	struct qsb__place place;
	const char *last;
	int folder;
	long code;

	memset(path, 0, sizeof(path));
	memcpy(path, address->un.sun_path, length - offset);
	folder = qsb__resolve_folder(stop, AT_FDCWD, path, &last);
	if (folder < 0)
		return folder;
	code = qsb__judge_new(stop, folder, last, false, &place);
	if (code != 0)
		return code == -EEXIST ? -EADDRINUSE : code;
	if (!qsb__stop_take_umask(stop) || !qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	if (last == path || strncmp(path, "/proc/", 6) == 0)
		code = bind_here(stop, socket, folder, last);
	else
		code = qsb__bind_inside(stop, &(struct qsb__bind){socket, stop->asked_start, &address->any, length});
	if (code == 0)
		code = qsb__again(stop, &(struct qsb__act){folder, last, "create", false, 0}, &place);
	return qsb__guard_touched(stop, QSB__TOUCH_CREATE, &place, code);
}

long qsb__call_bind(struct qsb__stop *stop, int number, uint64_t from, uint64_t length)
{
	union address address;
	int socket = qsb__stop_descriptor(stop, number);
	int domain, code;

	if (socket < 0)
		return socket;
	domain = domain_of(socket);
	if (domain < 0)
		return domain;
	if ((int)length < 0 || (unsigned)length > sizeof(address))
		return -EINVAL;
	length = (unsigned)length;
	memset(&address, 0, sizeof(address));
	code = length > 0 ? qsb__stop_copy(stop, from, &address, length) : 0;
	if (code != 0)
		return code;
	if (is_path(domain, &address, (socklen_t)length))
		return bind_path(stop, socket, &address, (socklen_t)length);
	if (is_privileged(domain, &address, (socklen_t)length))
		return -EACCES;
	if (!qsb__stop_waits(stop))
		return QSB__STOP_GONE;
	return bind(socket, &address.any, (socklen_t)length) < 0 ? -errno : 0;
}
