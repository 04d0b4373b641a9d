/*
 * Whether one entry of an allow list holds all that another one names. A wrong yes would let a project's file widen the
 * policy, a wrong no only drops an entry with a note: so what is not certain is a no.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/domain.h"
#include "core/glob.h"
#include "core/path.h"
#include "core/policy_patch.h"

static bool is_token(const char *text)
{
	return text[0] == '@';
}

static bool is_plain(const char *text)
{
	return !is_token(text) && !qsb__glob_is_pattern(text);
}

static bool absolute(char out[QSB__PATH_MAX], const char *text, const struct qsb__places *places)
{
	struct qsb__path_base base = {.home = places->home, .folder = places->workspace};

	if (text[0] != '/' && text[0] != '~' && !places->workspace)
		return false;
	return qsb__path_absolute(out, text, &base, NULL) == 0;
}

/* The real path: what is there with its links resolved, and the rest as written. A rest with ".." has no certain
 * meaning. */
static bool real_path(char out[QSB__PATH_MAX], const char *text, const struct qsb__places *places)
{
	char head[QSB__PATH_MAX], whole[QSB__PATH_MAX] = "";
	struct stat info;
	size_t length;

	if (!absolute(whole, text, places))
		return false;
	memcpy(head, whole, sizeof(head));
	for (length = strlen(head); length > 0; length = qsb__path_parent(head)) {
		char *found;

		head[length] = '\0';
		found = realpath(head, NULL);
		if (found) {
			bool fits = strlen(found) < QSB__PATH_MAX;

			if (fits)
				memcpy(out, found, strlen(found) + 1);
			free(found);
			if (!fits || length == strlen(whole))
				return fits;
			if (qsb__path_has_dots(whole + length) ||
			    !qsb__path_join(head, out, qsb__path_below(whole, head)))
				return false;
			memcpy(out, head, sizeof(head));
			return true;
		}
		/* A link to what does not exist yet leads anywhere; what cannot be looked at is not known. */
		if (errno != ENOENT || lstat(head, &info) == 0)
			return false;
	}
	return false;
}

static bool path_holds(const char *outer, const char *inner, const char *inner_real, const struct qsb__places *places)
{
	char outer_real[QSB__PATH_MAX];

	if (strcmp(outer, inner) == 0 || strcmp(outer, "/") == 0)
		return true;
	if (!inner_real || !is_plain(outer))
		return false;
	return real_path(outer_real, outer, places) && qsb__path_inside(inner_real, outer_real, false);
}

/* Where the port of a canonical pattern begins, or its end. Addresses are compared as a whole, they have none here. */
static size_t host_length(const char *pattern)
{
	const char *colon = strchr(pattern, ':');

	return colon ? (size_t)(colon - pattern) : strlen(pattern);
}

static bool is_address(const char *pattern)
{
	const char *colon = strchr(pattern, ':');

	/* Only ranges have a '/', only IPv6 brackets or a second colon; IPv4 ends with a digit and has no letter. */
	return strpbrk(pattern, "[]/") || (colon && strchr(colon + 1, ':')) ||
	       strspn(pattern, "0123456789.") == host_length(pattern);
}

/* "*" is not said to hold a name: a listed name may lead to private addresses, which "*" does not reach. */
static bool domain_holds(const char *outer_text, const char *inner_text)
{
	char outer[QSB__DOMAIN_MAX], inner[QSB__DOMAIN_MAX], why[200];
	size_t outer_length, inner_length;

	if (qsb__domain_canonical(outer_text, outer, why, sizeof(why)) ||
	    qsb__domain_canonical(inner_text, inner, why, sizeof(why)))
		return false;
	if (strcmp(outer, inner) == 0)
		return true;
	outer_length = host_length(outer);
	inner_length = host_length(inner);
	if (is_address(outer) || is_address(inner) ||
	    (outer[outer_length] && strcmp(outer + outer_length, inner + inner_length) != 0))
		return false;
	if (outer_length == inner_length && strncmp(outer, inner, outer_length) == 0)
		return true;
	return strncmp(outer, "*.", 2) == 0 && inner_length > outer_length - 1 &&
	       strncmp(inner + inner_length - (outer_length - 1), outer + 1, outer_length - 1) == 0;
}

/* Names of variables, where a trailing '*' stands for any rest. */
static bool name_holds(const char *outer, const char *inner)
{
	size_t length = strlen(outer);

	if (length && outer[length - 1] == '*')
		return strncmp(outer, inner, length - 1) == 0;
	return strcmp(outer, inner) == 0;
}

