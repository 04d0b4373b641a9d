#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "plan/build.h"

static enum qsb__file_kind kind_of(const struct qsb__build *build, const char *path)
{
	return build->host->ops->kind(build->host->context, path);
}

static int add_special(struct qsb__build *build, enum qsb__step_kind kind, const char *path, const char *text,
		       const char *reason)
{
	struct qsb__rule rule = {.path = qsb__arena_text(build->arena, path),
				 .special = kind,
				 .text = text,
				 .name = "built-in: private folders",
				 .reason = reason,
				 .file = QSB__FILE_DIR};

	return qsb__build_add(build, &rule);
}

const char *qsb__build_variable(const struct qsb__build *build, const char *name)
{
	size_t length = strlen(name);

	for (char *const *at = build->host->environment; at && *at; at++)
		if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
			return *at + length + 1;
	return NULL;
}

/* Only a socket: what else is put in its place by now is no affair of that entry. */
static int allow_socket(struct qsb__build *build, const char *path, const char *link)
{
	struct qsb__rule rule = {.allow = QSB__ACCESS_READ,
				 .special = QSB__STEP_BIND_RO,
				 .name = "/network/unixSockets",
				 .reason = "a socket allowed by name",
				 .link = link};

	return kind_of(build, path) == QSB__FILE_SOCKET ? qsb__build_add_path(build, &rule, path) : 0;
}

static int allow_reading(struct qsb__build *build, const char *path, const char *name, const char *reason)
{
	struct qsb__rule rule = {
		.allow = QSB__ACCESS_READ, .special = QSB__STEP_BIND_RO, .name = name, .reason = reason};

	return kind_of(build, path) == QSB__FILE_MISSING ? 0 : qsb__build_add_path(build, &rule, path);
}

/* Scratch folders. Where the host has a link (/var/tmp on some systems), the link leads to scratch space as well. */
static int add_scratch(struct qsb__build *build, const char *path, bool always)
{
	char real[QSB__PATH_MAX];
	enum qsb__file_kind kind;
	int result = qsb__build_resolve(build, path, real, &kind);

	if (result)
		return result;
	if (kind != QSB__FILE_DIR && !always)
		return 0;
	if (build->policy->filesystem.tmp == QSB__TMP_HOST) {
		struct qsb__rule rule = {.allow = QSB__ACCESS_READ | QSB__ACCESS_WRITE,
					 .special = QSB__STEP_BIND_RO,
					 .name = "/filesystem/tmp",
					 .file = kind,
					 .reason = "the host's temporary files"};

		rule.path = qsb__arena_text(build->arena, real);
		return kind == QSB__FILE_DIR ? qsb__build_add(build, &rule) : 0;
	}
	result = add_special(build, QSB__STEP_TMPFS, real, NULL, "temporary files, gone when the sandbox ends");
	/* A workspace in there would be gone from view where the policy lets it be read but not written. */
	if (!result && !build->root_empty && qsb__path_inside(build->plan->workspace, real, build->fold) &&
	    strcmp(build->plan->workspace, real) != 0)
		result = allow_reading(build, build->plan->workspace, "built-in: workspace", "the command works there");
	return result;
}

/* What the host's programs must still find in /run. */
static int bring_back(struct qsb__build *build)
{
	static const char *const links[] = {"/run/current-system", "/run/opengl-driver", "/run/booted-system"};
	char real[QSB__PATH_MAX];
	enum qsb__file_kind kind = QSB__FILE_MISSING;
	int result = 0;

	if (kind_of(build, "/etc/resolv.conf") == QSB__FILE_LINK)
		result = qsb__build_resolve(build, "/etc/resolv.conf", real, &kind);
	if (!result && kind == QSB__FILE_PLAIN && qsb__path_inside(real, "/run", false))
		result = allow_reading(build, real, "built-in: name resolution", "/etc/resolv.conf leads there");
	/* Only NixOS has the first one, so elsewhere it is the only question. */
	for (size_t i = 0; !result && i < sizeof(links) / sizeof(links[0]); i++) {
		if (kind_of(build, links[i]) != QSB__FILE_LINK) {
			if (i == 0)
				break;
			continue;
		}
		result = qsb__build_resolve(build, links[i], real, &kind);
		if (!result && kind != QSB__FILE_MISSING)
			result = add_special(build, QSB__STEP_LINK, links[i], qsb__arena_text(build->arena, real),
					     "NixOS finds its programs through it");
	}
	return result;
}

/* /run holds the sockets of the host's services, which a read-only mount would not keep anybody from talking to. Where
 * /var/run is a folder of its own (in some containers), it is the same kind of place. */
static int add_run(struct qsb__build *build)
{
	static const char *const folders[] = {"/run", "/var/run"};
	int result = 0;

	for (size_t i = 0; !result && i < sizeof(folders) / sizeof(folders[0]); i++)
		if (kind_of(build, folders[i]) == QSB__FILE_DIR)
			result = add_special(build, QSB__STEP_TMPFS, folders[i], NULL,
					     "sockets of the host's services lie there");
	return result ? result : bring_back(build);
}

