/*
 * A policy file of a stranger, as each layer would take it. What is accepted must mean the same after it was printed
 * and read again; what only tightens must leave nothing wider than it was; what fails must say where and why.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/json.h"
#include "core/policy.h"
#include "core/policy_load.h"
#include "core/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

/* One sentence on one line, without anything that moves a terminal's cursor. */
static void expect_error(const struct qsb_error *err, int code)
{
	expect(err->code == code && err->message[0] && err->where[0]);
	for (const char *at = err->message; *at; at += qsb__utf8_length(at, strlen(at)))
		expect(qsb__utf8_length(at, strlen(at)) && (unsigned char)*at >= 0x20 && *at != 0x7F);
}

static void expect_no_wider(const struct qsb_policy *before, const struct qsb_policy *after)
{
	expect(after->network.mode <= before->network.mode);
	expect(after->limits.memory_bytes && after->limits.memory_bytes <= before->limits.memory_bytes);
	expect(after->limits.timeout_ms && after->limits.timeout_ms <= before->limits.timeout_ms);
	expect(after->filesystem.protect_names && !after->allow_unsandboxed && !after->allow_nested_sandbox);
	expect(after->filesystem.deny_read.count >= before->filesystem.deny_read.count);
	expect(after->environment.set.count == 0 && after->trusted_folders.count == 0);
	/* No path can be compared here, since no workspace is known: only what stood there is kept. */
	expect(after->filesystem.allow_write.count <= before->filesystem.allow_write.count);
}

static void try_project(const char *text, size_t size)
{
	QSB__CLEANUP_POLICY struct qsb_policy *before = NULL;
	QSB__CLEANUP_POLICY struct qsb_policy *after = NULL;
	struct qsb_error err = {.code = 0};

	if (qsb__policy_new(&before, QSB__PRESET_WORKSPACE, &err) ||
	    qsb__policy_new(&after, QSB__PRESET_WORKSPACE, &err))
		return;
	if (qsb__policy_merge_json(after, QSB__LAYER_PROJECT, text, size, "p.json", &err) == 0)
		expect_no_wider(before, after);
}

static void try_file(const char *text, size_t size)
{
	QSB__CLEANUP_POLICY struct qsb_policy *policy = NULL;
	QSB__CLEANUP_POLICY struct qsb_policy *again = NULL;
	QSB_CLEANUP_FREE char *first = NULL;
	QSB_CLEANUP_FREE char *second = NULL;
	struct qsb_error err = {.code = 0};
	int code;

	if (qsb__policy_new(&policy, QSB__PRESET_WORKSPACE, &err) ||
	    qsb__policy_new(&again, QSB__PRESET_FULL_ACCESS, &err))
		return;
	code = qsb__policy_merge_json(policy, QSB__LAYER_USER, text, size, "p.json", &err);
	if (code) {
		expect_error(&err, code);
		return;
	}
	first = qsb__policy_to_json(policy, false);
	expect(first && qsb__policy_merge_json(again, QSB__LAYER_USER, first, strlen(first), "q.json", &err) == 0);
	second = qsb__policy_to_json(again, false);
	expect(second && strcmp(first, second) == 0);
}

static size_t depth_of(const json_t *value)
{
	size_t deepest = 0, depth, index;
	const char *key;
	json_t *child;

	json_array_foreach(value, index, child) {
		depth = depth_of(child);
		deepest = depth > deepest ? depth : deepest;
	}
	json_object_foreach((json_t *)(uintptr_t)value, key, child) {
		depth = depth_of(child);
		deepest = depth > deepest ? depth : deepest;
	}
	return json_is_array(value) || json_is_object(value) ? deepest + 1 : 0;
}

/* What is read keeps the bounds that were looked for before Jansson read it, and means the same when it is written and
 * read again. What Jansson alone takes was refused for one of those bounds. */
static void try_reader(const char *text, size_t size)
{
	QSB__CLEANUP_JSON json_t *value = NULL;
	QSB__CLEANUP_JSON json_t *again = NULL;
	QSB_CLEANUP_FREE char *written = NULL;
	struct qsb_error err = {.code = 0};
	int code = qsb__json_parse(&value, text, size, "p.json", &err);

	if (code) {
		expect_error(&err, code);
		again = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
		expect(!again || memchr(text, 0, size) || depth_of(again) > QSB__JSON_DEPTH_MAX);
		return;
	}
	expect(!memchr(text, 0, size) && depth_of(value) <= QSB__JSON_DEPTH_MAX);
	written = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	again = written ? json_loads(written, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL) : NULL;
	expect(again && json_equal(value, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_reader((const char *)data, size);
	try_file((const char *)data, size);
	try_project((const char *)data, size);
	return 0;
}
