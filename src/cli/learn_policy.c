#include "cli/learn_policy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "core/glob.h"
#include "core/json.h"
#include "core/policy_load.h"
#include "core/policy_patch.h"

/* A policy is at most 1 MiB: entries take up to half of it, remarks the rest. */
enum { MOST_REMARKS = 1000, MOST_DENIALS = 100, MOST_BYTES = 480 * 1024 };

struct writing {
	const struct qsb__learned *learned;
	json_t *values;  /* of the policy as it was given, all of them */
	json_t *changed; /* those that are not the preset's, and what is added */
	json_t *remarks;
	size_t entries, entry_bytes, lost; /* lost: those that found no room */
	size_t remark_bytes, left_out;     /* the same of remarks */
};

/* What a text takes as JSON, at the most. */
static size_t cost_of(const char *text)
{
	size_t cost = 16;

	for (const char *at = text; *at; at++)
		cost += (unsigned char)*at < 0x20   ? 6
			: *at == '"' || *at == '\\' ? 2
			: (unsigned char)*at < 0x80 ? 1
						    : 3;
	return cost;
}

static void remark(struct writing *writing, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void remark(struct writing *writing, const char *format, ...)
{
	QSB_CLEANUP_FREE char *text = NULL;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		text = NULL;
	if (!text || json_array_size(writing->remarks) >= MOST_REMARKS ||
	    writing->remark_bytes + cost_of(text) > MOST_BYTES) {
		writing->left_out++;
		return;
	}
	writing->remark_bytes += cost_of(text);
	json_array_append_new(writing->remarks, qsb__json_text(text));
}

static json_t *load_values(const struct qsb_policy *policy)
{
	QSB_CLEANUP_FREE char *text = qsb__policy_to_json(policy, false);

	return text ? json_loads(text, 0, NULL) : NULL;
}

/* Takes out of `values` what `preset` has as well: what is left says all that the preset does not. */
static void take_out(json_t *values, json_t *preset)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(values, next, key, value)
	{
		json_t *other = json_object_get(preset, key);

		if (json_is_object(value) && json_is_object(other))
			take_out(value, other);
		if (json_equal(value, other) || (json_is_object(value) && json_object_size(value) == 0))
			json_object_del(values, key);
	}
}

static int begin(struct writing *writing, struct qsb_error *err)
{
	const struct qsb_policy *asked = writing->learned->asked;
	QSB__CLEANUP_POLICY struct qsb_policy *preset = NULL;
	QSB__CLEANUP_JSON json_t *defaults = NULL;
	int code = qsb__policy_new(&preset, asked->extends, err);

	if (code)
		return code;
	defaults = load_values(preset);
	writing->values = load_values(asked);
	writing->changed = writing->values ? json_deep_copy(writing->values) : NULL;
	writing->remarks = json_array();
	if (!defaults || !writing->changed || !writing->remarks)
		return qsb__fail_memory(err, "learn");
	take_out(writing->changed, defaults);
	/* Only the user's own file may say it. */
	json_object_del(writing->changed, "trustedFolders");
	json_object_del(writing->changed, "$comment");
	return 0;
}

static json_t *group_of(struct writing *writing, const char *group)
{
	json_t *object = json_object_get(writing->changed, group);

	if (!object) {
		object = json_object();
		json_object_set_new(writing->changed, group, object);
	}
	return object;
}

/* The list that entries are added to. It stands instead of the preset's, so it begins with what held so far. */
static json_t *list_of(struct writing *writing, const char *group, const char *key)
{
	json_t *object = group_of(writing, group), *list = json_object_get(object, key);

	if (!list) {
		list = json_deep_copy(json_object_get(json_object_get(writing->values, group), key));
		json_object_set_new(object, key, list ? list : json_array());
	}
	return json_object_get(object, key);
}

/* A name that is a pattern, or no text, cannot stand there as it is. */
static bool write_entry(const struct writing *writing, const struct qsb__learnt *item, char *out)
{
	char text[QSB__PATH_MAX], why[200];
	json_t *json;

	qsb__learn_shorten(writing->learned->where, item->path, text);
	if (!qsb__glob_is_pattern(text))
		memcpy(out, text, strlen(text) + 1);
	else if (!qsb__glob_quote(out, QSB__PATH_MAX, text))
		return false;
	json = json_string(out);
	json_decref(json);
	return json && qsb__row_by_pointer("/filesystem/allowWrite")->check(out, why, sizeof(why)) == 0;
}

