/* The proxy that leads on to the network, and the ports of the sandbox's own ones. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/proxy_url.h"
#include "plan/build.h"

enum { HTTP_PROXY_PORT = 3128, SOCKS_PORT = 1080, MOST_BYPASSES = 1024 };

static bool has_port(const uint16_t *ports, unsigned port)
{
	for (; ports && *ports; ports++)
		if (*ports == port)
			return true;
	return false;
}

/* The usual number, or the next one that the policy does not use: it names at most 512. */
static uint16_t free_port(const struct qsb__plan *plan, unsigned from)
{
	while (has_port(plan->publish_ports, from) || has_port(plan->reach_ports, from))
		from++;
	return (uint16_t)from;
}

/* A caller's proxy is as a rule told without a scheme as well: "proxy.example:3128". */
static int take_url(struct qsb__build *build, const char *name, const char *value)
{
	struct qsb__proxy_url url;
	char why[300], text[QSB__PROXY_URL_MAX + 8];

	snprintf(text, sizeof(text), "%s%s", strstr(value, "://") ? "" : "http://", value);
	if (qsb__proxy_url_parse(text, &url, why, sizeof(why)))
		return qsb__fail(build->err, QSB_E_INVALID, "/network/upstreamProxy",
				 "/network/upstreamProxy: environment: the variable %s: %s", name, why);
	for (char *at = text; *at != ':'; at++)
		*at = (char)(*at | 0x20);
	build->plan->upstream_proxy = qsb__arena_text(build->arena, text);
	return build->plan->upstream_proxy ? 0 : qsb__fail_memory(build->err, "network");
}

static int take_bypasses(struct qsb__build *build)
{
	static const char separators[] = ", \t";
	const char *upper = qsb__build_variable(build, "NO_PROXY");
	const char *text = upper && *upper ? upper : qsb__build_variable(build, "no_proxy");
	char **list = qsb__arena_alloc(build->arena, (MOST_BYPASSES + 1) * sizeof(char *));
	size_t count = 0;

	if (!list)
		return qsb__fail_memory(build->err, "network");
	build->plan->upstream_bypass = list;
	for (text = text ? text : ""; *text && count < MOST_BYPASSES;) {
		size_t length = strcspn(text, separators);

		if (length && length < QSB__DOMAIN_MAX)
			list[count++] = qsb__arena_text_n(build->arena, text, length);
		text += length;
		text += strspn(text, separators);
	}
	return build->arena->failed ? qsb__fail_memory(build->err, "network") : 0;
}

static int take_environment(struct qsb__build *build)
{
	static const char *const names[] = {"HTTPS_PROXY", "https_proxy", "ALL_PROXY",
					    "all_proxy",   "http_proxy",  "HTTP_PROXY"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = qsb__build_variable(build, names[i]);
		int result;

		if (!value || !*value)
			continue;
		result = take_url(build, names[i], value);
		return result ? result : take_bypasses(build);
	}
	return qsb__build_note(build, "/network/upstreamProxy is environment, and the environment names no proxy: "
				      "connections leave directly");
}

int qsb__build_upstream(struct qsb__build *build)
{
	const char *proxy = build->policy->network.upstream_proxy;
	struct qsb__plan *plan = build->plan;
	int result;

	plan->upstream_bypass = qsb__arena_alloc(build->arena, sizeof(char *));
	if (!plan->upstream_bypass)
		return qsb__fail_memory(build->err, "network");
	if (plan->network != QSB__NETWORK_FILTERED)
		return 0;
	plan->proxy_port = free_port(plan, HTTP_PROXY_PORT);
	plan->socks_port = free_port(plan, SOCKS_PORT);
	if (!proxy)
		return 0;
	if (strcmp(proxy, "environment") == 0)
		result = take_environment(build);
	else
		result = take_url(build, "", proxy);
	plan->upstream_resolves = plan->upstream_proxy && build->policy->network.upstream_resolve == QSB__RESOLVE_PROXY;
	if (result || !plan->upstream_resolves)
		return result;
	return qsb__build_note(build, "the upstream proxy turns names into addresses (/network/upstreamResolve): an "
				      "allowed name that leads to a private address is not noticed here");
}
