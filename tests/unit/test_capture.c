#include "supervisor/capture.h"

#include <stdlib.h>

#include "tap.h"

/* What is kept of `length` bytes 'a', 'b', … that come in parts of `part`. */
static struct qsb__capture keep(uint64_t limit, bool tail_only, size_t length, size_t part)
{
	struct qsb__keeper keeper;
	struct qsb__capture kept;
	char *bytes = malloc(length + 1);

	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)('a' + i % 26);
	qsb__keeper_init(&keeper, limit, tail_only);
	for (size_t at = 0; at < length; at += part)
		qsb__keeper_add(&keeper, bytes + at, length - at < part ? length - at : part);
	qsb__keeper_take(&keeper, &kept);
	free(bytes);
	return kept;
}

static void is_kept(struct qsb__capture kept, const char *wanted, bool truncated, const char *name)
{
	tap_is_text(kept.data, wanted, name);
	tap_ok(kept.truncated == truncated && kept.length == strlen(wanted), "%s: its length and mark", name);
	free(kept.data);
}

int main(void)
{
	is_kept(keep(10, false, 0, 1), "", false, "nothing is nothing");
	is_kept(keep(10, false, 10, 3), "abcdefghij", false, "what fits exactly is whole");
	is_kept(keep(10, false, 11, 3), "abcde\n[qiming-sandbox: 1 bytes left out]\nghijk", true,
		"one byte too many is left out of the middle");
	is_kept(keep(10, false, 26, 26), "abcde\n[qiming-sandbox: 16 bytes left out]\nvwxyz", true,
		"one large part is cut like small ones");
	is_kept(keep(10, false, 26, 1), "abcde\n[qiming-sandbox: 16 bytes left out]\nvwxyz", true,
		"single bytes are cut like a large part");
	is_kept(keep(0, false, 30, 7), "abcdefghijklmnopqrstuvwxyzabcd", false, "without a limit everything is kept");
	is_kept(keep(4, true, 4, 3), "abcd", false, "a tail alone keeps what fits");
	is_kept(keep(4, true, 9, 2), "\n[qiming-sandbox: 5 bytes left out]\nfghi", true, "a tail alone keeps the end");
	is_kept(keep(5, false, 7, 7), "abc\n[qiming-sandbox: 2 bytes left out]\nfg", true,
		"an odd limit gives the head the larger half");
	return tap_done();
}
