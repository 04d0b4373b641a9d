#include "cli/learn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/learn_file.h"
#include "cli/learn_hosts.h"
#include "cli/learn_policy.h"
#include "cli/message.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/glob.h"
#include "core/policy_load.h"
#include "plan/build.h"

enum { KNOWN_FOLDERS = 256 };

/* Folders that the given policy opens already: nothing in them is noted. */
struct known_folder {
	char *path;
	unsigned access;
};

struct qsb__learn {
	const struct qsb__loaded *asked;
	const char *command; /* its name */
	struct qsb__loaded wide;
	struct qsb__new_file file;
	bool network_bound;
	pthread_mutex_t lock; /* of all below: calls are told by many threads */
	struct qsb__touches touches;
	struct qsb__reached reached;
	struct known_folder known[KNOWN_FOLDERS]; /* by the hash of the path */
	struct qsb__touch_listener listener;
	size_t entries;
};

/* ---- the wider policy ---- */

enum { MOST_WIDENINGS = 10 };

static void widen(struct qsb__policy_option *options, size_t *count, const char *pointer, const char *text)
{
	options[(*count)++] = (struct qsb__policy_option){qsb__row_by_pointer(pointer), text};
}

/*
 * As options behind the caller's own, so that the machine's managed policy bounds them as it bounds those. What is
 * denied by name stays denied; what was never denied, since nothing allowed it either, is denied now.
 */
static int load_wide(struct qsb__learn *learn, const struct qsb__invocation *invocation, struct qsb_error *err)
{
	const struct qsb_policy *asked = learn->asked->policy;
	struct qsb__policy_option options[MOST_WIDENINGS];
	char file[3 * QSB__PATH_MAX];
	size_t count = 0;
	int code;

	if (!qsb__glob_quote(file, sizeof(file), learn->file.path))
		return qsb__fail(err, QSB_E_RANGE, "--learn", "the path is too long: %.300s", learn->file.path);
	widen(options, &count, "/filesystem/allowWrite", "/");
	/* It may lie in a folder that the sandbox has for itself. */
	widen(options, &count, "/filesystem/allowWrite", ".");
	widen(options, &count, "/filesystem/allowRead", "/");
	widen(options, &count, "/filesystem/denyRead", "@secrets");
	widen(options, &count, "/filesystem/denyWrite",
	      qsb__glob_is_pattern(learn->file.path) ? file : learn->file.path);
	widen(options, &count, "/filesystem/protectNames", "true");
	widen(options, &count, "/filesystem/protectNewNames", "true");
	widen(options, &count, "/filesystem/reportDenials", "true");
	if (asked->network.mode != QSB__NETWORK_HOST) {
		widen(options, &count, "/network/mode", "filtered");
		widen(options, &count, "/network/allowedDomains", "*");
	}
	code = qsb__load_with(&learn->wide, invocation, options, count, err);
	if (code)
		return code;
	/* What may be written may be read as well. */
	if (!qsb__list_has(&learn->wide.policy->filesystem.allow_write, "/") ||
	    !qsb__list_has(&learn->wide.policy->filesystem.allow_read, "/"))
		return qsb__fail(err, QSB_E_DENIED, "--learn",
				 "the managed policy " QSB__MANAGED_FILE
				 " bounds what may be read or written: there is "
				 "nothing to learn beyond it");
	learn->network_bound = asked->network.mode != QSB__NETWORK_HOST &&
			       (learn->wide.policy->network.mode != QSB__NETWORK_FILTERED ||
				!qsb__list_has(&learn->wide.policy->network.allowed_domains, "*"));
	return 0;
}

/* Everything may be written, so that every rule by name counts, also for what no policy of people's own would open. */
static void hold_names(struct qsb__learn *learn)
{
	const struct qsb__plan *asked = learn->asked->plan;
	struct qsb__plan *plan = learn->wide.plan;

	for (size_t i = 0; i < plan->step_count; i++)
		if (plan->steps[i].kind == QSB__STEP_NAME_RULE)
			plan->steps[i].held = true;
	plan->watched = QSB__ACCESS_WRITE;
	if (asked->step_count && asked->steps[0].kind == QSB__STEP_ROOT)
		plan->watched |= QSB__ACCESS_READ;
}

/* The name of the command alone, as it was given. */
static const char *name_of(const struct qsb__invocation *invocation)
{
	return invocation->operand_count && !qsb__invocation_value(invocation, QSB__OPT_COMMAND)
		       ? qsb__path_name(invocation->operands[0])
		       : "/bin/sh";
}

