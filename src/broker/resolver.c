/* Names to addresses: /etc/hosts, then by c-ares the name servers of /etc/resolv.conf, both as they were at the start.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <ares.h>

#include "broker/host_table.h"
#include "broker/internal.h"
#include "broker/socket_address.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/hash.h"

enum {
	ALL_MS = 4500, /* a client asks again after 5 s: it is to have heard by then that no server answers */
	FEW_SERVERS = 2,
	SOCKETS_MAX = 64,
	CACHE_SLOTS = 256,
	CACHE_LONGEST_S = 60, /* what a server says beyond that is not believed */
	CACHE_SHORTEST_S = 2
};

struct watched {
	struct qsb__resolver *resolver;
	ares_socket_t fd; /* ARES_SOCKET_BAD = free */
	uv_poll_t poll;
	bool closing;
};

struct cached {
	char name[QSB__HOST_MAX];
	uint64_t until_ms;
	struct qsb__found found;
};

struct qsb__resolver {
	struct qsb__broker_run *run;
	struct qsb__host_table *table;
	ares_channel channel;
	uv_timer_t timer;
	struct watched *watched[SOCKETS_MAX];
	struct cached *cache[CACHE_SLOTS];
	struct qsb__lookup *asked; /* a list */
};

struct qsb__lookup {
	struct qsb__resolver *resolver;
	qsb__found_fn found; /* NULL = nobody waits any more */
	void *data;
	struct qsb__lookup **owner;
	struct qsb__lookup *next;   /* that is on its way */
	struct qsb__lookup *joined; /* those that ask for the same name: no server is asked for them */
	char name[QSB__HOST_MAX];
};

/* ---- c-ares's sockets and time in the loop ---- */

static void rearm(struct qsb__resolver *resolver);

static void socket_ready(uv_poll_t *handle, int status, int events)
{
	struct watched *watched = handle->data;
	ares_socket_t fd = watched->fd;

	ares_process_fd(watched->resolver->channel, status || (events & UV_READABLE) ? fd : ARES_SOCKET_BAD,
			status || (events & UV_WRITABLE) ? fd : ARES_SOCKET_BAD);
	rearm(watched->resolver);
}

static void time_passed(uv_timer_t *timer)
{
	struct qsb__resolver *resolver = timer->data;

	ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	rearm(resolver);
}

static void rearm(struct qsb__resolver *resolver)
{
	struct timeval wait, *next = ares_timeout(resolver->channel, NULL, &wait);

	if (next)
		uv_timer_start(&resolver->timer, time_passed,
			       (uint64_t)next->tv_sec * 1000U + (uint64_t)next->tv_usec / 1000U + 1, 0);
	else
		uv_timer_stop(&resolver->timer);
}

static void watched_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void unwatch(struct watched **slot)
{
	uv_close((uv_handle_t *)&(*slot)->poll, watched_closed);
	*slot = NULL;
}

static struct watched **slot_of(struct qsb__resolver *resolver, ares_socket_t fd)
{
	struct watched **empty = NULL;

	for (size_t i = 0; i < SOCKETS_MAX; i++) {
		if (resolver->watched[i] && resolver->watched[i]->fd == fd)
			return &resolver->watched[i];
		if (!resolver->watched[i] && !empty)
			empty = &resolver->watched[i];
	}
	return empty;
}

static void socket_changed(void *data, ares_socket_t fd, int readable, int writable)
{
	struct qsb__resolver *resolver = data;
	struct watched **slot = slot_of(resolver, fd);
	int events = (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0);

	if (!slot)
		return; /* its answer is missed; the timer tries again */
	if (!events) {
		if (*slot)
			unwatch(slot);
		return;
	}
	if (!*slot) {
		struct watched *watched = calloc(1, sizeof(*watched));

		if (!watched)
			return;
		watched->resolver = resolver;
		watched->fd = fd;
		watched->poll.data = watched;
		if (uv_poll_init_socket(&resolver->run->loop, &watched->poll, fd) != 0) {
			free(watched);
			return;
		}
		*slot = watched;
	}
	uv_poll_start(&(*slot)->poll, events, socket_ready);
}

