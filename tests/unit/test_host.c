/* The real machine: what the plan is told of it must be what the C library says. */
#include "os/host.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/path.h"

#include "tap.h"

static char root[PATH_MAX];

static const char *in(const char *name)
{
	static char paths[4][QSB__PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, QSB__PATH_MAX, "%.2000s/%.2000s", root, name);
	return path;
}

static void make_tree(void)
{
	FILE *file;

	mkdir(in("a"), 0755);
	mkdir(in("a/b"), 0755);
	file = fopen(in("a/b/f"), "w");
	if (file) {
		fputs("gitdir: x\n", file);
		fclose(file);
	}
	if (symlink("b", in("a/l")) || symlink("../../a/l/../b/f", in("a/b/back")) || symlink(root, in("abs")) ||
	    symlink("loop", in("loop")) || symlink("nowhere/x", in("dangling")) || mkfifo(in("fifo"), 0600))
		printf("# the tree is not complete\n");
}

static void check_resolve(const struct qsb__host *host, const char *name)
{
	char got[QSB__PATH_MAX], wanted[PATH_MAX];

	got[0] = '\0';
	host->ops->resolve(host->context, in(name), got, sizeof(got));
	tap_ok(realpath(in(name), wanted) && strcmp(got, wanted) == 0, "%s resolves as realpath says", name);
}

static void test_resolve(const struct qsb__host *host)
{
	static const char *const names[] = {"a/l/f",        "a/l/../b", "a/b/back",
					    "abs/a/l/back", "./a//b/.", "abs/a/../a/l"};
	char got[QSB__PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_resolve(host, names[i]);
	tap_is_number(host->ops->resolve(host->context, in("loop"), got, sizeof(got)), -ELOOP,
		      "a loop of links is told");
	tap_is_number(host->ops->resolve(host->context, in("a/l/new/x"), got, sizeof(got)), 0,
		      "a missing path resolves");
	tap_is_text(got, in("a/b/new/x"), "as far as it is there");
	tap_is_number(host->ops->resolve(host->context, in("dangling"), got, sizeof(got)), 0,
		      "a link to nothing resolves");
	tap_is_text(got, in("nowhere/x"), "to what it names");
	tap_is_number(host->ops->resolve(host->context, in("a/l"), got, 8), -ENAMETOOLONG, "too little room is told");
	tap_is_number(host->ops->resolve(host->context, "/../..", got, sizeof(got)), 0, "above the root is the root");
	tap_is_text(got, "/", "and nothing else");
}

static void test_kinds(const struct qsb__host *host)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	tap_is_number(host->ops->kind(host->context, in("a")), QSB__FILE_DIR, "a folder");
	tap_is_number(host->ops->kind(host->context, in("a/b/f")), QSB__FILE_PLAIN, "a file");
	tap_is_number(host->ops->kind(host->context, in("abs")), QSB__FILE_LINK, "a link is not followed");
	tap_is_number(host->ops->kind(host->context, in("fifo")), QSB__FILE_OTHER, "a FIFO");
	tap_is_number(host->ops->kind(host->context, in("none")), QSB__FILE_MISSING, "nothing");
	tap_is_number(host->ops->kind(host->context, in("a/b/f/x")), QSB__FILE_MISSING,
		      "below a file there is nothing");
	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", in("s"));
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		tap_is_number(host->ops->kind(host->context, in("s")), QSB__FILE_SOCKET, "a socket");
	if (fd >= 0)
		close(fd);
}

static void test_sealed(const struct qsb__host *host)
{
	mkdir(in("shut"), 0000);
	mkdir(in("enter"), 0100);
	tap_ok(!host->ops->sealed(host->context, in("a/b/f"), false), "a file that can be read is not shut");
	tap_ok(!host->ops->sealed(host->context, in("a"), true), "nor a folder");
	tap_ok(!host->ops->sealed(host->context, in("none"), false), "nor what is missing");
	tap_ok(!host->ops->sealed(host->context, in("enter"), true), "nor a folder that can be entered");
	if (host->uid != 0) {
		chmod(in("a/b/f"), 0200);
		tap_ok(host->ops->sealed(host->context, in("a/b/f"), false), "a file that cannot be read is");
		chmod(in("a/b/f"), 0644);
		tap_ok(host->ops->sealed(host->context, in("shut"), true), "and so is a folder without permissions");
	}
}

