/* The hosts that a command reached, in bounded memory, and the entries of allowedDomains that they need. */
#ifndef QSB_CLI_LEARN_HOSTS_H
#define QSB_CLI_LEARN_HOSTS_H

#include "broker/broker.h"
#include "plan/plan.h"

enum { QSB__LEARN_HOSTS = 512 };

struct qsb__reached_host {
	char host[256];
	uint16_t port;
	bool worked;
	size_t count;
};

struct qsb__reached {
	struct qsb__reached_host *hosts; /* QSB__LEARN_HOSTS of them */
	size_t count;
	size_t lost; /* connections to hosts that there was no room for */
};

int qsb__reached_init(struct qsb__reached *reached); /* 0 or QSB_E_MEMORY */
void qsb__reached_add(struct qsb__reached *reached, const struct qsb__broker_event *event);
void qsb__reached_clear(struct qsb__reached *reached);

struct qsb__learnt_host {
	char pattern[QSB__DOMAIN_MAX];
	size_t count;    /* connections */
	size_t gathered; /* exact hosts that it stands for, 0 = it is one itself */
	bool failed;     /* nothing came of it: no entry */
};

/* What `plan`, as it was given, would refuse. The array is the caller's; NULL = no memory. */
struct qsb__learnt_host *qsb__reached_draw(const struct qsb__reached *reached, const struct qsb__plan *plan,
					   size_t *count);

#endif
