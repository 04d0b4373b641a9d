/* What JavaScript calls. None of it waits, but for `pid` and `tryOut`. */
#include <stdlib.h>
#include <string.h>

#include "addon.h"
#include "client/program.h"
#include "core/cleanup.h"

enum { MOST_ARGUMENTS = 4, MOST_WRITTEN = 256 * 1024, TURN_BYTES = 1024 * 1024 };

/* The arguments, `count` of them, and the environment. */
static bool enter(napi_env env, napi_callback_info info, size_t count, napi_value arguments[MOST_ARGUMENTS],
		  struct environment **environment)
{
	size_t given = MOST_ARGUMENTS;

	if (!value_ok(env, napi_get_cb_info(env, info, &given, arguments, NULL, NULL)) ||
	    !value_environment(env, environment))
		return false;
	return given >= count || value_throw(env, QSB_E_INVALID, "an argument is missing");
}

/* listen(turn): the function that is called when there are events to take. */
static napi_value call_listen(napi_env env, napi_callback_info info)
{
	napi_value arguments[MOST_ARGUMENTS];
	struct environment *environment;

	if (enter(env, info, 1, arguments, &environment) && !environment->turn)
		value_ok(env, napi_create_reference(env, arguments[0], 1, &environment->turn));
	return NULL;
}

/* take(): events, four values each; undefined where there are none: then `turn` is called for the next one. */
static napi_value call_take(napi_env env, napi_callback_info info)
{
	napi_value arguments[MOST_ARGUMENTS], list;
	struct environment *environment;
	struct event *events;

	if (!enter(env, info, 0, arguments, &environment))
		return NULL;
	events = queue_take_events(environment, TURN_BYTES);
	return events && value_of_events(env, events, &list) ? list : NULL;
}

/* A process keeps Node's event loop alive, as its own child processes do. */
static bool hold(napi_env env, struct environment *environment)
{
	return environment->held++ > 0 || value_ok(env, napi_ref_threadsafe_function(env, environment->wake));
}

static bool let_go(napi_env env, struct environment *environment)
{
	if (environment->held == 0 || --environment->held > 0)
		return true;
	return value_ok(env, napi_unref_threadsafe_function(env, environment->wake));
}

static bool give_order(napi_env env, struct environment *environment, struct order *order)
{
	if (!order)
		return value_throw(env, QSB_E_MEMORY, "no memory");
	if (!environment->running) {
		order_free(order);
		return value_throw(env, QSB_E_STATE, "nothing was started");
	}
	queue_order(environment, order);
	return true;
}

/* start(launch): the process's id. */
static napi_value call_start(napi_env env, napi_callback_info info)
{
	napi_value arguments[MOST_ARGUMENTS], id;
	struct environment *environment;
	struct launch *launch = NULL;
	struct order *order;

	if (!enter(env, info, 1, arguments, &environment))
		return NULL;
	if (!value_launch(env, arguments[0], &launch) || !environment_open(env, environment) ||
	    !value_ok(env, napi_create_uint32(env, environment->last_id + 1, &id)) || !hold(env, environment)) {
		launch_free(launch);
		return NULL;
	}
	order = order_new(ORDER_START, environment->last_id + 1, NULL, 0);
	if (order)
		order->launch = launch;
	else
		launch_free(launch);
	if (!give_order(env, environment, order)) {
		let_go(env, environment);
		return NULL;
	}
	environment->last_id++;
	return id;
}

/* write(id, bytes, from): how many of them were taken. The piece is copied: the caller may go on to use its buffer. */
static napi_value call_write(napi_env env, napi_callback_info info)
{
	napi_value arguments[MOST_ARGUMENTS], taken;
	struct environment *environment;
	uint32_t id, from;
	size_t length;
	char *data;

	if (!enter(env, info, 3, arguments, &environment) || !value_u32(env, arguments[0], &id) ||
	    !value_ok(env, napi_get_buffer_info(env, arguments[1], (void **)&data, &length)) ||
	    !value_u32(env, arguments[2], &from))
		return NULL;
	if (from > length) {
		value_throw(env, QSB_E_RANGE, "there is nothing behind the end of a buffer");
		return NULL;
	}
	length = length - from < MOST_WRITTEN ? length - from : MOST_WRITTEN;
	if (!give_order(env, environment, order_new(ORDER_WRITE, id, data + from, length)) ||
	    !value_ok(env, napi_create_uint32(env, (uint32_t)length, &taken)))
		return NULL;
	return taken;
}

