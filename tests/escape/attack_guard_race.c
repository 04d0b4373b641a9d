/*
 * Races against a guard that looks at a path and then acts: `guard-race GROUP SECONDS`, started in a folder that
 * guard_races.py has prepared. Some parts swap what a path means while others use it: its bytes, a descriptor, a link,
 * a folder's name, the memory that it lies in. A denied name that came into being is seen by a part that looks for it
 * all the time, and in the name of every descriptor that was got.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PARTS_MAX = 12, PATH_BYTES = 32 };

/* What a part did. */
struct count {
	atomic_long made, refused;
};

/* Shared with children, too. */
static struct shared {
	atomic_bool stop;
	atomic_long seen;
	struct count counts[PARTS_MAX];
	char path[PATH_BYTES];
} * shared;

/* The two texts of the path that is swapped, and the names to look for. */
static const char *good, *bad;
static const char *const *names;
static int turning_fd, pages_fd = -1;
static char *border; /* where the second page of a path begins */

static bool is_denied(int fd)
{
	char name[64], text[PAGE];
	ssize_t length;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	length = readlink(name, text, sizeof(text) - 1);
	if (length < 0)
		return false;
	text[length] = '\0';
	return strstr(text, "/hold/secret/") || strstr(text, "/.git/hooks") || strstr(text, "/.mcp.json");
}

/* Counts a call; a descriptor is looked at and closed. */
static void note(struct count *count, long result, bool is_fd)
{
	count->made += result >= 0;
	count->refused += result < 0 && errno == EACCES;
	if (result < 0 || !is_fd)
		return;
	shared->seen += is_denied((int)result);
	close((int)result);
}

static long create(const char *path)
{
	return open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
}

static void *flip_path(void *argument)
{
	for (unsigned turn = 0; !shared->stop; turn++) {
		memcpy(shared->path, turn & 1 ? bad : good, strlen(good) + 1);
		/* On a busy machine the others see only what stands there while this part waits: both texts, then. */
		if (turn % 16 == 0 || turn % 16 == 7)
			usleep(30);
		for (volatile unsigned wait = 0; wait < (turn * 37U) % 400U; wait++)
			;
	}
	return argument;
}

static void *use_path(void *argument)
{
	while (!shared->stop) {
		note(argument, create(shared->path), true);
		unlink(shared->path);
		if (mkdir(shared->path, 0755) == 0)
			rmdir(shared->path);
		/* The path was another one by then: a folder that stays would end the race. */
		rmdir(good);
	}
	return argument;
}

/* The calls that make a name in another way, at the path that is swapped. */
static void *use_other_calls(void *argument)
{
	char mine[PATH_BYTES];

	for (unsigned turn = 0; !shared->stop; turn++) {
		long result = -1;

		snprintf(mine, sizeof(mine), "free/mine-%p", argument);
		close((int)create(mine));
		switch (turn % 5) {
		case 0:
			result = rename(mine, shared->path);
			break;
		case 1:
			result = link(mine, shared->path);
			break;
		case 2:
			result = symlink("nowhere", shared->path);
			break;
		case 3:
			result = mknod(shared->path, S_IFREG | 0644, 0);
			break;
		case 4:
			result = mkdir(shared->path, 0755);
		}
		note(argument, result, false);
		unlink(good);
		rmdir(good);
	}
	return argument;
}

