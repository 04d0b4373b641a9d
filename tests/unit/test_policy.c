#include "core/policy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/policy_load.h"
#include "tap.h"

static struct qsb_error err;

/* What a policy file of this text leads to. */
static int merge(struct qsb_policy **out, const char *text)
{
	int code;

	memset(&err, 0, sizeof(err));
	if (qsb__policy_new(out, QSB__PRESET_WORKSPACE, &err))
		return QSB_E_MEMORY;
	code = qsb__policy_merge_json(*out, QSB__LAYER_FILE, text, strlen(text), "p.json", &err);
	return code;
}

static void refused(const char *text, int code, const char *where, const char *message)
{
	struct qsb_policy *policy = NULL;
	int got = merge(&policy, text);

	qsb__policy_free(policy);
	if (!tap_ok(got == code && strcmp(err.where, where) == 0 && strstr(err.message, message) &&
			    (strstr(err.message, where) || strcmp(where, "/") == 0),
		    "%s is refused at %s", text, where))
		printf("#  %d [%s] %s\n", got, err.where, err.message);
}

static void table(void)
{
	tap_ok(qsb__row_count > 30 && qsb__row_count <= QSB__ROWS_MAX, "the table holds the keys");
	for (size_t i = 0; i < qsb__row_count; i++) {
		const struct qsb__row *row = &qsb__rows[i];
		size_t length = strlen(row->summary);

		tap_ok(qsb__row_by_pointer(row->pointer) == row, "%s is found by its pointer", row->pointer);
		tap_ok(!row->option || qsb__row_by_option(row->option) == row, "%s is found by its option",
		       row->pointer);
		tap_ok(length > 10 && row->summary[length - 1] == '.' && isupper((unsigned char)row->summary[0]),
		       "%s has a sentence for people", row->pointer);
		tap_ok(strlen(row->pointer) < sizeof(err.where), "%s fits into an error's place", row->pointer);
		tap_ok(row->type != QSB__ROW_ENUM || row->names, "%s has the names of its values", row->pointer);
	}
	tap_ok(!qsb__row_by_pointer("/limits"), "a group is not a key");
	tap_ok(!qsb__row_by_option("--no-such"), "an unknown option has no row");
}

static void bad_keys(void)
{
	refused("{\"netwrok\":{}}", QSB_E_UNKNOWN, "/netwrok", "did you mean /network?");
	refused("{\"filesystem\":{\"alowWrite\":[]}}", QSB_E_UNKNOWN, "/filesystem/alowWrite",
		"did you mean /filesystem/allowWrite?");
	refused("{\"memory\":\"2g\"}", QSB_E_UNKNOWN, "/memory", "did you mean /limits/memory?");
	refused("{\"limits\":{\"zzzzzz\":1}}", QSB_E_UNKNOWN, "/limits/zzzzzz", "no such key");
	refused("{\"a/b~\":1}", QSB_E_UNKNOWN, "/a~1b~0", "no such key");
	refused("{\"\":1}", QSB_E_UNKNOWN, "/", "no such key");
	refused("{\"limits\":{\"memory\":\"1g\",\"memory\":\"2g\"}}", QSB_E_INVALID, "/limits/memory", "twice");
	refused("{\"limits\":{\"cpus\":1},\"limits\":{}}", QSB_E_INVALID, "/limits", "twice");
	refused("{\"Limits\":{}}", QSB_E_UNKNOWN, "/Limits", "did you mean /limits?");
	refused("{\"limits/memory\":\"1g\"}", QSB_E_UNKNOWN, "/limits~1memory", "no such key");
}

