#include "os/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "core/path.h"

extern char **environ;

/* What a struct qsb__host of a real machine points to. */
struct facts {
	int home_fd; /* most questions are about files below the home folder: asked from here they cost less */
	size_t home_length;
	char home[QSB__PATH_MAX];
	char cwd[QSB__PATH_MAX];
	char program[QSB__PATH_MAX];
	char user_name[256];
};

static enum qsb__file_kind kind_of_mode(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return QSB__FILE_PLAIN;
	case S_IFDIR:
		return QSB__FILE_DIR;
	case S_IFLNK:
		return QSB__FILE_LINK;
	case S_IFSOCK:
		return QSB__FILE_SOCKET;
	default:
		return QSB__FILE_OTHER;
	}
}

/* The folder to start from and what is left of the path. */
static int start_of(const struct facts *facts, const char **path)
{
	if (facts->home_fd < 0 || strncmp(*path, facts->home, facts->home_length) != 0 ||
	    (*path)[facts->home_length] != '/' || !(*path)[facts->home_length + 1])
		return AT_FDCWD;
	*path += facts->home_length + 1;
	return facts->home_fd;
}

static enum qsb__file_kind host_kind(void *context, const char *path)
{
	int folder = start_of(context, &path);
	struct stat status;

	return fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) ? QSB__FILE_MISSING : kind_of_mode(status.st_mode);
}

static unsigned host_links(void *context, const char *path)
{
	int folder = start_of(context, &path);
	struct stat status;

	if (fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
		return 0;
	return (unsigned)status.st_nlink;
}

/* Inside, the command has this user and these groups and no privilege, so the answer is the same there. A folder that
 * can be entered is not shut, though its names are not to be had. */
static bool host_sealed(void *context, const char *path, bool is_dir)
{
	int folder = start_of(context, &path);

	return faccessat(folder, path, R_OK, 0) != 0 && errno == EACCES &&
	       (!is_dir || (faccessat(folder, path, X_OK, 0) != 0 && errno == EACCES));
}

/* One step of a resolution: `rest` is what is still to be walked, `out` what is settled. */
struct walk {
	char *out;
	size_t length, size;
	char rest[2 * QSB__PATH_MAX];
	unsigned links;
};

/* Puts the target of the link at `out` in front of the rest. */
static int follow(struct walk *walk, size_t parent)
{
	char target[QSB__PATH_MAX];
	ssize_t got = readlink(walk->out, target, sizeof(target));
	size_t left = strlen(walk->rest);

	if (got < 0)
		return -errno;
	if (++walk->links > 40)
		return -ELOOP;
	if ((size_t)got >= sizeof(target) || (size_t)got + left + 2 > sizeof(walk->rest))
		return -ENAMETOOLONG;
	memmove(walk->rest + got + 1, walk->rest, left + 1);
	walk->rest[got] = '/';
	memcpy(walk->rest, target, (size_t)got);
	walk->length = target[0] == '/' ? 0 : parent;
	walk->out[walk->length] = '\0';
	return 0;
}

static int step(struct walk *walk, const char *part, size_t size)
{
	size_t parent = walk->length;
	struct stat status;

	if (size == 2 && part[0] == '.' && part[1] == '.') {
		while (walk->length > 0 && walk->out[--walk->length] != '/')
			;
		walk->out[walk->length] = '\0';
		return 0;
	}
	if (walk->length + size + 2 > walk->size)
		return -ENAMETOOLONG;
	walk->out[walk->length++] = '/';
	memmove(walk->out + walk->length, part, size);
	walk->length += size;
	walk->out[walk->length] = '\0';
	if (lstat(walk->out, &status)) /* missing, or not to be looked at: kept as it is written */
		return errno == EACCES ? -EACCES : 0;
	return S_ISLNK(status.st_mode) ? follow(walk, parent) : 0;
}

static int host_resolve(void *context, const char *path, char *out, size_t size)
{
	struct walk walk = {.out = out, .size = size};

	if (strlen(path) >= QSB__PATH_MAX || size < 2)
		return -ENAMETOOLONG;
	memcpy(walk.rest, path, strlen(path) + 1);
	out[0] = '\0';
	while (walk.rest[0]) {
		char part[QSB__PATH_MAX];
		size_t lead = strspn(walk.rest, "/");
		size_t length = strcspn(walk.rest + lead, "/");
		int result = 0;

		if (length >= sizeof(part))
			return -ENAMETOOLONG;
		memcpy(part, walk.rest + lead, length);
		memmove(walk.rest, walk.rest + lead + length, strlen(walk.rest + lead + length) + 1);
		if (length && !(length == 1 && part[0] == '.'))
			result = step(&walk, part, length);
		if (result)
			return result;
	}
	if (walk.length == 0)
		memcpy(out, "/", 2);
	return 0;
}

static enum qsb__file_kind kind_of_entry(int folder, const char *name, unsigned char type)
{
	struct stat status;

	switch (type) {
	case DT_REG:
		return QSB__FILE_PLAIN;
	case DT_DIR:
		return QSB__FILE_DIR;
	case DT_LNK:
		return QSB__FILE_LINK;
	case DT_SOCK:
		return QSB__FILE_SOCKET;
	case DT_UNKNOWN: /* some file systems do not say */
		return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) ? QSB__FILE_MISSING
									   : kind_of_mode(status.st_mode);
	default:
		return QSB__FILE_OTHER;
	}
}

