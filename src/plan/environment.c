#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/error.h"
#include "plan/build.h"

struct texts {
	char **items;
	size_t count, capacity;
};

static int add_text(struct qsb__build *build, struct texts *texts, char *text)
{
	if (!text || qsb__build_grow(&texts->items, texts->count, &texts->capacity, sizeof(char *)))
		return qsb__fail_memory(build->err, "environment");
	texts->items[texts->count++] = text;
	return 0;
}

static char upper(char byte)
{
	return byte >= 'a' && byte <= 'z' ? (char)(byte - 32) : byte;
}

static bool starts_alike(const char *pattern, size_t size, const char *name)
{
	for (size_t i = 0; i < size; i++)
		if (upper(pattern[i]) != upper(name[i]))
			return false;
	return true;
}

/* A pattern is text with '*' at either end, both, or once in the middle. Case is ignored: a secret in lower case
 * (npm_config_…_authToken) is one too. */
static bool name_matches(const char *pattern, const char *name, size_t length)
{
	size_t size = strlen(pattern);
	const char *star = strchr(pattern, '*');
	size_t before = star ? (size_t)(star - pattern) : size;
	bool open_end = star && pattern[size - 1] == '*' && star != pattern + size - 1;

	if (!star)
		return size == length && starts_alike(pattern, size, name);
	if (length < size - 1 - (open_end ? 1 : 0) || !starts_alike(pattern, before, name))
		return false;
	size -= before + 1 + (open_end ? 1 : 0); /* what follows the first star */
	if (!open_end)
		return starts_alike(star + 1, size, name + length - size);
	for (size_t at = before; at + size <= length; at++)
		if (starts_alike(star + 1, size, name + at))
			return true;
	return false;
}

static bool in_table(const char *const *table, const char *name, size_t length)
{
	for (; *table; table++)
		if ((**table == '*' || upper(**table) == upper(*name)) && name_matches(*table, name, length))
			return true;
	return false;
}

/* "postgres://user:password@host/db": an address that carries a password, under whatever name. */
static bool holds_password(const char *value)
{
	const char *scheme = strstr(value, "://");
	const char *host, *colon;

	if (!scheme)
		return false;
	scheme += 3;
	host = scheme + strcspn(scheme, "/?# ");
	colon = memchr(scheme, ':', (size_t)(host - scheme));
	return colon && memchr(colon, '@', (size_t)(host - colon)) != NULL;
}

static bool is_passed(const struct qsb__build *build, const char *name, size_t length)
{
	const struct qsb__list *pass = &build->policy->environment.pass;

	for (size_t i = 0; i < pass->count; i++) {
		const char *text = pass->items[i].text;
		size_t size = strlen(text);

		if (size && text[size - 1] == '*' ? length >= size - 1 && memcmp(text, name, size - 1) == 0
						  : size == length && memcmp(text, name, size) == 0)
			return true;
	}
	return false;
}

bool qsb__is_secret_variable(const char *variable)
{
	size_t length = strcspn(variable, "=");

	if (in_table(qsb__harmless_variables, variable, length))
		return false;
	return in_table(qsb__secret_variables, variable, length) ||
	       (variable[length] && holds_password(variable + length + 1));
}

enum fate { KEPT, LEFT_OUT, SECRET };

static enum fate judge(const struct qsb__build *build, const char *variable, size_t length)
{
	switch (build->policy->environment.inherit) {
	case QSB__INHERIT_ALL:
		return KEPT;
	case QSB__INHERIT_NONE:
		if (in_table(qsb__basic_variables, variable, length) ||
		    (build->base.windows && in_table(qsb__basic_windows_variables, variable, length)))
			return KEPT;
		return is_passed(build, variable, length) ? KEPT : LEFT_OUT;
	case QSB__INHERIT_SAFE:
		break;
	}
	return !qsb__is_secret_variable(variable) || is_passed(build, variable, length) ? KEPT : SECRET;
}

