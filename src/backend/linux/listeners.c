#include "backend/linux/listeners.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "backend/linux/nftables.h"
#include "broker/broker.h"
#include "core/cleanup.h"
#include "core/domain.h"

enum { BACKLOG = 4096, DNS_PORT = 53, HIGHEST_PRIVILEGED = 1023 };

/* Where one listens: at every address, or at loopback. */
struct place {
	enum qsb__listener kind;
	int type;   /* SOCK_* */
	int domain; /* AF_*; AF_INET6 at every address takes IPv4 too */
	bool loopback;
	uint16_t port;
};

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0 ? 0 : -errno;
}

static int set_options(int fd, const struct place *place)
{
	bool transparent = place->kind == QSB__LISTENER_TRANSPARENT, datagrams = place->type == SOCK_DGRAM;
	bool six = place->domain == AF_INET6;
	const struct {
		bool wanted;
		int level, name, value;
	} options[] = {
		{six, IPPROTO_IPV6, IPV6_V6ONLY, place->loopback},
		{transparent, IPPROTO_IP, IP_TRANSPARENT, 1},
		{transparent && six, IPPROTO_IPV6, IPV6_TRANSPARENT, 1},
		{datagrams, IPPROTO_IP, IP_PKTINFO, 1},
		{datagrams && six, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1},
		/* An answer leaves from the address that was asked, which no interface has. */
		{datagrams && six, IPPROTO_IPV6, IPV6_FREEBIND, 1},
	};
	int code = 0;

	for (size_t i = 0; code == 0 && i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].wanted)
			code = set_option(fd, options[i].level, options[i].name, options[i].value);
	return code;
}

static int bind_to(int fd, const struct place *place)
{
	const struct sockaddr_in four = {
		.sin_family = AF_INET,
		.sin_port = htons(place->port),
		.sin_addr.s_addr = htonl(place->loopback ? INADDR_LOOPBACK : INADDR_ANY),
	};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(place->port)};

	six.sin6_addr.s6_addr[15] = place->loopback;
	return place->domain == AF_INET6 ? bind(fd, (const struct sockaddr *)&six, sizeof(six))
					 : bind(fd, (const struct sockaddr *)&four, sizeof(four));
}

int qsb__listeners_add(struct qsb__listeners *listeners, int fd, int kind, uint16_t port)
{
	if (listeners->count == QSB__LISTENERS_MAX)
		return -ENOBUFS;
	listeners->fds[listeners->count] = fd;
	listeners->kinds[listeners->count] = (uint8_t)kind;
	listeners->ports[listeners->count++] = port;
	return 0;
}

