/* The layering of real files below a folder of its own: HOME, a workspace, a managed file. */
#include <ftw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/policy.h"
#include "core/policy_load.h"
#include "tap.h"

static char root[] = "/tmp/qsb-layers-XXXXXX";
static char home[64], workspace[64], user_file[128], project_file[128], managed_file[128], other_file[128];
static struct qsb_error err;
static struct qsb_policy *policy;

static void put(const char *path, const char *text)
{
	FILE *to = fopen(path, "w");

	if (!to || fputs(text, to) < 0 || fclose(to))
		tap_ok(false, "cannot write %s", path);
}

static void sweep(void)
{
	unlink(user_file);
	unlink(project_file);
	unlink(managed_file);
	unlink(other_file);
}

static struct qsb__policy_sources sources(void)
{
	return (struct qsb__policy_sources){.policy_fd = -1, .workspace = workspace, .home = home, .managed_file = ""};
}

static int load_from(const struct qsb__policy_sources *from)
{
	qsb__policy_free(policy);
	policy = NULL;
	memset(&err, 0, sizeof(err));
	return qsb__policy_load(&policy, from, &err);
}

static int load(void)
{
	struct qsb__policy_sources from = sources();

	return load_from(&from);
}

/* The list as text: "a, b". Static until the next call. */
static const char *values(const char *pointer)
{
	static char text[1024];
	char *got = policy ? qsb__policy_value_text(policy, qsb__row_by_pointer(pointer)) : NULL;

	snprintf(text, sizeof(text), "%s", got ? got : "(no policy)");
	free(got);
	return text;
}

static bool noted(const char *part)
{
	for (size_t i = 0; policy && i < policy->notes.count; i++)
		if (strstr(policy->notes.items[i].text, part))
			return true;
	return false;
}

static enum qsb__layer origin(const char *pointer)
{
	return policy->origin[qsb__row_by_pointer(pointer) - qsb__rows];
}

static void presets(void)
{
	static const char *const names[] = {"read-only", "workspace", "workspace-online", "locked-down", "full-access"};
	static const char *const writes[] = {"", ".", ".", ".", "/"};
	static const char *const reads[] = {"/", "/", "/", "@system, .", "/"};
	static const char *const modes[] = {"off", "off", "filtered", "off", "host"};

	for (size_t i = 0; i < 5; i++) {
		struct qsb__policy_sources from = sources();

		from.preset = names[i];
		tap_is_number(load_from(&from), 0, names[i]);
		tap_is_text(values("/filesystem/allowWrite"), writes[i], "its allowWrite");
		tap_is_text(values("/filesystem/allowRead"), reads[i], "its allowRead");
		tap_is_text(values("/filesystem/denyRead"), i == 4 ? "" : "@secrets", "its denyRead");
		tap_is_text(values("/network/mode"), modes[i], "its network");
	}
	tap_is_text(values("/limits/memory"), "none", "full-access has no limit of memory");
	tap_is_text(values("/environment/inherit"), "all", "full-access passes the environment on");
}

static void user_over_preset(void)
{
	put(user_file, "{\"filesystem\":{\"denyRead\":[\"@secrets\",\"./a\"]}}");
	tap_ok(load() == 0 && strcmp(values("/filesystem/denyRead"), "@secrets, ./a") == 0,
	       "what the preset denies already is not there twice");
	put(user_file,
	    "{\"extends\":\"locked-down\",\"limits\":{\"timeout\":600},\"filesystem\":{\"allowWrite\":[\"./out\"],"
	    "\"denyRead\":[\"~/diary\"]}}");
	tap_is_number(load(), 0, "a user's file is read");
	tap_is_text(values("/limits/timeout"), "600", "its value wins over the preset's");
	tap_is_text(values("/limits/memory"), "1g", "the preset that it extends is the start");
	tap_is_text(values("/filesystem/allowWrite"), "./out", "an allow list replaces the preset's");
	tap_is_text(values("/filesystem/denyRead"), "@secrets, ~/diary", "a deny list is added to the preset's");
	tap_is_number(origin("/limits/timeout"), QSB__LAYER_USER, "the origin is the user");
	tap_is_number(origin("/limits/memory"), QSB__LAYER_PRESET, "the origin of the rest is the preset");
	tap_is_number(origin("/extends"), QSB__LAYER_USER, "the user chose the preset");
	tap_is_text(policy->source[QSB__LAYER_USER], user_file, "the file of the layer is kept");
	sweep();
}

