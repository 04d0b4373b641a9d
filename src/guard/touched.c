/* What a command does with files, told to whoever learns from it. Without a listener one comparison a call. */
#include <stdio.h>
#include <string.h>

#include "core/path.h"
#include "guard/git.h"

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
		listener->touched(listener->context,
				  &(struct qsb__touch){QSB__TOUCH_READ, program.path, process, NULL});
}

long qsb__guard_touched(struct qsb__stop *stop, enum qsb__touch_kind kind, const struct qsb__place *place, long result)
{
	if (kind != QSB__TOUCH_READ && kind != QSB__TOUCH_REMOVE && (result >= 0 || result == QSB__STOP_LATER))
		qsb__git_written(stop, place);
	return qsb__guard_told_touch(stop, kind, place, result);
}

long qsb__guard_told_touch(struct qsb__stop *stop, enum qsb__touch_kind kind, const struct qsb__place *place,
			   long result)
{
	const struct qsb__guard *guard = stop->guard;
	const struct qsb__touch_listener *listener = guard->listener_of_touches;
	char process[32];

	if (!listener || !place->named || (result < 0 && result != QSB__STOP_LATER))
		return result;
	name_process(stop, process, sizeof(process));
	if (guard->plan->watched & QSB__ACCESS_READ)
		tell_program(stop, listener, process);
	listener->touched(listener->context, &(struct qsb__touch){kind, place->path, process, NULL});
	return result;
}

/* With ".." behind a link the text alone does not say where it is: what it leads to is told all the same. */
void qsb__guard_asked(struct qsb__stop *stop, struct qsb__asked_path *asked, int folder, const char *text)
{
	const struct qsb__path_base root = {.folder = "/"};
	char joined[QSB__PATH_MAX];
	struct qsb__place start;
	int fd;

	asked->given = false;
	if (!stop->guard->listener_of_touches || !(stop->guard->plan->watched & QSB__ACCESS_READ) ||
	    qsb__path_has_dots(text))
		return;
	if (text[0] != '/') {
		fd = qsb__resolve_start(stop, folder, text);
		if (fd < 0 || qsb__judge_place(stop, fd, NULL, &start) != 0 || !start.named ||
		    !qsb__path_join(joined, start.path, text))
			return;
		text = joined;
	}
	asked->given = qsb__path_absolute(asked->path, text, &root, NULL) == 0;
}

void qsb__guard_touched_as(struct qsb__stop *stop, const struct qsb__asked_path *asked, const struct qsb__place *place,
			   long result)
{
	const struct qsb__touch_listener *listener = stop->guard->listener_of_touches;
	struct qsb__touch touch = {.kind = QSB__TOUCH_READ, .path = place->path, .process = ""};
	char process[32];

	if (!listener || !place->named || result < 0 || strcmp(asked->path, place->path) == 0)
		return;
	name_process(stop, process, sizeof(process));
	touch.process = process;
	touch.asked = asked->path;
	listener->touched(listener->context, &touch);
}