/* ---- what is known already ---- */

static struct cached **cache_slot(struct qsb__resolver *resolver, const char *name)
{
	return &resolver->cache[qsb__hash_text(name) % CACHE_SLOTS];
}

static void keep(struct qsb__resolver *resolver, const char *name, const struct qsb__found *found, int ttl_s)
{
	struct cached **slot = cache_slot(resolver, name);

	if (!*slot)
		*slot = calloc(1, sizeof(**slot));
	if (!*slot)
		return;
	if (ttl_s > CACHE_LONGEST_S)
		ttl_s = CACHE_LONGEST_S;
	if (ttl_s < CACHE_SHORTEST_S)
		ttl_s = CACHE_SHORTEST_S;
	memcpy((*slot)->name, name, strlen(name) + 1);
	(*slot)->found = *found;
	(*slot)->until_ms = uv_now(&resolver->run->loop) + (uint64_t)ttl_s * 1000U;
}

/* ---- lookups ---- */

static void add(struct qsb__found *found, const struct sockaddr *name)
{
	unsigned port;

	if (found->count < QSB__ADDRESSES_MAX && qsb__socket_address_read(name, &found->addresses[found->count], &port))
		found->count++;
}

/* `found` = NULL: nobody is told. */
static void finish(struct qsb__lookup *lookup, const struct qsb__found *found)
{
	struct qsb__lookup **at = &lookup->resolver->asked;

	/* Whoever asks from here on asks anew. */
	while (*at && *at != lookup)
		at = &(*at)->next;
	if (*at)
		*at = lookup->next;
	while (lookup) {
		struct qsb__lookup *joined = lookup->joined;

		if (found && lookup->found) {
			*lookup->owner = NULL;
			lookup->found(lookup->data, found);
		}
		free(lookup);
		lookup = joined;
	}
}

static void looked_up(void *data, int status, int timeouts, struct ares_addrinfo *result)
{
	struct qsb__lookup *lookup = data;
	struct qsb__found found = {.code = 2};
	int ttl = CACHE_LONGEST_S;

	if (status == ARES_EDESTRUCTION) {
		if (result)
			ares_freeaddrinfo(result);
		finish(lookup, NULL);
		return;
	}
	for (struct ares_addrinfo_node *node = result ? result->nodes : NULL; node; node = node->ai_next) {
		add(&found, node->ai_addr);
		if (node->ai_ttl < ttl)
			ttl = node->ai_ttl;
	}
	if (result)
		ares_freeaddrinfo(result);
	if (found.count > 0 || status == ARES_SUCCESS || status == ARES_ENODATA)
		found.code = 0;
	else if (status == ARES_ENOTFOUND || status == ARES_EBADNAME)
		found.code = 1;
	if (found.code == 0)
		keep(lookup->resolver, lookup->name, &found, ttl);
	finish(lookup, &found);
}

/* A client asks for its addresses of both kinds at once, and programs ask together. */
static bool join(struct qsb__resolver *resolver, struct qsb__lookup *lookup)
{
	struct qsb__lookup *other = resolver->asked;

	while (other && strcmp(other->name, lookup->name) != 0)
		other = other->next;
	if (!other)
		return false;
	lookup->joined = other->joined;
	other->joined = lookup;
	return true;
}

/* What no server is asked for: the host's own table, and the loopback's name, which it may lack (RFC 6761). */
static size_t find_own(const struct qsb__resolver *resolver, const char *name, struct qsb__address *out)
{
	size_t count = qsb__host_table_find(resolver->table, name, out, QSB__ADDRESSES_MAX);

	if (count > 0 || !qsb__host_is_localhost(name))
		return count;
	qsb__address_parse("127.0.0.1", 9, &out[0]);
	qsb__address_parse("::1", 3, &out[1]);
	return 2;
}