static bool is_domains(const struct qsb__row *row)
{
	return row->offset == offsetof(struct qsb_policy, network.allowed_domains);
}

bool qsb__cover_holds(const struct qsb__row *row, const struct qsb__list *list, const char *entry,
		      const struct qsb__places *places)
{
	char real[QSB__PATH_MAX];
	bool is_path = row->type == QSB__ROW_PATHS;
	const char *entry_real = is_path && is_plain(entry) && real_path(real, entry, places) ? real : NULL;

	for (size_t i = 0; i < list->count; i++) {
		const char *outer = list->items[i].text;

		if (is_path           ? path_holds(outer, entry, entry_real, places)
		    : is_domains(row) ? domain_holds(outer, entry)
				      : name_holds(outer, entry))
			return true;
	}
	return false;
}

static bool has_hidden_component(const char *path)
{
	return strstr(path, "/.") != NULL;
}

/* Does any component of the path match, or any folder on the way to it? */
static bool glob_stands_above(const char *pattern, const char *real, const struct qsb__places *places)
{
	char anchored[QSB__PATH_MAX], head[QSB__PATH_MAX];
	bool anywhere = !strchr(pattern, '/');

	if (!anywhere && !absolute(anchored, pattern, places))
		return true;
	snprintf(head, sizeof(head), "%s", real);
	for (size_t length = strlen(head); length > 1; length = qsb__path_parent(head)) {
		head[length] = '\0';
		if (qsb__glob_match(anywhere ? pattern : anchored, anywhere ? qsb__path_name(head) : head, true))
			return true;
	}
	return false;
}

/* The built-in lists name hidden files, and system files outside every workspace: what is neither cannot lie below one
 * of their entries. */
static bool may_be_builtin(const char *real, const struct qsb__places *places)
{
	char workspace[QSB__PATH_MAX], home[QSB__PATH_MAX];

	if (strcmp(real, "/") == 0)
		return false;
	if (has_hidden_component(real) || !places->workspace || !real_path(workspace, places->workspace, places))
		return true;
	/* A workspace that holds the home folder also holds the secrets that are not hidden (~/snap, ~/Library). */
	if (places->home && real_path(home, places->home, places) && qsb__path_inside(home, workspace, true))
		return true;
	return !qsb__path_inside(real, workspace, false) && !qsb__path_inside(workspace, real, false);
}

static bool deny_stands_above(const struct qsb__item *deny, const char *real, const struct qsb__places *places)
{
	char folder[QSB__PATH_MAX];

	if (is_token(deny->text))
		return may_be_builtin(real, places);
	if (qsb__glob_is_pattern(deny->text))
		return glob_stands_above(deny->text, real, places);
	return !real_path(folder, deny->text, places) || qsb__path_inside(real, folder, true);
}

/* The most specific rule wins: a new allow entry below a rule that refuses would undo that rule. */
static bool is_refused(const struct qsb_policy *policy, const struct qsb__row *row, const char *entry,
		       const struct qsb__places *places)
{
	bool write = row->offset == offsetof(struct qsb_policy, filesystem.allow_write);
	const struct qsb__list *denies[] = {&policy->filesystem.deny_read, &policy->filesystem.deny_write};
	char real[QSB__PATH_MAX];

	/* The files of @system are anybody's to read; they must only not stand below a rule of the user's own. */
	if (is_token(entry))
		snprintf(real, sizeof(real), "/usr/lib");
	else if (!is_plain(entry) || !real_path(real, entry, places))
		return true;
	if (write && policy->filesystem.protect_names && may_be_builtin(real, places))
		return true;
	for (size_t which = 0; which < (write ? 2U : 1U); which++)
		for (size_t i = 0; i < denies[which]->count; i++)
			if (!(is_token(entry) && is_token(denies[which]->items[i].text)) &&
			    deny_stands_above(&denies[which]->items[i], real, places))
				return true;
	return false;
}

bool qsb__cover_allows(const struct qsb_policy *policy, const struct qsb__row *row, const struct qsb__list *present,
		       const char *entry, const struct qsb__places *places)
{
	if (qsb__list_has(present, entry))
		return true;
	if (!qsb__cover_holds(row, present, entry, places))
		return false;
	return row->type != QSB__ROW_PATHS || !is_refused(policy, row, entry, places);
}
