/* One value of a row: from text, with its range, and the sentence that says what would be right. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/json.h"
#include "core/policy_patch.h"
#include "core/suggest.h"

int qsb__place_fail(struct qsb_error *err, int code, const struct qsb__place *place, const char *format, ...)
{
	char reason[400], pointer[400], number[24];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	snprintf(pointer, sizeof(pointer), "%s", place->pointer);
	if (place->index) {
		snprintf(number, sizeof(number), "%zu", *place->index);
		qsb__json_pointer_add(pointer, sizeof(pointer), number, strlen(number));
	}
	if (place->key)
		qsb__json_pointer_add(pointer, sizeof(pointer), place->key, strlen(place->key));
	if (!place->source)
		return qsb__fail(err, code, pointer, "%s: %s", pointer, reason);
	return qsb__fail(err, code, pointer, "%s: %s: %s", place->source, pointer, reason);
}

static size_t names_count(const char *const *names)
{
	size_t count = 0;

	while (names[count])
		count++;
	return count;
}

static int name_index(const char *const *names, const char *text)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	return -1;
}

static int refuse_name(const char *const *names, const char *shown, const struct qsb__place *place,
		       struct qsb_error *err)
{
	const char *near = qsb__suggest(shown, names, names_count(names));
	char list[160];
	size_t used = 0;

	list[0] = '\0';
	for (size_t i = 0; names[i] && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
	if (near)
		return qsb__place_fail(err, QSB_E_INVALID, place, "must be one of %s; did you mean \"%s\"? It is %s",
				       list, near, shown);
	return qsb__place_fail(err, QSB_E_INVALID, place, "must be one of %s; it is %s", list, shown);
}

void qsb__value_format(const struct qsb__row *row, uint64_t value, char out[QSB__NUMBER_TEXT_MAX])
{
	if (row->type == QSB__ROW_SIZE)
		qsb__size_format(value, out);
	else if (row->type == QSB__ROW_COUNT)
		snprintf(out, QSB__NUMBER_TEXT_MAX, "%llu", (unsigned long long)value);
	else
		qsb__milli_format(value, out);
}

static const char *number_forms(const struct qsb__row *row)
{
	switch (row->type) {
	case QSB__ROW_SIZE:
		return QSB__SIZE_FORMS;
	case QSB__ROW_SECONDS:
		return QSB__DURATION_FORMS;
	case QSB__ROW_CPUS:
		return QSB__CPUS_FORMS;
	default:
		return QSB__COUNT_FORMS;
	}
}

static int refuse_number(const struct qsb__row *row, int code, const char *shown, const struct qsb__place *place,
			 struct qsb_error *err)
{
	char least[QSB__NUMBER_TEXT_MAX], most[QSB__NUMBER_TEXT_MAX];

	qsb__value_format(row, row->min, least);
	qsb__value_format(row, row->max, most);
	if (row->min == row->max)
		return qsb__place_fail(err, code, place, "must be %s; it is %s", least, shown);
	return qsb__place_fail(err, code, place, "must be %s%s, from %s to %s; it is %s", number_forms(row),
			       row->none_allowed ? ", or none" : "", least, most, shown);
}

int qsb__value_refuse(const struct qsb__row *row, int code, const char *shown, const struct qsb__place *place,
		      struct qsb_error *err)
{
	switch (row->type) {
	case QSB__ROW_BOOL:
		return qsb__place_fail(err, code, place, "must be true or false; it is %s", shown);
	case QSB__ROW_ENUM:
		return refuse_name(row->names, shown, place, err);
	case QSB__ROW_MAP:
		return qsb__place_fail(err, code, place, "must be an object of strings; it is %s", shown);
	case QSB__ROW_PORTS:
		return qsb__place_fail(err, code, place, "must be a list of port numbers; it is %s", shown);
	case QSB__ROW_TEXT:
		return qsb__place_fail(err, QSB_E_INVALID, place, "must be a string; it is %s", shown);
	case QSB__ROW_PATHS:
	case QSB__ROW_STRINGS:
		return qsb__place_fail(err, code, place, "must be %sa list of strings; it is %s",
				       row->single_allowed ? "a string or " : "", shown);
	default:
		return refuse_number(row, code, shown, place, err);
	}
}

int qsb__value_check(const struct qsb__row *row, uint64_t value, const char *shown, const struct qsb__place *place,
		     struct qsb_error *err)
{
	if (value < row->min || value > row->max)
		return qsb__value_refuse(row, QSB_E_RANGE, shown, place, err);
	return 0;
}

static int parse_number(const struct qsb__row *row, const char *text, uint64_t *value)
{
	switch (row->type) {
	case QSB__ROW_SIZE:
		return qsb__size_parse(text, value);
	case QSB__ROW_SECONDS:
		return qsb__duration_parse(text, value);
	case QSB__ROW_CPUS:
		return qsb__cpus_parse(text, value);
	default:
		return qsb__count_parse(text, value);
	}
}

int qsb__value_parse(const struct qsb__row *row, const char *text, const struct qsb__place *place, uint64_t *value,
		     struct qsb_error *err)
{
	static const char *const booleans[] = {"false", "true", NULL};
	char shown[80];
	int code;

	qsb__json_printable(shown, sizeof(shown), text, strlen(text));
	if (!qsb__row_is_number(row)) {
		int index = name_index(row->type == QSB__ROW_BOOL ? booleans : row->names, text);

		*value = (uint64_t)index;
		return index >= 0 ? 0 : qsb__value_refuse(row, QSB_E_INVALID, shown, place, err);
	}
	if (row->none_allowed && strcmp(text, "none") == 0) {
		*value = 0;
		return 0;
	}
	code = parse_number(row, text, value);
	if (code)
		return qsb__value_refuse(row, code, *shown ? shown : "empty", place, err);
	return qsb__value_check(row, *value, shown, place, err);
}

static int refuse_entry(const struct qsb__row *row, const char *text, const char *why, const struct qsb__place *place,
			struct qsb_error *err)
{
	char shown[80];

	qsb__json_printable(shown, sizeof(shown), text, strlen(text));
	if (row->type == QSB__ROW_PORTS)
		return qsb__place_fail(err, QSB_E_INVALID, place, "must be a port from 1 to 65535; it is %s", shown);
	if (row->names)
		return refuse_name(row->names, shown, place, err);
	/* A variable's value may be a secret, a URL may hold a password: it is not shown. */
	if (row->type == QSB__ROW_MAP || row->type == QSB__ROW_TEXT)
		return qsb__place_fail(err, QSB_E_INVALID, place, "%s", why);
	return qsb__place_fail(err, QSB_E_INVALID, place, "\"%s\": %s", shown, why);
}

static bool is_port(const char *text)
{
	uint64_t port;

	return text[0] != '0' && qsb__count_parse(text, &port) == 0 && port >= 1 && port <= 65535;
}

int qsb__entry_check(const struct qsb__row *row, const char *text, const struct qsb__place *place,
		     struct qsb_error *err)
{
	char why[200] = "";
	bool good = row->type == QSB__ROW_PORTS ? is_port(text)
		    : row->names                ? name_index(row->names, text) >= 0
						: !row->check || row->check(text, why, sizeof(why)) == 0;

	return good ? 0 : refuse_entry(row, text, why, place, err);
}
