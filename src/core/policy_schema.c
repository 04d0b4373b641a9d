/* The policy's table as JSON Schema, for editors and for forms. */
#include <stdio.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/json.h"
#include "core/policy_load.h"
#include "core/policy_patch.h"

#define SIZE_PATTERN     "^([0-9]+(\\.[0-9]+)?([kKmMgGtT]([iI]?[bB])?)|[0-9]+[bB]?)$"
#define DURATION_PATTERN "^([0-9]+(\\.[0-9]+)?([sS]|[mM]|[hH]|[dD])?|[0-9]+[mM][sS])$"
#define CPUS_PATTERN     "^[0-9]+(\\.[0-9]+)?$"

static json_t *names_schema(const char *const *names)
{
	json_t *list = json_array();

	for (size_t i = 0; names[i]; i++)
		json_array_append_new(list, json_string(names[i]));
	return json_pack("{s:s, s:o}", "type", "string", "enum", list);
}

/* One or more forms of a limit: a number in its range, a text, and "none". */
static json_t *number_schema(const struct qsb__row *row)
{
	bool thousandths = row->type == QSB__ROW_SECONDS || row->type == QSB__ROW_CPUS;
	const char *pattern = row->type == QSB__ROW_SIZE   ? SIZE_PATTERN
			      : row->type == QSB__ROW_CPUS ? CPUS_PATTERN
							   : DURATION_PATTERN;
	json_t *number, *forms;

	if (row->min == row->max)
		return json_pack("{s:I}", "const", (json_int_t)row->min);
	if (thousandths)
		number = json_pack("{s:s, s:f, s:f}", "type", "number", "minimum", (double)row->min / 1000, "maximum",
				   (double)row->max / 1000);
	else
		number = json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)row->min, "maximum",
				   (json_int_t)row->max);
	forms = json_pack("[o]", number);
	if (row->type != QSB__ROW_COUNT)
		json_array_append_new(forms, json_pack("{s:s, s:s}", "type", "string", "pattern", pattern));
	if (row->none_allowed)
		json_array_append_new(forms, json_pack("{s:s}", "const", "none"));
	return json_pack("{s:o}", "anyOf", forms);
}

static json_t *list_schema(const struct qsb__row *row)
{
	json_t *entry;

	if (row->type == QSB__ROW_PORTS)
		entry = json_pack("{s:s, s:i, s:i}", "type", "integer", "minimum", 1, "maximum", 65535);
	else if (row->names)
		entry = names_schema(row->names);
	else
		entry = json_pack("{s:s, s:i}", "type", "string", "minLength", 1);
	entry = json_pack("{s:s, s:o, s:I}", "type", "array", "items", entry, "maxItems", (json_int_t)row->max);
	return row->single_allowed ? json_pack("{s:[{s:s}, o]}", "anyOf", "type", "string", entry) : entry;
}

static json_t *row_schema(const struct qsb__row *row)
{
	switch (row->type) {
	case QSB__ROW_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case QSB__ROW_ENUM:
		return names_schema(row->names);
	case QSB__ROW_MAP:
		return json_pack("{s:s, s:{s:s}, s:{s:s}, s:I}", "type", "object", "additionalProperties", "type",
				 "string", "propertyNames", "pattern", "^[^=]+$", "maxProperties",
				 (json_int_t)row->max);
	case QSB__ROW_TEXT:
		return json_pack("{s:s, s:i}", "type", "string", "minLength", 1);
	case QSB__ROW_PATHS:
	case QSB__ROW_STRINGS:
	case QSB__ROW_PORTS:
		return list_schema(row);
	default:
		return number_schema(row);
	}
}

/* The group's object in "properties", made when it is not there. */
static json_t *group_properties(json_t *properties, const char *pointer, const char *slash)
{
	char name[64];
	json_t *group;

	snprintf(name, sizeof(name), "%.*s", (int)(slash - pointer - 1), pointer + 1);
	group = json_object_get(properties, name);
	if (!group) {
		group = json_pack("{s:s, s:b, s:{}}", "type", "object", "additionalProperties", 0, "properties");
		json_object_set_new(properties, name, group);
	}
	return json_object_get(group, "properties");
}

/* The default is that of the preset "workspace", as the policy's own JSON writes it. */
static json_t *default_of(const json_t *defaults, const char *pointer)
{
	const char *slash = strchr(pointer + 1, '/');
	char group[64];

	if (!slash)
		return json_object_get(defaults, pointer + 1);
	snprintf(group, sizeof(group), "%.*s", (int)(slash - pointer - 1), pointer + 1);
	return json_object_get(json_object_get(defaults, group), slash + 1);
}

static void add_row(json_t *properties, const struct qsb__row *row, const json_t *defaults)
{
	const char *slash = strchr(row->pointer + 1, '/');
	json_t *schema = row_schema(row), *preset = default_of(defaults, row->pointer);

	json_object_set_new(schema, "description", json_string(row->summary));
	if (preset)
		json_object_set(schema, "default", preset);
	if (slash)
		properties = group_properties(properties, row->pointer, slash);
	json_object_set_new(properties, slash ? slash + 1 : row->pointer + 1, schema);
}

static json_t *defaults_json(void)
{
	QSB__CLEANUP_POLICY struct qsb_policy *policy = NULL;
	QSB_CLEANUP_FREE char *text = NULL;

	if (qsb__policy_new(&policy, QSB__PRESET_WORKSPACE, NULL) == 0)
		text = qsb__policy_to_json(policy, false);
	return text ? json_loads(text, 0, NULL) : NULL;
}

char *qsb__policy_schema_json(void)
{
	QSB__CLEANUP_JSON json_t *defaults = defaults_json();
	QSB__CLEANUP_JSON json_t *root =
		json_pack("{s:s, s:s, s:s, s:s, s:b, s:{}}", "$schema", "https://json-schema.org/draft/2020-12/schema",
			  "title", "qiming-sandbox policy", "type", "object", "description",
			  "What a command of an AI agent may do on this machine. Defaults are "
			  "those of the preset workspace.",
			  "additionalProperties", 0, "properties");
	json_t *properties = json_object_get(root, "properties");

	if (!root || !defaults)
		return NULL;
	for (size_t i = 0; i < qsb__row_count; i++)
		add_row(properties, &qsb__rows[i], defaults);
	return json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
}
