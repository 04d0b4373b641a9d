/*
 * What a caller may put before the guard: every call, any arguments, any memory. A child plays the caller; its memory
 * is shared, its folder is a scratch one that is its root, too. Nobody waits for an answer, which the guard asks last:
 * so everything is read, resolved and judged, and nothing is done. Bytes: the call, two folders, flags (2), mode,
 * where the paths lie; then the first path, a newline, the second one.
 *
 * No descriptor stays open, every answer is one that a call can have, and whatever would be done is not denied.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/openat2.h>

#include "guard/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAGE = 4096, PAGES = 8, HEADER = 7, CALLER_FIRST = 40 };

/* Of an entry, how its arguments lie: f folder, p path, F flags, m mode, s size, a address of the second path. */
static const struct shape {
	int number;
	const char *arguments;
	bool makes; /* at the (last) path, or changes what is there */
} shapes[] = {
	{SYS_openat, "fpFm", true},      {SYS_mkdirat, "fpm", true},
	{SYS_mknodat, "fpmF", true},     {SYS_symlinkat, "afp", true},
	{SYS_unlinkat, "fpF", false},    {SYS_renameat2, "fagpF", false},
	{SYS_linkat, "fagpF", false},    {SYS_bind, "fas", false},
	{SYS_fchmodat, "fpm", false},    {SYS_fchownat, "fpmmF", false},
	{SYS_utimensat, "fpaF", false},  {SYS_truncate, "ps", false},
	{SYS_setxattr, "paasF", false},  {SYS_lremovexattr, "pa", false},
	{SYS_fsetxattr, "faasF", false}, {452 /* fchmodat2 */, "fpmF", false},
#ifdef SYS_open
	{SYS_open, "pFm", true},         {SYS_creat, "pm", true},
	{SYS_mkdir, "pm", true},         {SYS_mknod, "pmF", true},
	{SYS_symlink, "ap", true},       {SYS_rmdir, "p", false},
	{SYS_rename, "ap", false},       {SYS_link, "ap", false},
	{SYS_lchown, "pmm", false},      {SYS_utimes, "pa", false},
	{SYS_futimesat, "fpa", false},
#endif
};

static struct {
	bool ready;
	char folder[64];
	int root;
	pid_t caller;
	char *memory; /* the caller's, too, and nothing behind it */
	struct qsb__guard *guard;
	struct qsb__step steps[2];
	struct qsb__plan plan;
} world;

static void expect(bool holds)
{
	if (!holds)
		abort();
}

static void remove_world(void)
{
	if (getpid() == world.caller || world.caller == 0)
		return;
	kill(world.caller, SIGKILL);
	if (chdir("/") == 0 && world.root >= 0) {
		static const char *const files[] = {"b",  "old.never", "a/in", "l",    "loop",
						    "up", "p",         "out",  "pipe", "dir.never/in"};
		static const char *const folders[] = {"a/deep", "a", "dir.never"};

		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
			unlinkat(world.root, files[i], 0);
		for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
			unlinkat(world.root, folders[i], AT_REMOVEDIR);
		rmdir(world.folder);
	}
}

