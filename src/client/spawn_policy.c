/* What a spawn and a wait have to do with policies and results: JSON made and read. */
#include <stdlib.h>
#include <string.h>

#include "client/program.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/policy_load.h"

int qsb_sandbox_spawn(struct qsb_sandbox **out, const struct qsb_spawn_options *asked, struct qsb_error *err)
{
	struct qsb_spawn_options options;
	QSB_CLEANUP_FREE char *text = NULL;

	*out = NULL;
	qsb_spawn_options_init(&options, sizeof(options));
	memcpy(&options, asked, asked->size < sizeof(options) ? asked->size : sizeof(options));
	if (options.policy && options.policy_json)
		return qsb__fail(err, QSB_E_INVALID, "spawn", "give either policy or policy_json");
	if (options.policy) {
		options.policy_json = text = qsb__policy_to_json(options.policy, false);
		if (!text)
			return qsb__fail_memory(err, "policy");
	}
	return qsb__sandbox_spawn(out, &options, err);
}

int qsb_sandbox_wait(struct qsb_sandbox *sandbox, struct qsb_result **out, struct qsb_error *err)
{
	char *text = NULL;
	size_t length = 0;
	int rc = qsb_sandbox_wait_json(sandbox, &text, &length, err);

	*out = NULL;
	return rc ? rc : qsb__result_parse(out, text, length, err);
}
