#include "cli/learn_hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY_SUBDOMAINS = 5, HTTP = 80, HTTPS = 443, SHORT_LABEL = 3 };

int qsb__reached_init(struct qsb__reached *reached)
{
	*reached = (struct qsb__reached){.hosts = calloc(QSB__LEARN_HOSTS, sizeof(*reached->hosts))};
	return reached->hosts ? 0 : QSB_E_MEMORY;
}

void qsb__reached_clear(struct qsb__reached *reached)
{
	free(reached->hosts);
	*reached = (struct qsb__reached){.hosts = NULL};
}

void qsb__reached_add(struct qsb__reached *reached, const struct qsb__broker_event *event)
{
	struct qsb__reached_host *host = NULL;

	if (event->kind != QSB__BROKER_CONNECTION || !event->allowed || !event->host[0] ||
	    event->way == QSB__WAY_REACH || event->way == QSB__WAY_PUBLISH || event->way == QSB__WAY_DNS)
		return;
	for (size_t i = 0; i < reached->count && !host; i++)
		if (reached->hosts[i].port == event->port && strcmp(reached->hosts[i].host, event->host) == 0)
			host = &reached->hosts[i];
	if (!host && reached->count == QSB__LEARN_HOSTS) {
		reached->lost++;
		return;
	}
	if (!host) {
		host = &reached->hosts[reached->count++];
		*host = (struct qsb__reached_host){.port = event->port};
		snprintf(host->host, sizeof(host->host), "%s", event->host);
	}
	host->count++;
	host->worked = host->worked || !event->failed;
}

/* The usual ports of the web need no naming; any other is part of the entry. */
static void write_pattern(char *out, size_t size, const struct qsb__reached_host *host)
{
	bool usual = host->port == HTTP || host->port == HTTPS || host->port == 0;
	bool brackets = !usual && strchr(host->host, ':');

	snprintf(out, size, "%s%s%s", brackets ? "[" : "", host->host, brackets ? "]" : "");
	if (!usual)
		snprintf(out + strlen(out), size - strlen(out), ":%u", host->port);
}

static bool is_refused(const struct qsb__plan *plan, const struct qsb__reached_host *host)
{
	bool brackets = strchr(host->host, ':') != NULL;
	struct qsb__host_verdict verdict;
	struct qsb_error err;
	char text[300];

	snprintf(text, sizeof(text), "%s%s%s:%u", brackets ? "[" : "", host->host, brackets ? "]" : "",
		 host->port ? host->port : HTTPS);
	return qsb__plan_explain_host(plan, text, &verdict, &err) == 0 && !verdict.allowed;
}

/* "example.com" of "a.example.com"; NULL: no parent that is surely one owner's (co.uk is not). */
static const char *parent_of(const char *pattern)
{
	const char *parent = strchr(pattern, '.'), *last, *first;

	if (!parent || strpbrk(pattern, ":[/*") || strspn(pattern, "0123456789.") == strlen(pattern))
		return NULL;
	parent++;
	last = strrchr(parent, '.');
	first = strchr(parent, '.');
	if (!last || (first == last && first - parent <= SHORT_LABEL && strlen(last + 1) == 2))
		return NULL;
	return parent;
}

static void gather(struct qsb__learnt_host *hosts, size_t *count)
{
	for (size_t i = 0; i < *count; i++) {
		const char *parent = parent_of(hosts[i].pattern);
		size_t same = 0, kept = i + 1, total = 0;
		char wide[QSB__DOMAIN_MAX + 2];

		for (size_t j = i; parent && j < *count; j++) {
			const char *other = parent_of(hosts[j].pattern);

			same += !hosts[j].failed && other && strcmp(other, parent) == 0;
		}
		if (hosts[i].failed || same <= MANY_SUBDOMAINS)
			continue;
		snprintf(wide, sizeof(wide), "*.%s", parent);
		total = hosts[i].count;
		for (size_t j = i + 1; j < *count; j++) {
			const char *other = parent_of(hosts[j].pattern);

			if (!hosts[j].failed && other && strcmp(other, wide + 2) == 0)
				total += hosts[j].count;
			else
				hosts[kept++] = hosts[j];
		}
		*count = kept;
		hosts[i].count = total;
		hosts[i].gathered = same;
		memcpy(hosts[i].pattern, wide, sizeof(hosts[i].pattern));
	}
}

struct qsb__learnt_host *qsb__reached_draw(const struct qsb__reached *reached, const struct qsb__plan *plan,
					   size_t *count)
{
	struct qsb__learnt_host *out = calloc(reached->count + 1, sizeof(*out));

	*count = 0;
	for (size_t i = 0; out && i < reached->count; i++) {
		const struct qsb__reached_host *host = &reached->hosts[i];
		struct qsb__learnt_host *same = NULL;
		char pattern[QSB__DOMAIN_MAX];

		if (!is_refused(plan, host))
			continue;
		write_pattern(pattern, sizeof(pattern), host);
		for (size_t j = 0; j < *count && !same; j++)
			if (strcmp(out[j].pattern, pattern) == 0)
				same = &out[j];
		if (!same) {
			same = &out[(*count)++];
			*same = (struct qsb__learnt_host){.failed = true};
			memcpy(same->pattern, pattern, sizeof(pattern));
		}
		same->count += host->count;
		same->failed = same->failed && !host->worked;
	}
	if (out)
		gather(out, count);
	return out;
}
