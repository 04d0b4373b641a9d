/* The layers of a policy, from the preset to the managed bound, in their order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "core/path.h"
#include "core/policy_file.h"
#include "core/policy_load.h"
#include "core/policy_patch.h"

/* The files of one load, parsed before any is laid over another: the strongest `extends` chooses the start. */
struct layers {
	const struct qsb__policy_sources *sources;
	struct qsb__places places;
	struct qsb__patch patches[QSB__LAYER_COUNT];
	char *files[QSB__LAYER_COUNT]; /* NULL = the layer is not there */
	bool trusted;                  /* the project's file may loosen */
};

static void clear_layers(struct layers *layers)
{
	for (size_t i = 0; i < QSB__LAYER_COUNT; i++) {
		qsb__patch_clear(&layers->patches[i]);
		free(layers->files[i]);
	}
}

static size_t extends_index(void)
{
	return qsb__row_index(qsb__row_by_pointer("/extends"));
}

static int parse_layer(struct layers *layers, enum qsb__layer layer, const char *name, const char *text, size_t length,
		       struct qsb_error *err)
{
	struct qsb__patch *patch = &layers->patches[layer];

	layers->files[layer] = strdup(name);
	if (!layers->files[layer])
		return qsb__fail_memory(err, "policy");
	patch->layer = layer;
	patch->source = layers->files[layer];
	return qsb__patch_parse(patch, text, length, err);
}

/* A file that need not be there. */
static int read_layer(struct layers *layers, enum qsb__layer layer, const char *path, struct qsb_error *err)
{
	QSB_CLEANUP_FREE char *text = NULL;
	struct qsb_error fault;
	size_t length;
	int code = qsb__policy_read_layer(layer, path, &text, &length, &fault);

	if (code == QSB_E_NOT_FOUND && layer != QSB__LAYER_FILE)
		return 0;
	if (code) {
		if (err)
			*err = fault;
		return code;
	}
	return parse_layer(layers, layer, path, text, length, err);
}

static int read_fd(struct layers *layers, struct qsb_error *err)
{
	QSB_CLEANUP_FREE char *text = NULL;
	char name[32];
	size_t length;
	int code;

	snprintf(name, sizeof(name), "--policy-fd %d", layers->sources->policy_fd);
	code = qsb__policy_read_fd(layers->sources->policy_fd, name, &text, &length, err);
	return code ? code : parse_layer(layers, QSB__LAYER_FILE, name, text, length, err);
}

bool qsb__policy_user_file(const struct qsb__policy_sources *sources, char *out, size_t size)
{
	const char *config = sources->config_home;
	int length;

	if (config && config[0] == '/')
		length = snprintf(out, size, "%s/qiming-sandbox/policy.json", config);
	else if (sources->home && sources->home[0] == '/')
		length = snprintf(out, size, "%s/.config/qiming-sandbox/policy.json", sources->home);
	else
		return false;
	return length > 0 && (size_t)length < size;
}

static int read_user_and_project(struct layers *layers, struct qsb_error *err)
{
	const struct qsb__policy_sources *sources = layers->sources;
	char path[QSB__PATH_MAX];
	int code = 0;

	if (qsb__policy_user_file(sources, path, sizeof(path)))
		code = read_layer(layers, QSB__LAYER_USER, path, err);
	if (code || !sources->workspace)
		return code;
	if (!qsb__path_join(path, sources->workspace, QSB__PROJECT_FILE))
		return qsb__fail(err, QSB_E_RANGE, "workspace", "the workspace's path is too long: %.200s",
				 sources->workspace);
	return read_layer(layers, QSB__LAYER_PROJECT, path, err);
}

static int read_layers(struct layers *layers, struct qsb_error *err)
{
	const struct qsb__policy_sources *sources = layers->sources;
	const char *managed = sources->managed_file ? sources->managed_file : QSB__MANAGED_FILE;
	int code;

	if (sources->policy_file && sources->policy_fd >= 0)
		return qsb__fail(err, QSB_E_INVALID, "--policy", "give either --policy or --policy-fd, not both");
	if (sources->policy_fd >= 0)
		code = read_fd(layers, err);
	else if (sources->policy_file)
		code = read_layer(layers, QSB__LAYER_FILE, sources->policy_file, err);
	else
		code = read_user_and_project(layers, err);
	if (!code && *managed)
		code = read_layer(layers, QSB__LAYER_MANAGED, managed, err);
	return code;
}

/* Trust is of the user's own words only, and of the folder as it really lies. */
static void judge_trust(struct layers *layers)
{
	const struct qsb__row *row = qsb__row_by_pointer("/trustedFolders");
	const struct qsb__list *folders = qsb__row_list(&layers->patches[QSB__LAYER_USER].values, row);

	layers->trusted = layers->files[QSB__LAYER_PROJECT] && layers->sources->workspace &&
			  qsb__cover_holds(row, folders, layers->sources->workspace, &layers->places);
}

