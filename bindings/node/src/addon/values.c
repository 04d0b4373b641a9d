/* From JavaScript's values to C's and back. Whatever goes wrong is thrown. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "addon.h"
#include "core/error.h"

bool value_ok(napi_env env, napi_status status)
{
	const napi_extended_error_info *info = NULL;
	bool pending = false;

	if (status == napi_ok)
		return true;
	/* The first one counts: an exception of JavaScript's own, or one that we threw. */
	if (napi_get_last_error_info(env, &info) != napi_ok)
		info = NULL;
	if (napi_is_exception_pending(env, &pending) == napi_ok && !pending)
		napi_throw_error(env, "ERR_SANDBOX_NODE_API",
				 info && info->error_message ? info->error_message : "a call of Node-API failed");
	return false;
}

bool value_throw(napi_env env, int code, const char *message)
{
	napi_throw_error(env, qsb__error_name(code), message);
	return false;
}

bool value_environment(napi_env env, struct environment **out)
{
	return value_ok(env, napi_get_instance_data(env, (void **)out));
}

bool value_u32(napi_env env, napi_value from, uint32_t *out)
{
	napi_status status = napi_get_value_uint32(env, from, out);

	return status == napi_number_expected ? value_throw(env, QSB_E_INVALID, "a number is expected")
					      : value_ok(env, status);
}

bool value_text(napi_env env, napi_value from, char **out)
{
	size_t length, copied = 0;
	napi_status status = napi_get_value_string_utf8(env, from, NULL, 0, &length);
	char *text;

	*out = NULL;
	if (status == napi_string_expected)
		return value_throw(env, QSB_E_INVALID, "a string is expected");
	if (!value_ok(env, status))
		return false;
	text = malloc(length + 1);
	if (!text)
		return value_throw(env, QSB_E_MEMORY, "no memory");
	if (!value_ok(env, napi_get_value_string_utf8(env, from, text, length + 1, &copied))) {
		free(text);
		return false;
	}
	/* A program's argument ends there: what follows would be cut off without a word. */
	if (memchr(text, '\0', copied)) {
		free(text);
		return value_throw(env, QSB_E_INVALID, "a string holds a NUL character, which no argument can");
	}
	*out = text;
	return true;
}

/* A property that may be missing: *there tells. */
static bool get(napi_env env, napi_value object, const char *name, napi_value *out, bool *there)
{
	napi_valuetype type;

	if (!value_ok(env, napi_get_named_property(env, object, name, out)) ||
	    !value_ok(env, napi_typeof(env, *out, &type)))
		return false;
	*there = type != napi_undefined && type != napi_null;
	return true;
}

static bool get_text(napi_env env, napi_value object, const char *name, char **out)
{
	napi_value value;
	bool there;

	return get(env, object, name, &value, &there) && (!there || value_text(env, value, out));
}

static bool get_words(napi_env env, napi_value object, const char *name, char ***out)
{
	napi_value list, word;
	uint32_t count;
	bool there;

	if (!get(env, object, name, &list, &there))
		return false;
	if (!there)
		return true;
	if (!value_ok(env, napi_get_array_length(env, list, &count)))
		return false;
	*out = calloc((size_t)count + 1, sizeof(**out));
	if (!*out)
		return value_throw(env, QSB_E_MEMORY, "no memory");
	for (uint32_t i = 0; i < count; i++)
		if (!value_ok(env, napi_get_element(env, list, i, &word)) || !value_text(env, word, &(*out)[i]))
			return false;
	return true;
}

/* On JavaScript's thread, which is the one that changes them: later, on ours, the list may be moved while it is read.
 */
static bool copy_surroundings(napi_env env, char ***out)
{
	size_t count = 0;

	while (environ && environ[count])
		count++;
	*out = calloc(count + 1, sizeof(**out));
	for (size_t i = 0; *out && i < count; i++) {
		(*out)[i] = strdup(environ[i]);
		if (!(*out)[i])
			return value_throw(env, QSB_E_MEMORY, "no memory");
	}
	return *out ? true : value_throw(env, QSB_E_MEMORY, "no memory");
}

static bool get_surroundings(napi_env env, napi_value object, char ***out)
{
	if (!get_words(env, object, "environment", out))
		return false;
	return *out || copy_surroundings(env, out);
}

