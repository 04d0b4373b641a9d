/*
 * Landlock: a second fence behind the mounts. Only what changes files is handled: writing, making and removing names.
 * It holds at the inode, so a descriptor, a mount or a /proc detour that got past the mounts still meets it; and it
 * tells kinds of files apart, which mounts cannot: FIFOs and device nodes are made in private places only.
 * Its scopes cut abstract unix sockets and signals off where the network or process namespace is shared.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/linux/abi.h"
#include "backend/linux/sandbox.h"
#include "core/cleanup.h"
#include "core/error.h"

enum { ABI_REFER = 2, ABI_TRUNCATE = 3, ABI_SCOPE = 6 };

#define FILE_CHANGES  (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)
#define SPECIAL_FILES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO)
#define TREE_CHANGES                                                                                                   \
	(FILE_CHANGES | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |                    \
	 LANDLOCK_ACCESS_FS_REFER)
#define HANDLED (TREE_CHANGES | SPECIAL_FILES)

int qsb__landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version > 0 ? (int)version : 0;
}

/* The rights that this kernel's version knows. */
static uint64_t known(uint64_t rights, int version)
{
	if (version < ABI_REFER)
		rights &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
	if (version < ABI_TRUNCATE)
		rights &= ~(uint64_t)LANDLOCK_ACCESS_FS_TRUNCATE;
	return rights;
}

static int allow_fd(int ruleset, int fd, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};

	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 ? 0 : -errno;
}

static int allow_path(const struct qsb__sandbox *sandbox, int ruleset, const char *path, uint64_t rights)
{
	QSB_CLEANUP_FD int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		return -errno;
	if (!S_ISDIR(status.st_mode))
		rights &= FILE_CHANGES;
	return allow_fd(ruleset, fd, known(rights, sandbox->landlock_abi));
}

/*
 * A caller may have given a file of the host as stdout. "echo x >/dev/stderr" opens it anew, which must go on working:
 * that file, and it alone, may be written.
 */
static int allow_streams(const struct qsb__sandbox *sandbox, int ruleset)
{
	for (int i = 0; i < 3 && !sandbox->launch->tty; i++) {
		int fd = sandbox->launch->stdio[i];
		struct stat status;

		if (fd < 0 || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY || fstat(fd, &status) != 0)
			continue;
		if (S_ISREG(status.st_mode) || S_ISCHR(status.st_mode)) {
			int code = allow_fd(ruleset, fd, known(FILE_CHANGES, sandbox->landlock_abi));

			/* EBADFD: a file of no file system, which Landlock does not judge. */
			if (code != 0 && code != -EBADFD && code != -EINVAL)
				return code;
		}
	}
	return 0;
}

static int allow_mounts(const struct qsb__sandbox *sandbox, int ruleset)
{
	const struct qsb__mounts *mounts = &sandbox->mounts;
	int code = 0;

	if (mounts->root_writable)
		code = allow_path(sandbox, ruleset, "/", TREE_CHANGES);
	for (size_t i = 0; code == 0 && i < mounts->count; i++) {
		const struct qsb__mount *mount = &mounts->list[i];

		if (mount->source == QSB__SOURCE_HOST && mount->writable)
			code = allow_path(sandbox, ruleset, mount->path, TREE_CHANGES);
		else if (mount->source == QSB__SOURCE_SCRATCH && mount->writable)
			code = allow_path(sandbox, ruleset, mount->path, TREE_CHANGES | LANDLOCK_ACCESS_FS_MAKE_FIFO);
		else if (mount->source == QSB__SOURCE_PROC)
			code = allow_path(sandbox, ruleset, mount->path, FILE_CHANGES);
		else if (mount->source == QSB__SOURCE_DEV)
			code = allow_path(sandbox, ruleset, mount->path, TREE_CHANGES | LANDLOCK_ACCESS_FS_MAKE_FIFO);
	}
	return code;
}

int qsb__landlock_apply(const struct qsb__sandbox *sandbox, struct qsb_error *err)
{
	struct qsb__landlock_ruleset attributes = {.handled_access_fs = known(HANDLED, sandbox->landlock_abi)};
	size_t size = sizeof(attributes.handled_access_fs);
	QSB_CLEANUP_FD int ruleset = -1;
	int code;

	/* A sandbox inside makes mounts, which Landlock forbids altogether. */
	if (sandbox->landlock_abi == 0 || sandbox->plan->allow_nested_sandbox)
		return 0;
	if (sandbox->landlock_abi >= ABI_SCOPE) {
		attributes.scoped = QSB__LANDLOCK_SCOPE_ABSTRACT_UNIX | QSB__LANDLOCK_SCOPE_SIGNAL;
		size = sizeof(attributes);
	}
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
	if (ruleset < 0)
		return qsb__fail_os(err, errno, "landlock", "cannot make a ruleset");
	code = allow_mounts(sandbox, ruleset);
	if (code == 0)
		code = allow_streams(sandbox, ruleset);
	if (code != 0)
		return qsb__fail_os(err, -code, "landlock", "cannot add a rule");
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
		return qsb__fail_os(err, errno, "landlock", "cannot restrict the command");
	return 0;
}
