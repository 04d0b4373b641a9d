/*
 * table inet qsb {
 *   chain catch {
 *     type filter hook prerouting priority mangle; policy accept;
 *     meta nfproto ipv4 meta l4proto tcp ip daddr != 127.0.0.0/8 tcp dport != 53 tproxy ip to :PORT accept
 *     meta nfproto ipv6 meta l4proto tcp ip6 daddr != ::1 tcp dport != 53 tproxy ip6 to :PORT accept
 *   }
 * }
 *
 * TPROXY and not a redirection: the socket's own name stays what the client asked for, and no connection is tracked.
 * Port 53 has a listener of its own at every address. In the prerouting hook also the answers go by, to a client's
 * address that is not loopback; there the kernel finds the client's socket, which is not transparent, and leaves them.
 */
#include "backend/linux/nftables.h"

#include <stddef.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

enum { PRIORITY = -150, DNS_PORT = 53, DESTINATION_PORT_OFFSET = 2 };

#define TABLE "qsb"
#define CHAIN "catch"

/* What a rule for one version of IP looks at. */
struct version {
	uint8_t protocol; /* NFPROTO_* */
	uint32_t offset;  /* of the bytes of the destination that tell loopback */
	uint32_t length;
	const uint8_t *loopback;
};

static void begin(struct qsb__netlink *to, unsigned type, unsigned flags)
{
	const struct nfgenmsg head = {.nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0};

	qsb__netlink_begin(to, (NFNL_SUBSYS_NFTABLES << 8) | type, NLM_F_ACK | flags, &head, sizeof(head));
}

static void mark(struct qsb__netlink *to, unsigned type)
{
	const struct nfgenmsg head = {.version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES)};

	qsb__netlink_begin(to, type, 0, &head, sizeof(head));
}

struct expression {
	size_t element, data;
};

static struct expression begin_expression(struct qsb__netlink *to, const char *name, size_t size)
{
	struct expression expression = {.element = qsb__netlink_nest(to, NFTA_LIST_ELEM)};

	qsb__netlink_put(to, NFTA_EXPR_NAME, name, size);
	expression.data = qsb__netlink_nest(to, NFTA_EXPR_DATA);
	return expression;
}

#define BEGIN_EXPRESSION(to, name) begin_expression(to, name, sizeof(name))

static void end_expression(struct qsb__netlink *to, const struct expression *expression)
{
	qsb__netlink_unnest(to, expression->data);
	qsb__netlink_unnest(to, expression->element);
}

static void put_value(struct qsb__netlink *to, unsigned type, const void *value, size_t size)
{
	size_t nest = qsb__netlink_nest(to, type);

	qsb__netlink_put(to, NFTA_DATA_VALUE, value, size);
	qsb__netlink_unnest(to, nest);
}

static void compare(struct qsb__netlink *to, uint32_t how, const void *value, size_t size)
{
	struct expression expression = BEGIN_EXPRESSION(to, "cmp");

	qsb__netlink_put_be32(to, NFTA_CMP_SREG, NFT_REG_1);
	qsb__netlink_put_be32(to, NFTA_CMP_OP, how);
	put_value(to, NFTA_CMP_DATA, value, size);
	end_expression(to, &expression);
}

static void when_meta_is(struct qsb__netlink *to, uint32_t key, uint8_t value)
{
	struct expression expression = BEGIN_EXPRESSION(to, "meta");

	qsb__netlink_put_be32(to, NFTA_META_KEY, key);
	qsb__netlink_put_be32(to, NFTA_META_DREG, NFT_REG_1);
	end_expression(to, &expression);
	compare(to, NFT_CMP_EQ, &value, sizeof(value));
}

static void unless_payload_is(struct qsb__netlink *to, uint32_t base, uint32_t offset, const void *value, uint32_t size)
{
	struct expression expression = BEGIN_EXPRESSION(to, "payload");

	qsb__netlink_put_be32(to, NFTA_PAYLOAD_DREG, NFT_REG_1);
	qsb__netlink_put_be32(to, NFTA_PAYLOAD_BASE, base);
	qsb__netlink_put_be32(to, NFTA_PAYLOAD_OFFSET, offset);
	qsb__netlink_put_be32(to, NFTA_PAYLOAD_LEN, size);
	end_expression(to, &expression);
	compare(to, NFT_CMP_NEQ, value, size);
}