static void touch(const char *path)
{
	int fd = openat(world.root, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	expect(fd >= 0 && close(fd) == 0);
}

static void make_tree(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(world.folder, sizeof(world.folder), "%.40s/fuzz-guard-XXXXXX", base ? base : "/tmp");
	expect(mkdtemp(world.folder) != NULL);
	world.root = open(world.folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	expect(world.root >= 0 && fchdir(world.root) == 0 && mkdir("a", 0755) == 0 && mkdir("a/deep", 0755) == 0 &&
	       mkdir("dir.never", 0755) == 0 && symlink("a", "l") == 0 && symlink("loop", "loop") == 0 &&
	       symlink("..", "up") == 0 && symlink("/a/deep", "p") == 0 && symlink("new.never", "out") == 0 &&
	       mkfifo("pipe", 0600) == 0);
	touch("b");
	touch("old.never");
	touch("a/in");
	touch("dir.never/in");
}

/* Has a folder, a file, a socket and a place without rights, from CALLER_FIRST on, and does nothing. */
static void be_caller(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(open("a", O_RDONLY | O_DIRECTORY), CALLER_FIRST);
	dup2(open("b", O_RDONLY), CALLER_FIRST + 1);
	dup2(socket(AF_UNIX, SOCK_STREAM, 0), CALLER_FIRST + 2);
	dup2(open("dir.never", O_PATH), CALLER_FIRST + 3);
	dup2(open("/", O_PATH), CALLER_FIRST + 4);
	kill(getppid(), SIGCONT);
	for (;;)
		pause();
}

static void make_guard(void)
{
	static char top[] = "/", glob[] = "**/*.never", rule[] = "/filesystem/denyWrite/0";
	struct qsb__guard *guard;
	struct qsb_error err;

	world.steps[0] = (struct qsb__step){.kind = QSB__STEP_BIND_RW, .path = top, .rule = rule};
	world.steps[1] = (struct qsb__step){.kind = QSB__STEP_NAME_RULE,
					    .path = top,
					    .text = glob,
					    .rule = rule,
					    .denies = QSB__ACCESS_READ | QSB__ACCESS_WRITE,
					    .asked = true,
					    .held = true};
	world.plan.steps = world.steps;
	world.plan.step_count = 2;
	expect(qsb__guard_new(&guard, &world.plan, &err) == 0);
	guard->root_fd = fcntl(world.root, F_DUPFD_CLOEXEC, 0);
	guard->proc_self_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(guard->root, sizeof(guard->root), "%s", world.folder);
	guard->root_length = strlen(guard->root);
	world.guard = guard;
}

static int next_descriptor(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

	close(fd);
	return fd;
}

static void begin(void)
{
	world.memory = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	expect(world.memory != MAP_FAILED && munmap(world.memory + PAGES * PAGE, PAGE) == 0);
	make_tree();
	world.caller = fork();
	if (world.caller == 0)
		be_caller();
	expect(world.caller > 0);
	atexit(remove_world);
	/* Its last descriptor tells that it is ready. */
	for (char path[64]; snprintf(path, sizeof(path), "/proc/%d/fd/%d", world.caller, CALLER_FIRST + 4),
			    faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0;)
		poll(NULL, 0, 1);
	make_guard();
	world.ready = true;
}

static int open_in_root(const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, world.root, path, &how, sizeof(how));
}

static bool is_denied_name(const char *name, size_t length)
{
	return length >= 6 && memcmp(name + length - 6, ".never", 6) == 0;
}

/* Found by the kernel alone, from the root, which is the caller's folder, too. */
static bool is_denied(const char *path)
{
	char parent[PATH_MAX], place[PATH_MAX], link[64];
	size_t end = strlen(path), from;
	ssize_t length;
	int fd;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (from = end; from > 0 && path[from - 1] != '/'; from--)
		;
	snprintf(parent, sizeof(parent), "%.*s", (int)from, path);
	fd = open_in_root(from ? parent : ".", O_DIRECTORY);
	if (fd < 0 || end - from > NAME_MAX)
		return fd >= 0 && close(fd) != 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, place, sizeof(place) - 1);
	close(fd);
	place[length < 0 ? 0 : length] = '\0';
	return is_denied_name(path + from, end - from) || strstr(place, "/dir.never");
}

/* The address of a text in the caller's memory: at the start of a page, across two, at the very end, or of none. */
static uint64_t place_text(const char *text, size_t size, unsigned where, unsigned slot)
{
	char *base = world.memory + (slot ? PAGES / 2 * PAGE : 0), *at = base;

	if (size > PAGES / 2 * PAGE)
		size = PAGES / 2 * PAGE;
	if (where % 8 == 7)
		return where < 128 ? 0 : 8;
	if (where % 8 >= 5)
		at = base + PAGES / 2 * PAGE - size; /* the second one's end is that of the memory */
	else if (where % 8 >= 3 && size < PAGE)
		at = base + PAGE - size / 2;
	memcpy(at, text, size);
	return (uintptr_t)at;
}