static void bad_types(void)
{
	refused("[]", QSB_E_INVALID, "/", "must be an object; it is a list");
	refused("\"x\"", QSB_E_INVALID, "/", "p.json");
	refused("{\"network\":[]}", QSB_E_INVALID, "/network", "must be an object");
	refused("{\"network\":null}", QSB_E_INVALID, "/network", "it is null");
	refused("{\"network\":{\"mode\":true}}", QSB_E_INVALID, "/network/mode", "off, filtered, host");
	refused("{\"network\":{\"mode\":\"of\"}}", QSB_E_INVALID, "/network/mode", "did you mean \"off\"");
	refused("{\"network\":{\"mode\":\"Off\"}}", QSB_E_INVALID, "/network/mode", "did you mean \"off\"");
	refused("{\"extends\":\"worksapce\"}", QSB_E_INVALID, "/extends", "did you mean \"workspace\"");
	refused("{\"filesystem\":{\"allowWrite\":\".\"}}", QSB_E_INVALID, "/filesystem/allowWrite", "list of strings");
	refused("{\"filesystem\":{\"allowWrite\":[\".\",7]}}", QSB_E_INVALID, "/filesystem/allowWrite/1", "a string");
	refused("{\"filesystem\":{\"allowWrite\":[[\".\"]]}}", QSB_E_INVALID, "/filesystem/allowWrite/0", "a list");
	refused("{\"filesystem\":{\"protectNames\":\"true\"}}", QSB_E_INVALID, "/filesystem/protectNames",
		"true or false");
	refused("{\"filesystem\":{\"protectNames\":1}}", QSB_E_INVALID, "/filesystem/protectNames", "it is 1");
	refused("{\"filesystem\":{\"devices\":[\"disk\"]}}", QSB_E_INVALID, "/filesystem/devices/0", "gpu, kvm, fuse");
	refused("{\"network\":{\"publishPorts\":[\"80\"]}}", QSB_E_INVALID, "/network/publishPorts/0", "port number");
	refused("{\"network\":{\"publishPorts\":80}}", QSB_E_INVALID, "/network/publishPorts", "list of port numbers");
	refused("{\"limits\":{\"processes\":\"512\"}}", QSB_E_INVALID, "/limits/processes", "whole number");
	refused("{\"limits\":{\"processes\":8.5}}", QSB_E_INVALID, "/limits/processes", "whole number");
	refused("{\"limits\":{\"memory\":1.5}}", QSB_E_INVALID, "/limits/memory", "size such as");
	refused("{\"limits\":{\"memory\":\"2q\"}}", QSB_E_INVALID, "/limits/memory", "2q");
	refused("{\"limits\":{\"memory\":\"\"}}", QSB_E_INVALID, "/limits/memory", "size such as");
	refused("{\"limits\":{\"memory\":null}}", QSB_E_INVALID, "/limits/memory", "null");
	refused("{\"limits\":{\"timeout\":\"abc\"}}", QSB_E_INVALID, "/limits/timeout", "90s, 5m, 1h, or none");
	refused("{\"limits\":{\"timeout\":false}}", QSB_E_INVALID, "/limits/timeout", "false");
	refused("{\"environment\":{\"set\":[]}}", QSB_E_INVALID, "/environment/set", "object of strings");
	refused("{\"environment\":{\"set\":{\"A\":1}}}", QSB_E_INVALID, "/environment/set/A", "must be a string");
	refused("{\"environment\":{\"set\":{\"A=B\":\"\"}}}", QSB_E_INVALID, "/environment/set/A=B", "no =");
	refused("{\"environment\":{\"set\":{\"\":\"\"}}}", QSB_E_INVALID, "/environment/set/", "a name");
	refused("{\"version\":\"1\"}", QSB_E_INVALID, "/version", "must be 1");
}

