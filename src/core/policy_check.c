#include "core/policy_check.h"

#include <stdio.h>
#include <string.h>

#include <qiming/sandbox.h>

#include "core/glob.h"
#include "core/path.h"
#include "core/policy_load.h"
#include "core/policy_patch.h"

static int refuse(char *why, size_t why_size, const char *reason)
{
	snprintf(why, why_size, "%s", reason);
	return QSB_E_INVALID;
}

static int check_plain_path(const char *text, char *why, size_t why_size)
{
	if (!*text)
		return refuse(why, why_size, "must not be empty; the workspace itself is \".\"");
	if (strlen(text) >= QSB__PATH_MAX)
		return refuse(why, why_size, "is longer than 4095 bytes");
	/* "~bob" would need the user database, which a sandbox must not depend on. */
	if (text[0] == '~' && text[1] && text[1] != '/')
		return refuse(why, why_size,
			      "only ~ and ~/… mean a home folder; write the whole path, or ./~name for a file");
	return 0;
}

int qsb__check_path(const char *text, char *why, size_t why_size)
{
	if (text[0] == '@' && strcmp(text, "@secrets") != 0 && strcmp(text, "@system") != 0)
		return refuse(why, why_size, "only @secrets and @system are built-in lists; write ./@name for a file");
	if (qsb__glob_is_pattern(text) && qsb__glob_check(text, why, why_size))
		return QSB_E_INVALID;
	return check_plain_path(text, why, why_size);
}

int qsb__check_folder(const char *text, char *why, size_t why_size)
{
	/* Trust must not depend on where one stands, nor on what a stranger calls a folder. */
	if (text[0] != '/' && text[0] != '~')
		return refuse(why, why_size, "must begin with / or ~/");
	if (qsb__glob_is_pattern(text))
		return refuse(why, why_size,
			      "must name one folder, without *, ? and [; what lies in it is trusted, too");
	return check_plain_path(text, why, why_size);
}

int qsb__check_socket_path(const char *text, char *why, size_t why_size)
{
	if (text[0] == '@')
		return refuse(why, why_size, "must be the path of a socket; abstract sockets cannot be let in");
	if (qsb__glob_is_pattern(text))
		return refuse(why, why_size, "must be the path of one socket, without *, ? and [");
	return check_plain_path(text, why, why_size);
}

static const struct qsb__item *find_entry(const struct qsb__list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].text, text) == 0)
			return &list->items[i];
	return NULL;
}

int qsb__policy_check_ports(const struct qsb_policy *policy, struct qsb_error *err)
{
	const struct qsb__row *reach = qsb__row_by_pointer("/network/reachPorts");
	const struct qsb__row *publish = qsb__row_by_pointer("/network/publishPorts");
	const struct qsb__list *list = qsb__row_list(policy, reach);

	for (size_t i = 0; i < list->count; i++) {
		const struct qsb__item *item = &list->items[i];
		const struct qsb__item *other = find_entry(qsb__row_list(policy, publish), item->text);
		bool option = item->layer == QSB__LAYER_OPTION;
		struct qsb__place place = {.pointer = option ? reach->option : reach->pointer,
					   .source = policy->source[item->layer]};
		size_t index = item->index;
		char origin[128];

		if (!other)
			continue;
		place.index = option ? NULL : &index;
		qsb__item_origin(publish, other, origin, sizeof(origin));
		return qsb__place_fail(err, QSB_E_INVALID, &place,
				       "port %s is also in %s: it can lead out of the sandbox or into it, not both",
				       item->text, origin);
	}
	return 0;
}

int qsb__check_variable_pattern(const char *text, char *why, size_t why_size)
{
	const char *star = strchr(text, '*');

	if (!*text)
		return refuse(why, why_size, "must be the name of a variable, such as CI or NPM_*");
	if (strchr(text, '='))
		return refuse(why, why_size, "must be a name without =; values belong into /environment/set");
	if (star && star[1])
		return refuse(why, why_size, "may have a * only at its end, such as NPM_*");
	return 0;
}

int qsb__check_variable(const char *text, char *why, size_t why_size)
{
	const char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return refuse(why, why_size, "must be a name and a value, such as CI=1");
	return 0;
}
