#include <errno.h>
#include <string.h>

#include "core/error.h"
#include "plan/build.h"

static enum qsb__file_kind kind_of(const struct qsb__build *build, const char *path)
{
	return build->host->ops->kind(build->host->context, path);
}

/* The host resolves links and "..". What it cannot follow (a loop, a folder that this user may not enter) cannot be
 * opened through that path by the command either: it counts as missing, under its own name. */
static int resolve_on_host(struct qsb__build *build, const char *path, char *out, enum qsb__file_kind *kind)
{
	int result = build->host->ops->resolve(build->host->context, path, out, QSB__PATH_MAX);

	if (result == -ENAMETOOLONG)
		return qsb__fail(build->err, QSB_E_RANGE, "", "the real path of %.100s… is longer than %d bytes", path,
		                 QSB__PATH_MAX - 1);
	if (result < 0) {
		memcpy(out, path, strlen(path) + 1);
		qsb__path_fold_dots(out);
		*kind = QSB__FILE_MISSING;
		return 0;
	}
	*kind = kind_of(build, out);
	return 0;
}

/* The longest folder that is known to be real and holds `path`. */
static const char *known_start(const struct qsb__build *build, const char *path)
{
	const char *known[] = {build->real_folder, build->plan->workspace, build->host->home};
	const char *best = "/";

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] && known[i][0] && strlen(known[i]) > strlen(best) && qsb__path_inside(path, known[i], false))
			best = known[i];
	return best;
}

int qsb__build_resolve(struct qsb__build *build, const char *path, char *out, enum qsb__file_kind *kind)
{
	const char *start = known_start(build, path);
	const char *rest = qsb__path_below(path, start);
	size_t length = strlen(start);

	build->link[0] = '\0';
	if (qsb__path_has_dots(path))
		return resolve_on_host(build, path, out, kind);
	memcpy(out, start, length + 1);
	if (length == 1)
		length = 0;
	*kind = QSB__FILE_DIR;
	while (*rest) {
		size_t size = strcspn(rest, "/");
		size_t parent = length;

		if (length || !build->base.windows)
			out[length++] = '/';
		memcpy(out + length, rest, size);
		length += size;
		out[length] = '\0';
		rest += size + (rest[size] ? 1 : 0);
		*kind = kind_of(build, out);
		if (*kind == QSB__FILE_LINK) {
			memcpy(build->link, out, length + 1);
			return resolve_on_host(build, path, out, kind);
		}
		if (parent > 1) {
			memcpy(build->real_folder, out, parent);
			build->real_folder[parent] = '\0';
		}
		if (*rest && *kind != QSB__FILE_DIR)
			break;
	}
	if (*rest) {
		if (*kind != QSB__FILE_DIR)
			*kind = QSB__FILE_MISSING;
		out[length++] = '/';
		memcpy(out + length, rest, strlen(rest) + 1);
	}
	return 0;
}