static void project_tightens(void)
{
	put(project_file,
	    "{\"limits\":{\"timeout\":60,\"memory\":\"8g\",\"processes\":\"none\",\"diskReserve\":\"1m\"},"
	    "\"network\":{\"mode\":\"host\"},\"filesystem\":{\"allowWrite\":[\"./src\",\"/etc\"],"
	    "\"denyRead\":[\"./private\"],\"protectNames\":false},\"environment\":{\"set\":"
	    "{\"LD_PRELOAD\":\"/x\"},\"inherit\":\"none\"},\"trustedFolders\":[\"/\"],"
	    "\"allowUnsandboxed\":true}");
	tap_is_number(load(), 0, "a project's file is read");
	tap_is_text(values("/limits/timeout"), "60", "a smaller limit is taken");
	tap_is_number(origin("/limits/timeout"), QSB__LAYER_PROJECT, "and its origin is the project");
	tap_is_text(values("/limits/memory"), "2g", "a larger limit is not");
	tap_ok(noted("/limits/memory") && noted("8g"), "the refused limit is noted");
	tap_is_text(values("/limits/processes"), "512", "no limit is larger than any limit");
	tap_is_text(values("/limits/diskReserve"), "256m", "a smaller reserve is looser");
	tap_is_text(values("/network/mode"), "off", "a wider network is not taken");
	tap_is_text(values("/filesystem/allowWrite"), "./src", "write access narrows to what was allowed before");
	tap_ok(noted("/filesystem/allowWrite/1") && noted("/etc"), "the refused path is noted with its place");
	tap_is_text(values("/filesystem/denyRead"), "@secrets, ./private", "a deny is taken");
	tap_is_text(values("/filesystem/protectNames"), "true", "protection is not switched off");
	tap_is_text(values("/environment/set"), "", "a project sets no variables");
	tap_is_text(values("/environment/inherit"), "none", "a stricter environment is taken");
	tap_is_text(values("/trustedFolders"), "", "a project cannot trust itself");
	tap_is_text(values("/allowUnsandboxed"), "false", "a project cannot leave the sandbox");
	sweep();
}

static void project_preset(void)
{
	put(project_file, "{\"extends\":\"full-access\"}");
	tap_is_number(load(), 0, "a project that extends full-access is read");
	tap_is_text(values("/network/mode"), "off", "but opens nothing");
	tap_is_text(values("/filesystem/allowWrite"), ".", "nor the file system");
	tap_is_text(values("/filesystem/denyRead"), "@secrets", "nor the secrets");
	tap_is_text(values("/limits/memory"), "2g", "nor the limits");
	tap_is_text(values("/extends"), "workspace", "the start stays");
	put(project_file, "{\"extends\":\"locked-down\"}");
	tap_is_number(load(), 0, "a project that extends locked-down is read");
	tap_is_text(values("/limits/memory"), "1g", "its stricter limits hold");
	tap_is_text(values("/filesystem/allowRead"), "@system, .", "its narrower reading holds");
	tap_is_text(values("/environment/inherit"), "none", "its empty environment holds");
	tap_is_text(values("/filesystem/denyRead"), "@secrets", "the same deny is not there twice");
	put(project_file, "{\"extends\":\"read-only\"}");
	tap_ok(load() == 0 && strcmp(values("/filesystem/allowWrite"), "") == 0, "read-only takes all writing away");
	sweep();
}

/* Entries that only look as if they lay within. */
static void project_tricks(void)
{
	static const char *const tricks[] = {
		"./link",
		"./link/x",
		"./../other",
		"..",
		"./src/../../other",
		"./dangling",
		"*",
		"./l*",
		"@system",
		"./.git/hooks",
		"./.git",
		"./kept/sub",
		"./a.key/x",
		"~",
		"/",
		"./nowhere/../../..",
	};
	char text[512], path[160];

	snprintf(path, sizeof(path), "%s/link", workspace);
	(void)!symlink("/etc", path);
	snprintf(path, sizeof(path), "%s/dangling", workspace);
	(void)!symlink("/etc/not-there-yet", path);
	for (size_t i = 0; i < sizeof(tricks) / sizeof(tricks[0]); i++) {
		put(user_file, "{\"filesystem\":{\"denyWrite\":[\"./kept\",\"*.key\"]}}");
		snprintf(text, sizeof(text), "{\"filesystem\":{\"allowWrite\":[\"%s\"]}}", tricks[i]);
		put(project_file, text);
		tap_is_number(load(), 0, tricks[i]);
		tap_ok(strcmp(values("/filesystem/allowWrite"), "") == 0 ||
			       strcmp(values("/filesystem/allowWrite"), ".") == 0,
		       "a project cannot widen writing by %s", tricks[i]);
	}
	put(user_file, "{}");
	put(project_file, "{\"filesystem\":{\"allowRead\":[\"/\",\"~/.ssh\",\"/etc/shadow\"]}}");
	tap_is_number(load(), 0, "a project names secrets");
	tap_is_text(values("/filesystem/allowRead"), "/", "a project cannot name its way past the secrets");
	put(user_file, "{\"filesystem\":{\"denyRead\":[\"./data\"]}}");
	put(project_file, "{\"filesystem\":{\"allowRead\":[\"/\",\"./data/public\",\"./src\"]}}");
	tap_is_number(load(), 0, "a project names a path below a denied one");
	tap_is_text(values("/filesystem/allowRead"), "/, ./src", "a project cannot name its way past the user's deny");
	sweep();
}

