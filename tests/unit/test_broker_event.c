/* What the supervisor makes of a broker's message when the broker is in somebody else's hands. */
#include <stdlib.h>

#include "supervisor/internal.h"
#include "supervisor/result_json.h"
#include "tap.h"

enum { ROUNDS = 20000 };

static uint64_t seed = 20261129;

static unsigned char draw(void)
{
	seed = seed * 6364136223846793005U + 1442695040888963407U;
	return (unsigned char)(seed >> 40);
}

static bool is_plain(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	for (size_t i = 0; i < length; i++)
		if (text[i] < 0x20 || text[i] > 0x7E)
			return false;
	return length < size;
}

static bool is_flag(const bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, 1);
	return byte <= 1;
}

static bool is_good(const struct qsb__broker_event *event)
{
	return is_plain(event->host, sizeof(event->host)) && is_plain(event->address, sizeof(event->address)) &&
	       is_plain(event->rule, sizeof(event->rule)) && is_plain(event->suggestion, sizeof(event->suggestion)) &&
	       is_plain(event->reason, sizeof(event->reason)) &&
	       is_plain(event->error.where, sizeof(event->error.where)) &&
	       is_plain(event->error.message, sizeof(event->error.message)) && is_flag(&event->allowed) &&
	       is_flag(&event->failed) && event->error.code < 0;
}

/* All of it can be told: no key is missing for want of a good value. */
static bool can_be_told(const struct qsb__broker_event *event)
{
	json_t *json = json_object();
	const char *key;
	json_t *value;
	bool good;

	qsb__connection_to_json(json, event);
	good = json_object_size(json) == 10;
	json_object_foreach(json, key, value)
		good = good && (!json_is_integer(value) || json_integer_value(value) >= 0);
	good = good && strlen(json_string_value(json_object_get(json, "time"))) == 24;
	json_decref(json);
	return good;
}

static void test_random(void)
{
	struct qsb__broker_event event;
	unsigned char bytes[sizeof(event)];
	size_t wrong = 0, accepted = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = draw();
		memcpy(&event, bytes, sizeof(event));
		if (round % 2) {
			event.kind = draw() % 6;
			event.way = draw() % 9;
		}
		if (qsb__broker_event_check(&event))
			accepted++;
		wrong += !is_good(&event) || !can_be_told(&event);
	}
	tap_ok(wrong == 0, "any bytes become an event that can be told (%zu do not)", wrong);
	tap_ok(accepted > ROUNDS / 8 && accepted < ROUNDS / 2, "those of no kind are told apart");
}

int main(void)
{
	struct qsb__broker_event event;

	memset(&event, 0xFF, sizeof(event));
	tap_ok(!qsb__broker_event_check(&event) && is_good(&event) && can_be_told(&event), "ones are no event");
	memset(&event, 0, sizeof(event));
	tap_ok(qsb__broker_event_check(&event) && event.error.code == QSB_E_OS, "a failure without a code has one");
	event.kind = QSB__BROKER_CONNECTION;
	snprintf(event.host, sizeof(event.host), "a\x1b[31mb\xc3\xa9\nc");
	event.sent = UINT64_MAX;
	event.time_ms = UINT64_MAX;
	event.error.code = QSB_E_DENIED;
	tap_ok(qsb__broker_event_check(&event) && event.error.code == QSB_E_DENIED, "a code that is one stays");
	tap_is_text(event.host, "a?[31mb???c", "nothing in a name reaches a terminal");
	tap_ok(can_be_told(&event), "numbers beyond all bounds are bounded");
	test_random();
	return tap_done();
}
