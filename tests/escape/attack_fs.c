/* Files: ways to change or read a file by its path. The tests say which path, and by what detour it is named. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { NR_FCHMODAT2 = 452 };

static const char planted[] = "planted by the attack\n";

static int write_to(const char *call, int fd)
{
	if (fd < 0)
		return attack_verdict(call, -1);
	return attack_verdict("write", write(fd, planted, sizeof(planted) - 1));
}

static int op_write(const char *path, const char *other)
{
	(void)other;
	return write_to("open", open(path, O_WRONLY | O_CLOEXEC));
}

static int op_create(const char *path, const char *other)
{
	(void)other;
	return write_to("create", open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755));
}

static int op_openat2(const char *path, const char *other)
{
	uint64_t how[3] = {O_WRONLY | O_CLOEXEC, 0, 0};

	(void)other;
	return write_to("openat2", (int)syscall(SYS_openat2, AT_FDCWD, path, how, sizeof(how)));
}

static int op_truncate(const char *path, const char *other)
{
	(void)other;
	return attack_verdict("truncate", truncate(path, 1));
}

/* Opening for reading with O_TRUNC changes the file as well. */
static int op_read_truncate(const char *path, const char *other)
{
	(void)other;
	return attack_verdict("open O_TRUNC", open(path, O_RDONLY | O_TRUNC | O_CLOEXEC));
}

static int op_unlink(const char *path, const char *other)
{
	(void)other;
	return attack_verdict("unlink", unlink(path));
}

static int op_rmdir(const char *path, const char *other)
{
	(void)other;
	return attack_verdict("rmdir", rmdir(path));
}

static int op_mkdir(const char *path, const char *other)
{
	(void)other;
	return attack_verdict("mkdir", mkdir(path, 0755));
}

static int op_symlink(const char *path, const char *other)
{
	return attack_verdict("symlink", symlink(other ? other : "/", path));
}

static int op_link(const char *path, const char *other)
{
	return attack_verdict("link", link(other, path));
}

/* By a descriptor instead of a name, which needs no right on the folder that the file lies in. */
static int op_link_fd(const char *path, const char *other)
{
	char self[64];
	int fd = open(other, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return attack_verdict("open O_PATH", -1);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return attack_verdict("linkat", linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW));
}

static int op_rename(const char *path, const char *other)
{
	return attack_verdict("rename", rename(other, path));
}

static int op_exchange(const char *path, const char *other)
{
	return attack_verdict("renameat2 EXCHANGE",
			      syscall(SYS_renameat2, AT_FDCWD, other, AT_FDCWD, path, RENAME_EXCHANGE));
}

static int op_noreplace(const char *path, const char *other)
{
	return attack_verdict("renameat2 NOREPLACE",
			      syscall(SYS_renameat2, AT_FDCWD, other, AT_FDCWD, path, RENAME_NOREPLACE));
}

static int op_chmod(const char *path, const char *other)
{
	(void)other;
	return attack_verdict("chmod", chmod(path, 0777));
}

static int op_fchmod(const char *path, const char *other)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)other;
	return fd < 0 ? attack_verdict("open", -1) : attack_verdict("fchmod", fchmod(fd, 0777));
}

static int op_chown(const char *path, const char *other)
{
	(void)other;
	return attack_verdict("chown", chown(path, getuid(), getgid()));
}

static int op_utime(const char *path, const char *other)
{
	(void)other;
	return attack_verdict("utimensat", utimensat(AT_FDCWD, path, NULL, 0));
}

static int op_xattr(const char *path, const char *other)
{
	(void)other;
	return attack_verdict("setxattr", setxattr(path, "user.planted", "1", 1, 0));
}

static int op_flags(const char *path, const char *other)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long flags = 0;

	(void)other;
	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return attack_verdict("FS_IOC_GETFLAGS", -1);
	flags ^= FS_NODUMP_FL;
	return attack_verdict("FS_IOC_SETFLAGS", ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

static int op_fifo(const char *path, const char *other)
{
	(void)other;
	return attack_verdict("mkfifo", mkfifo(path, 0600));
}

static int op_socket(const char *path, const char *other)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)other;
	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		return attack_broken("socket");
	memcpy(address.sun_path, path, strlen(path));
	return attack_verdict("bind", bind(fd, (struct sockaddr *)&address, sizeof(address)));
}

