/* Domain patterns: what is accepted has one spelling, in plain ASCII, that is accepted again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/address.h"
#include "core/cleanup.h"
#include "core/domain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int holds)
{
	if (!holds)
		abort();
}

static void check_canonical(const char *canonical)
{
	char again[QSB__DOMAIN_MAX], why[300];

	expect(strlen(canonical) > 0 && strlen(canonical) < QSB__DOMAIN_MAX);
	expect(strspn(canonical, "abcdefghijklmnopqrstuvwxyz0123456789-_.:/*[]") == strlen(canonical));
	expect(qsb__domain_canonical(canonical, again, why, sizeof(why)) == 0 && strcmp(canonical, again) == 0);
	/* A plain name means itself and not what it ends. */
	if (!strpbrk(canonical, "*:/[")) {
		char longer[QSB__DOMAIN_MAX + 2] = "x";

		expect(qsb__domain_matches(canonical, canonical, 443));
		strcat(longer, canonical);
		expect(!qsb__domain_matches(canonical, longer, 443));
	}
}

static void check_address(const char *text)
{
	char shown[QSB__ADDRESS_TEXT];
	struct qsb__address address, again;

	if (!qsb__address_parse(text, strlen(text), &address))
		return;
	qsb__address_format(&address, shown);
	expect(qsb__address_parse(shown, strlen(shown), &again) && memcmp(&address, &again, sizeof(again)) == 0);
	qsb__address_is_special(&address);
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
