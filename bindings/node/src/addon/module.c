/* The module: one `struct environment` for each environment of Node that loads it. */
#include "addon.h"

/* What the macro makes. */
NAPI_MODULE_EXPORT int32_t NODE_API_MODULE_GET_API_VERSION(void);

NAPI_MODULE_INIT()
{
	struct environment *environment = environment_new();

	if (!environment) {
		value_throw(env, QSB_E_MEMORY, "no memory");
		return NULL;
	}
	if (!value_ok(env, napi_set_instance_data(env, environment, environment_free, NULL))) {
		environment_free(env, environment, NULL);
		return NULL;
	}
	return calls_define(env, exports) ? exports : NULL;
}