static int by_name(const void *left, const void *right)
{
	const char *a = *(char *const *)left, *b = *(char *const *)right;
	size_t a_length = strcspn(a, "="), b_length = strcspn(b, "=");
	int order = memcmp(a, b, a_length < b_length ? a_length : b_length);

	return order ? order : a_length < b_length ? -1 : a_length > b_length;
}

/* What the policy sets, sorted by name. The list is copied for bsearch; the stronger layers come later and win. */
static int sort_settings(struct qsb__build *build, struct texts *settings)
{
	const struct qsb__list *set = &build->policy->environment.set;
	size_t kept = 0;

	for (size_t i = 0; i < set->count; i++)
		if (strchr(set->items[i].text, '=') &&
		    add_text(build, settings, qsb__arena_text(build->arena, set->items[i].text)))
			return QSB_E_MEMORY;
	/* Few are set; an insertion sort keeps the order of equal names without further storage. */
	for (size_t i = 1; i < settings->count; i++) {
		char *moved = settings->items[i];
		size_t at = i;

		for (; at > 0 && by_name(&settings->items[at - 1], &moved) > 0; at--)
			settings->items[at] = settings->items[at - 1];
		settings->items[at] = moved;
	}
	for (size_t i = 0; i < settings->count; i++) {
		if (kept && by_name(&settings->items[kept - 1], &settings->items[i]) == 0)
			kept--;
		settings->items[kept++] = settings->items[i];
	}
	settings->count = kept;
	return 0;
}

static int inherit(struct qsb__build *build, const struct texts *settings, struct texts *kept, struct texts *dropped)
{
	for (char *const *at = build->host->environment; at && *at; at++) {
		const char *equals = strchr(*at, '=');
		size_t length = equals ? (size_t)(equals - *at) : 0;
		char *own = *at;
		enum fate fate;

		if (length == 0)
			continue;
		if (settings->count && bsearch(&own, settings->items, settings->count, sizeof(char *), by_name))
			continue;
		fate = judge(build, *at, length);
		if (fate == KEPT && add_text(build, kept, qsb__arena_text(build->arena, *at)))
			return QSB_E_MEMORY;
		if (fate == SECRET && add_text(build, dropped, qsb__arena_text_n(build->arena, *at, length)))
			return QSB_E_MEMORY;
	}
	return 0;
}

/* One variable of ours instead of the caller's of the same name; what the policy sets wins over both. */
static int point(struct qsb__build *build, const struct texts *settings, struct texts *kept, char *setting)
{
	size_t left = 0;

	if (!setting)
		return qsb__fail_memory(build->err, "environment");
	for (size_t i = 0; i < kept->count; i++)
		if (by_name(&kept->items[i], &setting) != 0)
			kept->items[left++] = kept->items[i];
	kept->count = left;
	if (settings->count && bsearch(&setting, settings->items, settings->count, sizeof(char *), by_name))
		return 0;
	return add_text(build, kept, setting);
}

/*
 * Programs that know proxies get good answers from ours: it says why it refuses. The filter does not rest on them. Not
 * ALL_PROXY=socks5://…: Python's clients fail outright where they lack a package for it.
 */
static int point_to_proxy(struct qsb__build *build, const struct texts *settings, struct texts *kept)
{
	static const char *const proxies[] = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
					      "http_proxy", "https_proxy", "all_proxy"};
	static const char *const direct[] = {"NO_PROXY", "no_proxy"};
	char text[100];
	int result = 0;

	if (!build->plan->proxy_port)
		return 0;
	for (size_t i = 0; !result && i < sizeof(proxies) / sizeof(proxies[0]); i++) {
		snprintf(text, sizeof(text), "%s=http://127.0.0.1:%u", proxies[i], build->plan->proxy_port);
		result = point(build, settings, kept, qsb__arena_text(build->arena, text));
	}
	for (size_t i = 0; !result && i < sizeof(direct) / sizeof(direct[0]); i++) {
		snprintf(text, sizeof(text), "%s=localhost,127.0.0.1,::1", direct[i]);
		result = point(build, settings, kept, qsb__arena_text(build->arena, text));
	}
	return result;
}