void qsb__resolver_ask(struct qsb__resolver *resolver, const char *name, qsb__found_fn found, void *data,
		       struct qsb__lookup **lookup)
{
	const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_flags = ARES_AI_NOSORT};
	const struct cached *cached = *cache_slot(resolver, name);
	struct qsb__found own = {.code = 0};
	struct qsb__lookup *made;

	*lookup = NULL;
	own.count = find_own(resolver, name, own.addresses);
	if (own.count > 0) {
		found(data, &own);
		return;
	}
	if (cached && strcmp(cached->name, name) == 0 && uv_now(&resolver->run->loop) < cached->until_ms) {
		found(data, &cached->found);
		return;
	}
	made = calloc(1, sizeof(*made));
	if (!made) {
		found(data, &(const struct qsb__found){.code = 2});
		return;
	}
	made->resolver = resolver;
	made->found = found;
	made->data = data;
	made->owner = lookup;
	memcpy(made->name, name, strlen(name) + 1);
	*lookup = made;
	if (join(resolver, made))
		return;
	made->next = resolver->asked;
	resolver->asked = made;
	ares_getaddrinfo(resolver->channel, made->name, NULL, &hints, looked_up, made);
	rearm(resolver);
}

/* c-ares cannot forget one question: its answer is thrown away. */
void qsb__lookup_cancel(struct qsb__lookup *lookup)
{
	lookup->found = NULL;
}

/* ---- the host's own table, from address to name ---- */

const char *qsb__resolver_own_name(const struct qsb__resolver *resolver, const struct qsb__address *address,
				   bool (*wanted)(void *data, const char *name), void *data)
{
	return qsb__host_table_name(resolver->table, address, wanted, data);
}

/* ---- its life ---- */

static int open_channel(struct qsb__resolver *resolver, int timeout_ms, int tries)
{
	char order[] = "b";
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH,
		.timeout = timeout_ms,
		.tries = tries,
		.ndots = 0,
		.sock_state_cb = socket_changed,
		.sock_state_cb_data = resolver,
		.lookups = order,
	};

	return ares_init_options(&resolver->channel, &options,
				 ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
					 ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS | ARES_OPT_DOMAINS);
}

static int count_servers(ares_channel channel)
{
	struct ares_addr_node *servers = NULL;
	int count = 0;

	if (ares_get_servers(channel, &servers) != ARES_SUCCESS)
		return 1;
	for (const struct ares_addr_node *server = servers; server; server = server->next)
		count++;
	ares_free_data(servers);
	return count > 0 ? count : 1;
}

/* Each server is asked in turn, and where they are few all of them once more with twice the patience. How many there
 * are is known only to a channel. */
static int open_in_time(struct qsb__resolver *resolver)
{
	int code = open_channel(resolver, ALL_MS, 1), servers, tries;

	if (code != ARES_SUCCESS)
		return code;
	servers = count_servers(resolver->channel);
	tries = servers > FEW_SERVERS ? 1 : 2;
	ares_destroy(resolver->channel);
	return open_channel(resolver, ALL_MS / servers / (tries == 1 ? 1 : 3), tries);
}

struct qsb__resolver *qsb__resolver_new(struct qsb__broker_run *run, struct qsb_error *err)
{
	struct qsb__resolver *resolver = calloc(1, sizeof(*resolver));
	int code;

	if (resolver)
		resolver->table = qsb__host_table_read("/etc/hosts");
	if (!resolver || !resolver->table) {
		qsb__fail_memory(err, "network");
		free(resolver);
		return NULL;
	}
	resolver->run = run;
	code = open_in_time(resolver);
	if (code != ARES_SUCCESS) {
		qsb__fail(err, QSB_E_OS, "network", "cannot read the host's resolver settings: %s",
			  ares_strerror(code));
		qsb__host_table_free(resolver->table);
		free(resolver);
		return NULL;
	}
	uv_timer_init(&run->loop, &resolver->timer);
	resolver->timer.data = resolver;
	return resolver;
}
