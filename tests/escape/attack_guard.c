/*
 * Routes to a name that a live rule denies: `guard ROUTE`, started in a folder that guard_rules.py has prepared:
 *   deep/old.key deep/dir.key/f   denied names that exist       (rule: any name that ends in .key)
 *   deep/new.key                  one that does not
 *   hold/                         holds no "secret" yet         (rules: hold/secret, gone/secret)
 *   prep/secret conf/rc           what would be denied elsewhere (rule: .conf/rc at any depth)
 *   plain sub/                    an ordinary file and folder
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NEW_NAME   attack_name("deep/new.key")
#define OLD_NAME   attack_name("deep/old.key")
#define OLD_FOLDER attack_name("deep/dir.key")

static long must(const char *step, long result)
{
	if (result < 0)
		exit(attack_broken(step));
	return result;
}

/* Opens and, where the flags allow it, writes. */
static long put(int folder, const char *path, int flags)
{
	int fd = openat(folder, path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	if ((flags & O_ACCMODE) != O_RDONLY && write(fd, "planted", 7) != 7)
		return -1;
	return close(fd);
}

static long make(const char *path)
{
	return put(AT_FDCWD, path, O_CREAT | O_WRONLY);
}

static long create(void)
{
	return make(NEW_NAME);
}

static long create_exclusive(void)
{
	return put(AT_FDCWD, NEW_NAME, O_CREAT | O_EXCL | O_RDWR);
}

static long create_to_read(void)
{
	return put(AT_FDCWD, NEW_NAME, O_CREAT | O_RDONLY);
}

static long create_old_call(void)
{
	return creat(NEW_NAME, 0644);
}

static long write_old(void)
{
	return put(AT_FDCWD, OLD_NAME, O_WRONLY);
}

static long append_old(void)
{
	return put(AT_FDCWD, OLD_NAME, O_WRONLY | O_APPEND);
}

static long truncate_reading(void)
{
	return put(AT_FDCWD, OLD_NAME, O_RDONLY | O_TRUNC);
}

static long truncate_path(void)
{
	return truncate(OLD_NAME, 0);
}

static long create_below(void)
{
	return make(attack_name("deep/dir.key/new"));
}

static long nameless_by_proc(void)
{
	int fd = (int)must("O_TMPFILE", open(".", O_TMPFILE | O_RDWR, 0644));
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, AT_FDCWD, NEW_NAME, AT_SYMLINK_FOLLOW);
}

static long nameless_by_descriptor(void)
{
	int fd = (int)must("O_TMPFILE", open(".", O_TMPFILE | O_RDWR, 0644));

	return linkat(fd, "", AT_FDCWD, NEW_NAME, AT_EMPTY_PATH);
}

static long rename_file(void)
{
	return rename("plain", NEW_NAME);
}

static long rename_over(void)
{
	return rename("plain", OLD_NAME);
}

static long rename_away(void)
{
	return rename(OLD_NAME, "taken");
}

static long rename_folder_away(void)
{
	return rename(OLD_FOLDER, "taken");
}

static long rename_holder(void)
{
	return rename("prep", attack_name("gone"));
}

static long rename_floating_holder(void)
{
	return rename("conf", attack_name("sub/.conf"));
}

static long exchange_holders(void)
{
	return renameat2(AT_FDCWD, "prep", AT_FDCWD, attack_name("hold"), RENAME_EXCHANGE);
}

static long exchange_files(void)
{
	return renameat2(AT_FDCWD, "plain", AT_FDCWD, OLD_NAME, RENAME_EXCHANGE);
}

static long link_at_beginning(void)
{
	return symlink("prep", attack_name("gone"));
}

static long link_moved_to_beginning(void)
{
	must("symlink", symlink("prep", "other"));
	return rename("other", attack_name("gone"));
}

static long link_linked_to_beginning(void)
{
	must("symlink", symlink("prep", "other"));
	return link("other", attack_name("gone"));
}

static long link_at_floating_beginning(void)
{
	return symlink("../conf", attack_name("sub/.conf"));
}

static long symlink_name(void)
{
	return symlink("plain", NEW_NAME);
}

static long hard_link_to(void)
{
	return link("plain", NEW_NAME);
}

static long hard_link_from(void)
{
	must("link", link(OLD_NAME, "alias"));
	return put(AT_FDCWD, "alias", O_WRONLY);
}