static const char *doing(const struct qsb__learnt *item)
{
	if (item->access == QSB__ACCESS_READ)
		return item->count == 1 ? "read" : "reads";
	return item->count == 1 ? "change" : "changes";
}

static void add_path(struct writing *writing, const struct qsb__learnt *item)
{
	const char *key = item->access == QSB__ACCESS_READ ? "allowRead" : "allowWrite";
	char text[QSB__PATH_MAX];
	json_t *list;

	if (!write_entry(writing, item, text)) {
		remark(writing, "not learned: %s: its name cannot be written in a policy", item->path);
		return;
	}
	if (writing->entry_bytes + cost_of(text) > MOST_BYTES) {
		writing->lost++;
		return;
	}
	writing->entry_bytes += cost_of(text);
	list = list_of(writing, "filesystem", key);
	json_array_append_new(list, json_string(text));
	remark(writing, "/filesystem/%s/%zu: %s: %s, %zu %s", key, json_array_size(list) - 1, text,
	       item->processes[0] ? item->processes : "a program", item->count, doing(item));
	writing->entries++;
}

static void leave_path(struct writing *writing, const struct qsb__learnt *item)
{
	char text[QSB__PATH_MAX];

	qsb__learn_shorten(writing->learned->where, item->path, text);
	remark(writing, "not learned: %s: %s, %zu %s: %s", text, item->processes[0] ? item->processes : "a program",
	       item->count, doing(item), item->why);
}

static void add_paths(struct writing *writing)
{
	const struct qsb__lessons *lessons = writing->learned->lessons;

	for (size_t i = 0; i < lessons->count; i++)
		if (lessons->items[i].left_out)
			leave_path(writing, &lessons->items[i]);
		else
			add_path(writing, &lessons->items[i]);
	if (writing->learned->lost)
		remark(writing, "not learned: %zu more calls in more folders than are kept", writing->learned->lost);
}

/* A network that was off has no list in force: what stands in it was never judged, and is not opened now. */
static json_t *open_network(struct writing *writing)
{
	json_t *network = group_of(writing, "network");

	if (writing->learned->asked->network.mode == QSB__NETWORK_OFF && !json_object_get(network, "learned")) {
		json_object_set_new(network, "mode", json_string("filtered"));
		json_object_set_new(network, "allowedDomains", json_array());
		json_object_set_new(network, "learned", json_true());
	}
	return list_of(writing, "network", "allowedDomains");
}

static void add_host(struct writing *writing, const struct qsb__learnt_host *host)
{
	const char *plural = host->count == 1 ? "" : "s";
	char why[200];
	json_t *list;

	if (host->failed || qsb__domain_check(host->pattern, why, sizeof(why)) != 0) {
		remark(writing, "not learned: %s: %zu connection%s, none of which came about", host->pattern,
		       host->count, plural);
		return;
	}
	list = open_network(writing);
	json_array_append_new(list, json_string(host->pattern));
	if (host->gathered)
		remark(writing,
		       "/network/allowedDomains/%zu: %s: %zu connection%s to %zu hosts of it; this is wider than "
		       "what was seen",
		       json_array_size(list) - 1, host->pattern, host->count, plural, host->gathered);
	else
		remark(writing, "/network/allowedDomains/%zu: %s: %zu connection%s", json_array_size(list) - 1,
		       host->pattern, host->count, plural);
	writing->entries++;
}

static void add_hosts(struct writing *writing)
{
	for (size_t i = 0; i < writing->learned->host_count; i++)
		add_host(writing, &writing->learned->hosts[i]);
	json_object_del(json_object_get(writing->changed, "network"), "learned");
	if (writing->learned->lost_hosts)
		remark(writing, "not learned: %zu more connections to more hosts than are kept",
		       writing->learned->lost_hosts);
	if (writing->learned->network_bound)
		remark(writing, "the machine's managed policy bounds the network: nothing beyond it was learned");
}

