#include "cli/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/message.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/json.h"
#include "core/path.h"
#include "core/policy_load.h"
#include "os/host.h"

/* The keys that people change first, with the preset's values. */
static const char *const starter_keys[][2] = {
	{"filesystem", "allowWrite"},  {"filesystem", "denyRead"}, {"network", "mode"},
	{"network", "allowedDomains"}, {"limits", "memory"},       {"limits", "timeout"},
};

static json_t *policy_values(enum qsb__preset preset, struct qsb_error *err)
{
	QSB__CLEANUP_POLICY struct qsb_policy *policy = NULL;
	QSB_CLEANUP_FREE char *text = NULL;

	if (qsb__policy_new(&policy, preset, err))
		return NULL;
	text = qsb__policy_to_json(policy, false);
	return text ? json_loads(text, 0, NULL) : NULL;
}

/* The caller frees it; NULL = no memory. */
static char *starter_text(enum qsb__preset preset, struct qsb_error *err)
{
	QSB__CLEANUP_JSON json_t *values = policy_values(preset, err);
	QSB__CLEANUP_JSON json_t *root = json_pack("{s:i, s:s}", "version", 1, "extends", qsb__preset_name(preset));

	for (size_t i = 0; i < sizeof(starter_keys) / sizeof(starter_keys[0]); i++) {
		const char *group = starter_keys[i][0], *key = starter_keys[i][1];
		json_t *value = json_object_get(json_object_get(values, group), key);

		if (!json_object_get(root, group))
			json_object_set_new(root, group, json_object());
		json_object_set(json_object_get(root, group), key, value);
	}
	return values ? json_dumps(root, JSON_INDENT(2)) : NULL;
}

static int make_folders(char *path, struct qsb_error *err)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int made;

		*slash = '\0';
		made = mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : errno;
		if (made)
			qsb__fail_os(err, made, "policy init", "cannot make the folder %s", path);
		*slash = '/';
		if (made)
			return QSB_E_OS;
	}
	return 0;
}

static int write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t written = write(fd, text, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return errno;
		text += written;
		length -= (size_t)written;
	}
	return fsync(fd) < 0 ? errno : 0;
}

/* A link never replaces what is there, a rename always does: so nobody sees half a file, nor loses one. */
static int put_in_place(const char *temporary, const char *path, bool replace)
{
	if (replace)
		return rename(temporary, path) < 0 ? errno : 0;
	return link(temporary, path) < 0 ? errno : 0;
}

static int write_file(const char *path, const char *text, bool replace, struct qsb_error *err)
{
	char temporary[QSB__PATH_MAX + 8];
	QSB_CLEANUP_FD int fd = -1;
	int fault;

	snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return qsb__fail_os(err, errno, "policy init", "cannot write %s", path);
	fault = write_all(fd, text, strlen(text));
	if (!fault)
		fault = put_in_place(temporary, path, replace);
	if (fault || !replace)
		unlink(temporary);
	if (fault == EEXIST)
		return qsb__fail(err, QSB_E_STATE, "policy init", "%s is there already; --force replaces it", path);
	return fault ? qsb__fail_os(err, fault, "policy init", "cannot write %s", path) : 0;
}

static int find_path(char out[QSB__PATH_MAX], const struct qsb__invocation *invocation, const struct qsb__host *host,
		     struct qsb_error *err)
{
	const char *workspace = qsb__invocation_value(invocation, QSB__OPT_WORKSPACE);
	const struct qsb__policy_sources sources = {.home = host->home, .config_home = getenv("XDG_CONFIG_HOME")};
	const struct qsb__path_base base = {.home = host->home, .folder = host->cwd};
	char folder[QSB__PATH_MAX];

	if (!qsb__invocation_value(invocation, QSB__OPT_PROJECT))
		return qsb__policy_user_file(&sources, out, QSB__PATH_MAX)
			       ? make_folders(out, err)
			       : qsb__fail(err, QSB_E_NOT_FOUND, "policy init",
					   "no home folder is known: set HOME or XDG_CONFIG_HOME");
	if (qsb__path_absolute(folder, workspace ? workspace : ".", &base, err))
		return QSB_E_INVALID;
	if (!qsb__path_join(out, folder, QSB__PROJECT_FILE))
		return qsb__fail(err, QSB_E_RANGE, "policy init", "the workspace's path is too long");
	return 0;
}

static int find_preset(const struct qsb__invocation *invocation, enum qsb__preset *preset, struct qsb_error *err)
{
	size_t count = 0;

	*preset = QSB__PRESET_WORKSPACE;
	for (size_t i = 0; i < invocation->use_count; i++) {
		const struct qsb__row *row = invocation->uses[i].row;
		int found = row ? qsb__preset_by_name(invocation->uses[i].value) : -1;

		if (!row)
			continue;
		if (strcmp(row->pointer, "/extends") != 0)
			return qsb__fail(err, QSB_E_INVALID, row->option,
					 "policy init takes --preset only; edit the file for %s", row->option);
		while (row->names[count])
			count++;
		if (found < 0)
			return qsb__fail_unknown(err, "preset", invocation->uses[i].value, row->names, count);
		*preset = (enum qsb__preset)found;
	}
	return 0;
}

static int write_starter(const struct qsb__invocation *invocation, const struct qsb__host *host, const char *text,
			 struct qsb_error *err)
{
	bool replace = qsb__invocation_value(invocation, QSB__OPT_FORCE) != NULL;
	char path[QSB__PATH_MAX];
	int code = find_path(path, invocation, host, err);

	if (!code)
		code = write_file(path, text, replace, err);
	if (code)
		return code;
	fputs("wrote ", invocation->out);
	qsb__print_text(invocation->out, path);
	fputc('\n', invocation->out);
	return 0;
}

int qsb__policy_init(const struct qsb__invocation *invocation, struct qsb_error *err)
{
	QSB_CLEANUP_FREE char *text = NULL, *lines = NULL;
	struct qsb__host host;
	enum qsb__preset preset;
	int code = find_preset(invocation, &preset, err);

	if (code)
		return code;
	if (qsb__invocation_value(invocation, QSB__OPT_USER) && qsb__invocation_value(invocation, QSB__OPT_PROJECT))
		return qsb__fail(err, QSB_E_INVALID, "policy init", "--user and --project exclude each other");
	text = starter_text(preset, err);
	if (!text || asprintf(&lines, "%s\n", text) < 0)
		return qsb__fail_memory(err, "policy init");
	code = qsb__host_init(&host, err);
	if (code)
		return code;
	code = write_starter(invocation, &host, lines, err);
	qsb__host_clear(&host);
	return code;
}
