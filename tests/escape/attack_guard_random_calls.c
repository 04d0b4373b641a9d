/* The calls that exist in several forms: with and without a folder, with flags, by descriptor, old and new. */
#include "attack_guard_random.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { BAD_ADDRESS = 8, nr_fchmodat2 = 452, KINDS_OLD = 12 };

static const void *nowhere(void)
{
	return (const void *)(uintptr_t)BAD_ADDRESS;
}

static int some_flags(void)
{
	static const int flags[] = {0,      0, 0, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, AT_SYMLINK_FOLLOW, AT_REMOVEDIR,
				    1 << 20};

	return flags[random_below(sizeof(flags) / sizeof(*flags))];
}

/* Without a folder: what older architectures have, and programs built for them still call. */
void random_old_call(void)
{
#ifdef SYS_open
	unsigned kind = random_below(KINDS_OLD);
	const char *path = random_path(0), *other = random_path(1);
	mode_t mode = random_mode();
	long fd;

	switch (kind) {
	case 0:
	case 1:
		fd = syscall(SYS_open, path, (random_below(2) ? O_CREAT : 0) | O_RDWR | O_NONBLOCK, mode);
		random_tell("open()", 1, fd);
		random_keep(fd);
		break;
	case 2:
		/* Not of a FIFO: it would wait, which is compared elsewhere. */
		syscall(SYS_unlink, path);
		fd = syscall(SYS_creat, path, mode);
		random_tell("creat", 1, fd);
		random_keep(fd);
		break;
	case 3:
		random_tell("mkdir()", 1, syscall(SYS_mkdir, path, mode | 0700U));
		break;
	case 4:
		random_tell("mknod()", 1, syscall(SYS_mknod, path, random_below(4) ? S_IFREG | mode : mode, 0));
		break;
	case 5:
		random_tell("symlink()", 3, syscall(SYS_symlink, other, path));
		break;
	case 6:
		random_tell("link()", 3, syscall(SYS_link, other, path));
		break;
	case 7:
		random_tell("rename()", 3, syscall(SYS_rename, other, path));
		break;
	case 8:
		random_tell("unlink()", 1, syscall(SYS_unlink, path));
		break;
	case 9:
		random_tell("rmdir()", 1, syscall(SYS_rmdir, path));
		break;
	case 10:
		random_tell("chmod()", 1, syscall(SYS_chmod, path, mode | 0600U));
		break;
	default:
		random_tell("renameat", 3, syscall(SYS_renameat, random_folder(), other, random_folder(), path));
	}
#else
	random_new_call();
#endif
}

void random_new_call(void)
{
	const char *path = random_path(0), *other = random_path(1);
	int folder = random_folder(), flags = some_flags();

	switch (random_below(6)) {
	case 0:
	case 1:
		random_tell("fchmodat2", 1, syscall(nr_fchmodat2, folder, path, random_mode() | 0600U, flags));
		break;
	case 2:
		random_tell("linkat", 3,
			    syscall(SYS_linkat, random_folder(), other, folder, path, flags & ~random_inherited()));
		break;
	case 3:
		random_tell("linkat by descriptor", 1,
			    syscall(SYS_linkat, random_file(), "", folder, path,
				    (random_below(4) ? AT_EMPTY_PATH : 0) & ~random_inherited()));
		break;
	case 4:
		random_tell("unlinkat", 1, syscall(SYS_unlinkat, folder, path, flags));
		break;
	default:
		random_tell("renameat2", 3,
			    syscall(SYS_renameat2, random_folder(), other, folder, path, random_below(10)));
	}
}

/* A default ACL: what is made below gets it, whatever the umask says. */
static size_t access_list(unsigned char *to)
{
	static const struct {
		uint16_t tag, rights;
	} entries[] = {{0x01, 7}, {0x04, 5}, {0x10, 5}, {0x20, 1}};
	uint32_t version = 2, nobody = UINT32_MAX;
	size_t size = sizeof(version);

	memcpy(to, &version, size);
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		uint16_t rights = random_below(3) ? entries[i].rights : (uint16_t)random_below(8);

		memcpy(to + size, &entries[i].tag, 2);
		memcpy(to + size + 2, &rights, 2);
		memcpy(to + size + 4, &nobody, 4);
		size += 8;
	}
	return size;
}

static const char *attribute_name(void)
{
	static char longest[300];
	static const char *const names[] = {"user.a",     "user.b", "user.c",       "user.",
					    "",           "plain",  "trusted.x",    "security.x",
					    "system.odd", longest,  "user.\xc3\xa9"};

	memset(longest, 'x', 260);
	memcpy(longest, "user.", 5);
	return random_below(30) ? names[random_below(sizeof(names) / sizeof(*names))] : (const char *)nowhere();
}

void random_attribute(void)
{
	static const size_t sizes[] = {0, 1, 5, 200, 70000};
	static unsigned char value[70000];
	const char *path = random_path(0), *name = attribute_name();
	const void *from = random_below(20) ? value : nowhere();
	size_t size = sizes[random_below(random_below(4) ? 3 : 5)];
	int flags = (int)random_below(random_below(3) ? 1 : 5), file = random_file();

	memset(value, 'a' + (int)random_below(26), sizeof(value));
	if (random_below(4) == 0) {
		name = random_below(3) ? "system.posix_acl_default" : "system.posix_acl_access";
		size = access_list(value);
	}
	switch (random_below(6)) {
	case 0:
		random_tell("setxattr", 1, syscall(SYS_setxattr, path, name, from, size, flags));
		break;
	case 1:
		random_tell("lsetxattr", 1, syscall(SYS_lsetxattr, path, name, from, size, flags));
		break;
	case 2:
		random_tell("fsetxattr", 0, syscall(SYS_fsetxattr, file, name, from, size, flags));
		break;
	case 3:
		random_tell("removexattr", 1, syscall(SYS_removexattr, path, name));
		break;
	case 4:
		random_tell("lremovexattr", 1, syscall(SYS_lremovexattr, path, name));
		break;
	default:
		random_tell("fremovexattr", 0, syscall(SYS_fremovexattr, file, name));
	}
}

