#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "plan/build.h"

/*
 * Nearly all entries of the lists are missing on any one host. Reading the home folder once costs less than asking a
 * hundred times, so its names go into a filter: a name whose bit is not set is surely not there.
 */
enum { MOST_NAMES = 600 };

static unsigned hash_name(const char *name, size_t length, bool fold)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)name[i];

		if (fold && byte >= 'A' && byte <= 'Z')
			byte = (unsigned char)(byte + 32);
		hash = (hash ^ byte) * 16777619U;
	}
	return (hash ^ hash >> 16) % QSB__FILTER_BITS;
}

static int note_name(void *to, const char *name, enum qsb__file_kind kind)
{
	struct qsb__name_filter *filter = to;
	unsigned bit = hash_name(name, strlen(name), filter->fold);

	filter->bits[bit / 64] |= (uint64_t)1 << bit % 64;
	return ++filter->names > MOST_NAMES;
}

static void fill_filter(struct qsb__name_filter *filter, const struct qsb__build *build, const char *folder)
{
	filter->names = 0;
	filter->fold = build->fold;
	filter->ready = build->host->ops->list(build->host->context, folder, note_name, filter) == 0;
}

static bool surely_missing(const struct qsb__name_filter *filter, const char *path)
{
	unsigned bit = hash_name(path, strcspn(path, "/"), filter->fold);

	return filter->ready && !(filter->bits[bit / 64] & (uint64_t)1 << bit % 64);
}

static unsigned this_os(const struct qsb__host *host)
{
	return host->os == QSB__OS_LINUX    ? QSB__ON_LINUX
	       : host->os == QSB__OS_DARWIN ? QSB__ON_DARWIN
					    : QSB__ON_WINDOWS;
}

static int add_missing(struct qsb__build *build, struct qsb__rule *rule, const char *absolute)
{
	if (rule->allow || !qsb__build_could_be_made(build, absolute))
		return 0;
	rule->file = QSB__FILE_MISSING;
	rule->path = qsb__arena_text(build->arena, absolute);
	return qsb__build_add(build, rule);
}

bool qsb__build_absent(const struct qsb__build *build, const char *path)
{
	const char *home = build->host->home;

	return build->home_names.ready && home && strcmp(home, path) != 0 &&
	       qsb__path_inside(path, home, build->fold) &&
	       surely_missing(&build->home_names, qsb__path_below(path, home));
}

struct filters {
	struct qsb__name_filter config; /* of .config in the home folder */
	bool has_config;
};

static bool is_surely_missing(struct filters *filters, const struct qsb__build *build, const char *below_home)
{
	char config[QSB__PATH_MAX];

	if (surely_missing(&build->home_names, below_home))
		return true;
	if (strncmp(below_home, ".config/", 8) != 0)
		return false;
	if (!filters->has_config && qsb__path_join(config, build->host->home, ".config"))
		fill_filter(&filters->config, build, config);
	filters->has_config = true;
	return surely_missing(&filters->config, below_home + 8);
}

int qsb__build_add_builtin(struct qsb__build *build, const struct qsb__builtin_path *paths, size_t count,
			   const struct qsb__rule *like)
{
	struct filters filters = {.has_config = false};
	char absolute[QSB__PATH_MAX];
	unsigned os = this_os(build->host);
	int result = 0;

	if (build->host->home && paths[0].path[0] == '~')
		fill_filter(&build->home_names, build, build->host->home);
	for (size_t i = 0; !result && i < count; i++) {
		const char *path = paths[i].path;
		struct qsb__rule rule = *like;

		if (!(paths[i].on & os) || (path[0] == '~' && !build->host->home))
			continue;
		if (!qsb__path_join(absolute, path[0] == '~' ? build->host->home : "/",
				    path + (path[0] == '~' ? 2 : path[0] == '/')))
			return qsb__fail(build->err, QSB_E_RANGE, "home", "the path of the home folder is too long");
		rule.reason = paths[i].reason;
		if (path[0] == '~' && is_surely_missing(&filters, build, path + 2))
			result = add_missing(build, &rule, absolute);
		else
			result = qsb__build_add_path(build, &rule, path[0] == '~' || path[0] == '/' ? absolute : path);
	}
	return result;
}