static int check(const struct qsb__invocation *invocation, const struct qsb__loaded *asked, struct qsb_error *err)
{
	if (asked->policy->allow_nested_sandbox)
		return qsb__fail(err, QSB_E_UNSUPPORTED, "--learn",
				 "a sandbox inside goes past what notes the calls: leave out allowNestedSandbox");
	/* It is read twice. */
	if (qsb__invocation_value(invocation, QSB__OPT_POLICY_FD))
		return qsb__fail(err, QSB_E_INVALID, "--learn", "give the policy by --policy FILE, not by --policy-fd");
	return 0;
}

/* ---- what the run tells ---- */

/* Through a link that the given policy has in its place: then what it leads to counts. */
static bool opens_by_link(const struct qsb__learn *learn, const char *path)
{
	const struct qsb__plan *plan = learn->asked->plan;
	struct qsb__verdict verdict;
	struct qsb_error err;

	for (size_t i = 0; i < plan->step_count; i++)
		if (plan->steps[i].kind == QSB__STEP_LINK && qsb__path_inside(path, plan->steps[i].path, false))
			return qsb__plan_explain_path(plan, &learn->asked->facts.host, path, &verdict, &err) == 0 &&
			       (verdict.access & QSB__ACCESS_READ);
	return false;
}

static bool opens(const struct qsb__learn *learn, const char *path, unsigned access)
{
	const struct qsb__host *host = &learn->asked->facts.host;
	struct qsb__verdict verdict = {.access = 0};

	if (strlen(path) >= sizeof(verdict.resolved))
		return false;
	memcpy(verdict.resolved, path, strlen(path) + 1);
	qsb__build_verdict(learn->asked->plan, host->case_insensitive, &verdict);
	return verdict.own || (verdict.access & access) || (access == QSB__ACCESS_READ && opens_by_link(learn, path));
}

static struct known_folder *known_folder(struct qsb__learn *learn, const char *path, size_t length)
{
	struct known_folder *known;
	size_t hash = 0;

	for (size_t i = 0; i < length; i++)
		hash = hash * 31 + (unsigned char)path[i];
	known = &learn->known[hash % KNOWN_FOLDERS];
	if (known->path && strncmp(known->path, path, length) == 0 && known->path[length] == '\0')
		return known;
	free(known->path);
	*known = (struct known_folder){.path = strndup(path, length)};
	if (!known->path)
		return NULL;
	for (unsigned access = QSB__ACCESS_READ; access <= QSB__ACCESS_WRITE; access <<= 1)
		known->access |= opens(learn, known->path, access) ? access : 0;
	return known;
}

/* What the given policy refuses inside a folder that it opens, it denies by name: that holds while learning, too. */
static void touched(void *context, const struct qsb__touch *touch)
{
	struct qsb__learn *learn = context;
	unsigned access = touch->kind == QSB__TOUCH_READ ? QSB__ACCESS_READ : QSB__ACCESS_WRITE;
	size_t length = qsb__path_parent(touch->path);
	const struct qsb__touch by_asked = {touch->kind, touch->asked, touch->process, NULL};
	const struct known_folder *known;

	if (length == 0 || !(learn->wide.plan->watched & access))
		return;
	pthread_mutex_lock(&learn->lock);
	known = known_folder(learn, touch->path, length);
	if (!known || !(known->access & access))
		qsb__touches_add(&learn->touches, touch->asked ? &by_asked : touch);
	pthread_mutex_unlock(&learn->lock);
}

static void connected(void *context, const struct qsb__broker_event *event)
{
	struct qsb__learn *learn = context;

	qsb__reached_add(&learn->reached, event);
}

int qsb__learn_new(struct qsb__learn **out, const struct qsb__invocation *invocation, const struct qsb__loaded *asked,
		   struct qsb_error *err)
{
	const char *file = qsb__invocation_value(invocation, QSB__OPT_LEARN);
	struct qsb__learn *learn;
	int code;

	*out = NULL;
	if (!file)
		return 0;
	learn = calloc(1, sizeof(*learn));
	if (!learn)
		return qsb__fail_memory(err, "learn");
	*out = learn;
	learn->asked = asked;
	learn->command = name_of(invocation);
	learn->file.folder = -1;
	learn->listener = (struct qsb__touch_listener){touched, learn};
	pthread_mutex_init(&learn->lock, NULL);
	code = check(invocation, asked, err);
	if (code == 0)
		code = qsb__new_file_open(&learn->file, file, err);
	if (code == 0)
		code = load_wide(learn, invocation, err);
	if (code)
		return code;
	hold_names(learn);
	if (qsb__touches_init(&learn->touches,
			      &(struct qsb__learn_where){asked->facts.host.home, asked->plan->workspace}) ||
	    qsb__reached_init(&learn->reached))
		return qsb__fail_memory(err, "learn");
	return 0;
}