static int preset_of_options(const struct qsb__policy_sources *sources, int *preset, struct qsb_error *err)
{
	const struct qsb__row *row = qsb__row_by_pointer("/extends");
	struct qsb__place place = {.pointer = row->option};
	const char *name = sources->preset;
	uint64_t value;
	int code;

	for (size_t i = 0; i < sources->option_count; i++)
		if (sources->options[i].row == row)
			name = sources->options[i].text;
	if (!name)
		return 0;
	code = qsb__value_parse(row, name, &place, &value, err);
	if (!code)
		*preset = (int)value;
	return code;
}

/* The preset to start from, and the layer that chose it. */
static int choose_preset(const struct layers *layers, enum qsb__layer *by, int *preset, struct qsb_error *err)
{
	size_t extends = extends_index();
	int of_options = -1, code = preset_of_options(layers->sources, &of_options, err);

	*preset = QSB__PRESET_WORKSPACE;
	*by = QSB__LAYER_PRESET;
	for (int layer = QSB__LAYER_USER; layer <= QSB__LAYER_FILE; layer++) {
		if (!layers->patches[layer].named[extends] || (layer == QSB__LAYER_PROJECT && !layers->trusted))
			continue;
		*preset = (int)layers->patches[layer].values.extends;
		*by = (enum qsb__layer)layer;
	}
	if (of_options >= 0) {
		*preset = of_options;
		*by = QSB__LAYER_OPTION;
	}
	return code;
}

/* A preset as one more patch, for a layer that may only tighten. */
static int tighten_by_preset(struct qsb_policy *policy, const struct layers *layers, enum qsb__layer layer,
			     struct qsb_error *err)
{
	const struct qsb__patch *patch = &layers->patches[layer];
	struct qsb_policy *preset = NULL;
	int code;

	if (!patch->named[extends_index()])
		return 0;
	code = qsb__policy_new(&preset, patch->values.extends, err);
	if (!code) {
		struct qsb__patch by = {.values = *preset, .layer = layer, .source = patch->source, .quiet = true};

		for (size_t i = 0; i < qsb__row_count; i++)
			by.named[i] = qsb__rows[i].tighten != QSB__TIGHTEN_NEVER;
		code = qsb__patch_tighten(policy, &by, &layers->places, err);
		*preset = by.values;
	}
	qsb__policy_free(preset);
	return code;
}

static int apply_layer(struct qsb_policy *policy, struct layers *layers, enum qsb__layer layer, struct qsb_error *err)
{
	struct qsb__patch *patch = &layers->patches[layer];
	bool bounded = layer == QSB__LAYER_MANAGED || (layer == QSB__LAYER_PROJECT && !layers->trusted);
	int code;

	if (!layers->files[layer])
		return 0;
	if (!bounded) {
		/* The choice has been made from all layers; here it would be undone by a weaker one's. */
		patch->named[extends_index()] = false;
		code = qsb__patch_merge(policy, patch, err);
	} else {
		code = tighten_by_preset(policy, layers, layer, err);
		if (!code)
			code = qsb__patch_tighten(policy, patch, &layers->places, err);
	}
	policy->source[layer] = QSB_TAKE(layers->files[layer]);
	return code;
}

static int apply_options(struct qsb_policy *policy, const struct qsb__policy_sources *sources, struct qsb_error *err)
{
	const struct qsb__row *extends = qsb__row_by_pointer("/extends");
	int code = 0;

	for (size_t i = 0; i < sources->option_count && !code; i++)
		if (sources->options[i].row != extends)
			code = qsb__policy_set_text(policy, sources->options[i].row, sources->options[i].text,
						    QSB__LAYER_OPTION, err);
	return code;
}

static int apply_layers(struct qsb_policy **out, struct layers *layers, struct qsb_error *err)
{
	struct qsb_policy *policy = NULL;
	enum qsb__layer by;
	int preset, code = choose_preset(layers, &by, &preset, err);

	if (!code)
		code = qsb__policy_new(&policy, (enum qsb__preset)preset, err);
	if (code)
		return code;
	policy->origin[extends_index()] = by;
	for (int layer = QSB__LAYER_USER; layer <= QSB__LAYER_FILE && !code; layer++)
		code = apply_layer(policy, layers, (enum qsb__layer)layer, err);
	if (!code)
		code = apply_options(policy, layers->sources, err);
	if (!code)
		code = apply_layer(policy, layers, QSB__LAYER_MANAGED, err);
	if (!code)
		code = qsb__policy_check_ports(policy, err);
	if (code)
		qsb__policy_free(policy);
	else
		*out = policy;
	return code;
}

int qsb__policy_load(struct qsb_policy **out, const struct qsb__policy_sources *sources, struct qsb_error *err)
{
	struct layers layers = {.sources = sources, .places = {.workspace = sources->workspace, .home = sources->home}};
	int code = read_layers(&layers, err);

	*out = NULL;
	if (!code) {
		judge_trust(&layers);
		code = apply_layers(out, &layers, err);
	}
	clear_layers(&layers);
	return code;
}