static void bad_ranges(void)
{
	refused("{\"version\":2}", QSB_E_RANGE, "/version", "must be 1; it is 2");
	refused("{\"limits\":{\"memory\":0}}", QSB_E_RANGE, "/limits/memory", "from 16m to 1t");
	refused("{\"limits\":{\"memory\":-1}}", QSB_E_RANGE, "/limits/memory", "it is -1");
	refused("{\"limits\":{\"memory\":\"15m\"}}", QSB_E_RANGE, "/limits/memory", "15m");
	refused("{\"limits\":{\"memory\":\"2t\"}}", QSB_E_RANGE, "/limits/memory", "2t");
	refused("{\"limits\":{\"memory\":9223372036854775807}}", QSB_E_RANGE, "/limits/memory", "from 16m");
	refused("{\"limits\":{\"cpus\":0.05}}", QSB_E_RANGE, "/limits/cpus", "from 0.1 to 1024");
	refused("{\"limits\":{\"cpus\":1e300}}", QSB_E_RANGE, "/limits/cpus", "from 0.1 to 1024");
	refused("{\"limits\":{\"cpus\":9223372036854775807}}", QSB_E_RANGE, "/limits/cpus", "from 0.1 to 1024");
	refused("{\"limits\":{\"timeout\":0}}", QSB_E_RANGE, "/limits/timeout", "a number of seconds such as");
	refused("{\"limits\":{\"timeout\":-5}}", QSB_E_RANGE, "/limits/timeout", "a number of seconds such as");
	refused("{\"limits\":{\"timeout\":\"31d\"}}", QSB_E_RANGE, "/limits/timeout", "31d");
	refused("{\"limits\":{\"processes\":7}}", QSB_E_RANGE, "/limits/processes", "from 8");
	refused("{\"limits\":{\"openFiles\":31}}", QSB_E_RANGE, "/limits/openFiles", "from 32");
	refused("{\"limits\":{\"output\":\"2g\"}}", QSB_E_RANGE, "/limits/output", "from 1k to 1g");
	refused("{\"limits\":{\"tmpSize\":\"1k\"}}", QSB_E_RANGE, "/limits/tmpSize", "from 1m to 1t");
	refused("{\"network\":{\"publishPorts\":[80,0]}}", QSB_E_INVALID, "/network/publishPorts/1", "1 to 65535");
	refused("{\"network\":{\"reachPorts\":[65536]}}", QSB_E_INVALID, "/network/reachPorts/0", "1 to 65535");
	refused("{\"filesystem\":{\"devices\":[\"gpu\",\"kvm\",\"fuse\",\"gpu\"]}}", QSB_E_RANGE, "/filesystem/devices",
		"at most 3");
}

static void bad_entries(void)
{
	refused("{\"$comment\":7}", QSB_E_INVALID, "/$comment", "a string or a list of strings");
	refused("{\"$comment\":[1]}", QSB_E_INVALID, "/$comment/0", "must be a string");
	refused("{\"network\":{\"$comment\":\"x\"}}", QSB_E_UNKNOWN, "/network/$comment", "no such key");
	refused("{\"filesystem\":{\"denyRead\":[\"\"]}}", QSB_E_INVALID, "/filesystem/denyRead/0", "empty");
	refused("{\"filesystem\":{\"denyRead\":[\"~bob/x\"]}}", QSB_E_INVALID, "/filesystem/denyRead/0", "~");
	refused("{\"filesystem\":{\"denyRead\":[\"@secret\"]}}", QSB_E_INVALID, "/filesystem/denyRead/0", "@secrets");
	refused("{\"filesystem\":{\"denyRead\":[\"a[b\"]}}", QSB_E_INVALID, "/filesystem/denyRead/0", "a[b");
	refused("{\"network\":{\"unixSockets\":[\"@abstract\"]}}", QSB_E_INVALID, "/network/unixSockets/0", "abstract");
	refused("{\"network\":{\"unixSockets\":[\"/run/*.sock\"]}}", QSB_E_INVALID, "/network/unixSockets/0", "one");
	refused("{\"network\":{\"allowedDomains\":[\"ok.example\",\"https://x.example\"]}}", QSB_E_INVALID,
		"/network/allowedDomains/1", "x.example");
	refused("{\"network\":{\"deniedDomains\":[\"a b\"]}}", QSB_E_INVALID, "/network/deniedDomains/0", "a b");
	refused("{\"network\":{\"allowedDomains\":[\"*x.example\"]}}", QSB_E_INVALID, "/network/allowedDomains/0",
		"*.x.example");
	refused("{\"network\":{\"allowedDomains\":[\"x.example:0\"]}}", QSB_E_INVALID, "/network/allowedDomains/0",
		"x.example");
	refused("{\"environment\":{\"pass\":[\"A*B\"]}}", QSB_E_INVALID, "/environment/pass/0", "at its end");
	refused("{\"environment\":{\"pass\":[\"A=1\"]}}", QSB_E_INVALID, "/environment/pass/0", "/environment/set");
	refused("{\"trustedFolders\":[\"src\"]}", QSB_E_INVALID, "/trustedFolders/0", "must begin with");
}

