/*
 * Which settings of git are not harmless. A list of what git (2.39 to 2.52) and its commonest companions take for a
 * program, or for a place outside the repository; and, since others will follow, any key that is named like one.
 * Harmless is what is left: a list of all that is would stop every tool that keeps settings of its own.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/path.h"
#include "guard/git_config.h"

#define RUNS  "git runs the program that it names"
#define READS "git takes further settings, hooks or files from where it leads"
#define SENDS "git's connections, and the passwords for them, go where it leads"
#define ADDS  "it adds options or lines to what git runs"

/* What a value may be all the same. */
enum exempt {
	NOTHING,
	BOOLEAN, /* "true" and "false": a switch, or the harmless programs of these names */
	EMPTY,   /* also nothing at all: it forgets what was set before */
	NAME,    /* a name without a slash */
	NEVER,   /* a protocol that stays shut */
	NO_SHELL /* what does not begin with "!" */
};

struct key {
	const char *section; /* NULL = any */
	const char *key;     /* NULL = any; a leading "-" = any that ends so */
	enum exempt exempt;
	const char *reason;
};

static const struct key keys[] = {
	/* Sections that are all of one kind. An alias without "!" can still be `fetch --upload-pack=…`, and takes the
	 * place of one that the user has. */
	{"alias", NULL, NOTHING, "git runs it in place of a command"},
	{"include", NULL, NOTHING, READS},
	{"includeif", NULL, NOTHING, READS},
	{"pager", NULL, BOOLEAN, RUNS},
	{"hook", NULL, NOTHING, RUNS},
	{"annex", NULL, BOOLEAN, RUNS},
	{"gitcvs", NULL, NOTHING, READS},
	{"instaweb", NULL, NOTHING, RUNS},
	{"trace2", NULL, BOOLEAN, "git writes into the file that it names"},

	{"core", "fsmonitor", BOOLEAN, RUNS},
	{"core", "hookspath", NOTHING, READS},
	{"core", "gitproxy", NOTHING, RUNS},
	{"core", "worktree", NOTHING, "git writes its files where it leads"},
	{"init", "templatedir", NOTHING, READS},
	{"credential", "helper", EMPTY, RUNS},
	{"diff", "external", BOOLEAN, RUNS},
	{"diff", "tool", NAME, READS},
	{"diff", "guitool", NAME, READS},
	{"merge", "tool", NAME, READS},
	{"merge", "guitool", NAME, READS},
	{"interactive", "difffilter", BOOLEAN, RUNS},
	{"web", "browser", NOTHING, RUNS},
	{"help", "browser", NOTHING, RUNS},
	{"imap", "tunnel", NOTHING, RUNS},
	{"sendemail", "smtpserver", NAME, RUNS},
	{"submodule", "update", NO_SHELL, RUNS},
	{"remote", "uploadpack", NOTHING, RUNS},
	{"remote", "receivepack", NOTHING, RUNS},
	{"remote", "vcs", NOTHING, RUNS},
	{"branch", "mergeoptions", NOTHING, ADDS},
	{"rebase", "instructionformat", NOTHING, ADDS},
	{"lfs", "args", NOTHING, ADDS},
	{"protocol", "allow", NEVER, "it opens a protocol that runs programs"},

	{"http", "proxy", NOTHING, SENDS},
	{"remote", "proxy", NOTHING, SENDS},
	{"http", "sslverify", BOOLEAN, SENDS}, /* see is_exempt */
	{"http", "sslcainfo", NOTHING, SENDS},
	{"http", "sslcapath", NOTHING, SENDS},
	{"http", "curloptresolve", NOTHING, SENDS},
	{"http", "cookiefile", NOTHING, "git writes into the file that it names"},
	{"http", "savecookies", NOTHING, "git writes into the file that it names"},

	/* Of browsers, merge tools, manual viewers, transfer agents. */
	{NULL, "path", NOTHING, RUNS},
	/* Any section's, also of programs that are not git's own. */
	{NULL, "-command", BOOLEAN, RUNS},
	{NULL, "-cmd", BOOLEAN, RUNS},
	{NULL, "-program", BOOLEAN, RUNS},
	{NULL, "-prog", BOOLEAN, RUNS},
	{NULL, "-exec", BOOLEAN, RUNS},
	{NULL, "-script", BOOLEAN, RUNS},
	{NULL, "-shell", BOOLEAN, RUNS},
	{NULL, "-helper", BOOLEAN, RUNS},
	{NULL, "-hook", BOOLEAN, RUNS},
	{NULL, "-hooks", BOOLEAN, READS},
	{NULL, "-editor", BOOLEAN, RUNS},
	{NULL, "-pager", BOOLEAN, RUNS},
	{NULL, "-askpass", BOOLEAN, RUNS},
	{NULL, "-driver", BOOLEAN, RUNS},
	{NULL, "-textconv", BOOLEAN, RUNS},
	{NULL, "-clean", BOOLEAN, RUNS},
	{NULL, "-smudge", BOOLEAN, RUNS},
	{NULL, "-process", BOOLEAN, RUNS},
	{NULL, "-tunnel", BOOLEAN, RUNS},
	{NULL, "-viewer", BOOLEAN, RUNS},
};

