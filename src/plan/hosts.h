/*
 * The network rules of a plan, made ready to be asked often: by `explain host`, and by the broker for each connection.
 * Pure. The order of a verdict: a denied name or address; an allowed one; what "*" does not mean; else refused.
 */
#ifndef QSB_PLAN_HOSTS_H
#define QSB_PLAN_HOSTS_H

#include "core/address.h"
#include "plan/plan.h"

struct qsb__hosts;

enum qsb__host_answer {
	QSB__HOST_DENIED,  /* by a rule, or by what it is (this machine's own address) */
	QSB__HOST_UNKNOWN, /* under no rule: refused, unless somebody is asked and allows it */
	QSB__HOST_ALLOWED
};

struct qsb__host_judgement {
	enum qsb__host_answer answer;
	bool by_star; /* allowed by "*" alone, or by an answer: its private addresses are not meant */
	char rule[QSB__DOMAIN_MAX + 100]; /* "/network/deniedDomains: *.example.com"; "built-in: link-local address" */
	char fix[QSB__DOMAIN_MAX + 100];  /* "--allow-domain 10.0.0.5", "" = none */
};

/* Compiles the plan's lists; the plan must outlive it. NULL = no memory. */
struct qsb__hosts *qsb__hosts_new(const struct qsb__plan *plan);
void qsb__hosts_free(struct qsb__hosts *hosts);

/* A canonical name. port 0 = any port: is there a port at which it is allowed? (For the resolver.) */
void qsb__hosts_judge_name(const struct qsb__hosts *hosts, const char *name, unsigned port,
			   struct qsb__host_judgement *out);

struct qsb__host_address {
	struct qsb__address address;
	unsigned port;
	bool own; /* the kernel delivers it to this very machine */
};

/*
 * An address: one that a client asked for (`name` = NULL), or one that an allowed name resolved to (`name` its
 * judgement; where that one is no allowance, it holds for the address too). Addresses inside others (NAT64 64:ff9b::/96
 * and 64:ff9b:1::/48, 6to4 2002::/16, mapped ::ffff:0:0/96, IPv4-compatible ::/96, Teredo 2001::/32) are judged as
 * well: a rule that denies the inner one holds, what the inner one is counts, and a rule that allows it holds where a
 * packet to the one goes to the other (NAT64's own prefix, mapped, compatible).
 *
 * For a name's address: loopback, unspecified, link-local, metadata (169.254.169.254, fd00:ec2::254, 100.100.100.200,
 * 168.63.129.16, 192.0.0.192 …), multicast, reserved and own addresses are refused unless an allowed address or range
 * means them: a range does that only when all of it is of that kind (0.0.0.0/0 does not mean 127.0.0.1), and a
 * metadata address needs an entry that names that very address. Private
 * ones (RFC 1918, 100.64/10, fc00::/7) are refused when only "*" allowed the name. For an address asked for by
 * itself: it must be allowed by an entry that means it; "*" means public ones only.
 */
void qsb__hosts_judge_address(const struct qsb__hosts *hosts, const struct qsb__host_address *asked,
			      const struct qsb__host_judgement *name, struct qsb__host_judgement *out);

#endif