/* A policy file is printed in a terminal when it is wrong. */
static void hostile_text(void)
{
	struct qsb_policy *policy = NULL;
	char text[4096];

	merge(&policy, "{\"\\u001b]0;owned\\u0007\":1}");
	tap_ok(!strchr(err.message, 0x1B) && !strchr(err.message, 7), "a key's control characters are not printed");
	qsb__policy_free(policy);
	merge(&policy, "{\"network\":{\"mode\":\"\\u001b[2J\"}}");
	tap_ok(!strchr(err.message, 0x1B), "nor are a value's");
	qsb__policy_free(policy);
	memset(text, 'a', sizeof(text));
	memcpy(text, "{\"", 2);
	memcpy(text + sizeof(text) - 5, "\":1}", 5);
	tap_is_number(merge(&policy, text), QSB_E_UNKNOWN, "a very long key is refused");
	qsb__policy_free(policy);
}

static void good_values(void)
{
	struct qsb_policy *policy = NULL;
	int code =
		merge(&policy, "{\"version\":1,\"limits\":{\"memory\":\"1.5g\",\"cpus\":\"0.5\",\"timeout\":1.5,"
			       "\"processes\":\"none\",\"output\":65536,\"outputAction\":\"kill\",\"fileSize\":\"1g\"},"
			       "\"network\":{\"publishPorts\":[3000],\"mode\":\"filtered\"},"
			       "\"environment\":{\"set\":{\"A\":\"b=c\",\"E\":\"\"},\"pass\":[\"NPM_*\"]},"
			       "\"filesystem\":{\"allowWrite\":[],\"denyRead\":[\"~/x\",\"*.pem\"]}}");

	tap_is_number(code, 0, "a policy with every form is read");
	tap_is_number((long long)policy->limits.memory_bytes, 3LL << 29, "a size");
	tap_is_number((long long)policy->limits.cpus_milli, 500, "processors");
	tap_is_number((long long)policy->limits.timeout_ms, 1500, "seconds with a fraction");
	tap_is_number((long long)policy->limits.processes, 0, "none is no limit");
	tap_is_number((long long)policy->limits.output_bytes, 65536, "bytes");
	tap_is_number((long long)policy->limits.open_files, 4096, "what is not named keeps the preset's value");
	tap_is_number(policy->limits.output_action, QSB__OUTPUT_KILL, "a word");
	tap_is_number(policy->network.mode, QSB__NETWORK_FILTERED, "a mode");
	tap_is_text(policy->network.publish_ports.items[0].text, "3000", "a port");
	tap_is_text(policy->environment.set.items[0].text, "A=b=c", "a variable's value may hold =");
	tap_is_text(policy->environment.set.items[1].text, "E=", "and may be empty");
	tap_is_number((long long)policy->filesystem.allow_write.count, 0, "an empty list replaces the preset's");
	tap_is_number((long long)policy->filesystem.deny_read.count, 3, "a deny list is added to the preset's");
	tap_is_text(policy->filesystem.deny_read.items[0].text, "@secrets", "the preset's entry stays");
	tap_is_number(policy->filesystem.deny_read.items[2].index, 1, "an entry knows its number in its own file");
	qsb__policy_free(policy);
}

