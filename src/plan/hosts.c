#include "plan/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/domain.h"
#include "plan/host_rules.h"

struct qsb__hosts {
	struct qsb__host_rules allowed, denied;
};

struct qsb__hosts *qsb__hosts_new(const struct qsb__plan *plan)
{
	struct qsb__hosts *hosts = calloc(1, sizeof(*hosts));

	if (hosts && qsb__host_rules_init(&hosts->allowed, plan->allowed_domains) &&
	    qsb__host_rules_init(&hosts->denied, plan->denied_domains))
		return hosts;
	qsb__hosts_free(hosts);
	return NULL;
}

void qsb__hosts_free(struct qsb__hosts *hosts)
{
	if (!hosts)
		return;
	qsb__host_rules_clear(&hosts->allowed);
	qsb__host_rules_clear(&hosts->denied);
	free(hosts);
}

/* ---- the words of a judgement ---- */

static void deny_by(struct qsb__host_judgement *out, const char *pattern)
{
	*out = (struct qsb__host_judgement){.answer = QSB__HOST_DENIED};
	snprintf(out->rule, sizeof(out->rule), "/network/deniedDomains: %s", pattern);
	snprintf(out->fix, sizeof(out->fix), "take %s out of /network/deniedDomains", pattern);
}

static void allow_by(struct qsb__host_judgement *out, const char *pattern)
{
	*out = (struct qsb__host_judgement){.answer = QSB__HOST_ALLOWED};
	snprintf(out->rule, sizeof(out->rule), "/network/allowedDomains: %s", pattern);
}

/* `port` = 0: the rule that would help needs none. */
static void suggest(struct qsb__host_judgement *out, const char *host, unsigned port)
{
	bool brackets = port && strchr(host, ':');

	snprintf(out->fix, sizeof(out->fix), "--allow-domain %s%.255s%s", brackets ? "[" : "", host,
		 brackets ? "]" : "");
	if (port)
		snprintf(out->fix + strlen(out->fix), sizeof(out->fix) - strlen(out->fix), ":%u", port);
}

static void leave_unknown(struct qsb__host_judgement *out, const char *host, unsigned port)
{
	*out = (struct qsb__host_judgement){.answer = QSB__HOST_UNKNOWN};
	snprintf(out->rule, sizeof(out->rule), "/network/allowedDomains: no entry means it");
	suggest(out, host, port);
}

/* ---- names ---- */

static bool is_star(const char *pattern)
{
	return pattern[0] == '*' && pattern[1] != '.';
}

/* What resolvers answer by themselves with the machine they run on. */
static bool is_localhost(const char *name)
{
	static const char local[] = "localhost";
	size_t length = strlen(name), size = sizeof(local) - 1;

	return length >= size && strcmp(name + length - size, local) == 0 &&
	       (length == size || name[length - size - 1] == '.');
}

static void judge_at_port(const struct qsb__hosts *hosts, const char *name, unsigned port,
			  struct qsb__host_judgement *out)
{
	const char *denied = qsb__host_rules_name(&hosts->denied, name, port);
	const char *allowed = qsb__host_rules_name(&hosts->allowed, name, port);

	if (denied) {
		deny_by(out, denied);
	} else if (allowed && !(is_star(allowed) && is_localhost(name))) {
		allow_by(out, allowed);
		out->by_star = is_star(allowed);
	} else if (is_localhost(name)) {
		*out = (struct qsb__host_judgement){.answer = QSB__HOST_DENIED};
		snprintf(out->rule, sizeof(out->rule), "built-in: a name of this machine itself");
		snprintf(out->fix, sizeof(out->fix), "--reach %u", port);
	} else {
		leave_unknown(out, name, qsb__host_rules_knows_name(&hosts->allowed, name) ? port : 0);
	}
}

struct port_search {
	const struct qsb__hosts *hosts;
	const char *name;
	struct qsb__host_judgement *best;
};

/* Stops the search when there is no better answer. */
static bool try_port(void *context, const char *pattern, unsigned port)
{
	const struct port_search *search = context;
	struct qsb__host_judgement found;
	const char *denied;

	if (port) {
		judge_at_port(search->hosts, search->name, port, &found);
	} else {
		/* Rules for single ports cannot take all of them away. */
		denied = qsb__host_rules_name(&search->hosts->denied, search->name, 0);
		if (denied) {
			deny_by(&found, denied);
		} else if (is_star(pattern) && is_localhost(search->name)) {
			return false;
		} else {
			allow_by(&found, pattern);
			found.by_star = is_star(pattern);
		}
	}
	if (found.answer >= search->best->answer || search->best->answer == QSB__HOST_UNKNOWN)
		*search->best = found;
	return search->best->answer == QSB__HOST_ALLOWED;
}

static void judge_at_any_port(const struct qsb__hosts *hosts, const char *name, struct qsb__host_judgement *out)
{
	struct port_search search = {.hosts = hosts, .name = name, .best = out};
	const char *denied = qsb__host_rules_name(&hosts->denied, name, 0);

	if (denied) {
		deny_by(out, denied);
	} else if (is_localhost(name)) {
		*out = (struct qsb__host_judgement){.answer = QSB__HOST_DENIED};
		snprintf(out->rule, sizeof(out->rule), "built-in: a name of this machine itself");
	} else {
		leave_unknown(out, name, 0);
	}
	if (!denied)
		qsb__host_rules_each_port(&hosts->allowed, name, try_port, &search);
}

void qsb__hosts_judge_name(const struct qsb__hosts *hosts, const char *name, unsigned port,
			   struct qsb__host_judgement *out)
{
	if (port)
		judge_at_port(hosts, name, port, out);
	else
		judge_at_any_port(hosts, name, out);
}