static long hard_link_from_descriptor(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%ld", must("open", open(OLD_NAME, O_RDONLY)));
	return linkat(AT_FDCWD, path, AT_FDCWD, "alias", AT_SYMLINK_FOLLOW);
}

static long reopen(const char *format, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), format, (int)must("open", open(OLD_NAME, flags)));
	return put(AT_FDCWD, path, O_WRONLY);
}

static long reopen_proc(void)
{
	return reopen("/proc/self/fd/%d", O_RDONLY);
}

static long reopen_dev(void)
{
	return reopen("/dev/fd/%d", O_RDONLY);
}

static long reopen_place(void)
{
	return reopen("/proc/self/fd/%d", O_PATH);
}

static long reopen_thread(void)
{
	return reopen("/proc/thread-self/fd/%d", O_RDONLY);
}

static long mode_of_descriptor(void)
{
	return fchmod((int)must("open", open(OLD_NAME, O_RDONLY)), 0777);
}

static long attribute_of_descriptor(void)
{
	return fsetxattr((int)must("open", open(OLD_NAME, O_RDONLY)), "user.x", "1", 1, 0);
}

static long mode_of_path(void)
{
	return chmod(OLD_NAME, 0777);
}

static long mode_by_new_call(void)
{
	return syscall(452 /* fchmodat2 */, AT_FDCWD, OLD_NAME, 0777, 0);
}

static long attribute_of_path(void)
{
	return setxattr(OLD_NAME, "user.x", "1", 1, 0);
}

static long attribute_by_new_call(void)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} arguments = {(uintptr_t) "1", 1, 0};

	return syscall(463 /* setxattrat */, AT_FDCWD, OLD_NAME, 0, "user.x", &arguments, sizeof(arguments));
}

static long times_of_path(void)
{
	return utimensat(AT_FDCWD, OLD_NAME, NULL, 0);
}

static long remove_name(void)
{
	return unlink(OLD_NAME);
}

static long remove_below(void)
{
	return unlink(attack_name("deep/dir.key/f"));
}

static long make_folder(void)
{
	return mkdir(NEW_NAME, 0755);
}

static long make_node(void)
{
	return mknod(NEW_NAME, S_IFREG | 0644, 0);
}

static long by_folder(void)
{
	return put((int)must("open", open("deep", O_RDONLY | O_DIRECTORY)), attack_name("new.key"), O_CREAT | O_WRONLY);
}

static long by_place(void)
{
	return put((int)must("open", open("deep", O_PATH)), attack_name("new.key"), O_CREAT | O_WRONLY);
}

static long by_working_folder(void)
{
	must("chdir", chdir("deep"));
	return make(attack_name("new.key"));
}

static long by_folder_that_moves(void)
{
	int folder = (int)must("open", open("prep", O_RDONLY | O_DIRECTORY));

	must("unlink", unlink(attack_name("prep/secret")));
	must("rename", rename("prep", attack_name("gone")));
	return put(folder, attack_name("secret"), O_CREAT | O_WRONLY);
}

static long by_proc(const char *format)
{
	char here[PATH_MAX], path[2 * PATH_MAX];

	must("getcwd", getcwd(here, sizeof(here)) ? 0 : -1);
	snprintf(path, sizeof(path), format, here);
	return make(path);
}

static long by_proc_folder(void)
{
	return make(attack_name("/proc/self/cwd/deep/new.key"));
}

static long by_proc_thread(void)
{
	return make(attack_name("/proc/thread-self/cwd/deep/new.key"));
}

static long by_proc_root(void)
{
	return by_proc(attack_name("/proc/self/root%s/deep/new.key"));
}

static long by_absolute_path(void)
{
	return by_proc(attack_name("%s/deep/new.key"));
}

static long by_dots(void)
{
	return make(attack_name("sub/.././/deep/../deep/new.key"));
}

static long by_link_upwards(void)
{
	must("symlink", symlink("..", "sub/up"));
	return make(attack_name("sub/up/deep/new.key"));
}

static long by_dangling_link(void)
{
	must("symlink", symlink(NEW_NAME, "out"));
	return make("out");
}

static long by_links_of_links(void)
{
	must("symlink", symlink(NEW_NAME, "out"));
	must("symlink", symlink("/proc/self/cwd/out", "outer"));
	return make("outer");
}