void qsb__learn_free(struct qsb__learn *learn)
{
	if (!learn)
		return;
	for (size_t i = 0; i < KNOWN_FOLDERS; i++)
		free(learn->known[i].path);
	if (learn->file.folder >= 0)
		close(learn->file.folder);
	qsb__touches_clear(&learn->touches);
	qsb__reached_clear(&learn->reached);
	qsb__loaded_clear(&learn->wide);
	pthread_mutex_destroy(&learn->lock);
	free(learn);
}

const struct qsb__plan *qsb__learn_plan(const struct qsb__learn *learn)
{
	return learn->wide.plan;
}

void qsb__learn_listen(struct qsb__learn *learn, struct qsb__run_request *request)
{
	request->touches = &learn->listener;
	request->connected = connected;
	request->connected_context = learn;
	qsb__message(
		"learning: writes outside the workspace and connections really happen, as far as your own rights go; "
		"secrets, protected names and the host's sockets stay shut");
}

/* ---- afterwards ---- */

static bool is_refused(void *context, const char *path, unsigned access)
{
	return !opens(context, path, access);
}

static bool allows_while_learning(const struct qsb__learn *learn, const char *path, unsigned access)
{
	struct qsb__verdict verdict = {.access = 0};

	memcpy(verdict.resolved, path, strlen(path) + 1);
	qsb__build_verdict(learn->wide.plan, learn->wide.facts.host.case_insensitive, &verdict);
	return verdict.access & access;
}

/*
 * An entry means what its path leads to when the policy is used. The command may have put a link there since, and an
 * entry for a secret by its exact name would open it: so what it leads to now must be open while learning, too, and be
 * a place that was seen.
 */
static bool is_held(void *context, const char *path, unsigned access)
{
	const struct qsb__learn *learn = context;
	const struct qsb__host *host = &learn->wide.facts.host;
	char real[QSB__PATH_MAX];

	if (!allows_while_learning(learn, path, access) ||
	    host->ops->resolve(host->context, path, real, sizeof(real)) < 0)
		return true;
	return strcmp(real, path) != 0 &&
	       (!allows_while_learning(learn, real, access) || !qsb__touches_know(&learn->touches, real));
}

static enum qsb__file_kind kind_of(void *context, const char *path)
{
	const struct qsb__learn *learn = context;
	const struct qsb__host *host = &learn->asked->facts.host;

	return host->ops->kind(host->context, path);
}

int qsb__learn_write(struct qsb__learn *learn, struct qsb__result *result, struct qsb_error *err)
{
	const struct qsb__learn_judge judge = {is_refused, is_held, kind_of, learn};
	struct qsb__learned learned = {
		.asked = learn->asked->policy,
		.where = &learn->touches.where,
		.command = learn->command,
		.lost = learn->touches.lost,
		.lost_hosts = learn->reached.lost,
		.network_bound = learn->network_bound,
		.result = result,
	};
	QSB_CLEANUP(qsb__lessons_clear) struct qsb__lessons lessons = {.items = NULL};
	QSB_CLEANUP_FREE struct qsb__learnt_host *hosts = NULL;
	QSB_CLEANUP_FREE char *text = NULL;
	int code;

	hosts = qsb__reached_draw(&learn->reached, learn->asked->plan, &learned.host_count);
	if (!hosts || qsb__lessons_draw(&lessons, &learn->touches, &judge))
		return qsb__fail_memory(err, "learn");
	learned.lessons = &lessons;
	learned.hosts = hosts;
	code = qsb__learned_text(&text, &learn->entries, &learned, err);
	if (code == 0)
		code = qsb__new_file_write(&learn->file, text, err);
	if (code)
		return code;
	result->learned_file = learn->file.path;
	result->learned_entries = learn->entries;
	return 0;
}

void qsb__learn_report(const struct qsb__learn *learn, const struct qsb__result *result)
{
	const char *name = learn->file.path;

	if (learn->entries == 0)
		qsb__message("learned: the policy sufficed as it is; it was written to %s, with remarks", name);
	else
		qsb__message("learned: %zu entr%s added to the policy in %s; look at %s before you use %s: --policy %s",
			     learn->entries, learn->entries == 1 ? "y was" : "ies were", name,
			     learn->entries == 1 ? "it" : "them", learn->entries == 1 ? "it" : "them", name);
	if (result->exit_code != 0)
		qsb__message("learned: the command did not succeed, so what it would have done later is missing");
}