static void test_names(const struct qsb__host *host)
{
	tap_is_number(host->ops->links(host->context, in("a/b/f")), 1, "a file has one name");
	if (link(in("a/b/f"), in("second")) == 0) {
		tap_is_number(host->ops->links(host->context, in("a/b/f")), 2, "or two");
		unlink(in("second"));
	}
	tap_is_number(host->ops->links(host->context, in("a")), 0, "a folder's are not counted");
	tap_is_number(host->ops->links(host->context, in("abs")), 0, "nor those of a link");
	tap_is_number(host->ops->links(host->context, in("none")), 0, "nor of nothing");
}

struct seen {
	unsigned count, folders, links;
};

static int note(void *to, const char *name, enum qsb__file_kind kind)
{
	struct seen *seen = to;

	seen->count++;
	seen->folders += kind == QSB__FILE_DIR;
	seen->links += kind == QSB__FILE_LINK;
	return strcmp(name, "stop") == 0 ? 7 : 0;
}

static void test_list_and_read(const struct qsb__host *host)
{
	struct seen seen = {0};
	char text[64];

	tap_is_number(host->ops->list(host->context, in("a"), note, &seen), 0, "a folder is listed");
	tap_ok(seen.count == 2 && seen.folders == 1 && seen.links == 1,
	       "with the kinds of its entries, without . and ..");
	tap_is_number(host->ops->list(host->context, in("none"), note, &seen), -ENOENT, "a missing folder is told");
	tap_is_number(host->ops->list(host->context, in("abs"), note, &seen), -ENOTDIR, "a link is not listed");
	mkdir(in("a/b/stop"), 0755);
	tap_is_number(host->ops->list(host->context, in("a/b"), note, &seen), 7, "a listing ends when it is told to");
	tap_is_number(host->ops->read(host->context, in("a/b/f"), text, sizeof(text)), 10, "a file is read");
	tap_is_text(text, "gitdir: x\n", "to its end");
	tap_is_number(host->ops->read(host->context, in("a/b/f"), text, 4), 3, "or as far as there is room");
	tap_ok(host->ops->read(host->context, in("fifo"), text, sizeof(text)) < 0, "a FIFO is not waited for");
	tap_ok(host->ops->read(host->context, in("a/b/back"), text, sizeof(text)) < 0, "a link is not read");
}

static void test_facts(const struct qsb__host *host)
{
	char cwd[PATH_MAX];

	tap_ok(getcwd(cwd, sizeof(cwd)) && strcmp(host->cwd, cwd) == 0, "the current folder is known");
	tap_is_text(host->home, root, "the home folder is HOME, resolved");
	tap_ok(host->program && access(host->program, X_OK) == 0, "this program's file is known");
	tap_is_number(host->uid, getuid(), "the user is known");
}

static void test_without_home(void)
{
	struct qsb_error err;
	struct qsb__host host;

	unsetenv("HOME");
	tap_is_number(qsb__host_init(&host, &err), 0, "a host without HOME is one");
	tap_ok(!host.home || host.home[0] == '/', "its home comes from the user's entry, or is not known");
	qsb__host_clear(&host);
	setenv("HOME", "not/absolute", 1);
	tap_is_number(qsb__host_init(&host, &err), 0, "a relative HOME is none");
	tap_ok(!host.home || host.home[0] == '/', "and is not used");
	qsb__host_clear(&host);
}

static int remove_tree(const char *folder)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		execlp("rm", "rm", "-rf", folder, (char *)NULL);
		_exit(1);
	}
	tap_ok(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the tree is gone");
	return tap_done();
}

int main(void)
{
	char template[] = "/tmp/qsb-host-XXXXXX";
	struct qsb_error err;
	struct qsb__host host;

	if (!mkdtemp(template) || !realpath(template, root))
		return 1;
	setenv("HOME", template, 1);
	make_tree();
	if (tap_ok(qsb__host_init(&host, &err) == 0, "the machine has facts")) {
		test_facts(&host);
		test_resolve(&host);
		test_kinds(&host);
		test_names(&host);
		test_sealed(&host);
		test_list_and_read(&host);
		qsb__host_clear(&host);
	}
	test_without_home();
	return remove_tree(template);
}
