/* Connections to hosts under no rule, where the caller of the run wants to be asked. */
#include <stdlib.h>
#include <string.h>

#include "broker/internal.h"

enum { WAITING_MAX = 256, ALLOWED_MAX = 4096 };

struct host {
	char name[QSB__HOST_MAX];
	unsigned port;
};

/* One question, for all the connections that wait for its answer: they carry its number. */
struct question {
	uint32_t id; /* 0 = free */
	struct host host;
};

struct qsb__approvals {
	struct qsb__broker_run *run;
	struct question waiting[WAITING_MAX];
	struct host *allowed;
	size_t allowed_count;
	uint32_t last_id;
};

struct qsb__approvals *qsb__approvals_new(struct qsb__broker_run *run)
{
	struct qsb__approvals *approvals = calloc(1, sizeof(*approvals));

	if (approvals)
		approvals->run = run;
	return approvals;
}

static bool is_same(const struct host *host, const char *name, unsigned port)
{
	return host->port == port && strcmp(host->name, name) == 0;
}

bool qsb__approvals_have(const struct qsb__approvals *approvals, const char *host, unsigned port)
{
	for (size_t i = 0; i < approvals->allowed_count; i++)
		if (is_same(&approvals->allowed[i], host, port))
			return true;
	return false;
}

static void no_answer_came(struct qsb__connection *connection)
{
	qsb__approvals_forget(connection);
	connection->reason = "nobody answered whether it is allowed";
	qsb__refuse_by_rule(connection);
}

static struct question *find(struct qsb__approvals *approvals, const struct qsb__connection *connection)
{
	struct question *empty = NULL;

	for (size_t i = 0; i < WAITING_MAX; i++) {
		struct question *question = &approvals->waiting[i];

		if (question->id && is_same(&question->host, connection->host, connection->port))
			return question;
		if (!question->id && !empty)
			empty = question;
	}
	return empty;
}

void qsb__approvals_ask(struct qsb__connection *connection)
{
	struct qsb__approvals *approvals = connection->run->approvals;
	struct question *question = find(approvals, connection);

	if (question && !question->id) {
		uint32_t id = ++approvals->last_id ? approvals->last_id : ++approvals->last_id;

		if (qsb__report_request(connection, id)) {
			question->id = id;
			question->host.port = connection->port;
			memcpy(question->host.name, connection->host, sizeof(question->host.name));
		}
	}
	if (!question || !question->id) {
		connection->reason = "too many hosts wait for an answer";
		qsb__refuse_by_rule(connection);
		return;
	}
	connection->request = question->id;
	qsb__connection_expect(connection, NULL, connection->run->options.ask_ms, no_answer_came);
}

/* The next time the same host is asked for, it is a new question. */
static struct question *take(struct qsb__approvals *approvals, uint32_t id)
{
	for (size_t i = 0; id && i < WAITING_MAX; i++)
		if (approvals->waiting[i].id == id) {
			approvals->waiting[i].id = 0;
			return &approvals->waiting[i];
		}
	return NULL;
}

static void remember(struct qsb__approvals *approvals, const struct host *host)
{
	struct host *allowed;

	if (approvals->allowed_count == ALLOWED_MAX || qsb__approvals_have(approvals, host->name, host->port))
		return;
	allowed = realloc(approvals->allowed, (approvals->allowed_count + 1) * sizeof(*allowed));
	if (!allowed)
		return;
	approvals->allowed = allowed;
	approvals->allowed[approvals->allowed_count++] = *host;
}

static struct qsb__connection *next_waiting(struct qsb__broker_run *run, uint32_t id)
{
	struct qsb__connection *connection = run->connections;

	while (connection && connection->request != id)
		connection = connection->next;
	return connection;
}

void qsb__approvals_answer(struct qsb__approvals *approvals, uint32_t id, enum qsb__broker_answer answer)
{
	struct question *question = take(approvals, id);
	struct qsb__connection *connection;

	if (!question)
		return;
	if (answer == QSB__ANSWER_RUN)
		remember(approvals, &question->host);
	while ((connection = next_waiting(approvals->run, id)) != NULL) {
		connection->request = 0;
		if (answer == QSB__ANSWER_DENY)
			connection->reason = "it was asked for and not allowed";
		qsb__target_answered(connection, answer);
	}
}

void qsb__approvals_forget(struct qsb__connection *connection)
{
	uint32_t id = connection->request;

	connection->request = 0;
	if (id && !next_waiting(connection->run, id))
		take(connection->run->approvals, id);
}