static long by_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", NEW_NAME);
	return bind((int)must("socket", socket(AF_UNIX, SOCK_STREAM, 0)), (struct sockaddr *)&address, sizeof(address));
}

static long by_openat2(void)
{
	struct open_how how = {.flags = O_CREAT | O_WRONLY, .mode = 0644};

	return syscall(SYS_openat2, AT_FDCWD, NEW_NAME, &how, sizeof(how));
}

/* A filter of one's own on top may only take away. */
static long under_own_filter(unsigned answer)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, answer)};
	struct sock_fprog program = {1, code};
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
			_exit(2);
		_exit(make(NEW_NAME) == 0 ? 0 : 1);
	}
	must("fork", child);
	must("wait", waitpid(child, &status, 0));
	errno = EACCES;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static long under_allowing_filter(void)
{
	return under_own_filter(SECCOMP_RET_ALLOW);
}

static long under_tracing_filter(void)
{
	/* Outside, without a tracer, the call fails as well: the control is the same filter that allows. */
	if (getenv("QSB_CONTROL"))
		return under_own_filter(SECCOMP_RET_ALLOW);
	return under_own_filter(SECCOMP_RET_TRACE);
}

static const struct route {
	const char *name;
	long (*run)(void);
} routes[] = {
	{"create", create},
	{"create-exclusive", create_exclusive},
	{"create-to-read", create_to_read},
	{"creat", create_old_call},
	{"write", write_old},
	{"append", append_old},
	{"truncate-reading", truncate_reading},
	{"truncate", truncate_path},
	{"create-below", create_below},
	{"nameless-by-proc", nameless_by_proc},
	{"nameless-by-descriptor", nameless_by_descriptor},
	{"rename-to", rename_file},
	{"rename-over", rename_over},
	{"rename-away", rename_away},
	{"rename-folder-away", rename_folder_away},
	{"rename-holder", rename_holder},
	{"rename-floating-holder", rename_floating_holder},
	{"exchange-holders", exchange_holders},
	{"exchange-files", exchange_files},
	{"link-at-beginning", link_at_beginning},
	{"link-moved-to-beginning", link_moved_to_beginning},
	{"link-linked-to-beginning", link_linked_to_beginning},
	{"link-at-floating-beginning", link_at_floating_beginning},
	{"symlink", symlink_name},
	{"hard-link-to", hard_link_to},
	{"hard-link-from", hard_link_from},
	{"hard-link-from-descriptor", hard_link_from_descriptor},
	{"reopen-proc", reopen_proc},
	{"reopen-dev", reopen_dev},
	{"reopen-place", reopen_place},
	{"reopen-thread", reopen_thread},
	{"mode-of-descriptor", mode_of_descriptor},
	{"attribute-of-descriptor", attribute_of_descriptor},
	{"mode", mode_of_path},
	{"mode-by-new-call", mode_by_new_call},
	{"attribute", attribute_of_path},
	{"attribute-by-new-call", attribute_by_new_call},
	{"times", times_of_path},
	{"unlink", remove_name},
	{"unlink-below", remove_below},
	{"mkdir", make_folder},
	{"mknod", make_node},
	{"by-folder", by_folder},
	{"by-place", by_place},
	{"by-working-folder", by_working_folder},
	{"by-folder-that-moves", by_folder_that_moves},
	{"by-proc-folder", by_proc_folder},
	{"by-proc-thread", by_proc_thread},
	{"by-proc-root", by_proc_root},
	{"by-absolute-path", by_absolute_path},
	{"by-dots", by_dots},
	{"by-link-upwards", by_link_upwards},
	{"by-dangling-link", by_dangling_link},
	{"by-links-of-links", by_links_of_links},
	{"by-socket", by_socket},
	{"by-openat2", by_openat2},
	{"under-allowing-filter", under_allowing_filter},
	{"under-tracing-filter", under_tracing_filter},
};

/* Steps before the attack may be what is refused: then that is the verdict. */
static int guard(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++) {
		if (argc < 2)
			puts(routes[i].name);
		else if (strcmp(routes[i].name, argv[1]) == 0)
			return attack_verdict(argv[1], routes[i].run());
	}
	errno = EINVAL;
	return argc < 2 ? ATTACK_WORKED : attack_broken("route");
}

const struct attack attacks_guard[] = {{"guard", guard}, {NULL, NULL}};
