/* A host and a port are known. From here on the rules decide. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/internal.h"
#include "os/own_address.h"

/* Of this machine, itself or by a translator that unpacks it. What the kernel does not say counts as its own. A
 * loopback need not be asked about. */
static bool is_own(const struct qsb__broker_run *run, const struct qsb__address *address)
{
	struct qsb__address inner[QSB__ADDRESS_INNER_MAX];
	bool same, own = qsb__address_class(address) == QSB__ADDRESS_LOOPBACK ||
			 qsb__own_address_is(run->own_fd, address) != 0;
	size_t count = own ? 0 : qsb__address_inner(address, inner, &same);

	for (size_t i = 0; i < count && !own; i++)
		own = qsb__own_address_is(run->own_fd, &inner[i]) != 0;
	return own;
}

void qsb__target_judge_address(struct qsb__connection *connection, const struct qsb__address *address,
			       const struct qsb__host_judgement *name, struct qsb__host_judgement *out)
{
	const struct qsb__host_address asked = {
		.address = *address,
		.port = connection->port,
		.own = is_own(connection->run, address),
	};

	qsb__hosts_judge_address(connection->run->hosts, &asked, name, out);
}

static void set_address(struct qsb__connection *connection, const struct qsb__address *address)
{
	connection->host_is_name = false;
	connection->address = *address;
	qsb__address_format(address, connection->host);
}

static bool name_is_allowed(void *data, const char *name)
{
	struct qsb__connection *connection = data;
	struct qsb__host_judgement verdict;

	qsb__hosts_judge_name(connection->run->hosts, name, connection->port, &verdict);
	return verdict.answer == QSB__HOST_ALLOWED && !verdict.by_star;
}

/*
 * A program may have the address from the host's own table of names, which it reads as well as we do: then it is
 * that name which was meant. The address itself must not be enough, or under no rule.
 */
void qsb__target_take_own_name(struct qsb__connection *connection)
{
	struct qsb__host_judgement verdict;
	const char *name = NULL;

	qsb__target_judge_address(connection, &connection->address, NULL, &verdict);
	if (verdict.answer == QSB__HOST_UNKNOWN)
		name = qsb__resolver_own_name(connection->run->resolver, &connection->address, name_is_allowed,
					      connection);
	if (name) {
		connection->host_is_name = true;
		snprintf(connection->host, sizeof(connection->host), "%s", name);
	}
}

bool qsb__target_take_host(struct qsb__connection *connection, const struct qsb__address *address)
{
	const char *name = qsb__stand_ins_find(connection->run->stand_ins, address, uv_hrtime() / 1000000000U);

	if (name) {
		connection->host_is_name = true;
		snprintf(connection->host, sizeof(connection->host), "%s", name);
	} else {
		set_address(connection, address);
	}
	return name != NULL;
}

void qsb__target_address(struct qsb__connection *connection, const struct qsb__address *address, unsigned port)
{
	bool name = qsb__target_take_host(connection, address);

	connection->port = port;
	/* A web client speaks first and says whom it means: looked at before anybody is called. */
	if (connection->kind == QSB__LISTENER_TRANSPARENT && (port == 80 || port == 443)) {
		qsb__first_bytes_await(connection);
		return;
	}
	if (!name)
		qsb__target_take_own_name(connection);
	qsb__target_judge(connection);
}

void qsb__target_host(struct qsb__connection *connection, const char *host, unsigned port)
{
	struct qsb__address address;

	connection->port = port;
	if (qsb__address_parse(host, strlen(host), &address)) {
		qsb__target_address(connection, &address, port);
		return;
	}
	connection->host_is_name = true;
	snprintf(connection->host, sizeof(connection->host), "%s", host);
	qsb__target_judge(connection);
}

/* Somebody said so. They saw the host and not where it leads, and the command chose it: as with "*", a name's private
 * addresses are not meant. */
static void allow(struct qsb__host_judgement *verdict, const char *rule)
{
	verdict->answer = QSB__HOST_ALLOWED;
	verdict->by_star = true;
	snprintf(verdict->rule, sizeof(verdict->rule), "%s", rule);
}

static void judge(struct qsb__connection *connection)
{
	struct qsb__broker_run *run = connection->run;

	if (connection->host_is_name)
		qsb__hosts_judge_name(run->hosts, connection->host, connection->port, connection->verdict);
	else
		qsb__target_judge_address(connection, &connection->address, NULL, connection->verdict);
	if (connection->verdict->answer == QSB__HOST_UNKNOWN &&
	    qsb__approvals_have(run->approvals, connection->host, connection->port))
		allow(connection->verdict, "allowed for this run");
}

void qsb__target_judge(struct qsb__connection *connection)
{
	connection->judged = true;
	if (!connection->verdict)
		connection->verdict = calloc(1, sizeof(*connection->verdict));
	if (!connection->verdict) {
		qsb__connection_reset(connection);
		return;
	}
	judge(connection);
	if (connection->verdict->answer == QSB__HOST_UNKNOWN && connection->run->options.ask) {
		qsb__approvals_ask(connection);
	} else if (connection->verdict->answer != QSB__HOST_ALLOWED) {
		qsb__refuse_by_rule(connection);
	} else {
		connection->allowed = true;
		qsb__dial_begin(connection);
	}
}

void qsb__target_answered(struct qsb__connection *connection, enum qsb__broker_answer answer)
{
	if (answer == QSB__ANSWER_DENY) {
		qsb__refuse_by_rule(connection);
		return;
	}
	allow(connection->verdict, answer == QSB__ANSWER_RUN ? "allowed for this run" : "allowed once");
	connection->allowed = true;
	qsb__dial_begin(connection);
}