static void tell_limit(struct writing *writing, const struct qsb__denial *denial)
{
	const struct qsb__row *row = qsb__row_by_pointer(denial->rule);
	uint64_t value = row ? 2 * qsb__row_get(writing->learned->asked, row) : 0;
	char text[QSB__NUMBER_TEXT_MAX];

	if (!row || value == 0 || !qsb__row_is_number(row)) {
		remark(writing, "limit reached: %s (%s)", denial->operation, denial->rule);
		return;
	}
	qsb__value_format(row, value > row->max ? row->max : value, text);
	remark(writing, "limit reached: %s (%s); twice its value would be %s", denial->operation, denial->rule, text);
}

static void tell_denial(struct writing *writing, const struct qsb__denial *denial)
{
	char target[QSB__PATH_MAX];

	if (denial->target[0] == '/')
		qsb__learn_shorten(writing->learned->where, denial->target, target);
	else
		snprintf(target, sizeof(target), "%s", denial->target);
	remark(writing, "not allowed by learning: %s %s%s%s: %s%s%s", denial->operation, target,
	       denial->process[0] ? " by " : "", denial->process, denial->rule[0] ? denial->rule : denial->kind,
	       denial->suggestion[0] ? "; where that is meant, allow it by hand with " : "", denial->suggestion);
}

static void tell_denials(struct writing *writing)
{
	const struct qsb__result *result = writing->learned->result;
	size_t told = 0;

	for (size_t i = 0; i < result->denial_count; i++) {
		if (strcmp(result->denials[i].kind, "limit") == 0)
			tell_limit(writing, &result->denials[i]);
		else if (told++ < MOST_DENIALS)
			tell_denial(writing, &result->denials[i]);
	}
	if (told > MOST_DENIALS || result->denials_left_out)
		remark(writing, "not allowed by learning: %zu more",
		       (told > MOST_DENIALS ? told - MOST_DENIALS : 0) + result->denials_left_out);
}

static void tell_end(struct writing *writing)
{
	const struct qsb__result *result = writing->learned->result;
	const char *name = writing->learned->command;

	if (result->exit_code == 0)
		remark(writing, "learned by `qiming-sandbox run --learn` from one run of %s", name);
	else
		remark(writing,
		       "learned by `qiming-sandbox run --learn` from one run of %s, which %s%d: what it would have "
		       "done "
		       "later is missing",
		       name, result->signal ? "was ended by signal " : "ended with exit status ",
		       result->signal ? result->signal : result->exit_code);
}

static void keep_remarks(struct writing *writing)
{
	const struct qsb__list *before = &writing->learned->asked->comment;

	for (size_t i = 0; i < before->count; i++)
		remark(writing, "%s", before->items[i].text);
}

/* What is written must be a policy, or it is not written. */
static int finish(struct writing *writing, char **out, struct qsb_error *err)
{
	QSB__CLEANUP_POLICY struct qsb_policy *trial = NULL;
	QSB__CLEANUP_JSON json_t *root = json_object();
	QSB_CLEANUP_FREE char *text = NULL;
	int code;

	if (writing->lost)
		json_array_append_new(writing->remarks, json_string("there were more entries than a policy can hold"));
	if (writing->left_out)
		json_array_append_new(writing->remarks, json_string("there were more remarks than are kept"));
	json_object_set(root, "version", json_object_get(writing->values, "version"));
	json_object_set(root, "extends", json_object_get(writing->values, "extends"));
	json_object_set(root, "$comment", writing->remarks);
	json_object_update_missing(root, writing->changed);
	text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	if (!text || asprintf(out, "%s\n", text) < 0) {
		*out = NULL;
		return qsb__fail_memory(err, "learn");
	}
	code = qsb__policy_new(&trial, QSB__PRESET_WORKSPACE, err);
	return code ? code : qsb__policy_merge_json(trial, QSB__LAYER_FILE, *out, strlen(*out), "learned", err);
}

int qsb__learned_text(char **out, size_t *entries, const struct qsb__learned *learned, struct qsb_error *err)
{
	struct writing writing = {.learned = learned};
	int code = begin(&writing, err);

	*out = NULL;
	if (code == 0) {
		tell_end(&writing);
		keep_remarks(&writing);
		add_paths(&writing);
		add_hosts(&writing);
		tell_denials(&writing);
		code = finish(&writing, out, err);
	}
	*entries = writing.entries;
	json_decref(writing.values);
	json_decref(writing.changed);
	json_decref(writing.remarks);
	if (code) {
		free(*out);
		*out = NULL;
	}
	return code;
}
