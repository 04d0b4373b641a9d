/* Names to addresses by c-ares: /etc/hosts and the name servers of /etc/resolv.conf, as this host's own programs. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <ares.h>
#include <netdb.h>

#include "broker/internal.h"
#include "core/cleanup.h"
#include "core/error.h"

enum {
	TRY_MS = 3000,
	TRIES = 3,
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
	ares_channel channel, own; /* own: asks the host's table only */
	uv_timer_t timer;
	struct watched *watched[SOCKETS_MAX];
	struct cached *cache[CACHE_SLOTS];
};

struct qsb__lookup {
	struct qsb__resolver *resolver;
	qsb__found_fn found; /* NULL = nobody waits any more */
	void *data;
	struct qsb__lookup **owner;
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
	uint32_t hash = 2166136261U;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619U;
	return &resolver->cache[hash % CACHE_SLOTS];
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
	struct qsb__address *to = &found->addresses[found->count];

	if (found->count == QSB__ADDRESSES_MAX)
		return;
	memset(to, 0, sizeof(*to));
	if (name->sa_family == AF_INET) {
		const struct sockaddr_in *inet = (const struct sockaddr_in *)(const void *)name;

		to->family = 4;
		memcpy(to->bytes, &inet->sin_addr, 4);
	} else if (name->sa_family == AF_INET6) {
		const struct sockaddr_in6 *inet = (const struct sockaddr_in6 *)(const void *)name;
		bool mapped = IN6_IS_ADDR_V4MAPPED(&inet->sin6_addr);

		to->family = mapped ? 4 : 6;
		memcpy(to->bytes, inet->sin6_addr.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
	} else {
		return;
	}
	found->count++;
}

static void finish(struct qsb__lookup *lookup, const struct qsb__found *found)
{
	if (lookup->found) {
		*lookup->owner = NULL;
		lookup->found(lookup->data, found);
	}
	free(lookup);
}

static void looked_up(void *data, int status, int timeouts, struct ares_addrinfo *result)
{
	struct qsb__lookup *lookup = data;
	struct qsb__found found = {.code = 2};
	int ttl = CACHE_LONGEST_S;

	if (status == ARES_EDESTRUCTION) {
		if (result)
			ares_freeaddrinfo(result);
		free(lookup);
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

void qsb__resolver_ask(struct qsb__resolver *resolver, const char *name, qsb__found_fn found, void *data,
		       struct qsb__lookup **lookup)
{
	const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_flags = ARES_AI_NOSORT};
	const struct cached *cached = *cache_slot(resolver, name);
	struct qsb__lookup *made;

	*lookup = NULL;
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
	ares_getaddrinfo(resolver->channel, made->name, NULL, &hints, looked_up, made);
	rearm(resolver);
}

/* c-ares cannot forget one question: its answer is thrown away. */
void qsb__lookup_cancel(struct qsb__lookup *lookup)
{
	lookup->found = NULL;
}

/* ---- the host's own table, from address to name ---- */

struct wanted {
	bool (*wanted)(void *data, const char *name);
	void *data;
	char *out;
	bool found;
};

static void take_if_wanted(struct wanted *wanted, const char *name)
{
	char canonical[QSB__HOST_MAX];

	if (wanted->found || !name || !qsb__host_name_canonical(name, strlen(name), canonical) ||
	    !wanted->wanted(wanted->data, canonical))
		return;
	memcpy(wanted->out, canonical, sizeof(canonical));
	wanted->found = true;
}

static void own_names(void *data, int status, int timeouts, struct hostent *host)
{
	struct wanted *wanted = data;

	if (status != ARES_SUCCESS || !host)
		return;
	take_if_wanted(wanted, host->h_name);
	for (char **alias = host->h_aliases; alias && *alias; alias++)
		take_if_wanted(wanted, *alias);
}

bool qsb__resolver_own_name(struct qsb__resolver *resolver, const struct qsb__address *address,
			    bool (*wanted)(void *data, const char *name), void *data, char *out)
{
	struct wanted question = {.wanted = wanted, .data = data, .out = out};
	bool is_4 = address->family == 4;

	/* Nothing is sent: this channel only reads the file, and answers before it returns. */
	ares_gethostbyaddr(resolver->own, address->bytes, is_4 ? 4 : 16, is_4 ? AF_INET : AF_INET6, own_names,
			   &question);
	return question.found;
}

/* ---- its life ---- */

static int open_channel(struct qsb__resolver *resolver, ares_channel *channel, const char *lookups)
{
	char order[4];
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH,
		.timeout = TRY_MS,
		.tries = TRIES,
		.ndots = 0,
		.sock_state_cb = socket_changed,
		.sock_state_cb_data = resolver,
		.lookups = order,
	};
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_SOCK_STATE_CB |
		   ARES_OPT_LOOKUPS | ARES_OPT_DOMAINS;

	memcpy(order, lookups, strlen(lookups) + 1);
	return ares_init_options(channel, &options, mask);
}

struct qsb__resolver *qsb__resolver_new(struct qsb__broker_run *run, struct qsb_error *err)
{
	struct qsb__resolver *resolver = calloc(1, sizeof(*resolver));
	int code;

	if (!resolver) {
		qsb__fail_memory(err, "network");
		return NULL;
	}
	resolver->run = run;
	code = open_channel(resolver, &resolver->channel, "fb");
	if (code == ARES_SUCCESS)
		code = open_channel(resolver, &resolver->own, "f");
	if (code != ARES_SUCCESS) {
		qsb__fail(err, QSB_E_OS, "network", "cannot read the host's resolver settings: %s",
			  ares_strerror(code));
		free(resolver);
		return NULL;
	}
	uv_timer_init(&run->loop, &resolver->timer);
	resolver->timer.data = resolver;
	return resolver;
}

void qsb__resolver_free(struct qsb__resolver *resolver)
{
	if (!resolver)
		return;
	ares_destroy(resolver->own);
	ares_destroy(resolver->channel);
	for (size_t i = 0; i < CACHE_SLOTS; i++)
		free(resolver->cache[i]);
	free(resolver);
}
