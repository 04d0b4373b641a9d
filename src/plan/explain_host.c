#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/punycode.h"
#include "plan/hosts.h"

enum { USUAL_PORT = 443 };

/*
 * A rule has one spelling; what is asked about is whatever a program might be given: an address in a loose form, a name
 * with other letters. Both become what is dialled.
 */
static int read_host(const char *text, char *canonical, struct qsb_error *err)
{
	char ascii[QSB__DOMAIN_MAX], why[300];
	size_t length = strcspn(text, ":");
	struct qsb__address address;

	if (qsb__domain_canonical(text, canonical, why, sizeof(why)) == 0)
		return 0;
	if (qsb__address_parse_loose(text, length, &address))
		qsb__address_format(&address, ascii);
	else if (!qsb__punycode_name(text, length, ascii, sizeof(ascii)))
		return qsb__fail(err, QSB_E_INVALID, "host", "%s", why);
	/* With its port again. */
	if (strlen(ascii) + strlen(text + length) >= sizeof(ascii))
		return qsb__fail(err, QSB_E_INVALID, "host", "%s", why);
	snprintf(ascii + strlen(ascii), sizeof(ascii) - strlen(ascii), "%s", text + length);
	if (qsb__domain_canonical(ascii, canonical, why, sizeof(why)))
		return qsb__fail(err, QSB_E_INVALID, "host", "%s", why);
	return 0;
}

/* Splits "example.com:80", "192.0.2.1", "[2001:db8::1]:80". The text is canonical. */
static void split(const char *canonical, struct qsb__host_verdict *out)
{
	size_t length = qsb__domain_split(canonical, &out->port);
	size_t bracket = canonical[0] == '[' ? 1 : 0;

	out->port = out->port ? out->port : USUAL_PORT;
	snprintf(out->host, sizeof(out->host), "%.*s", (int)(length - 2 * bracket), canonical + bracket);
}

static int judge_by_lists(const struct qsb__plan *plan, struct qsb__host_verdict *out, struct qsb_error *err)
{
	struct qsb__hosts *hosts = qsb__hosts_new(plan);
	struct qsb__host_judgement judgement;
	struct qsb__host_address asked = {.port = out->port};

	if (!hosts)
		return qsb__fail_memory(err, "host");
	if (qsb__address_parse(out->host, strlen(out->host), &asked.address))
		qsb__hosts_judge_address(hosts, &asked, NULL, &judgement);
	else
		qsb__hosts_judge_name(hosts, out->host, out->port, &judgement);
	qsb__hosts_free(hosts);
	out->allowed = judgement.answer == QSB__HOST_ALLOWED;
	memcpy(out->rule, judgement.rule, sizeof(out->rule));
	memcpy(out->fix, judgement.fix, sizeof(out->fix));
	return 0;
}

int qsb__plan_explain_host(const struct qsb__plan *plan, const char *host, struct qsb__host_verdict *out,
			   struct qsb_error *err)
{
	char canonical[QSB__DOMAIN_MAX];
	int code;

	memset(out, 0, sizeof(*out));
	code = read_host(host, canonical, err);
	if (code)
		return code;
	if (strpbrk(canonical, "*/"))
		return qsb__fail(err, QSB_E_INVALID, "host", "%s means many hosts; name one", canonical);
	split(canonical, out);
	switch (plan->network) {
	case QSB__NETWORK_FILTERED:
		return judge_by_lists(plan, out, err);
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