static void options(void)
{
	static const struct {
		const char *option, *text;
		int code;
	} cases[] = {
		{"--timeout", "0", QSB_E_RANGE},
		{"--timeout", "-1", QSB_E_INVALID},
		{"--timeout", "abc", QSB_E_INVALID},
		{"--timeout", "", QSB_E_INVALID},
		{"--timeout", "1.5", 0},
		{"--timeout", "none", 0},
		{"--timeout", "5m", 0},
		{"--memory", "512m", 0},
		{"--memory", "1k", QSB_E_RANGE},
		{"--memory", "lots", QSB_E_INVALID},
		{"--cpus", "1", 0},
		{"--cpus", "0", QSB_E_RANGE},
		{"--processes", "100", 0},
		{"--processes", "1e3", QSB_E_INVALID},
		{"--output", "64k", 0},
		{"--network", "off", 0},
		{"--network", "on", QSB_E_INVALID},
		{"--write", "/x", 0},
		{"--write", "", QSB_E_INVALID},
		{"--publish", "3000", 0},
		{"--publish", "080", QSB_E_INVALID},
		{"--publish", "0", QSB_E_INVALID},
		{"--env", "A=b", 0},
		{"--env", "HOME", 0},
		{"--env", "=x", QSB_E_INVALID},
		{"--env", "", QSB_E_INVALID},
		{"--allow-domain", "a.example:443", 0},
		{"--allow-domain", "a b", QSB_E_INVALID},
		{"--preset", "locked-down", 0},
		{"--preset", "open", QSB_E_INVALID},
	};
	struct qsb_policy *policy = NULL;

	if (qsb__policy_new(&policy, QSB__PRESET_WORKSPACE, &err))
		return;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct qsb__row *row = qsb__row_by_option(cases[i].option);
		int code = row ? qsb__policy_set_text(policy, row, cases[i].text, QSB__LAYER_OPTION, &err) : 1;

		tap_ok(code == cases[i].code &&
			       (!code || strncmp(err.message, cases[i].option, strlen(cases[i].option)) == 0),
		       "%s '%s' is %s", cases[i].option, cases[i].text, cases[i].code ? "refused by name" : "taken");
	}
	tap_is_number((long long)policy->limits.timeout_ms, 300000, "the last value counts");
	tap_is_text(policy->environment.set.items[0].text, "A=b", "--env NAME=VALUE sets a variable");
	tap_is_text(policy->environment.pass.items[0].text, "HOME", "--env NAME passes one on");
	tap_is_number((long long)policy->filesystem.allow_write.count, 2, "--write adds to the preset's list");
	tap_is_number(policy->origin[qsb__row_by_option("--memory") - qsb__rows], QSB__LAYER_OPTION,
		      "the origin is the command line");
	qsb__policy_free(policy);
}

static void origins(void)
{
	const struct qsb__row *row = qsb__row_by_pointer("/filesystem/denyWrite");
	struct qsb__item item = {.layer = QSB__LAYER_USER, .index = 2};
	char text[80];

	qsb__item_origin(row, &item, text, sizeof(text));
	tap_is_text(text, "/filesystem/denyWrite/2 (user)", "an entry of a file is named by its pointer");
	item.layer = QSB__LAYER_OPTION;
	qsb__item_origin(row, &item, text, sizeof(text));
	tap_is_text(text, "--deny-write (command line)", "an entry of the command line by its option");
	item = (struct qsb__item){.text = text, .layer = QSB__LAYER_FILE};
	strcpy(text, "NAME=secret");
	qsb__item_origin(qsb__row_by_pointer("/environment/set"), &item, text + 20, sizeof(text) - 20);
	tap_is_text(text + 20, "/environment/set/NAME (policy file)", "a variable by its name, without its value");
}

static void many_entries(void)
{
	struct qsb__list list = {0};
	bool right = true;

	for (unsigned i = 0; i < 10000; i++)
		if (qsb__list_add(&list, i % 2 ? "odd" : "even", QSB__LAYER_USER, i))
			break;
	for (unsigned i = 0; i < list.count; i++)
		right = right && list.items[i].index == i && strcmp(list.items[i].text, i % 2 ? "odd" : "even") == 0;
	tap_ok(list.count == 10000 && right, "a list of 10,000 entries keeps their order");
	qsb__list_clear(&list);
	tap_ok(list.count == 0 && !list.items, "a cleared list is empty");
}

int main(void)
{
	table();
	bad_keys();
	bad_types();
	bad_ranges();
	bad_entries();
	hostile_text();
	good_values();
	options();
	origins();
	many_entries();
	return tap_done();
}
