/* One list of patterns of hosts, sorted so that thousands of them cost no more than a few. */
#ifndef QSB_PLAN_HOST_RULES_H
#define QSB_PLAN_HOST_RULES_H

#include "core/address.h"

struct qsb__name_pattern {
	const char *key; /* in `text`: "example.com"; ".example.com" for its subdomains; "*" */
	unsigned length; /* of the key */
	unsigned port;   /* 0 = any */
	const char *text;
};

struct qsb__range_pattern {
	struct qsb__address start;
	unsigned bits;
	unsigned port;
	enum qsb__address_class class; /* of all of it; PUBLIC where its ends differ */
	const char *text;
};

/* Ranges of one family and size: they lie side by side. */
struct qsb__range_group {
	int family;
	unsigned bits;
	size_t first, count;
};

struct qsb__host_rules {
	struct qsb__name_pattern *names;
	size_t name_count;
	struct qsb__range_pattern *ranges;
	size_t range_count;
	struct qsb__range_group groups[33 + 129]; /* the smallest ranges first */
	size_t group_count;
};

/* Canonical texts, NULL-terminated, which must stay; NULL = none. false = no memory. */
bool qsb__host_rules_init(struct qsb__host_rules *rules, char *const *patterns);
void qsb__host_rules_clear(struct qsb__host_rules *rules);

/* The pattern that means the name at the port: itself, else the nearest of its parents, else "*". NULL = none.
 * Port 0: only a pattern for every port. */
const char *qsb__host_rules_name(const struct qsb__host_rules *rules, const char *name, unsigned port);

/* Is there a pattern other than "*" for it, at whatever port? */
bool qsb__host_rules_knows_name(const struct qsb__host_rules *rules, const char *name);

/* Calls `found` for each pattern that means the name, with its port, until it returns true. */
void qsb__host_rules_each_port(const struct qsb__host_rules *rules, const char *name,
			       bool (*found)(void *context, const char *pattern, unsigned port), void *context);

/*
 * The smallest range that holds the address, NULL = none. `meant`: only one that was written for it: a range that lies
 * in the loopback, link-local or another special network as the address does (0.0.0.0/0 does not mean 127.0.0.1), and
 * for a metadata address that address alone.
 */
const char *qsb__host_rules_address(const struct qsb__host_rules *rules, const struct qsb__address *address,
				    unsigned port, bool meant);

/* "*", for this port. */
const char *qsb__host_rules_star(const struct qsb__host_rules *rules, unsigned port);

#endif
