/* A message of the broker's, which is bytes from a stranger until it was looked at. */
#include <string.h>

#include "supervisor/internal.h"

/* The end of the year 9999: what a date of four digits can say. */
#define LATEST_MS 253402300799999ULL

/* One line of plain ASCII, whatever was there. */
static void check_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7E)
			*text = '?';
}

/* A byte that is neither 0 nor 1 must not be read as a bool. */
static void check_flag(bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, 1);
	*flag = byte != 0;
}

static void check_number(uint64_t *number, uint64_t most)
{
	if (*number > most)
		*number = most;
}

bool qsb__broker_event_check(struct qsb__broker_event *event)
{
	check_text(event->host, sizeof(event->host));
	check_text(event->address, sizeof(event->address));
	check_text(event->rule, sizeof(event->rule));
	check_text(event->suggestion, sizeof(event->suggestion));
	check_text(event->reason, sizeof(event->reason));
	check_text(event->error.where, sizeof(event->error.where));
	check_text(event->error.message, sizeof(event->error.message));
	check_flag(&event->allowed);
	check_flag(&event->failed);
	check_number(&event->time_ms, LATEST_MS);
	check_number(&event->duration_ms, LATEST_MS);
	check_number(&event->sent, INT64_MAX / 2);
	check_number(&event->received, INT64_MAX / 2);
	check_number(&event->left_out, UINT32_MAX);
	if (event->error.code < QSB_E_STATE || event->error.code >= 0)
		event->error.code = QSB_E_OS;
	return event->kind <= QSB__BROKER_REQUEST && event->way <= QSB__WAY_PUBLISH;
}