static int open_at(struct qsb__listeners *listeners, const struct place *place)
{
	QSB_CLEANUP_FD int fd = socket(place->domain, place->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int code = fd < 0 ? -errno : set_options(fd, place);

	/* The kernel cuts the length of the queue at its own limit. */
	if (code == 0 && (bind_to(fd, place) != 0 || (place->type == SOCK_STREAM && listen(fd, BACKLOG) != 0)))
		code = -errno;
	if (code == 0)
		code = qsb__listeners_add(listeners, fd, place->kind, place->port);
	if (code == 0)
		qsb__take_fd(&fd);
	return code;
}

static int open_everywhere(struct qsb__listeners *listeners, enum qsb__listener kind, uint16_t port, bool six)
{
	const struct place place = {
		.kind = kind,
		.type = kind == QSB__LISTENER_DNS_UDP ? SOCK_DGRAM : SOCK_STREAM,
		.domain = six ? AF_INET6 : AF_INET,
		.port = port,
	};

	return open_at(listeners, &place);
}

static int open_loopback(struct qsb__listeners *listeners, enum qsb__listener kind, uint16_t port, bool six)
{
	struct place place = {.kind = kind, .type = SOCK_STREAM, .domain = AF_INET, .loopback = true, .port = port};
	int code = port ? open_at(listeners, &place) : 0;

	place.domain = AF_INET6;
	return code == 0 && port && six ? open_at(listeners, &place) : code;
}

static bool has_port(const uint16_t *ports, uint16_t port)
{
	for (; ports && *ports; ports++)
		if (*ports == port)
			return true;
	return false;
}

/* Ports that have another meaning inside. */
static bool is_taken(const struct qsb__plan *plan, uint16_t port)
{
	return port == DNS_PORT || port == plan->proxy_port || port == plan->socks_port ||
	       has_port(plan->reach_ports, port) || has_port(plan->publish_ports, port);
}

uint16_t qsb__listeners_catch_port(const struct qsb__plan *plan)
{
	uint16_t port = HIGHEST_PRIVILEGED;

	while (is_taken(plan, port))
		port--;
	return port;
}

static bool is_open(const struct qsb__listeners *listeners, uint16_t port)
{
	for (size_t i = 0; i < listeners->count; i++)
		if (listeners->kinds[i] == QSB__LISTENER_TRANSPARENT && listeners->ports[i] == port)
			return true;
	return false;
}

static int open_listed(struct qsb__listeners *listeners, const struct qsb__plan *plan, uint16_t port, bool six)
{
	if (port == 0 || is_taken(plan, port) || is_open(listeners, port))
		return 0;
	return open_everywhere(listeners, QSB__LISTENER_TRANSPARENT, port, six);
}

/* Without the rule only these ports can be reached at all: nobody listens at the others. */
static int open_all_listed(struct qsb__listeners *listeners, const struct qsb__plan *plan, bool six)
{
	const size_t most = listeners->count + QSB__LISTED_MAX;
	int code = open_listed(listeners, plan, 80, six);

	listeners->listed_only = true;
	if (code == 0)
		code = open_listed(listeners, plan, 443, six);
	for (char *const *at = plan->allowed_domains; code == 0 && at && *at && listeners->count < most; at++) {
		unsigned port;

		qsb__domain_split(*at, &port);
		code = open_listed(listeners, plan, (uint16_t)port, six);
	}
	return code;
}

static int catch_all(struct qsb__listeners *listeners, const struct qsb__plan *plan, bool six, bool netfilter)
{
	uint16_t port = qsb__listeners_catch_port(plan);

	listeners->catch_error = netfilter ? qsb__nftables_catch(port, six) : -EPROTONOSUPPORT;
	if (listeners->catch_error != 0)
		return open_all_listed(listeners, plan, six);
	return open_everywhere(listeners, QSB__LISTENER_TRANSPARENT, port, six);
}

static int make_filtered(struct qsb__listeners *listeners, const struct qsb__plan *plan, bool six, bool netfilter)
{
	int code = catch_all(listeners, plan, six, netfilter);

	if (code == 0)
		code = open_everywhere(listeners, QSB__LISTENER_DNS_UDP, DNS_PORT, six);
	if (code == 0)
		code = open_everywhere(listeners, QSB__LISTENER_DNS_TCP, DNS_PORT, six);
	if (code == 0)
		code = open_loopback(listeners, QSB__LISTENER_HTTP_PROXY, plan->proxy_port, six);
	return code == 0 ? open_loopback(listeners, QSB__LISTENER_SOCKS, plan->socks_port, six) : code;
}

bool qsb__listeners_wanted(const struct qsb__plan *plan)
{
	return plan->network == QSB__NETWORK_FILTERED || (plan->reach_ports && plan->reach_ports[0]) ||
	       (plan->publish_ports && plan->publish_ports[0]);
}

int qsb__listeners_make(struct qsb__listeners *listeners, const struct qsb__plan *plan, bool six, bool netfilter)
{
	int code = 0;

	if (plan->network == QSB__NETWORK_FILTERED)
		code = make_filtered(listeners, plan, six, netfilter);
	for (const uint16_t *port = plan->reach_ports; code == 0 && port && *port; port++)
		code = open_loopback(listeners, QSB__LISTENER_REACH, *port, six);
	return code;
}