static void project_domains(void)
{
	put(user_file, "{\"network\":{\"mode\":\"filtered\",\"allowedDomains\":[\"*.good.example\",\"one.example:443\","
		       "\"two.example\",\"10.0.0.0/8\"]},\"environment\":{\"pass\":[\"NPM_*\"]}}");
	put(project_file, "{\"network\":{\"allowedDomains\":[\"a.good.example\",\"GOOD.example\",\"evilgood.example\","
			  "\"one.example\",\"two.example:80\",\"*\",\"10.1.0.0/16\",\"*.x.good.example:443\"]},"
			  "\"environment\":{\"pass\":[\"NPM_TOKEN\",\"NPM_A*\",\"*\",\"AWS_KEY\"]}}");
	tap_is_number(load(), 0, "a project narrows domains");
	tap_is_text(values("/network/allowedDomains"),
		    "one.example:443, a.good.example, two.example:80, *.x.good.example:443",
		    "only domains within the present ones are kept");
	tap_is_text(values("/environment/pass"), "NPM_*, NPM_TOKEN, NPM_A*",
		    "only names within the present ones are kept");
	sweep();
}

static void trust(void)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"trustedFolders\":[\"%s\"],\"limits\":{\"timeout\":10}}", workspace);
	put(user_file, text);
	put(project_file, "{\"extends\":\"workspace-online\",\"limits\":{\"timeout\":900},\"filesystem\":"
			  "{\"allowWrite\":[\".\",\"/opt\"]}}");
	tap_is_number(load(), 0, "the user trusts the folder");
	tap_is_text(values("/limits/timeout"), "900", "then the project's values win");
	tap_is_text(values("/network/mode"), "filtered", "its preset is the start");
	tap_is_text(values("/filesystem/allowWrite"), "., /opt", "its allow list replaces the others");
	put(user_file, "{\"trustedFolders\":[\"~/../*\"]}");
	tap_is_number(load(), QSB_E_INVALID, "a pattern cannot be trusted");
	put(user_file, "{\"trustedFolders\":[\"~/elsewhere\"]}");
	tap_ok(load() == 0 && strcmp(values("/limits/timeout"), "300") == 0, "trust of another folder does not count");
	snprintf(text, sizeof(text), "{\"trustedFolders\":[\"%.*s\"]}", (int)strlen(workspace) - 1, workspace);
	put(user_file, text);
	tap_ok(load() == 0 && strcmp(values("/limits/timeout"), "300") == 0, "half a folder's name does not count");
	sweep();
}