/* An XDG_RUNTIME_DIR elsewhere holds the same kind of sockets. */
static int mask_runtime_dir(struct qsb__build *build)
{
	struct qsb__rule rule = {.deny = QSB__ACCESS_READ | QSB__ACCESS_WRITE,
				 .special = QSB__STEP_BIND_RO,
				 .pin_all = true,
				 .name = "built-in: runtime folder",
				 .reason = "sockets of the user's services lie there"};
	const char *folder = build->host->runtime_dir;

	if (!folder || !qsb__path_is_absolute(folder, build->base.windows) || qsb__path_inside(folder, "/run", false) ||
	    strlen(folder) >= QSB__PATH_MAX || strcmp(folder, "/") == 0)
		return 0;
	return kind_of(build, folder) == QSB__FILE_MISSING ? 0 : qsb__build_add_path(build, &rule, folder);
}

static int add_linux(struct qsb__build *build)
{
	struct qsb__rule kernel = {.deny = QSB__ACCESS_WRITE,
				   .hard = true,
				   .special = QSB__STEP_BIND_RO,
				   .quiet = true,
				   .name = "built-in: kernel settings",
				   .reason = "root may write them without any privilege"};
	int result = add_scratch(build, "/tmp", true);

	if (!result)
		result = add_scratch(build, "/var/tmp", false);
	if (!result)
		result = add_run(build);
	if (!result)
		result = add_special(build, QSB__STEP_PROC, "/proc", NULL, "only the sandbox's own processes");
	if (!result)
		result = add_special(build, QSB__STEP_DEV, "/dev", NULL, "only harmless devices");
	/* As in other scratch space: see add_scratch. */
	if (!result && !build->root_empty && qsb__path_inside(build->plan->workspace, "/dev/shm", false))
		result = allow_reading(build, build->plan->workspace, "built-in: workspace", "the command works there");
	return result ? result : qsb__build_add_path(build, &kernel, "/sys");
}

static int add_darwin(struct qsb__build *build)
{
	int result = add_scratch(build, "/private/tmp", true);

	return result ? result : add_scratch(build, "/private/var/tmp", false);
}

static int add_windows(struct qsb__build *build)
{
	const char *temp = qsb__build_variable(build, "TEMP");
	char absolute[QSB__PATH_MAX];
	int result;

	if (!temp)
		return 0;
	result = qsb__path_absolute(absolute, temp, &build->base, build->err);
	return result ? result : add_scratch(build, absolute, false);
}

/* `quiet`: it does not need a name rule of its own when it does not exist. */
static struct qsb__rule own_file(const char *reason, bool quiet)
{
	return (struct qsb__rule){.deny = QSB__ACCESS_WRITE,
				  .hard = true,
				  .special = QSB__STEP_BIND_RO,
				  .pin_all = true,
				  .name = "built-in: own files",
				  .reason = reason,
				  .quiet = quiet};
}

static int hold(struct qsb__build *build, const char *path, const char *reason, bool quiet)
{
	struct qsb__rule rule = own_file(reason, quiet);

	return qsb__build_add_path(build, &rule, path);
}

/* A policy that would rule the next run, whoever makes it. The project's is not of them: it can only tighten. */
static int hold_policy(struct qsb__build *build, const char *path, const char *reason)
{
	struct qsb__rule rule = own_file(reason, false);

	rule.required = true;
	return qsb__build_add_path(build, &rule, path);
}

/* Its path is the kernel's own word and needs no resolving. */
static int hold_program(struct qsb__build *build)
{
	struct qsb__rule rule = own_file("the sandbox program", true);

	rule.path = qsb__arena_text(build->arena, build->host->program);
	rule.file = kind_of(build, build->host->program);
	return qsb__build_add(build, &rule);
}

/* Whoever could write the policy or the program would be outside at the next run. */
static int add_own_files(struct qsb__build *build)
{
	const char *config = qsb__build_variable(build, "XDG_CONFIG_HOME");
	char path[QSB__PATH_MAX];
	int result = 0;

	if (config && qsb__path_is_absolute(config, build->base.windows) && strlen(config) < QSB__PATH_MAX / 2)
		result = qsb__path_absolute(path, config, &build->base, build->err);
	else if (!build->host->home || !qsb__path_join(path, build->host->home, ".config"))
		path[0] = '\0';
	if (!result && path[0] && qsb__path_join(path, path, "qiming-sandbox"))
		result = hold_policy(build, path, "the user's policy");
	if (!result && qsb__path_join(path, build->plan->workspace, ".qiming-sandbox.json"))
		result = hold(build, path, "the project's policy", build->policy->filesystem.protect_names);
	if (!result && !build->base.windows)
		result = hold_policy(build, "/etc/qiming-sandbox", "the managed policy");
	if (!result && build->host->program)
		result = hold_program(build);
	for (int layer = 0; !result && layer < QSB__LAYER_COUNT; layer++)
		if (build->policy->source[layer] &&
		    qsb__path_is_absolute(build->policy->source[layer], build->base.windows))
			result = hold(build, build->policy->source[layer], "a policy in force", false);
	return result;
}

int qsb__build_special(struct qsb__build *build)
{
	int result = build->host->os == QSB__OS_LINUX    ? add_linux(build)
		     : build->host->os == QSB__OS_DARWIN ? add_darwin(build)
							 : add_windows(build);

	for (size_t i = 0; !result && build->plan->unix_sockets && build->plan->unix_sockets[i]; i++)
		result = allow_socket(build, build->plan->unix_sockets[i], build->socket_links[i]);
	if (!result)
		result = mask_runtime_dir(build);
	return result ? result : add_own_files(build);
}