static bool is_boolean(const char *value)
{
	return !value || strcasecmp(value, "true") == 0 || strcasecmp(value, "false") == 0;
}

/* The protocols that git itself lets everybody use, or anybody in person. */
static bool is_plain_protocol(const char *name)
{
	static const char *const plain[] = {"http", "https", "ssh", "git", "file"};
	const char *from = strchr(name, '.');
	const char *to = strrchr(name, '.');

	for (size_t i = 0; from != to && i < sizeof(plain) / sizeof(plain[0]); i++)
		if ((size_t)(to - from - 1) == strlen(plain[i]) && strncmp(from + 1, plain[i], strlen(plain[i])) == 0)
			return true;
	return false;
}

static bool is_exempt(const struct key *key, const struct qsb__git_setting *setting)
{
	const char *value = setting->value;

	switch (key->exempt) {
	case BOOLEAN:
		if (strcmp(key->key ? key->key : "", "sslverify") == 0)
			return !value || strcasecmp(value, "true") == 0;
		return is_boolean(value);
	case EMPTY:
		return value && !*value;
	case NAME:
		return value && !strchr(value, '/');
	case NO_SHELL:
		return value && *value != '!';
	case NEVER:
		return (value && strcmp(value, "never") == 0) || is_plain_protocol(setting->name);
	case NOTHING:
		break;
	}
	return false;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool is_meant(const struct key *key, const struct qsb__git_setting *setting)
{
	const char *last = strrchr(setting->name, '.');
	size_t section = strcspn(setting->name, ".");

	last = last ? last + 1 : setting->name;
	if (key->section && (strlen(key->section) != section || strncmp(key->section, setting->name, section) != 0))
		return false;
	if (!key->key)
		return true;
	return key->key[0] == '-' ? ends_with(last, key->key + 1) : strcmp(last, key->key) == 0;
}

/* Git's remote helper for any command at all. `url.BASE.insteadOf` has it in its name. */
static bool names_command(const struct qsb__git_setting *setting)
{
	return strstr(setting->name, "ext::") || (setting->value && strncmp(setting->value, "ext::", 5) == 0);
}

/* No step up, and not into a git folder: a checkout would write its hooks. */
static bool is_plain(const char *path)
{
	while (*(path += strspn(path, "/"))) {
		size_t length = strcspn(path, "/");

		if ((length == 2 && memcmp(path, "..", 2) == 0) || (length == 4 && strncasecmp(path, ".git", 4) == 0))
			return false;
		path += length;
	}
	return true;
}

/*
 * Is it where git would put the files by itself? Of `W/.git` that is W; of `W/.git/modules/NAME` a folder in W. "..",
 * as git writes it, stands in front only: behind a name, which may be a link, it could lead anywhere.
 */
static bool stays(const char *folder, const char *value)
{
	char path[QSB__PATH_MAX], top[QSB__PATH_MAX], up[QSB__PATH_MAX];
	const char *git = strstr(folder, "/.git/modules/");
	const char *end = git ? git : strrchr(folder, '/');
	size_t length = end ? (size_t)(end - folder) : 0, given = strlen(value);

	if (!end || !given || given >= sizeof(path) || strlen(folder) >= sizeof(up) || length >= sizeof(top))
		return false;
	memcpy(top, folder, length);
	top[length] = '\0';
	snprintf(up, sizeof(up), "%s", folder);
	while (value[0] != '/' && (strcmp(value, "..") == 0 || strncmp(value, "../", 3) == 0)) {
		char *slash = strrchr(up, '/');

		if (!slash)
			return false;
		*slash = '\0';
		value += 2 + strspn(value + 2, "/");
	}
	if (snprintf(path, sizeof(path), "%s%s%s", value[0] == '/' ? "" : up, value[0] == '/' || !*value ? "" : "/",
		     value) >= (int)sizeof(path))
		return false;
	return git ? qsb__path_inside(path, top, false) && is_plain(path + length) : strcmp(path, top) == 0;
}

const char *qsb__git_setting_reason(const struct qsb__git_setting *setting, const char *folder)
{
	if (names_command(setting))
		return RUNS;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!is_meant(&keys[i], setting))
			continue;
		/* The first row that speaks of it decides. */
		if (is_exempt(&keys[i], setting) || (keys[i].key && strcmp(keys[i].key, "worktree") == 0 &&
						     setting->value && stays(folder, setting->value)))
			return NULL;
		return keys[i].reason;
	}
	return NULL;
}