/* An unnamed file in a folder, which gets a name in it afterwards. */
static int op_tmpfile(const char *path, const char *other)
{
	char name[PATH_MAX], self[64];
	int fd = open(path, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	(void)other;
	if (fd < 0)
		return attack_verdict("open O_TMPFILE", -1);
	snprintf(name, sizeof(name), "%s/planted", path);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return attack_verdict("linkat", linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW));
}

/* A descriptor open for reading is opened again for writing by its /proc name. */
static int op_reopen(const char *path, const char *other)
{
	char self[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)other;
	if (fd < 0)
		return attack_verdict("open", -1);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return write_to("reopen", open(self, O_WRONLY | O_CLOEXEC));
}

static int op_reopen_path(const char *path, const char *other)
{
	char self[64];
	int fd = open(path, O_PATH | O_CLOEXEC);

	(void)other;
	if (fd < 0)
		return attack_verdict("open O_PATH", -1);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return write_to("reopen", open(self, O_WRONLY | O_CLOEXEC));
}

/* From a descriptor of the folder, and from it as the working folder. */
static int op_at(const char *path, const char *other)
{
	int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)other;
	if (folder < 0)
		return attack_verdict("open O_PATH", -1);
	return write_to("openat", openat(folder, "planted", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

static int op_chdir(const char *path, const char *other)
{
	(void)other;
	if (chdir(path))
		return attack_verdict("chdir", -1);
	return write_to("open", open("planted", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

static int op_map(const char *path, const char *other)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *bytes;

	(void)other;
	if (fd < 0)
		return attack_verdict("open", -1);
	bytes = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return attack_verdict("mmap", -1);
	bytes[0] = '!';
	return attack_verdict("mmap", 0);
}

/* A handle names a file without any path. */
static int op_handle(const char *path, const char *other)
{
	struct {
		struct file_handle head;
		unsigned char rest[MAX_HANDLE_SZ];
	} handle = {.head = {.handle_bytes = MAX_HANDLE_SZ}};
	int mount, id, fd;

	if (name_to_handle_at(AT_FDCWD, path, &handle.head, &id, 0))
		return attack_verdict("name_to_handle_at", -1);
	mount = open(other ? other : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mount < 0)
		return attack_broken("open");
	fd = open_by_handle_at(mount, &handle.head, O_WRONLY | O_CLOEXEC);
	return write_to("open_by_handle_at", fd);
}

struct operation {
	const char *name;
	int (*run)(const char *path, const char *other);
};

static const struct operation operations[] = {
	{"write", op_write},
	{"create", op_create},
	{"openat2", op_openat2},
	{"truncate", op_truncate},
	{"read-truncate", op_read_truncate},
	{"unlink", op_unlink},
	{"rmdir", op_rmdir},
	{"mkdir", op_mkdir},
	{"symlink", op_symlink},
	{"link", op_link},
	{"link-fd", op_link_fd},
	{"rename", op_rename},
	{"exchange", op_exchange},
	{"noreplace", op_noreplace},
	{"chmod", op_chmod},
	{"fchmod", op_fchmod},
	{"chown", op_chown},
	{"utime", op_utime},
	{"xattr", op_xattr},
	{"flags", op_flags},
	{"fifo", op_fifo},
	{"socket", op_socket},
	{"tmpfile", op_tmpfile},
	{"reopen", op_reopen},
	{"reopen-path", op_reopen_path},
	{"at", op_at},
	{"chdir", op_chdir},
	{"map", op_map},
	{"handle", op_handle},
};

/* fs OPERATION PATH [OTHER]: one change of PATH; OTHER is what is linked to or renamed into it. */
static int change_file(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(operations) / sizeof(*operations); i++) {
		if (strcmp(operations[i].name, argv[1]) == 0)
			return operations[i].run(argv[2], argc > 3 ? argv[3] : NULL);
	}
	errno = EINVAL;
	return attack_broken("fs OPERATION PATH [OTHER]");
}

/* read PATH: the first bytes of a file. */
static int read_file(int argc, char **argv)
{
	char text[256];
	int fd = open(argc > 1 ? argv[1] : "", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (length < 0)
		return attack_verdict(fd < 0 ? "open" : "read", -1);
	text[length] = 0;
	printf("content: %s\n", text);
	return attack_verdict("read", length);
}

/* list PATH: the names in a folder. */
static int list_folder(int argc, char **argv)
{
	DIR *folder = opendir(argc > 1 ? argv[1] : "");
	const struct dirent *entry;

	if (!folder)
		return attack_verdict("opendir", -1);
	errno = 0;
	while ((entry = readdir(folder)))
		printf("name: %s\n", entry->d_name);
	if (errno)
		return attack_verdict("readdir", -1);
	return attack_verdict("readdir", closedir(folder));
}

static int setid_open(const char *path, mode_t mode)
{
	return attack_verdict("open", open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
}

static int setid_creat(const char *path, mode_t mode)
{
	return attack_verdict("creat", syscall(SYS_creat, path, mode));
}

static int setid_mknod(const char *path, mode_t mode)
{
	return attack_verdict("mknod", mknod(path, S_IFREG | mode, 0));
}

/* PATH is the folder here: the file has no name until it is linked. */
static int setid_tmpfile(const char *path, mode_t mode)
{
	char *folder = strdupa(path);

	*strrchr(folder, '/') = 0;
	return attack_verdict("open O_TMPFILE", open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));
}

static int setid_chmod(const char *path, mode_t mode)
{
	return attack_verdict("chmod", syscall(SYS_chmod, path, mode));
}

static int setid_fchmod(const char *path, mode_t mode)
{
	return attack_verdict("fchmod", syscall(SYS_fchmod, open(path, O_RDONLY | O_CLOEXEC), mode));
}

static int setid_fchmodat(const char *path, mode_t mode)
{
	return attack_verdict("fchmodat", syscall(SYS_fchmodat, AT_FDCWD, path, mode));
}

static int setid_fchmodat2(const char *path, mode_t mode)
{
	return attack_verdict("fchmodat2", syscall(NR_FCHMODAT2, AT_FDCWD, path, mode, 0));
}

/* A mode word whose high half is set: the kernel looks at the low bits only. */
static int setid_high_bits(const char *path, mode_t mode)
{
	return attack_verdict("chmod", syscall(SYS_chmod, path, 0x5a5a00000000UL | 0xffff0000UL | mode));
}

static const struct {
	const char *name;
	bool needs_file;
	int (*run)(const char *path, mode_t mode);
} setid_ways[] = {
	{"open", false, setid_open},        {"creat", false, setid_creat},        {"mknod", false, setid_mknod},
	{"tmpfile", false, setid_tmpfile},  {"chmod", true, setid_chmod},         {"fchmod", true, setid_fchmod},
	{"fchmodat", true, setid_fchmodat}, {"fchmodat2", true, setid_fchmodat2}, {"high-bits", true, setid_high_bits},
};

/* setid WAY MODE PATH: a file whose mode has set-id bits, by every call that can give one. */
static int make_setid(int argc, char **argv)
{
	mode_t mode = (mode_t)attack_number(argc > 3 ? argv[2] : NULL);

	for (size_t i = 0; i < sizeof(setid_ways) / sizeof(*setid_ways); i++) {
		if (strcmp(setid_ways[i].name, argv[1]) != 0)
			continue;
		if (setid_ways[i].needs_file && open(argv[3], O_RDWR | O_CREAT | O_CLOEXEC, 0755) < 0)
			return attack_broken("open");
		return setid_ways[i].run(argv[3], mode);
	}
	errno = EINVAL;
	return attack_broken("setid WAY MODE PATH");
}

const struct attack attacks_fs[] = {
	{"fs", change_file}, {"read", read_file}, {"list", list_folder}, {"setid", make_setid}, {NULL, NULL},
};