/* Temporary files go to the private folder, whatever the caller's variables say of the host's. */
static int point_to_tmp(struct qsb__build *build, const struct texts *settings, struct texts *kept)
{
	static const char *const names[] = {"TMPDIR=/tmp", "TMP=/tmp", "TEMP=/tmp", "TEMPDIR=/tmp"};
	size_t left = 0;

	if (!build->plan->tmp_private || build->base.windows)
		return 0;
	for (size_t i = 0; i < kept->count; i++) {
		bool is_tmp = false;

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			is_tmp = is_tmp || strncmp(kept->items[i], names[k], strcspn(names[k], "=") + 1) == 0;
		if (!is_tmp)
			kept->items[left++] = kept->items[i];
	}
	kept->count = left;
	for (size_t i = 0; i < settings->count; i++)
		if (strncmp(settings->items[i], "TMPDIR=", 7) == 0)
			return 0;
	return add_text(build, kept, qsb__arena_text(build->arena, names[0]));
}

/* npm takes its variables in any case. */
static bool has_variable(const struct texts *texts, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < texts->count; i++)
		if (strncasecmp(texts->items[i], name, length) == 0 && texts->items[i][length] == '=')
			return true;
	return false;
}

static int point_caches(struct qsb__build *build, const struct texts *settings, struct texts *kept)
{
	char names[400], note[600];
	size_t used = 0;
	int result = 0;

	for (size_t i = 0; !result && i < qsb__cache_count; i++) {
		const char *needed[2];

		if (has_variable(kept, qsb__caches[i].variable) || has_variable(settings, qsb__caches[i].variable))
			continue;
		result = qsb__build_cache(build, &qsb__caches[i], needed);
		for (size_t k = 0; !result && k < 2 && needed[k]; k++) {
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s", used ? ", " : "",
						 (int)strcspn(needed[k], "="), needed[k]);
			result = add_text(build, kept, qsb__arena_text(build->arena, needed[k]));
		}
	}
	if (result || !used)
		return result;
	snprintf(note, sizeof(note),
		 "%s %s set: programs that stop where they cannot write their cache keep it in /tmp/.cache", names,
		 strchr(names, ',') ? "are" : "is");
	return qsb__build_note(build, note);
}

/* A new repository gets no hooks: git has examples only, but a template of the user's may have others, and where names
 * are held live none can be made. For git an empty name is none. */
static int point_template(struct qsb__build *build, const struct texts *settings, struct texts *kept)
{
	if (!build->plan->protect_names)
		return 0;
	return point(build, settings, kept, qsb__arena_text(build->arena, "GIT_TEMPLATE_DIR="));
}

static int finish(struct qsb__build *build, struct texts *texts, char ***out)
{
	*out = qsb__arena_alloc(build->arena, (texts->count + 1) * sizeof(char *));
	if (*out && texts->count)
		memcpy(*out, texts->items, texts->count * sizeof(char *));
	return *out ? 0 : qsb__fail_memory(build->err, "environment");
}

int qsb__build_environment(struct qsb__build *build)
{
	struct texts settings = {0}, kept = {0}, dropped = {0};
	int result = sort_settings(build, &settings);

	if (!result)
		result = inherit(build, &settings, &kept, &dropped);
	if (!result)
		result = point_to_tmp(build, &settings, &kept);
	if (!result)
		result = point_to_proxy(build, &settings, &kept);
	if (!result)
		result = point_caches(build, &settings, &kept);
	if (!result)
		result = point_template(build, &settings, &kept);
	for (size_t i = 0; !result && i < settings.count; i++)
		result = add_text(build, &kept, settings.items[i]);
	if (!result)
		result = finish(build, &kept, &build->plan->environment);
	if (!result)
		result = finish(build, &dropped, &build->plan->scrubbed);
	free(settings.items);
	free(kept.items);
	free(dropped.items);
	return result;
}