/* ---- addresses ---- */

/* An address and what it carries: each of them is judged. */
struct faces {
	struct qsb__address all[1 + QSB__ADDRESS_INNER_MAX]; /* the address itself is the first */
	size_t count;
	size_t same; /* of them, from the start: a packet goes to one and the same place */
	enum qsb__address_class class;
};

static void look_at(struct faces *faces, const struct qsb__address *address)
{
	bool same;

	faces->all[0] = *address;
	faces->count = 1 + qsb__address_inner(address, faces->all + 1, &same);
	faces->same = same ? faces->count : 1;
	faces->class = qsb__address_class(address);
}

static const char *allowing(const struct qsb__hosts *hosts, const struct faces *faces, unsigned port)
{
	for (size_t i = 0; i < faces->same; i++) {
		const char *pattern = qsb__host_rules_address(&hosts->allowed, &faces->all[i], port, true);

		if (pattern)
			return pattern;
	}
	return NULL;
}

static const char *denying(const struct qsb__hosts *hosts, const struct faces *faces, unsigned port)
{
	for (size_t i = 0; i < faces->count; i++) {
		const char *pattern = qsb__host_rules_address(&hosts->denied, &faces->all[i], port, false);

		if (pattern)
			return pattern;
	}
	return qsb__host_rules_star(&hosts->denied, port);
}

static void suggest_for_kind(struct qsb__host_judgement *out, enum qsb__address_class kind, const char *address,
			     unsigned port)
{
	switch (kind) {
	case QSB__ADDRESS_LOOPBACK:
	case QSB__ADDRESS_UNSPECIFIED:
		if (port)
			snprintf(out->fix, sizeof(out->fix), "--reach %u", port);
		break;
	case QSB__ADDRESS_MULTICAST:
	case QSB__ADDRESS_RESERVED:
		/* Nothing would make these reachable. */
		break;
	default:
		suggest(out, address, 0);
	}
}

/* Says what the address is that nobody allowed. */
static void refuse_kind(struct qsb__host_judgement *out, const struct faces *faces, unsigned port, bool own)
{
	enum qsb__address_class itself = faces->class;
	char shown[QSB__ADDRESS_TEXT], inner[QSB__ADDRESS_TEXT + 20] = "";

	qsb__address_format(&faces->all[0], shown);
	for (size_t i = 1; i < faces->count; i++) {
		char text[QSB__ADDRESS_TEXT];

		if (qsb__address_class(&faces->all[i]) != itself)
			continue;
		qsb__address_format(&faces->all[i], text);
		snprintf(inner, sizeof(inner), ", as it means %s", text);
		break;
	}
	*out = (struct qsb__host_judgement){.answer = QSB__HOST_DENIED};
	if (own && (itself == QSB__ADDRESS_PUBLIC || itself == QSB__ADDRESS_PRIVATE))
		snprintf(out->rule, sizeof(out->rule), "built-in: this machine's own address");
	else
		snprintf(out->rule, sizeof(out->rule), "built-in: %s%s", qsb__address_class_name(itself), inner);
	suggest_for_kind(out, inner[0] ? QSB__ADDRESS_RESERVED : itself, shown, port);
}

/* An allowed name led here. */
static void judge_resolved(const struct faces *faces, unsigned port, const struct qsb__host_judgement *name, bool own,
			   struct qsb__host_judgement *out)
{
	bool usual = faces->class == QSB__ADDRESS_PUBLIC || (faces->class == QSB__ADDRESS_PRIVATE && !name->by_star);

	if (usual && !own)
		*out = *name;
	else
		refuse_kind(out, faces, port, own);
}

/* Asked for by itself, and under no entry of its own. */
static void judge_literal(const struct qsb__hosts *hosts, const struct faces *faces, unsigned port, bool own,
			  struct qsb__host_judgement *out)
{
	const char *star = qsb__host_rules_star(&hosts->allowed, port);
	char shown[QSB__ADDRESS_TEXT];

	if (own || faces->class > QSB__ADDRESS_PRIVATE) {
		refuse_kind(out, faces, port, own);
	} else if (star && faces->class == QSB__ADDRESS_PUBLIC) {
		allow_by(out, star);
		out->by_star = true;
	} else if (star) {
		/* A person who is asked may allow it all the same. */
		refuse_kind(out, faces, port, own);
		out->answer = QSB__HOST_UNKNOWN;
	} else {
		qsb__address_format(&faces->all[0], shown);
		leave_unknown(out, shown, 0);
	}
}

void qsb__hosts_judge_address(const struct qsb__hosts *hosts, const struct qsb__host_address *asked,
			      const struct qsb__host_judgement *name, struct qsb__host_judgement *out)
{
	struct qsb__host_judgement given = name ? *name : (struct qsb__host_judgement){.answer = QSB__HOST_DENIED};
	struct faces faces;
	const char *pattern;

	look_at(&faces, &asked->address);
	pattern = denying(hosts, &faces, asked->port);
	if (pattern) {
		deny_by(out, pattern);
		return;
	}
	/* An address is no way around the refusal of its name. */
	if (name && given.answer != QSB__HOST_ALLOWED) {
		*out = given;
		return;
	}
	pattern = allowing(hosts, &faces, asked->port);
	if (pattern)
		allow_by(out, pattern);
	else if (name)
		judge_resolved(&faces, asked->port, &given, asked->own, out);
	else
		judge_literal(hosts, &faces, asked->port, asked->own, out);
}