/* An order that is numbers only: `count` of them after the id. */
static void order_numbers(napi_env env, napi_callback_info info, enum order_kind kind, size_t count)
{
	napi_value arguments[MOST_ARGUMENTS];
	struct environment *environment;
	uint32_t numbers[3] = {0, 0, 0};
	struct order *order;

	if (!enter(env, info, count + 1, arguments, &environment))
		return;
	for (size_t i = 0; i <= count; i++)
		if (!value_u32(env, arguments[i], &numbers[i]))
			return;
	order = order_new(kind, numbers[0], NULL, 0);
	if (order) {
		order->first = numbers[1];
		order->second = numbers[2];
	}
	if (give_order(env, environment, order) && kind == ORDER_FORGET)
		let_go(env, environment);
}

/* endInput(id) */
static napi_value call_end_input(napi_env env, napi_callback_info info)
{
	order_numbers(env, info, ORDER_END_INPUT, 0);
	return NULL;
}

/* kill(id, signal) */
static napi_value call_kill(napi_env env, napi_callback_info info)
{
	order_numbers(env, info, ORDER_KILL, 1);
	return NULL;
}

/* resize(id, rows, columns) */
static napi_value call_resize(napi_env env, napi_callback_info info)
{
	order_numbers(env, info, ORDER_RESIZE, 2);
	return NULL;
}

/* approve(id, request, answer) */
static napi_value call_approve(napi_env env, napi_callback_info info)
{
	order_numbers(env, info, ORDER_APPROVE, 2);
	return NULL;
}

/* credit(id, kind, bytes): so many bytes of a stream are out of the way. */
static napi_value call_credit(napi_env env, napi_callback_info info)
{
	order_numbers(env, info, ORDER_CREDIT, 2);
	return NULL;
}

/* forget(id): nothing more will be said of a process that has ended. */
static napi_value call_forget(napi_env env, napi_callback_info info)
{
	order_numbers(env, info, ORDER_FORGET, 0);
	return NULL;
}

/* pid(id): the number of the program's process, 0 where it was not started. Waits for the start. */
static napi_value call_pid(napi_env env, napi_callback_info info)
{
	napi_value arguments[MOST_ARGUMENTS], pid;
	struct environment *environment;
	uint32_t id;

	if (!enter(env, info, 1, arguments, &environment) || !value_u32(env, arguments[0], &id) ||
	    !value_ok(env, napi_create_int64(env, process_pid(environment, id), &pid)))
		return NULL;
	return pid;
}

/* tryOut(program): the answer to a command that does nothing, as text. Waits for it. */
static napi_value call_try_out(napi_env env, napi_callback_info info)
{
	napi_value arguments[MOST_ARGUMENTS], answer = NULL;
	struct environment *environment;
	struct qsb_error err = {.code = 0};
	QSB_CLEANUP_FREE char *program = NULL;
	QSB_CLEANUP_FREE char *text = NULL;
	size_t length = 0;

	if (!enter(env, info, 1, arguments, &environment) || !value_text(env, arguments[0], &program))
		return NULL;
	if (qsb__availability_ask(program, &text, &length, &err)) {
		value_throw(env, err.code, err.message);
		return NULL;
	}
	return value_ok(env, napi_create_string_utf8(env, text, length, &answer)) ? answer : NULL;
}

bool calls_define(napi_env env, napi_value exports)
{
	static const struct {
		const char *name;
		napi_callback call;
	} calls[] = {
		{"listen", call_listen},
		{"take", call_take},
		{"start", call_start},
		{"write", call_write},
		{"endInput", call_end_input},
		{"kill", call_kill},
		{"resize", call_resize},
		{"approve", call_approve},
		{"credit", call_credit},
		{"forget", call_forget},
		{"pid", call_pid},
		{"tryOut", call_try_out},
	};
	napi_value function, version;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!value_ok(env, napi_create_function(env, calls[i].name, NAPI_AUTO_LENGTH, calls[i].call, NULL,
							&function)) ||
		    !value_ok(env, napi_set_named_property(env, exports, calls[i].name, function)))
			return false;
	return value_ok(env, napi_create_string_utf8(env, qsb_version(), NAPI_AUTO_LENGTH, &version)) &&
	       value_ok(env, napi_set_named_property(env, exports, "version", version));
}