static uint64_t folder_of(uint8_t byte)
{
	return byte < 160   ? (uint64_t)AT_FDCWD
	       : byte < 250 ? (uint64_t)(CALLER_FIRST + byte % 6)
			    : (uint64_t)(int64_t)-7;
}

static void fill(struct seccomp_notif *call, const struct shape *shape, const uint8_t *data, const uint64_t *paths,
		 size_t second)
{
	uint64_t flags = data[3] | (uint64_t)data[4] << 8;

	if (strchr(shape->arguments, 'F') && (shape->number == SYS_openat || shape->arguments[0] == 'p'))
		flags = flags << 6 | (flags & 3); /* O_CREAT is the first above the mode of access */
	for (size_t i = 0; shape->arguments[i]; i++) {
		__u64 *to = &call->data.args[i];

		switch (shape->arguments[i]) {
		case 'f':
			*to = folder_of(data[1]);
			break;
		case 'g':
			*to = folder_of(data[2]);
			break;
		case 'p':
			*to = paths[0];
			break;
		case 'a':
			*to = paths[1];
			break;
		case 'F':
			*to = flags;
			break;
		case 'm':
			*to = data[5] | (uint64_t)(data[4] & 0xf0) << 8;
			break;
		default:
			*to = second + data[5] % 3;
		}
	}
}

static void check_answer(const struct shape *shape, const struct seccomp_notif *call, const char *path, long result)
{
	bool plain = shape->arguments[0] != 'f' || call->data.args[0] == (uint64_t)AT_FDCWD;

	expect(result == QSB__STOP_GONE || result == QSB__STOP_GO_ON || (result <= 0 && result > -4096));
	if (result != QSB__STOP_GONE || !shape->makes || !plain || strchr(shape->arguments, 'a'))
		return;
	/* A path that is only read, or whose folder is not there, is nobody's affair. */
	if (shape->number == SYS_openat && !(call->data.args[2] & O_CREAT))
		return;
	expect(!is_denied(path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qsb__tasks *tasks;
	struct qsb__stop stop;
	const struct shape *shape;
	struct qsb__denial denial;
	const char *text, *second;
	uint64_t paths[2];
	char path[PATH_MAX];
	long result = 0;
	int lowest;

	if (!world.ready)
		begin();
	if (size < HEADER)
		return 0;
	lowest = next_descriptor();
	shape = &shapes[data[0] % (sizeof(shapes) / sizeof(*shapes))];
	text = (const char *)data + HEADER;
	second = memchr(text, '\n', size - HEADER);
	second = second ? second + 1 : (const char *)data + size;
	snprintf(path, sizeof(path), "%.*s", (int)(second - text), text);
	path[strcspn(path, "\n")] = '\0';
	memset(world.memory, 0, PAGES * PAGE);
	paths[0] = place_text(path, strlen(path) + 1, data[6], 0);
	paths[1] = place_text(second, (size_t)((const char *)data + size - second), data[6] >> 3, 1);
	tasks = calloc(1, sizeof(*tasks));
	expect(tasks != NULL);
	tasks->umask = tasks->at = -1;
	tasks->folder_age = ~0UL;
	stop = (struct qsb__stop){.guard = world.guard, .tasks = tasks};
	stop.call = (struct seccomp_notif){.id = 1, .pid = (unsigned)world.caller, .data = {.nr = shape->number}};
	fill(&stop.call, shape, data, paths, (size_t)((const char *)data + size - second));
	expect(qsb__guard_perform(&stop, &result));
	qsb__stop_close(&stop);
	qsb__tasks_clear(tasks);
	free(tasks);
	while (qsb__guard_next_denial(world.guard, &denial))
		;
	expect(next_descriptor() == lowest);
	if (paths[0] > 8 && strlen(path) < PATH_MAX - 1)
		check_answer(shape, &stop.call, path, result);
	return 0;
}
