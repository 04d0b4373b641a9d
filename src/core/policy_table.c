/*
 * Every key of the policy, one row each. Nobody writes a key's name twice: the parser, the schema, the options, `policy
 * show` and the manual are made from here. Defaults stand in the presets (policy_presets.c).
 */
#include "core/policy.h"

#include <string.h>

#include "core/domain.h"
#include "core/policy_check.h"
#include "core/proxy_url.h"

#define KIB    (1ULL << 10)
#define MIB    (1ULL << 20)
#define GIB    (1ULL << 30)
#define TIB    (1ULL << 40)
#define DAY_MS (24ULL * 3600 * 1000)

enum { MOST_PATHS = 65536, MOST_DOMAINS = 16384, MOST_PORTS = 256, MOST_NAMES = 1024 };

static const char *const preset_names[] = {"read-only",   "workspace",   "workspace-online",
					   "locked-down", "full-access", NULL};
static const char *const tmp_names[] = {"private", "host", NULL};
static const char *const finding_names[] = {"quarantine", "report", NULL};
static const char *const device_names[] = {"gpu", "kvm", "fuse", NULL};
static const char *const network_names[] = {"off", "filtered", "host", NULL};
static const char *const resolve_names[] = {"local", "proxy", NULL};
static const char *const inherit_names[] = {"none", "safe", "all", NULL};
static const char *const action_names[] = {"truncate", "kill", NULL};

#define AT(field) .offset = offsetof(struct qsb_policy, field)