static void named_file(void)
{
	struct qsb__policy_option options[] = {
		{qsb__row_by_option("--write"), "/opt/x"},
		{qsb__row_by_option("--timeout"), "7"},
		{qsb__row_by_option("--deny-read"), "./d"},
		{qsb__row_by_option("--env"), "A=2"},
	};
	struct qsb__policy_sources from = sources();
	int fd;

	put(user_file, "{\"limits\":{\"memory\":\"64m\"}}");
	put(project_file, "{\"limits\":{\"cpus\":1}}");
	put(other_file,
	    "{\"limits\":{\"timeout\":5,\"processes\":99},\"environment\":{\"set\":{\"A\":\"1\",\"B\":\"1\"}}}");
	from.policy_file = other_file;
	from.options = options;
	from.option_count = 4;
	tap_is_number(load_from(&from), 0, "a named policy is read");
	tap_is_text(values("/limits/memory"), "2g", "it stands instead of the user's file");
	tap_is_text(values("/limits/cpus"), "2", "and instead of the project's");
	tap_is_text(values("/limits/processes"), "99", "its values hold");
	tap_is_text(values("/limits/timeout"), "7", "an option wins over it");
	tap_is_text(values("/filesystem/allowWrite"), "., /opt/x", "an option adds to an allow list");
	tap_is_text(values("/filesystem/denyRead"), "@secrets, ./d", "and to a deny list");
	tap_is_text(values("/environment/set"), "A=2, B=1", "a variable's stronger value wins");
	fd = open(other_file, O_RDONLY | O_CLOEXEC);
	from.policy_fd = fd;
	tap_is_number(load_from(&from), QSB_E_INVALID, "two named policies are refused");
	from.policy_file = NULL;
	tap_is_number(load_from(&from), 0, "a policy is read from a descriptor");
	tap_is_text(values("/limits/processes"), "99", "its values hold, too");
	close(fd);
	tap_is_number(load_from(&from), QSB_E_OS, "a closed descriptor is an error");
	sweep();
}

static void pipes(void)
{
	struct qsb__policy_sources from = sources();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	(void)!write(ends[1], "{\"limits\":{\"cpus\":1}}", 21);
	close(ends[1]);
	from.policy_fd = ends[0];
	tap_is_number(load_from(&from), 0, "a policy is read from a pipe");
	tap_is_text(values("/limits/cpus"), "1", "and holds");
	close(ends[0]);
	from.policy_fd = open("/", O_RDONLY | O_CLOEXEC);
	tap_is_number(load_from(&from), QSB_E_INVALID, "a descriptor of a folder is refused");
	close(from.policy_fd);
	from.policy_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	tap_is_number(load_from(&from), QSB_E_INVALID, "a descriptor of an endless device is refused");
	close(from.policy_fd);
}

static void managed_bounds(void)
{
	struct qsb__policy_option options[] = {
		{qsb__row_by_option("--memory"), "8g"},    {qsb__row_by_option("--network"), "host"},
		{qsb__row_by_option("--write"), "/opt"},   {qsb__row_by_option("--timeout"), "5"},
		{qsb__row_by_option("--timeout"), "none"},
	};
	struct qsb__policy_sources from = sources();
	char text[512];

	from.managed_file = managed_file;
	from.options = options;
	from.option_count = 5;
	snprintf(text, sizeof(text),
		 "{\"limits\":{\"memory\":\"4g\",\"timeout\":1000},\"network\":{\"mode\":\"filtered\"},"
		 "\"filesystem\":{\"allowWrite\":[\"%s\"],\"denyRead\":[\"/"
		 "srv\"]},\"environment\":{\"set\":{\"P\":\"1\"}}}",
		 root);
	put(managed_file, text);
	chmod(managed_file, 0644);
	if (getuid() != 0) {
		tap_is_number(load_from(&from), QSB_E_DENIED, "a managed file that is not root's is refused");
		sweep();
		return;
	}
	tap_is_number(load_from(&from), 0, "a managed file is read");
	tap_is_text(values("/limits/memory"), "4g", "it bounds an option");
	tap_is_text(values("/limits/timeout"), "1000", "it bounds no limit at all");
	tap_is_text(values("/limits/cpus"), "2", "what it does not name stays");
	tap_is_text(values("/network/mode"), "filtered", "it bounds the network");
	tap_is_text(values("/filesystem/allowWrite"), ".", "what lies outside its allow list is dropped");
	tap_is_text(values("/filesystem/denyRead"), "@secrets, /srv", "its denies hold");
	tap_is_text(values("/environment/set"), "P=1", "its variables are set");
	tap_ok(noted("/opt") && noted("--write") && noted("8g"), "what an option asked for in vain is noted");
	put(managed_file, "{\"extends\":\"read-only\",\"limits\":{\"cpus\":\"none\"}}");
	tap_is_number(load_from(&from), 0, "a managed file extends read-only");
	tap_is_text(values("/filesystem/allowWrite"), "", "then nothing may be written, whatever an option says");
	tap_is_text(values("/network/mode"), "off", "nor the network be used");
	tap_is_text(values("/limits/cpus"), "2", "a bound of none bounds nothing");
	tap_is_text(values("/limits/memory"), "2g", "the preset's limits bound, too");
	put(managed_file, "{\"network\":{\"mode\":\"filtered\",\"allowedDomains\":[\"*.corp.example\"]}}");
	from.preset = "workspace-online";
	tap_ok(load_from(&from) == 0 && strcmp(values("/network/allowedDomains"), "") == 0,
	       "a bound on domains drops what is wider");
	from.preset = NULL;
	chmod(managed_file, 0666);
	tap_is_number(load_from(&from), QSB_E_DENIED, "a managed file that others may write is refused");
	chmod(managed_file, 0644);
	(void)!chown(managed_file, 65534, 65534);
	tap_is_number(load_from(&from), QSB_E_DENIED, "a managed file of another user is refused");
	put(managed_file, "{");
	(void)!chown(managed_file, 0, 0);
	tap_is_number(load_from(&from), QSB_E_INVALID, "a managed file that is no JSON is refused");
	sweep();
}

