/* Jobs that wait, each on a thread of its own. */
#include "os/workers.h"

#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tap.h"

enum { MOST = 256, PATIENCE = 5000 };

static atomic_uint began, done;
static int gate[2];

static void wait_at_gate(void *argument)
{
	char byte;

	began++;
	if (read(gate[0], &byte, 1) == 1)
		done++;
}

static void count(void *argument)
{
	atomic_fetch_add((atomic_uint *)argument, 1);
}

static bool comes_to(const atomic_uint *number, unsigned wanted)
{
	for (int i = 0; i < PATIENCE && atomic_load(number) != wanted; i++)
		poll(NULL, 0, 1);
	return atomic_load(number) == wanted;
}

static void open_gate(unsigned jobs)
{
	for (unsigned i = 0; i < jobs; i++)
		if (write(gate[1], "x", 1) != 1)
			return;
}

int main(void)
{
	atomic_uint counted = 0;
	unsigned started = 0, more = 0;

	if (pipe(gate) != 0)
		return 1;
	tap_ok(qsb__workers_run(count, &counted) && comes_to(&counted, 1), "a job runs, with its argument");
	while (started < MOST && qsb__workers_run(wait_at_gate, NULL))
		started++;
	tap_ok(started >= MOST - 1, "%u jobs wait at one time", started);
	tap_ok(comes_to(&began, started), "none of them waits for another");
	poll(NULL, 0, 20);
	while (started < MOST && qsb__workers_run(wait_at_gate, NULL))
		started++;
	tap_ok(!qsb__workers_run(count, &counted), "one more is refused");
	tap_is_number(atomic_load(&counted), 1, "and does not run");
	open_gate(started);
	tap_ok(comes_to(&done, started), "all end");
	poll(NULL, 0, 50);
	for (unsigned i = 0; i < 1000; i++) {
		unsigned wanted = atomic_load(&counted) + 1;

		more += qsb__workers_run(count, &counted) && comes_to(&counted, wanted);
	}
	tap_is_number(more, 1000, "then there is room again, a thousand times");
	began = done = 0;
	for (started = 0; started < MOST / 2 && qsb__workers_run(wait_at_gate, NULL);)
		started++;
	tap_ok(comes_to(&began, MOST / 2), "idle threads are woken, and others made");
	open_gate(started);
	tap_ok(comes_to(&done, MOST / 2), "and end");
	return tap_done();
}
