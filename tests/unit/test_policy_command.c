/* `qiming-sandbox policy …`, called as main() calls it, in a home folder of its own. */
#include "cli/policy.h"

#include <dirent.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "tap.h"

static char root[] = "/tmp/qsb-policy-XXXXXX";
static char *printed;
static struct qsb_error err;

/* Runs the words up to a NULL; what it prints is in `printed`. */
static int policy(const char *const *words)
{
	struct qsb__invocation invocation;
	char *arguments[16] = {NULL};
	size_t size = 0;
	int code;

	/* The parser reads them only. */
	for (size_t i = 0; words[i] && i < 15; i++)
		arguments[i] = (char *)(uintptr_t)words[i];

	free(printed);
	printed = NULL;
	memset(&err, 0, sizeof(err));
	code = qsb__options_parse(&invocation, &qsb__policy_command, arguments, &err);
	if (code)
		return code;
	invocation.out = open_memstream(&printed, &size);
	if (!invocation.out)
		return 1;
	code = invocation.command->run(&invocation, &err);
	fclose(invocation.out);
	qsb__invocation_clear(&invocation);
	return code;
}

#define POLICY(...) policy((const char *const[]){__VA_ARGS__, NULL})

static bool file_is(const char *path, mode_t mode)
{
	struct stat info;

	return lstat(path, &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 0777) == mode;
}

static bool says(const char *part)
{
	return printed && strstr(printed, part);
}

static void put(const char *path, const char *text)
{
	FILE *to = fopen(path, "w");

	if (!to || fputs(text, to) < 0 || fclose(to))
		tap_ok(false, "cannot write %s", path);
}

static size_t entries_of(const char *path)
{
	DIR *folder = opendir(path);
	size_t count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count > 2 ? count - 2 : 0;
}

static void init(void)
{
	static const char path[] = ".config/qiming-sandbox/policy.json";

	tap_is_number(POLICY("init"), 0, "init writes the user's file");
	tap_ok(file_is(path, 0600), "for the user's eyes only");
	tap_ok(says("policy.json"), "and says where");
	tap_is_number((long long)entries_of(".config/qiming-sandbox"), 1, "no other file is left behind");
	tap_is_number(POLICY("check", path), 0, "what it wrote is a policy");
	tap_is_number(POLICY("init"), QSB_E_STATE, "a second init does not overwrite it");
	tap_ok(strstr(err.message, "--force") != NULL, "and names the option that does");
	tap_is_number((long long)entries_of(".config/qiming-sandbox"), 1, "nor does it leave a file behind");
	tap_is_number(POLICY("init", "--force", "--preset", "locked-down"), 0, "--force replaces it");
	tap_ok(POLICY("show", "--json") == 0 && says("\"locked-down\""), "by the preset that was named");
	tap_is_number(POLICY("init", "--preset", "lockeddown"), QSB_E_UNKNOWN, "an unknown preset is refused");
	tap_ok(strstr(err.message, "locked-down") != NULL, "with the right name");
	tap_is_number(POLICY("init", "--memory", "1g"), QSB_E_INVALID,
		      "an option that would have no effect is refused");
	tap_is_number(POLICY("init", "--user", "--project"), QSB_E_INVALID, "one of two places has to be chosen");
	tap_is_number(POLICY("init", "--project"), 0, "init writes the project's file");
	tap_ok(file_is(".qiming-sandbox.json", 0600), "into the current folder");
	tap_is_number(POLICY("init", "--project", "--workspace", "no-such"), QSB_E_OS,
		      "a missing workspace is an error");
	unlink(".qiming-sandbox.json");
	unlink(path);
}

static void check(void)
{
	put("good.json", "{\"network\":{\"mode\":\"off\"}}");
	put("bad.json", "{\"netwrok\":{}}");
	tap_is_number(POLICY("check", "good.json"), 0, "a good file is good");
	tap_ok(says("good"), "and is called so");
	tap_is_number(POLICY("check", "bad.json"), QSB_E_UNKNOWN, "a bad file is an error");
	tap_is_text(err.where, "/netwrok", "with its place");
	tap_is_number(POLICY("check", "bad.json", "--json"), 125, "with --json it is one, too");
	tap_ok(says("\"valid\": false") && says("\"/netwrok\"") && says("did you mean"),
	       "and the document says all of it");
	tap_ok(POLICY("check", "good.json", "--json") == 0 && says("\"valid\": true"),
	       "a good file has a document, too");
	tap_is_number(POLICY("check", "missing.json"), QSB_E_NOT_FOUND, "a missing file is an error");
	tap_is_number(POLICY("check"), 0, "without a file, those that count here are checked");
	put(".qiming-sandbox.json", "{");
	tap_is_number(POLICY("check"), QSB_E_INVALID, "and a bad one of them is an error");
	put(".qiming-sandbox.json", "{\"network\":{\"mode\":\"host\"}}");
	tap_ok(POLICY("check") == 0 && says("note: ") && says("/network/mode"), "what a project may not do is noted");
	unlink(".qiming-sandbox.json");
}

static void show(void)
{
	QSB__CLEANUP_JSON json_t *document = NULL;

	tap_is_number(POLICY("show", "--memory", "1g", "--write", "/opt", "--network", "filtered"), 0,
		      "show takes run's options");
	tap_ok(says("command line (--memory)") && says("command line (--write)"),
	       "and names the option behind a value");
	tap_ok(says("preset workspace"), "and the preset");
	put(".qiming-sandbox.json", "{\"limits\":{\"timeout\":60}}");
	tap_ok(POLICY("show") == 0 && says("project (") && says(".qiming-sandbox.json)"), "and the file");
	unlink(".qiming-sandbox.json");
	tap_is_number(POLICY("show", "--timeout", "0"), QSB_E_RANGE, "a bad option is refused");
	tap_ok(POLICY("show", "--json") == 0, "show prints JSON");
	document = json_loads(printed, 0, NULL);
	tap_ok(json_is_object(json_object_get(document, "policy")) &&
		       json_is_object(json_object_get(document, "origins")),
	       "with values and origins");
	tap_ok(POLICY("show", "--write", "/a\x1B[2J") == 0 || err.code, "a path with an escape is shown or refused");
	tap_ok(!printed || !strchr(printed, 0x1B), "but never sent to the terminal");
}

static void words(void)
{
	const char *none[] = {NULL};

	tap_is_number(policy(none), QSB_E_INVALID, "policy alone says what it needs");
	tap_is_number(POLICY("chekc"), QSB_E_UNKNOWN, "an unknown word is refused");
	tap_ok(strstr(err.message, "check") != NULL, "with the right one");
	tap_is_number(POLICY("schema", "x"), QSB_E_INVALID, "schema takes no argument");
	tap_is_number(POLICY("check", "a", "b"), QSB_E_INVALID, "check takes one file");
	tap_ok(POLICY("schema") == 0 && says("\"$schema\""), "schema prints the schema");
}

static int remove_entry(const char *path, const struct stat *info, int flag, struct FTW *where)
{
	(void)info;
	(void)flag;
	(void)where;
	return remove(path);
}

int main(void)
{
	if (!mkdtemp(root) || chdir(root))
		return 1;
	setenv("HOME", root, 1);
	unsetenv("XDG_CONFIG_HOME");
	init();
	check();
	show();
	words();
	free(printed);
	nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	return tap_done();
}
