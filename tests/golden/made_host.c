#include "made_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"

struct entry {
	char *path;
	char *text; /* of a file, or a link's target */
	enum qsb__file_kind kind;
	unsigned links; /* names of a plain file */
	bool sealed;    /* shut to the user by its permissions */
};

struct tree {
	struct entry *entries; /* sorted as qsb__path_compare does */
	size_t count, capacity, questions;
	bool fold;
	char **environment;
};

static int by_path(const void *left, const void *right)
{
	return qsb__path_compare(((const struct entry *)left)->path, ((const struct entry *)right)->path, false);
}

static int by_folded_path(const void *left, const void *right)
{
	return qsb__path_compare(((const struct entry *)left)->path, ((const struct entry *)right)->path, true);
}

static const struct entry *find(const struct tree *tree, const char *path)
{
	struct entry key = {.path = strdup(path)};
	const struct entry *found =
		bsearch(&key, tree->entries, tree->count, sizeof(key), tree->fold ? by_folded_path : by_path);

	free(key.path);
	return found;
}

static enum qsb__file_kind made_kind(void *context, const char *path)
{
	struct tree *tree = context;
	const struct entry *entry = find(tree, path);

	tree->questions++;
	return entry ? entry->kind : QSB__FILE_MISSING;
}

/* Component by component; `rest` shrinks from its front and grows by what links say. */
static int made_resolve(void *context, const char *path, char *out, size_t size)
{
	struct tree *tree = context;
	char rest[3 * QSB__PATH_MAX], part[QSB__PATH_MAX], target[3 * QSB__PATH_MAX];
	unsigned links = 0;

	tree->questions++;
	snprintf(rest, sizeof(rest), "%s", path);
	out[0] = '\0';
	while (rest[0]) {
		size_t lead = strspn(rest, "/"), length = strcspn(rest + lead, "/"), used = strlen(out);
		const struct entry *entry;

		snprintf(part, sizeof(part), "%.*s", (int)length, rest + lead);
		memmove(rest, rest + lead + length, strlen(rest + lead + length) + 1);
		if (!part[0] || strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0) {
			char *slash = strrchr(out, '/');

			if (slash)
				*slash = '\0';
			continue;
		}
		if (used + strlen(part) + 2 > size)
			return -ENAMETOOLONG;
		snprintf(out + used, size - used, "%s%s", used || path[0] == '/' ? "/" : "", part);
		entry = find(tree, out);
		if (entry && tree->fold) /* the name as it is written on the disk */
			memcpy(out, entry->path, strlen(entry->path) + 1);
		if (!entry || entry->kind != QSB__FILE_LINK)
			continue;
		if (++links > 40)
			return -ELOOP;
		if (snprintf(target, sizeof(target), "%s/%s", entry->text, rest) >= (int)sizeof(target))
			return -ENAMETOOLONG;
		memcpy(rest, target, strlen(target) + 1);
		out[entry->text[0] == '/' ? 0 : used] = '\0';
	}
	if (!out[0])
		memcpy(out, "/", 2);
	return 0;
}

static int made_list(void *context, const char *path, int (*each)(void *to, const char *name, enum qsb__file_kind kind),
		     void *to)
{
	struct tree *tree = context;
	const struct entry *folder = find(tree, path);

	tree->questions++;
	if (!folder || folder->kind != QSB__FILE_DIR)
		return folder ? -ENOTDIR : -ENOENT;
	for (const struct entry *at = folder + 1; at < tree->entries + tree->count; at++) {
		int result;

		if (!qsb__path_inside(at->path, path, tree->fold))
			break;
		if (strchr(qsb__path_below(at->path, path), '/'))
			continue;
		result = each(to, qsb__path_below(at->path, path), at->kind);
		if (result)
			return result;
	}
	return 0;
}

static int made_read(void *context, const char *path, char *out, size_t size)
{
	struct tree *tree = context;
	const struct entry *entry = find(tree, path);

	tree->questions++;
	if (!entry || entry->kind != QSB__FILE_PLAIN)
		return -ENOENT;
	snprintf(out, size, "%s", entry->text);
	return (int)strlen(out);
}

static unsigned made_links(void *context, const char *path)
{
	struct tree *tree = context;
	const struct entry *entry = find(tree, path);

	tree->questions++;
	return entry && entry->kind == QSB__FILE_PLAIN ? entry->links : 0;
}

static bool made_sealed(void *context, const char *path, bool is_dir)
{
	struct tree *tree = context;
	const struct entry *entry = find(tree, path);

	tree->questions++;
	return entry && entry->sealed && is_dir == (entry->kind == QSB__FILE_DIR);
}

static const struct qsb__host_ops ops = {
	.kind = made_kind,
	.resolve = made_resolve,
	.list = made_list,
	.links = made_links,
	.sealed = made_sealed,
	.read = made_read,
};

