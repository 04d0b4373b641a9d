/* From the plan's steps to the mounts that the child makes: which source, in what order, cloned when. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "core/error.h"

/* Device nodes behind the names that the policy knows; folders are taken whole. */
static const struct {
	const char *name, *path;
} device_nodes[] = {
	{"gpu", "/dev/dri"},
	{"gpu", "/dev/kfd"},
	{"gpu", "/dev/nvidia0"},
	{"gpu", "/dev/nvidia1"},
	{"gpu", "/dev/nvidiactl"},
	{"gpu", "/dev/nvidia-uvm"},
	{"gpu", "/dev/nvidia-uvm-tools"},
	{"kvm", "/dev/kvm"},
	{"fuse", "/dev/fuse"},
};

enum { BYTES_PER_INODE = 4096, FEWEST_INODES = 1024 };

static bool lies_in(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* As strcmp, but '/' before every other byte: a folder's contents directly follow it. */
static int compare_paths(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	if (*a == *b)
		return 0;
	if (*a == '\0' || *b == '\0')
		return *a == '\0' ? -1 : 1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static int compare_mounts(const void *a, const void *b)
{
	return compare_paths(((const struct qsb__mount *)a)->path, ((const struct qsb__mount *)b)->path);
}

static void add_devices(struct qsb__mounts *mounts, const char *name)
{
	for (size_t i = 0; i < sizeof(device_nodes) / sizeof(device_nodes[0]); i++)
		if (strcmp(device_nodes[i].name, name) == 0 && access(device_nodes[i].path, F_OK) == 0 &&
		    mounts->device_count < sizeof(mounts->devices) / sizeof(mounts->devices[0]))
			mounts->devices[mounts->device_count++] = device_nodes[i].path;
}

static void set_scratch(struct qsb__mount *mount, unsigned short mode, size_t number)
{
	mount->source = QSB__SOURCE_SCRATCH;
	mount->scratch_mode = mode;
	mount->writable = true;
	snprintf(mount->scratch, sizeof(mount->scratch), "s%zu", number);
}

/* The mount of one step. False: the step needs none. */
static bool translate(struct qsb__mounts *mounts, const struct qsb__step *step, struct qsb__mount *mount)
{
	bool is_root = strcmp(step->path, "/") == 0;

	memset(mount, 0, sizeof(*mount));
	mount->path = step->path;
	mount->rule = step->rule;
	mount->is_dir = step->is_dir;
	switch (step->kind) {
	case QSB__STEP_ROOT:
		mounts->empty_root = true;
		return false;
	case QSB__STEP_BIND_RO:
		return !is_root;
	case QSB__STEP_BIND_RW:
	case QSB__STEP_PIN:
		mounts->root_writable |= is_root;
		mount->writable = true;
		return !is_root;
	case QSB__STEP_MASK_FILE:
		mount->source = QSB__SOURCE_MASK_FILE;
		return !step->sealed;
	case QSB__STEP_MASK_DIR:
		mount->source = QSB__SOURCE_MASK_DIR;
		return !step->sealed;
	case QSB__STEP_TMPFS:
		set_scratch(mount, strstr(step->path, "tmp") ? 01777 : 0755, mounts->count);
		return true;
	case QSB__STEP_PROC:
		mount->source = QSB__SOURCE_PROC;
		return true;
	case QSB__STEP_DEV:
		mount->source = QSB__SOURCE_DEV;
		if (step->text) {
			add_devices(mounts, step->text);
			return false;
		}
		return true;
	case QSB__STEP_LINK:
		mount->source = QSB__SOURCE_LINK;
		mount->target = step->text;
		return true;
	case QSB__STEP_NAME_RULE:
	case QSB__STEP_NAME_GRANT:
		break;
	}
	return false;
}

/*
 * Decides, with the chain of mounts that contain each one, when its source is to be cloned. The chain is short: only
 * ancestors of the present path stay on it.
 */
static void decide_order(struct qsb__mounts *mounts)
{
	const struct qsb__mount *chain[128];
	size_t depth = 0;

	for (size_t i = 0; i < mounts->count; i++) {
		struct qsb__mount *mount = &mounts->list[i];
		bool out_of_sight, in_writable;

		while (depth > 0 && !lies_in(mount->path, chain[depth - 1]->path))
			depth--;
		out_of_sight = depth > 0 ? chain[depth - 1]->source != QSB__SOURCE_HOST : mounts->empty_root;
		in_writable = depth > 0 ? chain[depth - 1]->source == QSB__SOURCE_HOST && chain[depth - 1]->writable
					: mounts->root_writable;
		if (mount->source == QSB__SOURCE_HOST) {
			mount->early = out_of_sight || (mount->writable && !in_writable);
			mount->set_read_only =
				!mount->writable && (mounts->root_writable || (in_writable && !mount->early));
		}
		/* A folder that nobody can list, but with something inside that can be reached. */
		if (mount->source == QSB__SOURCE_MASK_DIR && i + 1 < mounts->count &&
		    lies_in(mounts->list[i + 1].path, mount->path)) {
			set_scratch(mount, 0111, i);
			mount->writable = false;
		}
		if (depth < sizeof(chain) / sizeof(chain[0]))
			chain[depth++] = mount;
	}
}

static bool is_plain(const struct qsb__mount *mount, const struct qsb__plan *plan)
{
	/* The command's own first folder is entered before anybody answers. */
	return !plan->report_denials || lies_in(plan->cwd, mount->path);
}

/* Gives the masks that tell their numbers. */
static int list_masks(struct qsb__mounts *mounts, const struct qsb__plan *plan, struct qsb_error *err)
{
	struct qsb__mask_list *masks = &mounts->masks;

	masks->list = calloc(mounts->count + 1, sizeof(*masks->list));
	if (!masks->list)
		return qsb__fail_memory(err, "mounts");
	masks->plan = plan;
	masks->user = getuid();
	masks->group = getgid();
	masks->time_s = time(NULL);
	for (size_t i = 0; i < mounts->count; i++) {
		struct qsb__mount *mount = &mounts->list[i];
		bool is_mask = mount->source == QSB__SOURCE_MASK_FILE || mount->source == QSB__SOURCE_MASK_DIR;

		/* Masked folders with something inside are scratch space by now. */
		mounts->plain_masks += mount->source == QSB__SOURCE_SCRATCH && !mount->writable;
		if (!is_mask)
			continue;
		if (is_plain(mount, plan)) {
			mounts->plain_masks++;
			continue;
		}
		masks->list[masks->count] =
			(struct qsb__mask){.path = mount->path, .rule = mount->rule, .is_dir = mount->is_dir};
		mount->mask = ++masks->count;
	}
	return 0;
}

int qsb__mounts_prepare(struct qsb__mounts *mounts, const struct qsb__plan *plan, struct qsb_error *err)
{
	bool sorted = true;
	size_t planned;
	int code;

	memset(mounts, 0, sizeof(*mounts));
	mounts->guard_kernel = getuid() == 0;
	mounts->list = calloc(plan->step_count + 1, sizeof(*mounts->list));
	if (!mounts->list)
		return qsb__fail_memory(err, "mounts");
	for (size_t i = 0; i < plan->step_count; i++) {
		if (!translate(mounts, &plan->steps[i], &mounts->list[mounts->count]))
			continue;
		if (mounts->count > 0 &&
		    compare_paths(mounts->list[mounts->count - 1].path, mounts->list[mounts->count].path) > 0)
			sorted = false;
		mounts->count++;
	}
	planned = mounts->count;
	code = qsb__mounts_add_aliases(mounts, err);
	if (code != 0)
		return code;
	if (!sorted || mounts->count > planned)
		qsort(mounts->list, mounts->count, sizeof(*mounts->list), compare_mounts);
	decide_order(mounts);
	code = list_masks(mounts, plan, err);
	if (code != 0)
		return code;
	if (plan->tmp_bytes) {
		uint64_t inodes = plan->tmp_bytes / BYTES_PER_INODE;

		/* An empty file has no size, but costs the kernel about a kilobyte. */
		snprintf(mounts->size, sizeof(mounts->size), "%llu", (unsigned long long)plan->tmp_bytes);
		snprintf(mounts->inodes, sizeof(mounts->inodes), "%llu",
			 (unsigned long long)(inodes < FEWEST_INODES ? FEWEST_INODES : inodes));
	}
	return 0;
}

void qsb__mounts_clear(struct qsb__mounts *mounts)
{
	for (size_t i = 0; i < mounts->alias_count; i++)
		free(mounts->aliases[i]);
	free(mounts->aliases);
	free(mounts->masks.list);
	free(mounts->list);
	memset(mounts, 0, sizeof(*mounts));
}
