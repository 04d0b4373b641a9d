/* Domain patterns: what is accepted has one spelling, in plain ASCII, that is accepted again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/address.h"
#include "core/cleanup.h"
#include "core/domain.h"
#include "plan/hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int holds)
{
	if (!holds)
		abort();
}

/* What a rule for one host says of a name. */
static enum qsb__host_answer judge(const struct qsb__hosts *hosts, const char *name)
{
	struct qsb__host_judgement judgement;

	qsb__hosts_judge_name(hosts, name, 443, &judgement);
	return judgement.answer;
}

/* A plain name means itself and not what it ends. */
static void check_rule(const char *canonical)
{
	char text[QSB__DOMAIN_MAX], longer[QSB__DOMAIN_MAX + 2] = "x";
	char *const allowed[] = {text, NULL};
	const struct qsb__plan plan = {.network = QSB__NETWORK_FILTERED,
				       .allowed_domains = (char **)(uintptr_t)allowed};
	struct qsb__hosts *hosts;

	strcpy(text, canonical);
	hosts = qsb__hosts_new(&plan);
	if (hosts && !strpbrk(canonical, "*:/[") && strspn(canonical, "0123456789.") < strlen(canonical)) {
		expect(judge(hosts, canonical) == QSB__HOST_ALLOWED);
		strcat(longer, canonical);
		expect(judge(hosts, longer) != QSB__HOST_ALLOWED);
	}
	qsb__hosts_free(hosts);
}

static void check_canonical(const char *canonical)
{
	char again[QSB__DOMAIN_MAX], why[300];

	expect(strlen(canonical) > 0 && strlen(canonical) < QSB__DOMAIN_MAX);
	expect(strspn(canonical, "abcdefghijklmnopqrstuvwxyz0123456789-_.:/*[]") == strlen(canonical));
	expect(qsb__domain_canonical(canonical, again, why, sizeof(why)) == 0 && strcmp(canonical, again) == 0);
	check_rule(canonical);
}

static void check_address(const char *text)
{
	char shown[QSB__ADDRESS_TEXT];
	struct qsb__address address, again;

	if (!qsb__address_parse(text, strlen(text), &address))
		return;
	qsb__address_format(&address, shown);
	expect(qsb__address_parse(shown, strlen(shown), &again) && memcmp(&address, &again, sizeof(again)) == 0);
	expect(qsb__address_class(&address) <= QSB__ADDRESS_METADATA);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	QSB_CLEANUP_FREE char *text = malloc(size + 1);
	char canonical[QSB__DOMAIN_MAX], why[300] = "";
	struct qsb__address address;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (qsb__domain_canonical(text, canonical, why, sizeof(why)) == 0)
		check_canonical(canonical);
	else
		expect(why[0] != '\0');
	check_address(text);
	qsb__address_parse_loose(text, size, &address);
	return 0;
}