/* Straight from the kernel: opendir and readdir would add three calls and an allocation to each of the many folders
 * that are looked through at the start. */
static int host_list(void *context, const char *path, int (*each)(void *to, const char *name, enum qsb__file_kind kind),
		     void *to)
{
	int start = start_of(context, &path);
	QSB_CLEANUP_FD int fd = openat(start, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	alignas(struct dirent64) char buffer[16 * 1024];
	ssize_t got;

	if (fd < 0)
		return -errno;
	while ((got = getdents64(fd, buffer, sizeof(buffer))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(const void *)(buffer + at);
			const char *name = entry->d_name;
			int result = 0;

			at += entry->d_reclen;
			if (name[0] != '.' || (name[1] && (name[1] != '.' || name[2])))
				result = each(to, name, kind_of_entry(fd, name, entry->d_type));
			if (result)
				return result;
		}
	}
	return got < 0 ? -errno : 0;
}

static int host_read(void *context, const char *path, char *out, size_t size)
{
	int start = start_of(context, &path);
	QSB_CLEANUP_FD int fd = openat(start, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;
	ssize_t got;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	do {
		got = read(fd, out, size - 1);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	out[got] = '\0';
	return (int)got;
}

static const struct qsb__host_ops ops = {
	.kind = host_kind,
	.resolve = host_resolve,
	.list = host_list,
	.links = host_links,
	.sealed = host_sealed,
	.read = host_read,
};

/* One field of a passwd line; *line moves on. */
static char *next_field(char **line)
{
	char *field = *line;
	size_t length = strcspn(field, ":\n");

	*line = field + length + (field[length] ? 1 : 0);
	field[length] = '\0';
	return field;
}

/* The program is static, where getpwuid would load libraries: the file is read by hand. */
static void read_passwd(struct facts *facts, uid_t uid, bool want_home)
{
	FILE *file = fopen("/etc/passwd", "re");
	char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		char *rest = line, *end;
		const char *name = next_field(&rest), *home;
		unsigned long number;

		next_field(&rest);
		number = strtoul(rest, &end, 10);
		if (end == rest || *end != ':' || number != uid)
			continue;
		next_field(&rest);
		next_field(&rest);
		next_field(&rest);
		home = next_field(&rest);
		snprintf(facts->user_name, sizeof(facts->user_name), "%s", name);
		if (want_home && home[0] == '/' && strlen(home) < sizeof(facts->home))
			memcpy(facts->home, home, strlen(home) + 1);
		break;
	}
	free(line);
	if (file)
		fclose(file);
}

static void find_home(struct facts *facts)
{
	const char *home = getenv("HOME"), *user = getenv("USER");
	bool named = home && home[0] == '/' && strlen(home) < sizeof(facts->home);
	char real[QSB__PATH_MAX];

	if (named)
		memcpy(facts->home, home, strlen(home) + 1);
	if (user)
		snprintf(facts->user_name, sizeof(facts->user_name), "%s", user);
	if (!named || !user)
		read_passwd(facts, getuid(), !named);
	if (facts->home[0] && host_resolve(facts, facts->home, real, sizeof(real)) == 0)
		memcpy(facts->home, real, strlen(real) + 1);
	facts->home_length = strlen(facts->home);
	if (facts->home_length > 1)
		facts->home_fd = open(facts->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void find_program(struct facts *facts)
{
	ssize_t got = readlink("/proc/self/exe", facts->program, sizeof(facts->program) - 1);

	facts->program[got > 0 ? got : 0] = '\0';
}

int qsb__host_init(struct qsb__host *host, struct qsb_error *err)
{
	struct facts *facts = calloc(1, sizeof(*facts));

	memset(host, 0, sizeof(*host));
	if (!facts)
		return qsb__fail_memory(err, "host");
	facts->home_fd = -1;
	if (!getcwd(facts->cwd, sizeof(facts->cwd)) || facts->cwd[0] != '/') {
		int problem = errno ? errno : ENOENT;

		free(facts);
		return qsb__fail_os(err, problem, "host",
				    "cannot tell the name of the current folder; change to one that exists");
	}
	find_home(facts);
	find_program(facts);
	host->os = QSB__OS_LINUX;
	host->uid = getuid();
	host->home = facts->home[0] ? facts->home : NULL;
	host->user_name = facts->user_name[0] ? facts->user_name : NULL;
	host->cwd = facts->cwd;
	host->runtime_dir = getenv("XDG_RUNTIME_DIR");
	host->program = facts->program[0] ? facts->program : NULL;
	host->environment = environ;
	host->ops = &ops;
	host->context = facts;
	return 0;
}

void qsb__host_clear(struct qsb__host *host)
{
	struct facts *facts = host->context;

	if (facts && facts->home_fd >= 0)
		close(facts->home_fd);
	free(facts);
	memset(host, 0, sizeof(*host));
}
