#include "backend/linux/callers.h"

#include <pthread.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <netinet/in.h>

#include "backend/linux/sandbox.h"

/* A refused connection is told of within moments; the ports of older ones may be in other hands. */
enum { KEPT = 256 };

struct caller {
	unsigned port;
	int pid;
	char process[32];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct caller kept[KEPT];
static size_t next;

static unsigned port_of(int socket)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} name;
	socklen_t size = sizeof(name);

	memset(&name, 0, sizeof(name));
	if (getsockname(socket, &name.any, &size) != 0)
		return 0;
	return name.any.sa_family == AF_INET    ? ntohs(name.four.sin_port)
	       : name.any.sa_family == AF_INET6 ? ntohs(name.six.sin6_port)
						: 0;
}

void qsb__callers_note(pid_t thread, int socket)
{
	struct caller caller = {.port = port_of(socket)};
	struct qsb__denial named;

	if (!caller.port)
		return;
	memset(&named, 0, sizeof(named));
	qsb__calls_name_caller(thread, &named);
	caller.pid = named.pid;
	memcpy(caller.process, named.process, sizeof(caller.process));
	pthread_mutex_lock(&lock);
	kept[next++ % KEPT] = caller;
	pthread_mutex_unlock(&lock);
}

bool qsb__callers_find(unsigned port, struct qsb__denial *denial)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < KEPT && !found && port; i++) {
		const struct caller *caller = &kept[(next + KEPT - 1 - i) % KEPT];

		found = caller->port == port;
		if (found) {
			denial->pid = caller->pid;
			memcpy(denial->process, caller->process, sizeof(denial->process));
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}
