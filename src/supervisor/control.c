/* Orders from the caller while the command runs: one JSON object a line. The end of the orders ends the run, since the
 * caller who would give them is gone. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <jansson.h>

#include "os/readiness.h"
#include "supervisor/internal.h"

/* The size that an order asks for; false where it asks for none. */
static bool read_size(struct winsize *out, const json_t *order)
{
	const json_t *size = json_object_get(order, "resize");
	json_int_t rows = json_integer_value(json_array_get(size, 0));
	json_int_t columns = json_integer_value(json_array_get(size, 1));

	memset(out, 0, sizeof(*out));
	if (rows < 1 || rows > 65535 || columns < 1 || columns > 65535)
		return false;
	out->ws_row = (unsigned short)rows;
	out->ws_col = (unsigned short)columns;
	return true;
}

void qsb__control_first_size(const struct qsb__supervisor *supervisor, struct qsb__launch *launch)
{
	char text[80];
	ssize_t length = recv(supervisor->request->control_fd, text, sizeof(text), MSG_PEEK | MSG_DONTWAIT);
	const char *end = length > 0 ? memchr(text, '\n', (size_t)length) : NULL;
	json_t *order = end ? json_loadb(text, (size_t)(end - text), 0, NULL) : NULL;
	struct winsize size;

	if (read_size(&size, order)) {
		launch->rows = size.ws_row;
		launch->columns = size.ws_col;
	}
	json_decref(order);
}

static void approve(struct qsb__supervisor *supervisor, const json_t *given)
{
	static const char *const answers[] = {
		[QSB__ANSWER_DENY] = "deny", [QSB__ANSWER_ONCE] = "allow-once", [QSB__ANSWER_RUN] = "allow-run"};
	const json_t *id = json_object_get(given, "id");
	const char *answer = json_string_value(json_object_get(given, "answer"));

	if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > UINT32_MAX || !answer)
		return;
	/* A word that is none of these is no answer: the connection is refused when its time is over. */
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (strcmp(answers[i], answer) == 0)
			qsb__broker_approve(supervisor, (uint32_t)json_integer_value(id), (enum qsb__broker_answer)i);
}

static void obey(struct qsb__supervisor *supervisor, const char *line, size_t length)
{
	json_t *order = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	const json_t *number = json_object_get(order, "kill");
	struct winsize size;
	int terminal;

	if (json_is_integer(number)) {
		json_int_t value = json_integer_value(number);

		if (value == SIGKILL)
			qsb__supervisor_kill(supervisor, SIGKILL);
		else if (value > 0 && value < NSIG)
			qsb__supervisor_signal(supervisor, (int)value);
	}
	terminal = supervisor->request->backend->tty_fd(supervisor->sandbox);
	if (terminal >= 0 && read_size(&size, order))
		ioctl(terminal, TIOCSWINSZ, &size);
	if (json_is_object(json_object_get(order, "approve")))
		approve(supervisor, json_object_get(order, "approve"));
	json_decref(order);
}

static void obey_lines(struct qsb__supervisor *supervisor)
{
	char *text = supervisor->control_text;
	char *end;

	while ((end = memchr(text, '\n', supervisor->control_length)) != NULL) {
		size_t length = (size_t)(end - text);

		obey(supervisor, text, length);
		supervisor->control_length -= length + 1;
		memmove(text, end + 1, supervisor->control_length);
	}
	/* No order is that long: what came is none. */
	if (supervisor->control_length == sizeof(supervisor->control_text))
		supervisor->control_length = 0;
}

static void ready(uv_poll_t *handle, int status, int events)
{
	struct qsb__supervisor *supervisor = handle->data;
	ssize_t length = read(supervisor->request->control_fd, supervisor->control_text + supervisor->control_length,
			      sizeof(supervisor->control_text) - supervisor->control_length);

	if (length < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (length <= 0) {
		uv_poll_stop(handle);
		qsb__supervisor_kill(supervisor, SIGKILL);
		return;
	}
	supervisor->control_length += (size_t)length;
	obey_lines(supervisor);
}

void qsb__control_open(struct qsb__supervisor *supervisor)
{
	int watcher;

	if (supervisor->request->control_fd < 0)
		return;
	watcher = qsb__readiness_open(supervisor->request->control_fd, false);
	supervisor->control.data = supervisor;
	if (watcher >= 0 && uv_poll_init(&supervisor->loop, &supervisor->control, watcher) == 0)
		uv_poll_start(&supervisor->control, UV_READABLE, ready);
}