static bool get_stdio(napi_env env, napi_value object, int32_t out[3])
{
	napi_value list, number;
	bool there;

	if (!get(env, object, "stdio", &list, &there))
		return false;
	for (uint32_t i = 0; i < 3; i++)
		if (!value_ok(env, napi_get_element(env, list, i, &number)) ||
		    !value_ok(env, napi_get_value_int32(env, number, &out[i])))
			return false;
	return true;
}

/* 0 where it is missing. */
static bool get_number(napi_env env, napi_value object, const char *name, uint32_t *out)
{
	napi_value value;
	bool there;

	return get(env, object, name, &value, &there) && (!there || value_u32(env, value, out));
}

static bool fill(napi_env env, napi_value from, struct launch *launch)
{
	napi_value value;
	bool there;

	return get_text(env, from, "program", &launch->program) && get_words(env, from, "argv", &launch->argv) &&
	       get_surroundings(env, from, &launch->surroundings) && get_text(env, from, "command", &launch->command) &&
	       get_text(env, from, "workspace", &launch->workspace) && get_text(env, from, "cwd", &launch->cwd) &&
	       get_text(env, from, "policy", &launch->policy) && get_text(env, from, "backend", &launch->backend) &&
	       get_stdio(env, from, launch->stdio) && get_number(env, from, "flags", &launch->flags) &&
	       get_number(env, from, "rows", &launch->rows) && get_number(env, from, "columns", &launch->columns) &&
	       get(env, from, "tool", &value, &there) &&
	       value_ok(env, napi_get_value_bool(env, value, &launch->tool)) &&
	       (launch->program && (launch->argv || !launch->tool)
			? true
			: value_throw(env, QSB_E_INVALID, "a launch needs a program, and a tool its arguments"));
}

bool value_launch(napi_env env, napi_value from, struct launch **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? fill(env, from, *out) : value_throw(env, QSB_E_MEMORY, "no memory");
}

static void words_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

void launch_free(struct launch *launch)
{
	if (!launch)
		return;
	words_free(launch->argv);
	words_free(launch->surroundings);
	free(launch->program);
	free(launch->command);
	free(launch->workspace);
	free(launch->cwd);
	free(launch->policy);
	free(launch->backend);
	free(launch);
}

static bool set_text(napi_env env, napi_value object, const char *name, const char *text)
{
	napi_value value;

	return value_ok(env, napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value)) &&
	       value_ok(env, napi_set_named_property(env, object, name, value));
}

bool value_of_error(napi_env env, const struct qsb_error *err, napi_value *out)
{
	napi_value number;

	return value_ok(env, napi_create_object(env, out)) && set_text(env, *out, "code", qsb__error_name(err->code)) &&
	       set_text(env, *out, "where", err->where) && set_text(env, *out, "message", err->message) &&
	       value_ok(env, napi_create_int32(env, err->os_code, &number)) &&
	       value_ok(env, napi_set_named_property(env, *out, "errno", number));
}

static bool data_of(napi_env env, const struct event *event, napi_value *out)
{
	if (event->is_error)
		return value_of_error(env, (const struct qsb_error *)(const void *)event->data, out);
	if (event->length == 0)
		return value_ok(env, napi_get_undefined(env, out));
	/* Copied: memory that is not V8's own is not allowed in every host. */
	return value_ok(env, napi_create_buffer_copy(env, event->length, event->data, NULL, out));
}

static bool add_event(napi_env env, const struct event *event, napi_value list, uint32_t *at)
{
	napi_value parts[4];

	if (!value_ok(env, napi_create_uint32(env, event->id, &parts[0])) ||
	    !value_ok(env, napi_create_uint32(env, event->kind, &parts[1])) ||
	    !value_ok(env, napi_create_int32(env, event->value, &parts[2])) || !data_of(env, event, &parts[3]))
		return false;
	for (size_t i = 0; i < 4; i++)
		if (!value_ok(env, napi_set_element(env, list, (*at)++, parts[i])))
			return false;
	return true;
}

bool value_of_events(napi_env env, struct event *first, napi_value *out)
{
	uint32_t at = 0;
	bool good = value_ok(env, napi_create_array(env, out));

	while (first) {
		struct event *next = first->next;

		good = good && add_event(env, first, *out, &at);
		free(first);
		first = next;
	}
	return good;
}