static void *flip_descriptor(void *argument)
{
	int fine = open("free", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    wrong = open("hold/secret", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (!shared->stop) {
		dup2(fine, turning_fd);
		dup2(wrong, turning_fd);
	}
	return argument;
}

static void *use_descriptor(void *argument)
{
	while (!shared->stop) {
		note(argument, openat(turning_fd, "by-fd", O_CREAT | O_WRONLY | O_CLOEXEC, 0644), true);
		note(argument, linkat(AT_FDCWD, "plain", turning_fd, "by-link", 0), false);
		unlink("free/by-link");
	}
	return argument;
}

static void *flip_link(void *argument)
{
	while (!shared->stop) {
		if (symlink("free", "turn") == 0)
			rename("turn", "link");
		if (symlink("hold/secret", "turn") == 0)
			rename("turn", "link");
	}
	return argument;
}

static void *use_link(void *argument)
{
	while (!shared->stop)
		note(argument, create("link/by-name"), true);
	return argument;
}

static void *move_folder(void *argument)
{
	while (!shared->stop) {
		mkdir("there", 0755);
		rename("there", "sub/.conf");
		rmdir("sub/.conf");
	}
	return argument;
}

static void *fill_folder(void *argument)
{
	while (!shared->stop) {
		int folder = open("there", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (folder < 0)
			continue;
		note(argument, mkdirat(folder, "rc", 0755), false);
		unlinkat(folder, "rc", AT_REMOVEDIR);
		close(folder);
	}
	return argument;
}

/* A child that shares this memory, with the thread that swaps the path still at work in it. */
static void *use_borrowed_memory(void *argument)
{
	while (!shared->stop) {
		pid_t child = vfork();

		if (child == 0) {
			note(argument, create(shared->path), true);
			_exit(0);
		}
		if (child > 0)
			waitpid(child, NULL, 0);
		unlink(good);
	}
	return argument;
}

/* The second half of the path lies in a page that is mapped anew all the time, and now and then not at all. */
static void *swap_page(void *argument)
{
	for (unsigned turn = 0; !shared->stop; turn++) {
		mmap(border, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, pages_fd, turn & 1 ? PAGE : 0);
		if (turn % 16 == 0)
			munmap(border, PAGE);
	}
	return argument;
}

/* The page moves away from under the path, and another one takes its place. */
static void *move_page(void *argument)
{
	for (unsigned turn = 0; !shared->stop; turn++) {
		void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, pages_fd, turn & 1 ? PAGE : 0);

		if (page != MAP_FAILED && mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, border) == MAP_FAILED)
			munmap(page, PAGE);
	}
	return argument;
}

static void *use_border(void *argument)
{
	while (!shared->stop) {
		note(argument, create(border - strlen("free/")), true);
		unlink(good);
	}
	return argument;
}

static void *look(void *argument)
{
	struct stat status;

	while (!shared->stop)
		for (size_t i = 0; names[i]; i++)
			if (lstat(names[i], &status) == 0) {
				shared->seen++;
				unlink(names[i]);
				rmdir(names[i]);
			}
	return argument;
}

static const char *const made_names[] = {"hold/secret/xx",      "hold/secret/by-fd", "hold/secret/by-link",
					 "hold/secret/by-name", "sub/.conf/rc",      NULL};
static const char *const new_names[] = {".git/hooks/x", NULL};
static const char *const built_in_names[] = {".git/hooks", ".mcp.json", NULL};

struct part {
	void *(*run)(void *);
	bool uses; /* makes calls: some must succeed, and inside some be refused */
	bool process;
};

static const struct group {
	const char *name, *good, *bad;
	const char *const *names;
	struct part parts[PARTS_MAX];
} groups[] = {
	{"names",
	 "free/file-0000",
	 "hold/secret/xx",
	 made_names,
	 {{flip_path, false, false},
	  {use_path, true, false},
	  {use_path, true, false},
	  {flip_descriptor, false, false},
	  {use_descriptor, true, false},
	  {flip_link, false, false},
	  {use_link, true, false},
	  {move_folder, false, false},
	  {fill_folder, true, false},
	  {look, false, false}}},
	{"hooks",
	 "free/hooks",
	 ".git/hooks",
	 built_in_names,
	 {{flip_path, false, false},
	  {use_path, true, false},
	  {use_other_calls, true, false},
	  {use_other_calls, true, false},
	  {look, false, false}}},
	{"new",
	 "free/hooks/x",
	 ".git/hooks/x",
	 new_names,
	 {{flip_path, false, false},
	  {use_path, true, false},
	  {use_other_calls, true, false},
	  {use_other_calls, true, false},
	  {look, false, false}}},
	{"tools",
	 "amcp.json",
	 ".mcp.json",
	 built_in_names,
	 {{flip_path, false, false}, {use_path, true, false}, {use_other_calls, true, false}, {look, false, false}}},
	{"processes",
	 "free/file-0000",
	 "hold/secret/xx",
	 made_names,
	 {{flip_path, false, true},
	  {flip_path, false, false},
	  {use_path, true, true},
	  {use_path, true, false},
	  {use_borrowed_memory, true, false},
	  {look, false, true}}},
	{"pages",
	 "free/file",
	 "free/../hold/secret/xx",
	 made_names,
	 {{swap_page, false, false},
	  {move_page, false, false},
	  {use_border, true, false},
	  {use_border, true, false},
	  {look, false, false}}},
};

static const struct group *find_group(const char *name)
{
	for (size_t i = 0; name && i < sizeof(groups) / sizeof(*groups); i++)
		if (strcmp(groups[i].name, name) == 0)
			return &groups[i];
	return NULL;
}

static int prepare(const struct group *group)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pages_fd = memfd_create("pages", MFD_CLOEXEC);
	turning_fd = open("free", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (shared == MAP_FAILED || pages == MAP_FAILED || turning_fd < 0 || ftruncate(pages_fd, 2L * PAGE) != 0 ||
	    pwrite(pages_fd, "file", 5, 0) != 5 || pwrite(pages_fd, "../hold/secret/xx", 18, PAGE) != 18)
		return -1;
	border = pages + PAGE;
	memcpy(border - strlen("free/"), "free/", strlen("free/"));
	good = group->good;
	bad = group->bad;
	names = group->names;
	if (strlen(good) < PATH_BYTES)
		memcpy(shared->path, good, strlen(good) + 1);
	/* A repository of this run: git may have an empty folder of hooks in it. */
	if (strcmp(group->name, "new") == 0 &&
	    (mkdir(".git", 0755) != 0 || mkdir(".git/hooks", 0755) != 0 || mkdir("free/hooks", 0755) != 0))
		return -1;
	return 0;
}

static int start(const struct group *group, pthread_t *threads, pid_t *children)
{
	for (size_t i = 0; i < PARTS_MAX && group->parts[i].run; i++) {
		const struct part *part = &group->parts[i];

		if (part->process) {
			children[i] = fork();
			if (children[i] == 0) {
				part->run(&shared->counts[i]);
				_exit(0);
			}
		} else if (pthread_create(&threads[i], NULL, part->run, &shared->counts[i]) != 0) {
			return -1;
		}
	}
	return 0;
}

static int race(int argc, char **argv)
{
	const struct group *group = find_group(argc > 2 ? argv[1] : NULL);
	unsigned seconds = (unsigned)attack_number(argc > 2 ? argv[2] : NULL);
	pthread_t threads[PARTS_MAX];
	pid_t children[PARTS_MAX] = {0};
	bool idle = false;

	errno = EINVAL;
	if (!group || prepare(group) != 0 || start(group, threads, children) != 0)
		return attack_broken("prepare");
	sleep(seconds);
	shared->stop = true;
	for (size_t i = 0; i < PARTS_MAX && group->parts[i].run; i++) {
		struct count *count = &shared->counts[i];

		if (group->parts[i].process)
			waitpid(children[i], NULL, 0);
		else
			pthread_join(threads[i], NULL);
		if (!group->parts[i].uses)
			continue;
		printf("part %zu: %ld calls went through, %ld were refused\n", i, (long)count->made,
		       (long)count->refused);
		idle |= count->made == 0 || (count->refused == 0 && shared->seen == 0);
	}
	printf("%ld times a denied name was there\n", (long)shared->seen);
	errno = EACCES;
	if (shared->seen == 0 && idle)
		return attack_broken("a part of the race did not run");
	return attack_verdict("race", shared->seen > 0 ? 0 : -1);
}

const struct attack attacks_guard_race[] = {{"guard-race", race}, {NULL, NULL}};