static void file_is(const char *path, int code, const char *part, const char *name)
{
	struct qsb__policy_sources from = sources();
	int got;

	from.policy_file = path;
	got = load_from(&from);
	if (!tap_ok(got == code && strstr(err.message, part) && !policy, "%s", name))
		printf("#  %d: %s\n", got, err.message);
}

static void bad_files(void)
{
	char path[160];
	int fd;

	file_is("/no/such/policy.json", QSB_E_NOT_FOUND, "/no/such/policy.json", "a missing file is an error");
	file_is(root, QSB_E_INVALID, "is a folder", "a folder is refused");
	file_is("/dev/zero", QSB_E_INVALID, "is a device", "a device is refused");
	put(other_file, "");
	file_is(other_file, QSB_E_INVALID, "is empty", "an empty file is refused");
	put(other_file, "{}");
	chmod(other_file, 0);
	if (getuid() != 0)
		file_is(other_file, QSB_E_OS, "Permission denied", "an unreadable file is an error");
	unlink(other_file);
	(void)!mkfifo(other_file, 0600);
	file_is(other_file, QSB_E_INVALID, "is a named pipe", "a named pipe without a writer does not hold us");
	unlink(other_file);
	fd = open(other_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	(void)!ftruncate(fd, 1LL << 30);
	file_is(other_file, QSB_E_RANGE, "larger than 1 MiB", "a file of 1 GB is refused unread");
	close(fd);
	snprintf(path, sizeof(path), "%s/loop", root);
	(void)!symlink(path, path);
	file_is(path, QSB_E_OS, "symbolic links", "a link to itself is an error");
	put(user_file, "{\"x\":1}");
	tap_is_number(load(), QSB_E_UNKNOWN, "a user's file that is bad stops the run");
	tap_ok(strstr(err.message, user_file) != NULL, "and is named");
	unlink(user_file);
	put(other_file, "{}");
	(void)!symlink(other_file, project_file);
	tap_is_number(load(), QSB_E_INVALID, "a project's file that is a link is refused");
	unlink(project_file);
	put(project_file, "{\"filesystem\":{\"allowWrite\":[\"/\\u001bx\"]}}");
	tap_ok(load() == 0 && noted("/?x"), "a note cannot steer a terminal");
	put(project_file, "nonsense");
	tap_is_number(load(), QSB_E_INVALID, "a project's file that is bad stops the run");
	unlink(project_file);
	(void)!mkdir(project_file, 0700);
	tap_is_number(load(), QSB_E_INVALID, "a folder in the place of the project's file stops the run");
	rmdir(project_file);
	sweep();
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
	char config[96];

	if (!mkdtemp(root))
		return 1;
	snprintf(home, sizeof(home), "%s/home", root);
	snprintf(workspace, sizeof(workspace), "%s/work", root);
	snprintf(config, sizeof(config), "%s/.config", home);
	mkdir(home, 0700);
	mkdir(workspace, 0700);
	mkdir(config, 0700);
	snprintf(config, sizeof(config), "%s/.config/qiming-sandbox", home);
	mkdir(config, 0700);
	snprintf(user_file, sizeof(user_file), "%s/policy.json", config);
	snprintf(project_file, sizeof(project_file), "%s/.qiming-sandbox.json", workspace);
	snprintf(managed_file, sizeof(managed_file), "%s/managed.json", root);
	snprintf(other_file, sizeof(other_file), "%s/other.json", root);
	presets();
	user_over_preset();
	project_tightens();
	project_preset();
	project_tricks();
	project_domains();
	trust();
	named_file();
	pipes();
	managed_bounds();
	bad_files();
	qsb__policy_free(policy);
	nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	return tap_done();
}