static void lead_to(struct qsb__netlink *to, uint8_t protocol, uint16_t port)
{
	const uint16_t wire = htons(port);
	struct expression expression = BEGIN_EXPRESSION(to, "immediate");

	qsb__netlink_put_be32(to, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	put_value(to, NFTA_IMMEDIATE_DATA, &wire, sizeof(wire));
	end_expression(to, &expression);
	expression = BEGIN_EXPRESSION(to, "tproxy");
	qsb__netlink_put_be32(to, NFTA_TPROXY_FAMILY, protocol);
	qsb__netlink_put_be32(to, NFTA_TPROXY_REG_PORT, NFT_REG_1);
	end_expression(to, &expression);
}

static void accept_it(struct qsb__netlink *to)
{
	struct expression expression = BEGIN_EXPRESSION(to, "immediate");
	size_t data, verdict;

	qsb__netlink_put_be32(to, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = qsb__netlink_nest(to, NFTA_IMMEDIATE_DATA);
	verdict = qsb__netlink_nest(to, NFTA_DATA_VERDICT);
	qsb__netlink_put_be32(to, NFTA_VERDICT_CODE, NF_ACCEPT);
	qsb__netlink_unnest(to, verdict);
	qsb__netlink_unnest(to, data);
	end_expression(to, &expression);
}

static void put_rule(struct qsb__netlink *to, const struct version *version, uint16_t port)
{
	const uint16_t dns = htons(DNS_PORT);
	size_t list;

	begin(to, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
	qsb__netlink_put(to, NFTA_RULE_TABLE, TABLE, sizeof(TABLE));
	qsb__netlink_put(to, NFTA_RULE_CHAIN, CHAIN, sizeof(CHAIN));
	list = qsb__netlink_nest(to, NFTA_RULE_EXPRESSIONS);
	when_meta_is(to, NFT_META_NFPROTO, version->protocol);
	when_meta_is(to, NFT_META_L4PROTO, IPPROTO_TCP);
	unless_payload_is(to, NFT_PAYLOAD_NETWORK_HEADER, version->offset, version->loopback, version->length);
	unless_payload_is(to, NFT_PAYLOAD_TRANSPORT_HEADER, DESTINATION_PORT_OFFSET, &dns, sizeof(dns));
	lead_to(to, version->protocol, port);
	accept_it(to);
	qsb__netlink_unnest(to, list);
}

static void put_chain(struct qsb__netlink *to)
{
	size_t hook;

	begin(to, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL);
	qsb__netlink_put(to, NFTA_CHAIN_TABLE, TABLE, sizeof(TABLE));
	qsb__netlink_put(to, NFTA_CHAIN_NAME, CHAIN, sizeof(CHAIN));
	hook = qsb__netlink_nest(to, NFTA_CHAIN_HOOK);
	qsb__netlink_put_be32(to, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
	qsb__netlink_put_be32(to, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY);
	qsb__netlink_unnest(to, hook);
	qsb__netlink_put_be32(to, NFTA_CHAIN_POLICY, NF_ACCEPT);
	qsb__netlink_put(to, NFTA_CHAIN_TYPE, "filter", sizeof("filter"));
}

void qsb__nftables_write(struct qsb__netlink *to, uint16_t port, bool six)
{
	static const uint8_t net_127 = 127, loopback_6[16] = {[15] = 1};
	const struct version versions[] = {
		{NFPROTO_IPV4, 16, sizeof(net_127), &net_127},
		{NFPROTO_IPV6, 24, sizeof(loopback_6), loopback_6},
	};

	mark(to, NFNL_MSG_BATCH_BEGIN);
	begin(to, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL);
	qsb__netlink_put(to, NFTA_TABLE_NAME, TABLE, sizeof(TABLE));
	put_chain(to);
	put_rule(to, &versions[0], port);
	if (six)
		put_rule(to, &versions[1], port);
	mark(to, NFNL_MSG_BATCH_END);
}

int qsb__nftables_catch(uint16_t port, bool six)
{
	uint8_t bytes[QSB__NFTABLES_BYTES] __attribute__((aligned(4)));
	struct qsb__netlink messages = {.bytes = bytes, .size = sizeof(bytes)};
	uint32_t last = six ? 5 : 4, sequence = 0;
	int code, fd = qsb__netlink_open(NETLINK_NETFILTER);

	if (fd < 0)
		return fd;
	qsb__nftables_write(&messages, port, six);
	code = qsb__netlink_send(fd, &messages);
	/* The first fault is all: then the kernel takes nothing of it. */
	while (code == 0 && sequence < last)
		code = qsb__netlink_answer(fd, &sequence);
	close(fd);
	return code;
}