static void add(struct tree *tree, const char *path, size_t length, enum qsb__file_kind kind, const char *text)
{
	if (tree->count == tree->capacity) {
		tree->capacity = tree->capacity ? 2 * tree->capacity : 256;
		tree->entries = realloc(tree->entries, tree->capacity * sizeof(tree->entries[0]));
		if (!tree->entries)
			abort();
	}
	tree->entries[tree->count++] = (struct entry){
		.path = strndup(path, length), .kind = kind, .text = strdup(text ? text : ""), .links = 1};
}

static void add_entry(struct tree *tree, const char *path, const json_t *value)
{
	const char *link = json_string_value(json_object_get(value, "link"));
	json_int_t count = json_integer_value(json_object_get(value, "count"));
	json_int_t names = json_integer_value(json_object_get(value, "names"));
	size_t length = strlen(path);
	char numbered[QSB__PATH_MAX];

	if (count) {
		const char *mark = strstr(path, "%d");

		for (json_int_t i = 0; mark && i < count; i++) {
			snprintf(numbered, sizeof(numbered), "%.*s%05d%s", (int)(mark - path), path, (int)i, mark + 2);
			add(tree, numbered, strlen(numbered), QSB__FILE_PLAIN, NULL);
		}
	} else if (names) {
		add(tree, path, length, QSB__FILE_PLAIN, NULL);
		tree->entries[tree->count - 1].links = (unsigned)names;
	} else if (json_is_true(json_object_get(value, "sealed"))) {
		bool is_dir = path[length - 1] == '/';

		add(tree, path, length - is_dir, is_dir ? QSB__FILE_DIR : QSB__FILE_PLAIN, NULL);
		tree->entries[tree->count - 1].sealed = true;
	} else if (link) {
		add(tree, path, length, QSB__FILE_LINK, link);
	} else if (json_is_object(value)) {
		add(tree, path, length, QSB__FILE_SOCKET, NULL);
	} else if (path[length - 1] == '/') {
		add(tree, path, length - 1, QSB__FILE_DIR, NULL);
	} else {
		add(tree, path, length, QSB__FILE_PLAIN, json_string_value(value));
	}
}

/* The folders that entries lie in, and the order that lookups need. */
static void complete(struct tree *tree)
{
	size_t named = tree->count, kept = 0;

	for (size_t i = 0; i < named; i++) {
		char *path = strdup(tree->entries[i].path);
		size_t length;

		while ((length = qsb__path_parent(path)) > 1 || (length > 0 && path[0] != '/')) {
			path[length] = '\0';
			add(tree, path, length, QSB__FILE_DIR, NULL);
		}
		free(path);
	}
	add(tree, "/", 1, QSB__FILE_DIR, NULL);
	qsort(tree->entries, tree->count, sizeof(tree->entries[0]), tree->fold ? by_folded_path : by_path);
	for (size_t i = 0; i < tree->count; i++) {
		if (kept && by_path(&tree->entries[kept - 1], &tree->entries[i]) == 0) {
			free(tree->entries[i].path);
			free(tree->entries[i].text);
			continue;
		}
		tree->entries[kept++] = tree->entries[i];
	}
	tree->count = kept;
}

static char **read_environment(const json_t *list)
{
	char **out = calloc(json_array_size(list) + 1, sizeof(char *));

	for (size_t i = 0; out && i < json_array_size(list); i++)
		out[i] = strdup(json_string_value(json_array_get(list, i)));
	return out;
}

static const char *text_of(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

bool made_host_init(struct qsb__host *host, const json_t *json)
{
	const char *os = text_of(json, "os");
	struct tree *tree = calloc(1, sizeof(*tree));
	const char *path;
	json_t *entries = json_object_get(json, "tree"), *value;

	if (!tree || !os || !json_is_object(entries)) {
		fprintf(stderr, "a made-up host needs \"os\" and \"tree\"\n");
		free(tree);
		return false;
	}
	tree->fold = json_is_true(json_object_get(json, "caseInsensitive"));
	json_object_foreach(entries, path, value)
		add_entry(tree, path, value);
	complete(tree);
	tree->environment = read_environment(json_object_get(json, "environment"));
	*host = (struct qsb__host){
		.os = strcmp(os, "windows") == 0  ? QSB__OS_WINDOWS
		      : strcmp(os, "darwin") == 0 ? QSB__OS_DARWIN
						  : QSB__OS_LINUX,
		.case_insensitive = tree->fold,
		.uid = json_is_true(json_object_get(json, "root")) ? 0 : 1000,
		.home = text_of(json, "home"),
		.user_name = text_of(json, "user"),
		.cwd = text_of(json, "cwd"),
		.runtime_dir = text_of(json, "runtimeDir"),
		.program = text_of(json, "program"),
		.environment = tree->environment,
		.ops = &ops,
		.context = tree,
	};
	return true;
}

void made_host_clear(struct qsb__host *host)
{
	struct tree *tree = host->context;

	for (size_t i = 0; i < tree->count; i++) {
		free(tree->entries[i].path);
		free(tree->entries[i].text);
	}
	for (char **at = tree->environment; at && *at; at++)
		free(*at);
	free(tree->environment);
	free(tree->entries);
	free(tree);
}

size_t made_host_questions(const struct qsb__host *host)
{
	return ((struct tree *)host->context)->questions;
}
