#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/address.h"
#include "core/error.h"
#include "plan/plan.h"

enum { USUAL_PORT = 443 };

/* Splits "example.com:80", "192.0.2.1", "[2001:db8::1]:80". The text is canonical. */
static void split(const char *canonical, struct qsb__host_verdict *out)
{
	const char *colon = strrchr(canonical, ':');

	out->port = USUAL_PORT;
	snprintf(out->host, sizeof(out->host), "%s", canonical);
	if (!colon || (canonical[0] != '[' && strchr(canonical, ':') != colon))
		return;
	out->port = (unsigned)strtoul(colon + 1, NULL, 10);
	if (canonical[0] == '[')
		snprintf(out->host, sizeof(out->host), "%.*s", (int)(colon - canonical - 2), canonical + 1);
	else
		snprintf(out->host, sizeof(out->host), "%.*s", (int)(colon - canonical), canonical);
}

static const char *first_match(char *const *patterns, const struct qsb__host_verdict *of)
{
	for (; patterns && *patterns; patterns++)
		if (qsb__domain_matches(*patterns, of->host, of->port))
			return *patterns;
	return NULL;
}

static void judge_by_lists(const struct qsb__plan *plan, struct qsb__host_verdict *out)
{
	const char *denied = first_match(plan->denied_domains, out);
	const char *allowed = first_match(plan->allowed_domains, out);

	out->allowed = allowed && !denied;
	if (denied)
		snprintf(out->rule, sizeof(out->rule), "/network/deniedDomains: %s", denied);
	else if (allowed)
		snprintf(out->rule, sizeof(out->rule), "/network/allowedDomains: %s", allowed);
	else
		snprintf(out->rule, sizeof(out->rule), "/network/allowedDomains: no entry means it");
	if (denied)
		snprintf(out->fix, sizeof(out->fix), "take %s out of /network/deniedDomains", denied);
	else if (!allowed)
		snprintf(out->fix, sizeof(out->fix), "--allow-domain %s", out->host);
}

int qsb__plan_explain_host(const struct qsb__plan *plan, const char *host, struct qsb__host_verdict *out,
			   struct qsb_error *err)
{
	char canonical[QSB__DOMAIN_MAX], why[300];

	memset(out, 0, sizeof(*out));
	if (qsb__domain_canonical(host, canonical, why, sizeof(why)))
		return qsb__fail(err, QSB_E_INVALID, "host", "%s", why);
	if (strpbrk(canonical, "*/"))
		return qsb__fail(err, QSB_E_INVALID, "host", "%s means many hosts; name one", canonical);
	split(canonical, out);
	switch (plan->network) {
	case QSB__NETWORK_FILTERED:
		judge_by_lists(plan, out);
		break;
	case QSB__NETWORK_HOST:
		out->allowed = true;
		snprintf(out->rule, sizeof(out->rule), "/network/mode: host");
		break;
	case QSB__NETWORK_OFF:
		snprintf(out->rule, sizeof(out->rule), "/network/mode: off");
		snprintf(out->fix, sizeof(out->fix), "--network filtered --allow-domain %s", out->host);
		break;
	}
	return 0;
}
