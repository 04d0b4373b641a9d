#include <errno.h>
#include <string.h>

#include "core/error.h"
#include "plan/build.h"

static enum qsb__file_kind kind_of(struct qsb__build *build, const char *path)
{
	if (qsb__build_absent(build, path))
		return QSB__FILE_MISSING;
	return qsb__listing_kind(&build->listing, build->host, build->arena, path);
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

/* Length of the part that both paths have in common, in whole components. */
static size_t common_length(const char *a, const char *b)
{
	size_t length = 0, whole = 0;

	while (a[length] && a[length] == b[length]) {
		if (a[length] == '/')
			whole = length;
		length++;
	}
	if ((!a[length] || a[length] == '/') && (!b[length] || b[length] == '/'))
		whole = length;
	return whole;
}

/* Length of the longest start of `path` that is known to be a real folder, without a '/' at its end. */
static size_t known_start(const struct qsb__build *build, const char *path)
{
	const char *known[] = {build->real_folder, build->plan->workspace, build->host->home};
	size_t best = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t length = known[i] ? common_length(path, known[i]) : 0;

		best = length > best ? length : best;
	}
	return best;
}

int qsb__build_resolve(struct qsb__build *build, const char *path, char *out, enum qsb__file_kind *kind)
{
	size_t length = known_start(build, path);
	const char *rest = path + length + (path[length] == '/' ? 1 : 0);

	build->link[0] = '\0';
	if (qsb__path_has_dots(path))
		return resolve_on_host(build, path, out, kind);
	if (build->missing[0] && qsb__path_inside(path, build->missing, false)) {
		memcpy(out, path, strlen(path) + 1);
		*kind = QSB__FILE_MISSING;
		return 0;
	}
	memcpy(out, path, length);
	memcpy(out + length, length ? "" : "/", length ? 1 : 2);
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
		if (*kind == QSB__FILE_MISSING)
			memcpy(build->missing, out, length + 1);
		if (*rest && *kind != QSB__FILE_DIR)
			break;
	}
	if (*rest) {
		if (*kind != QSB__FILE_DIR)
			*kind = QSB__FILE_MISSING;
		out[length++] = '/';
		memcpy(out + length, rest, strlen(rest) + 1);
	}
	/* Where case does not count, the name as it stands on the disk is the real one. */
	return build->fold ? resolve_on_host(build, path, out, kind) : 0;
}
