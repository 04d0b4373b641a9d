/* The network's keys from layer to layer: whose proxy holds, who resolves, ports that cannot both be. */
#include <stdlib.h>

#include "core/policy_load.h"
#include "tap.h"

static struct qsb_policy *policy;
static struct qsb_error err;

static void begin(void)
{
	qsb__policy_free(policy);
	policy = NULL;
	qsb__policy_new(&policy, QSB__PRESET_WORKSPACE, NULL);
}

static int lay(enum qsb__layer layer, const char *text)
{
	memset(&err, 0, sizeof(err));
	return qsb__policy_merge_json(policy, layer, text, strlen(text), "layer.json", &err);
}

static void is_value(const char *pointer, const char *wanted, const char *name)
{
	char *got = qsb__policy_value_text(policy, qsb__row_by_pointer(pointer));

	tap_is_text(got, wanted, name);
	free(got);
}

static bool json_has(bool with_origins, const char *part)
{
	char *json = qsb__policy_to_json(policy, with_origins);
	bool has = json && strstr(json, part);

	free(json);
	return has;
}

static void test_proxy(void)
{
	begin();
	is_value("/network/upstreamProxy", "none", "there is no proxy where nobody names one");
	tap_ok(json_has(false, "\"upstreamProxy\": \"none\""), "which a policy says by a word that can be read again");
	lay(QSB__LAYER_USER, "{\"network\":{\"upstreamProxy\":\"http://ada:hidden@proxy.example:1\"}}");
	lay(QSB__LAYER_PROJECT, "{\"network\":{\"upstreamProxy\":\"http://evil.example\"}}");
	is_value("/network/upstreamProxy", "http://ada:***@proxy.example:1",
		 "a project cannot set another one, and the password is not shown");
	tap_ok(policy->notes.count == 1 && strstr(policy->notes.items[0].text, "only the user's own policy") &&
		       !strstr(policy->notes.items[0].text, "hidden"),
	       "which is noted, without the password");
	lay(QSB__LAYER_PROJECT, "{\"network\":{\"upstreamProxy\":\"none\"}}");
	is_value("/network/upstreamProxy", "http://ada:***@proxy.example:1", "nor can it take it away");
	tap_ok(json_has(false, "ada:hidden@"), "the policy that is handed on has the password");
	tap_ok(qsb__policy_hide_passwords(policy) == 0 && !json_has(true, "hidden") && json_has(true, "ada:***@"),
	       "the one that is shown does not");
	tap_is_number(
		qsb__policy_set_text(policy, qsb__row_by_option("--upstream-proxy"), "none", QSB__LAYER_OPTION, &err),
		0, "an option takes it away");
	is_value("/network/upstreamProxy", "none", "and then there is none");
	lay(QSB__LAYER_MANAGED, "{\"network\":{\"upstreamProxy\":\"socks5://must.example\"}}");
	is_value("/network/upstreamProxy", "socks5://must.example", "the administrator's proxy holds");
	tap_ok(lay(QSB__LAYER_USER, "{\"network\":{\"upstreamProxy\":7}}") == QSB_E_INVALID &&
		       strcmp(err.where, "/network/upstreamProxy") == 0,
	       "a number is no proxy");
	tap_ok(lay(QSB__LAYER_USER, "{\"network\":{\"upstreamProxy\":\"http://ada:hidden@h:0\"}}") == QSB_E_INVALID &&
		       strcmp(err.where, "/network/upstreamProxy") == 0 && !strstr(err.message, "hidden"),
	       "a message about a bad one does not show its password");
}

static void test_resolve(void)
{
	begin();
	is_value("/network/upstreamResolve", "proxy", "a proxy gets names");
	lay(QSB__LAYER_PROJECT, "{\"network\":{\"upstreamResolve\":\"local\"}}");
	is_value("/network/upstreamResolve", "local", "a project may have addresses judged here");
	lay(QSB__LAYER_PROJECT, "{\"network\":{\"upstreamResolve\":\"proxy\"}}");
	is_value("/network/upstreamResolve", "local", "and cannot leave them unjudged");
}

static void test_ports(void)
{
	begin();
	lay(QSB__LAYER_USER, "{\"network\":{\"publishPorts\":[80,8080],\"reachPorts\":[81,82]}}");
	tap_is_number(qsb__policy_check_ports(policy, &err), 0, "different ports may be published and reached");
	qsb__policy_set_text(policy, qsb__row_by_option("--reach"), "8080", QSB__LAYER_OPTION, &err);
	tap_ok(qsb__policy_check_ports(policy, &err) == QSB_E_INVALID && strcmp(err.where, "--reach") == 0 &&
		       strstr(err.message, "/network/publishPorts/1"),
	       "the same one may not, and both places are told");
	lay(QSB__LAYER_USER, "{\"network\":{\"reachPorts\":[1,2,80]}}");
	tap_ok(qsb__policy_check_ports(policy, &err) == QSB_E_INVALID &&
		       strcmp(err.where, "/network/reachPorts/2") == 0,
	       "also where a file says both");
}

int main(void)
{
	test_proxy();
	test_resolve();
	test_ports();
	qsb__policy_free(policy);
	return tap_done();
}
