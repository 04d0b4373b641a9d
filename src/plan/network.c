#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/domain.h"
#include "core/error.h"
#include "core/policy_load.h"
#include "plan/build.h"

static int fault(struct qsb__build *build, const char *pointer, unsigned index, int code)
{
	if (build->err)
		snprintf(build->err->where, sizeof(build->err->where), "%s/%u", pointer, index);
	return code;
}

static int note_caution(struct qsb__build *build, const char *canonical)
{
	const char *caution = qsb__domain_caution(canonical);
	char text[QSB__DOMAIN_MAX + 100];

	if (!caution)
		return 0;
	snprintf(text, sizeof(text), "%s %s", canonical, caution);
	return qsb__build_note(build, text);
}

static int copy_domains(struct qsb__build *build, const struct qsb__list *list, const char *pointer, char ***out)
{
	*out = qsb__arena_alloc(build->arena, (list->count + 1) * sizeof(char *));
	if (!*out)
		return qsb__fail_memory(build->err, "network");
	for (size_t i = 0; i < list->count; i++) {
		char canonical[QSB__DOMAIN_MAX], why[300];

		if (qsb__domain_canonical(list->items[i].text, canonical, why, sizeof(why)))
			return fault(build, pointer, list->items[i].index,
				     qsb__fail(build->err, QSB_E_INVALID, "", "%s", why));
		(*out)[i] = qsb__arena_text(build->arena, canonical);
		if (list == &build->policy->network.allowed_domains && note_caution(build, canonical))
			return QSB_E_MEMORY;
	}
	return 0;
}

static int copy_ports(struct qsb__build *build, const struct qsb__list *list, const char *pointer, uint16_t **out)
{
	*out = qsb__arena_alloc(build->arena, (list->count + 1) * sizeof(uint16_t));
	if (!*out)
		return qsb__fail_memory(build->err, "network");
	for (size_t i = 0; i < list->count; i++) {
		const char *text = list->items[i].text;
		size_t digits = strspn(text, "0123456789");
		long port = digits && digits < 6 && !text[digits] ? strtol(text, NULL, 10) : 0;

		if (port < 1 || port > 65535)
			return fault(build, pointer, list->items[i].index,
				     qsb__fail(build->err, QSB_E_RANGE, "",
					       "\"%s\" is no port: a number from 1 to 65535", text));
		(*out)[i] = (uint16_t)port;
	}
	return 0;
}

static int copy_sockets(struct qsb__build *build)
{
	const struct qsb__list *list = &build->policy->network.unix_sockets;
	char **out = qsb__arena_alloc(build->arena, (list->count + 1) * sizeof(char *));

	build->plan->unix_sockets = out;
	build->socket_links = qsb__arena_alloc(build->arena, (list->count + 1) * sizeof(char *));
	if (!out || !build->socket_links)
		return qsb__fail_memory(build->err, "network");
	for (size_t i = 0; i < list->count; i++) {
		char absolute[QSB__PATH_MAX], real[QSB__PATH_MAX];
		enum qsb__file_kind kind;
		int result = qsb__path_absolute(absolute, list->items[i].text, &build->base, build->err);

		if (!result)
			result = qsb__build_resolve(build, absolute, real, &kind);
		if (result)
			return fault(build, "/network/unixSockets", list->items[i].index, result);
		out[i] = qsb__arena_text(build->arena, real);
		if (!out[i] || !qsb__build_find_link(build, absolute, real, &build->socket_links[i]))
			return qsb__fail_memory(build->err, "network");
	}
	return 0;
}

int qsb__build_network(struct qsb__build *build)
{
	const struct qsb_policy *policy = build->policy;
	struct qsb__plan *plan = build->plan;
	int result;

	plan->network = policy->network.mode;
	result = copy_domains(build, &policy->network.allowed_domains, "/network/allowedDomains",
			      &plan->allowed_domains);
	if (!result)
		result = copy_domains(build, &policy->network.denied_domains, "/network/deniedDomains",
				      &plan->denied_domains);
	if (!result)
		result = copy_ports(build, &policy->network.publish_ports, "/network/publishPorts",
				    &plan->publish_ports);
	if (!result)
		result = copy_ports(build, &policy->network.reach_ports, "/network/reachPorts", &plan->reach_ports);
	if (!result)
		result = qsb__policy_check_ports(policy, build->err);
	if (!result)
		result = copy_sockets(build);
	return result ? result : qsb__build_upstream(build);
}