static long a_nanosecond(void)
{
	static const long values[] = {0, 5, 999999999, 1000000000, -1, UTIME_OMIT, UTIME_OMIT};

	return values[random_below(sizeof(values) / sizeof(*values))];
}

/* Not "now": that differs from run to run. */
void random_times(void)
{
	struct timespec times[2] = {{1000 + random_below(9), a_nanosecond()}, {2000, a_nanosecond()}};
	const void *from = random_below(20) ? times : nowhere();
	const char *path = random_path(0);
	int folder = random_folder(), flags = some_flags();

#ifdef SYS_utime
	struct timeval values[2] = {{3000, random_below(8) ? 7 : -1}, {4000, random_below(8) ? 9 : 1000000}};
	const void *other = random_below(20) ? values : nowhere();

	switch (random_below(6)) {
	case 0:
		random_tell("utime", 1, syscall(SYS_utime, path, random_below(20) ? (void *)&times[1] : nowhere()));
		return;
	case 1:
		random_tell("utimes", 1, syscall(SYS_utimes, path, other));
		return;
	case 2:
		random_tell("futimesat", 1, syscall(SYS_futimesat, folder, path, other));
		return;
	case 3:
		random_tell("futimesat by descriptor", 0, syscall(SYS_futimesat, random_file(), NULL, other));
		return;
	}
#endif
	if (random_below(4) == 0)
		random_tell("utimensat by descriptor", 0, syscall(SYS_utimensat, random_file(), NULL, from, 0));
	else
		random_tell("utimensat", 1, syscall(SYS_utimensat, folder, path, from, flags));
}

void random_owner(void)
{
	int user = random_below(3) ? -1 : (int)(random_below(2) ? getuid() : 12345);
	int group = random_below(3) ? -1 : (int)(random_below(2) ? getgid() : 12345);
	const char *path = random_path(0);

	switch (random_below(4)) {
	case 0:
		random_tell("fchown", 0, syscall(SYS_fchown, random_file(), user, group));
		break;
#ifdef SYS_chown
	case 1:
		random_tell("chown", 1, syscall(SYS_chown, path, user, group));
		break;
	case 2:
		random_tell("lchown", 1, syscall(SYS_lchown, path, user, group));
		break;
#endif
	default:
		random_tell("fchownat", 1, syscall(SYS_fchownat, random_folder(), path, user, group, some_flags()));
	}
}

/* Every length and family; a file of a socket's is found in the tree. */
void random_bind(void)
{
	struct sockaddr_storage storage = {.ss_family = AF_UNIX};
	struct sockaddr_un *address = (struct sockaddr_un *)&storage;
	struct sockaddr_in *port = (struct sockaddr_in *)&storage;
	unsigned kind = random_below(12);
	socklen_t size;
	int fd = socket(kind == 0 ? AF_INET : AF_UNIX, random_below(2) ? SOCK_STREAM : SOCK_DGRAM, 0);

	random_path(0);
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(address->sun_path, sizeof(address->sun_path), "%.100s", random_words(0)));
	if (kind == 0) {
		port->sin_family = AF_INET;
		port->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		port->sin_port = htons(random_below(2) ? 0 : 80);
		size = sizeof(*port);
	}
	if (kind == 1)
		address->sun_path[0] = '\0'; /* a name of no file */
	if (kind == 2)
		size--; /* no NUL at the end */
	if (kind == 3)
		size = random_below(2) ? (socklen_t)random_below(4) : (socklen_t)(100 + random_below(60));
	if (kind == 4)
		memset(address->sun_path, 'y', sizeof(address->sun_path)), size = sizeof(*address);
	if (kind == 5)
		storage.ss_family = AF_INET6;
	printf("kind %u size %u\n", kind, size);
	random_tell("bind", 1,
		    syscall(SYS_bind, kind == 6 ? random_file() : fd, kind == 7 ? nowhere() : &storage, size));
	if (kind == 8)
		random_tell("bind again", 1, syscall(SYS_bind, fd, &storage, size));
	close(fd);
}

/* A file without a name, and how it gets one. */
void random_nameless(void)
{
	const char *path = random_path(0);
	int flags = O_TMPFILE | (random_below(5) ? O_RDWR : O_RDONLY) | (random_below(6) ? 0 : O_EXCL);
	long fd = syscall(SYS_openat, random_folder(), random_below(2) ? "." : path, flags, random_mode());
	char name[64];

	random_tell("nameless", 1, fd);
	if (fd < 0)
		return;
	snprintf(name, sizeof(name), random_below(2) ? "/proc/self/fd/%ld" : "/dev/fd/%ld", fd);
	if (random_below(2))
		random_tell("named by proc", 1,
			    syscall(SYS_linkat, AT_FDCWD, name, random_folder(), path, AT_SYMLINK_FOLLOW));
	else
		random_tell("named by descriptor", 1,
			    syscall(SYS_linkat, fd, "", random_folder(), path, AT_EMPTY_PATH));
	random_keep(fd);
}