const struct qsb__row qsb__rows[] = {
	{.pointer = "/version",
	 .type = QSB__ROW_COUNT,
	 .tighten = QSB__TIGHTEN_NEVER,
	 AT(version),
	 .min = 1,
	 .max = 1,
	 .summary = "Version of the policy's format."},
	{.pointer = "/extends",
	 .type = QSB__ROW_ENUM,
	 .tighten = QSB__TIGHTEN_NEVER,
	 AT(extends),
	 .names = preset_names,
	 .option = "--preset",
	 .metavar = "NAME",
	 .summary = "The preset whose values hold where nothing else is said."},
	/* JSON has no comments, and a strict parser no room for keys of people's own: JSON Schema's word for it. */
	{.pointer = "/$comment",
	 .type = QSB__ROW_STRINGS,
	 .tighten = QSB__TIGHTEN_ADD,
	 AT(comment),
	 .max = MOST_NAMES,
	 .single_allowed = true,
	 .summary = "Remarks for people, a text or a list of texts; they change nothing."},

	{.pointer = "/filesystem/allowRead",
	 .type = QSB__ROW_PATHS,
	 .tighten = QSB__TIGHTEN_WITHIN,
	 AT(filesystem.allow_read),
	 .max = MOST_PATHS,
	 .check = qsb__check_path,
	 .option = "--read",
	 .metavar = "PATH",
	 .summary = "Files and folders that may be read: paths or globs."},
	{.pointer = "/filesystem/denyRead",
	 .type = QSB__ROW_PATHS,
	 .tighten = QSB__TIGHTEN_ADD,
	 AT(filesystem.deny_read),
	 .max = MOST_PATHS,
	 .check = qsb__check_path,
	 .option = "--deny-read",
	 .metavar = "PATH",
	 .summary = "Files and folders that may be neither read nor written."},
	{.pointer = "/filesystem/allowWrite",
	 .type = QSB__ROW_PATHS,
	 .tighten = QSB__TIGHTEN_WITHIN,
	 AT(filesystem.allow_write),
	 .max = MOST_PATHS,
	 .check = qsb__check_path,
	 .option = "--write",
	 .metavar = "PATH",
	 .summary = "Files and folders that may be written: paths or globs."},
	{.pointer = "/filesystem/denyWrite",
	 .type = QSB__ROW_PATHS,
	 .tighten = QSB__TIGHTEN_ADD,
	 AT(filesystem.deny_write),
	 .max = MOST_PATHS,
	 .check = qsb__check_path,
	 .option = "--deny-write",
	 .metavar = "PATH",
	 .summary = "Files and folders that may not be written."},
	{.pointer = "/filesystem/protectNames",
	 .type = QSB__ROW_BOOL,
	 .tighten = QSB__TIGHTEN_MAX,
	 AT(filesystem.protect_names),
	 .summary = "Keeps files that other programs run or trust (git hooks, shell start-up files, editor tasks) from "
		    "being written, at any depth."},
	{.pointer = "/filesystem/protectNewNames",
	 .type = QSB__ROW_BOOL,
	 .tighten = QSB__TIGHTEN_MAX,
	 AT(filesystem.protect_new_names),
	 .option = "--protect-new-names",
	 .metavar = "BOOL",
	 .summary = "With protectNames: also names that do not exist yet, in folders made later, too. With false only "
		    "files that are found at the start are kept, and the result says so."},
	{.pointer = "/filesystem/gitFindings",
	 .type = QSB__ROW_ENUM,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(filesystem.git_findings),
	 .names = finding_names,
	 .option = "--git-findings",
	 .metavar = "MODE",
	 .summary = "What becomes of hooks and of settings that run programs in git folders that a run made or wrote "
		    "to: moved aside to NAME.quarantined, or only reported."},
	{.pointer = "/filesystem/reportDenials",
	 .type = QSB__ROW_BOOL,
	 .tighten = QSB__TIGHTEN_MAX,
	 AT(filesystem.report_denials),
	 .summary =
		 "Whether the result names files that were refused. It costs a little time at each call that changes "
		 "a file, as protectNewNames does anyway."},
	{.pointer = "/filesystem/tmp",
	 .type = QSB__ROW_ENUM,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(filesystem.tmp),
	 .names = tmp_names,
	 .option = "--tmp",
	 .metavar = "MODE",
	 .summary = "Whether /tmp is the sandbox's own or the host's."},
	{.pointer = "/filesystem/devices",
	 .type = QSB__ROW_STRINGS,
	 .tighten = QSB__TIGHTEN_WITHIN,
	 AT(filesystem.devices),
	 .max = 3,
	 .names = device_names,
	 .option = "--device",
	 .metavar = "NAME",
	 .summary = "Devices beyond the harmless ones."},

	{.pointer = "/network/mode",
	 .type = QSB__ROW_ENUM,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(network.mode),
	 .names = network_names,
	 .option = "--network",
	 .metavar = "MODE",
	 .summary = "No network (its own loopback works), only allowed domains, or the host's network."},
	{.pointer = "/network/allowedDomains",
	 .type = QSB__ROW_STRINGS,
	 .tighten = QSB__TIGHTEN_WITHIN,
	 AT(network.allowed_domains),
	 .max = MOST_DOMAINS,
	 .check = qsb__domain_check,
	 .option = "--allow-domain",
	 .metavar = "DOMAIN",
	 .summary = "Domains that may be reached: example.com, *.example.com, *, with an optional "
		    ":port; addresses and CIDR ranges."},
	{.pointer = "/network/deniedDomains",
	 .type = QSB__ROW_STRINGS,
	 .tighten = QSB__TIGHTEN_ADD,
	 AT(network.denied_domains),
	 .max = MOST_DOMAINS,
	 .check = qsb__domain_check,
	 .option = "--deny-domain",
	 .metavar = "DOMAIN",
	 .summary = "Domains that may not be reached, whatever else allows them."},
	{.pointer = "/network/publishPorts",
	 .type = QSB__ROW_PORTS,
	 .tighten = QSB__TIGHTEN_WITHIN,
	 AT(network.publish_ports),
	 .max = MOST_PORTS,
	 .option = "--publish",
	 .metavar = "PORT",
	 .summary = "Ports of the sandbox that are opened on the host's loopback."},
	{.pointer = "/network/reachPorts",
	 .type = QSB__ROW_PORTS,
	 .tighten = QSB__TIGHTEN_WITHIN,
	 AT(network.reach_ports),
	 .max = MOST_PORTS,
	 .option = "--reach",
	 .metavar = "PORT",
	 .summary = "Ports of the host's loopback that are opened in the sandbox."},
	{.pointer = "/network/unixSockets",
	 .type = QSB__ROW_PATHS,
	 .tighten = QSB__TIGHTEN_WITHIN,
	 AT(network.unix_sockets),
	 .max = MOST_NAMES,
	 .check = qsb__check_socket_path,
	 .option = "--unix-socket",
	 .metavar = "PATH",
	 .summary = "Sockets of the host that may be connected to, by path."},
	{.pointer = "/network/upstreamProxy",
	 .type = QSB__ROW_TEXT,
	 .tighten = QSB__TIGHTEN_NEVER,
	 AT(network.upstream_proxy),
	 .check = qsb__proxy_check,
	 .option = "--upstream-proxy",
	 .metavar = "URL",
	 .summary = "The proxy through which a filtered network leaves this machine: http://[user:password@]host:port, "
		    "socks5://…, none, or environment for the caller's HTTPS_PROXY and NO_PROXY."},
	{.pointer = "/network/upstreamResolve",
	 .type = QSB__ROW_ENUM,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(network.upstream_resolve),
	 .names = resolve_names,
	 .option = "--upstream-resolve",
	 .metavar = "WHO",
	 .summary =
		 "Who turns names into addresses before an upstream proxy: this machine, which judges them, or the "
		 "proxy, which is given the name; then only addresses that were asked for by themselves are judged."},

	{.pointer = "/limits/memory",
	 .type = QSB__ROW_SIZE,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(limits.memory_bytes),
	 .min = 16 * MIB,
	 .max = TIB,
	 .none_allowed = true,
	 .option = "--memory",
	 .metavar = "SIZE",
	 .summary = "Memory of all processes together."},
	{.pointer = "/limits/cpus",
	 .type = QSB__ROW_CPUS,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(limits.cpus_milli),
	 .min = 100,
	 .max = 1024000,
	 .none_allowed = true,
	 .option = "--cpus",
	 .metavar = "NUMBER",
	 .summary = "Processors."},
	{.pointer = "/limits/timeout",
	 .type = QSB__ROW_SECONDS,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(limits.timeout_ms),
	 .min = 1,
	 .max = 30 * DAY_MS,
	 .none_allowed = true,
	 .option = "--timeout",
	 .metavar = "SECONDS",
	 .summary = "Time after which every process is killed."},
	{.pointer = "/limits/processes",
	 .type = QSB__ROW_COUNT,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(limits.processes),
	 .min = 8,
	 .max = 1000000,
	 .none_allowed = true,
	 .option = "--processes",
	 .metavar = "NUMBER",
	 .summary = "Processes and threads together."},
	{.pointer = "/limits/openFiles",
	 .type = QSB__ROW_COUNT,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(limits.open_files),
	 .min = 32,
	 .max = 1048576,
	 .none_allowed = true,
	 .option = "--open-files",
	 .metavar = "NUMBER",
	 .summary = "Open files of one process."},
	{.pointer = "/limits/output",
	 .type = QSB__ROW_SIZE,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(limits.output_bytes),
	 .min = KIB,
	 .max = GIB,
	 .none_allowed = true,
	 .option = "--output",
	 .metavar = "SIZE",
	 .summary = "Output that is kept, of each of stdout and stderr."},
	{.pointer = "/limits/outputAction",
	 .type = QSB__ROW_ENUM,
	 .tighten = QSB__TIGHTEN_MAX,
	 AT(limits.output_action),
	 .names = action_names,
	 .option = "--output-action",
	 .metavar = "ACTION",
	 .summary = "What happens beyond that: the middle is left out, or the run ends."},
	{.pointer = "/limits/tmpSize",
	 .type = QSB__ROW_SIZE,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(limits.tmp_bytes),
	 .min = MIB,
	 .max = TIB,
	 .none_allowed = true,
	 .option = "--tmp-size",
	 .metavar = "SIZE",
	 .summary = "Room in the private /tmp, /var/tmp, /dev/shm and /run together."},
	{.pointer = "/limits/fileSize",
	 .type = QSB__ROW_SIZE,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(limits.file_bytes),
	 .min = KIB,
	 .max = 1024 * TIB,
	 .none_allowed = true,
	 .option = "--file-size",
	 .metavar = "SIZE",
	 .summary = "The largest file that may be written."},
	{.pointer = "/limits/diskReserve",
	 .type = QSB__ROW_SIZE,
	 .tighten = QSB__TIGHTEN_MAX,
	 AT(limits.disk_reserve_bytes),
	 .min = MIB,
	 .max = TIB,
	 .none_allowed = true,
	 .option = "--disk-reserve",
	 .metavar = "SIZE",
	 .summary = "Room that the run must leave on every file system it may write."},

	{.pointer = "/environment/inherit",
	 .type = QSB__ROW_ENUM,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(environment.inherit),
	 .names = inherit_names,
	 .option = "--inherit-env",
	 .metavar = "MODE",
	 .summary = "Which of the caller's variables the command gets: none, all but secrets and sockets, or all."},
	{.pointer = "/environment/pass",
	 .type = QSB__ROW_STRINGS,
	 .tighten = QSB__TIGHTEN_WITHIN,
	 AT(environment.pass),
	 .max = MOST_NAMES,
	 .check = qsb__check_variable_pattern,
	 .option = NULL,
	 .summary = "Names of variables that are passed on in any case, also with a * at the end."},
	{.pointer = "/environment/set",
	 .type = QSB__ROW_MAP,
	 .tighten = QSB__TIGHTEN_NEVER,
	 AT(environment.set),
	 .max = MOST_NAMES,
	 .check = qsb__check_variable,
	 .option = "--env",
	 .metavar = "NAME[=VALUE]",
	 .summary = "Variables that are set."},

	{.pointer = "/allowNestedSandbox",
	 .type = QSB__ROW_BOOL,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(allow_nested_sandbox),
	 .option = "--allow-nested-sandbox",
	 .summary = "Lets the command make namespaces of its own, as browsers and other sandboxes do."},
	{.pointer = "/allowUnsandboxed",
	 .type = QSB__ROW_BOOL,
	 .tighten = QSB__TIGHTEN_MIN,
	 AT(allow_unsandboxed),
	 .summary = "Lets a caller that asks for it run a command outside the sandbox."},
	{.pointer = "/trustedFolders",
	 .type = QSB__ROW_PATHS,
	 .tighten = QSB__TIGHTEN_NEVER,
	 AT(trusted_folders),
	 .max = MOST_NAMES,
	 .check = qsb__check_folder,
	 .summary =
		 "Folders whose .qiming-sandbox.json may also loosen the policy. Only the user's own file can say it."},
};

const size_t qsb__row_count = sizeof(qsb__rows) / sizeof(qsb__rows[0]);

_Static_assert(sizeof(qsb__rows) / sizeof(qsb__rows[0]) <= QSB__ROWS_MAX, "a policy keeps one origin a row");

const struct qsb__row *qsb__row_by_pointer(const char *pointer)
{
	for (size_t i = 0; i < qsb__row_count; i++)
		if (strcmp(qsb__rows[i].pointer, pointer) == 0)
			return &qsb__rows[i];
	return NULL;
}

const struct qsb__row *qsb__row_by_option(const char *option)
{
	for (size_t i = 0; i < qsb__row_count; i++)
		if (qsb__rows[i].option && strcmp(qsb__rows[i].option, option) == 0)
			return &qsb__rows[i];
	return NULL;
}

const char *qsb__preset_name(enum qsb__preset preset)
{
	return preset_names[preset];
}

int qsb__preset_by_name(const char *name)
{
	for (int i = 0; preset_names[i]; i++)
		if (strcmp(preset_names[i], name) == 0)
			return i;
	return -1;
}
