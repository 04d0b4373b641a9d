/* The listening sockets that a sandbox's network begins with, for the broker to serve. Made by a process that shares
 * its parent's memory (network.c): nothing here allocates. */
#ifndef QSB_LINUX_LISTENERS_H
#define QSB_LINUX_LISTENERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

enum { QSB__REACH_MAX = 120, QSB__LISTED_MAX = 64, QSB__LISTENERS_MAX = 2 * QSB__REACH_MAX + QSB__LISTED_MAX + 16 };

struct qsb__listeners {
	int fds[QSB__LISTENERS_MAX];
	uint8_t kinds[QSB__LISTENERS_MAX]; /* enum qsb__listener */
	uint16_t ports[QSB__LISTENERS_MAX];
	size_t count;
	bool listed_only; /* no rule catches every port: only 80, 443 and those of the plan's patterns are served */
	int catch_error;  /* why not: a negative errno */
};

/* Does the plan's network have any? */
bool qsb__listeners_wanted(const struct qsb__plan *plan);

/* A port for the listener that every connection is led to: no process inside can want it, since those below 1024 need a
 * privilege. */
uint16_t qsb__listeners_catch_port(const struct qsb__plan *plan);

/* Makes those of the plan, in the network namespace of this process; `six` = with IPv6. `netfilter` = try the rule that
 * catches every port. 0 or a negative errno. */
int qsb__listeners_make(struct qsb__listeners *listeners, const struct qsb__plan *plan, bool six, bool netfilter);

/* Keeps another descriptor for the broker. */
int qsb__listeners_add(struct qsb__listeners *listeners, int fd, int kind, uint16_t port);

#endif
