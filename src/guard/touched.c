/* What a command does with files, told to whoever learns from it. Without a listener one comparison a call. */
#include <string.h>

#include "guard/internal.h"

void qsb__guard_listen(struct qsb__guard *guard, const struct qsb__touch_listener *listener)
{
	guard->listener_of_touches = listener;
}

static void name_process(struct qsb__stop *stop, char *name, size_t size)
{
	int fd = qsb__stop_open(stop, "comm", O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, name, size - 1);

	name[length < 0 ? 0 : length] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

/* Execution does not stop here, and a program without libraries opens nothing: its file is told with its first call. */
static void tell_program(struct qsb__stop *stop, const struct qsb__touch_listener *listener, const char *process)
{
	int fd = qsb__stop_open(stop, "exe", O_PATH);
	struct qsb__place program;

	if (fd >= 0 && qsb__judge_place(stop, fd, NULL, &program) == 0 && program.named)
		listener->touched(listener->context, &(struct qsb__touch){QSB__TOUCH_READ, program.path, process});
}

long qsb__guard_touched(struct qsb__stop *stop, enum qsb__touch_kind kind, const struct qsb__place *place, long result)
{
	const struct qsb__guard *guard = stop->guard;
	const struct qsb__touch_listener *listener = guard->listener_of_touches;
	char process[32];

	if (!listener || !place->named || (result < 0 && result != QSB__STOP_LATER))
		return result;
	name_process(stop, process, sizeof(process));
	if (guard->plan->watched & QSB__ACCESS_READ)
		tell_program(stop, listener, process);
	listener->touched(listener->context, &(struct qsb__touch){kind, place->path, process});
	return result;
}
