#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "plan/build.h"
#include "plan/builtin.h"

/*
 * Programs that stop, each tried with a home that cannot be written, where others go on without their cache (pip, yarn,
 * cargo, deno, bun). What is in a cache already stays in reach where the program makes do with reading it: npm and pnpm
 * as long as they have nothing to fetch, go always, ccache when it is told to.
 */
const struct qsb__cache qsb__caches[] = {
	{.variable = "npm_config_cache", .below = ".npm", .scratch = "npm", .fetches = true},
	{.variable = "PNPM_HOME",
	 .base = "XDG_DATA_HOME",
	 .home = ".local/share",
	 .below = "pnpm",
	 .scratch = "pnpm",
	 .fetches = true},
	{.variable = "GOCACHE", .base = "XDG_CACHE_HOME", .home = ".cache", .below = "go-build", .scratch = "go-build"},
	{.variable = "CCACHE_DIR",
	 .base = "XDG_CACHE_HOME",
	 .home = ".cache",
	 .below = "ccache",
	 .older = ".ccache",
	 .scratch = "ccache",
	 .reading = {"CCACHE_READONLY=1", "CCACHE_TEMPDIR=/tmp/.cache/ccache"}},
};
const size_t qsb__cache_count = sizeof(qsb__caches) / sizeof(qsb__caches[0]);

/* A private /tmp: in the host's, anybody could have made the folder before. */
static bool has_scratch(const struct qsb__build *build)
{
	for (size_t i = 0; i < build->step_count; i++)
		if (build->steps[i].kind == QSB__STEP_TMPFS && strcmp(build->steps[i].path, "/tmp") == 0)
			return true;
	return false;
}

/* Where the program keeps it unless told otherwise. */
static bool default_place(const struct qsb__build *build, const struct qsb__cache *cache, char *out)
{
	const char *base = cache->base ? qsb__build_variable(build, cache->base) : NULL;
	const char *home = build->host->home;

	if (cache->older && home && qsb__path_join(out, home, cache->older) &&
	    build->host->ops->kind(build->host->context, out) != QSB__FILE_MISSING)
		return true;
	if (base && base[0] == '/' && strlen(base) < QSB__PATH_MAX)
		return qsb__path_join(out, base, cache->below);
	if (!home)
		return false;
	return cache->home ? qsb__path_join(out, home, cache->home) && qsb__path_join(out, out, cache->below)
			   : qsb__path_join(out, home, cache->below);
}

int qsb__build_cache(struct qsb__build *build, const struct qsb__cache *cache, const char **settings)
{
	char place[QSB__PATH_MAX], real[QSB__PATH_MAX];
	enum qsb__file_kind kind = QSB__FILE_MISSING;
	unsigned access = 0;
	bool there;

	settings[0] = settings[1] = NULL;
	if (build->host->os != QSB__OS_LINUX || !has_scratch(build))
		return 0;
	if (!default_place(build, cache, place))
		place[0] = '\0';
	else if (qsb__build_resolve(build, place, real, &kind) == 0)
		access = qsb__build_access(build, real, NULL);
	if (access & QSB__ACCESS_WRITE)
		return 0;
	there = kind == QSB__FILE_DIR && (access & QSB__ACCESS_READ) &&
		!(cache->fetches && build->plan->network != QSB__NETWORK_OFF);
	if (there && !cache->reading[0])
		return 0;
	if (there) {
		settings[0] = cache->reading[0];
		settings[1] = cache->reading[1];
		return 0;
	}
	settings[0] = qsb__arena_format(build->arena, "%s=/tmp/.cache/%s", cache->variable, cache->scratch);
	return settings[0] ? 0 : qsb__fail_memory(build->err, "environment");
}
