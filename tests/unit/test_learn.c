/* What `run --learn` makes of the calls of a command: pure, over a made-up tree. */
#include <stdlib.h>
#include <string.h>

#include "cli/learn_entries.h"
#include "cli/learn_hosts.h"
#include "cli/learn_places.h"
#include "tap.h"

static const struct qsb__learn_where where = {.home = "/home/u", .workspace = "/home/u/work"};
static struct qsb__touches touches;
static const char *missing[8], *folders[16];

static bool is_in(const char *const *list, const char *path)
{
	while (*list && !qsb__path_inside(path, *list, false))
		list++;
	return *list != NULL;
}

static enum qsb__file_kind kind_of(void *context, const char *path)
{
	if (is_in(missing, path))
		return QSB__FILE_MISSING;
	for (const char *const *at = folders; *at; at++)
		if (strcmp(*at, path) == 0)
			return QSB__FILE_DIR;
	/* A folder is what something was done in. */
	for (size_t i = 0; i < touches.folder_count; i++)
		if (qsb__path_inside(touches.folders[i].path, path, false))
			return QSB__FILE_DIR;
	return QSB__FILE_PLAIN;
}

static bool is_refused(void *context, const char *path, unsigned access)
{
	return !qsb__path_inside(path, where.workspace, false);
}

static bool is_held(void *context, const char *path, unsigned access)
{
	return strcmp(path, "/home/u/held") == 0;
}

static void begin(void)
{
	qsb__touches_clear(&touches);
	qsb__touches_init(&touches, &where);
	memset(missing, 0, sizeof(missing));
	memset(folders, 0, sizeof(folders));
}

static void touch_by(enum qsb__touch_kind kind, const char *path, const char *process)
{
	qsb__touches_add(&touches, &(struct qsb__touch){kind, path, process, NULL});
}

static void touch(enum qsb__touch_kind kind, const char *path)
{
	touch_by(kind, path, "tool");
}

static void touch_many(enum qsb__touch_kind kind, const char *format, int count)
{
	char path[200];

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), format, i, i);
		touch(kind, path);
	}
}

/* "w ~/.cache/x, r /etc/x, - ~" */
static void gives(const char *wanted, const char *name)
{
	const struct qsb__learn_judge judge = {is_refused, is_held, kind_of, NULL};
	struct qsb__lessons lessons;
	char text[4000] = "", path[QSB__PATH_MAX];

	tap_is_number(qsb__lessons_draw(&lessons, &touches, &judge), 0, name);
	for (size_t i = 0; i < lessons.count; i++) {
		qsb__learn_shorten(&where, lessons.items[i].path, path);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %.200s", i ? ", " : "",
			 lessons.items[i].left_out                     ? "-"
			 : lessons.items[i].access == QSB__ACCESS_READ ? "r"
								       : "w",
			 path);
	}
	tap_is_text(text, wanted, name);
	qsb__lessons_clear(&lessons);
	begin();
}

static void files(void)
{
	touch(QSB__TOUCH_WRITE, "/home/u/work/x");
	gives("", "what the policy allows is no entry");
	touch(QSB__TOUCH_WRITE, "/home/u/a/file");
	gives("w ~/a/file", "one file is an entry for the file");
	touch_many(QSB__TOUCH_WRITE, "/home/u/a/file%d", 3);
	gives("w ~/a/file0, w ~/a/file1, w ~/a/file2", "three files are three entries");
	touch_many(QSB__TOUCH_WRITE, "/home/u/a/file%d", 5000);
	gives("w ~/a", "many files of a folder are the folder");
	touch_many(QSB__TOUCH_CREATE, "/srv/data/part%d/file", 3);
	gives("w /srv/data/part0/file, w /srv/data/part1/file, w /srv/data/part2/file", "a few stay files");
	touch_many(QSB__TOUCH_CREATE, "/srv/data/a/part%d/file", 40);
	gives("w /srv/data/a", "many in folders below one are that one");
	touch_many(QSB__TOUCH_REPLACE, "/usr/share/tool%d/file", 9);
	gives("w /usr/share/tool0, w /usr/share/tool1, w /usr/share/tool2, w /usr/share/tool3, w /usr/share/tool4, "
	      "w /usr/share/tool5, w /usr/share/tool6, w /usr/share/tool7, w /usr/share/tool8",
	      "a folder that many programs share does not gather what lies below it");
	touch_many(QSB__TOUCH_REMOVE, "/home/u/big/part%d/file", 20);
	gives("w ~/big", "many folders next to each other are what holds them");
	touch_many(QSB__TOUCH_CREATE, "/home/u/big/part%d/file", 2 * QSB__TOUCHED_FOLDERS);
	touch(QSB__TOUCH_CREATE, "/home/u/big/x");
	gives("w ~/big", "more folders than are kept are what holds them");
}

static void changes_of_names(void)
{
	touch(QSB__TOUCH_CREATE, "/home/u/a/conf.tmp1234");
	touch(QSB__TOUCH_REPLACE, "/home/u/a/conf.tmp1234");
	touch(QSB__TOUCH_REPLACE, "/home/u/a/conf");
	missing[0] = "/home/u/a/conf.tmp1234";
	gives("w ~/a", "a file that is replaced needs its folder");
	touch(QSB__TOUCH_REMOVE, "/home/u/a/b/c");
	missing[0] = "/home/u/a/b";
	gives("w ~/a", "what is gone needs the folder above it that is there");
	touch(QSB__TOUCH_CREATE, "/home/u/made");
	folders[0] = "/home/u/made";
	gives("w ~/made", "a folder that was made is itself the entry");
	touch(QSB__TOUCH_CREATE, "/home/u/made");
	touch_many(QSB__TOUCH_CREATE, "/home/u/made/deep/%d", 50);
	folders[0] = "/home/u/made";
	gives("w ~/made", "what lies in a folder that was made is part of it");
	touch(QSB__TOUCH_CREATE, "/home/u/a/Xb3kQ9zT");
	gives("w ~/a", "a random name is its folder");
	touch(QSB__TOUCH_WRITE, "/home/u/held/one");
	touch(QSB__TOUCH_REMOVE, "/home/u/held/two");
	touch(QSB__TOUCH_WRITE, "/home/u/held/three");
	missing[0] = "/home/u/held/two";
	gives("w ~/held/one, w ~/held/three, - ~/held", "a folder that learning holds shut is never an entry");
}

static void wide_folders(void)
{
	touch(QSB__TOUCH_CREATE, "/home/u/.history");
	gives("w ~/.history", "a file in the home is an entry for the file");
	tap_ok(!qsb__learn_is_wide(&where, "/home/u/.tool"), "a folder of one program in the home is not wide");
	tap_ok(!qsb__learn_is_wide(&where, "/home/u/work"), "the workspace is not");
	touch(QSB__TOUCH_REMOVE, "/home/u/gone");
	missing[0] = "/home/u/gone";
	gives("- ~", "the home is never an entry");
	touch(QSB__TOUCH_REPLACE, "/etc/hosts");
	touch(QSB__TOUCH_WRITE, "/etc/motd");
	gives("w /etc/hosts, w /etc/motd, - /etc", "nor is /etc, but its files are");
	touch_many(QSB__TOUCH_CREATE, "/usr/lib/f%d", 6);
	gives("w /usr/lib/f0, w /usr/lib/f1, w /usr/lib/f2, w /usr/lib/f3, w /usr/lib/f4, w /usr/lib/f5",
	      "nor /usr/lib");
	touch(QSB__TOUCH_CREATE, "/home/other/x");
	touch(QSB__TOUCH_REMOVE, "/home/other/y");
	missing[0] = "/home/other/y";
	gives("w /home/other/x, - /home/other", "nor somebody else's home");
	touch(QSB__TOUCH_REMOVE, "/home/u/.config/x");
	missing[0] = "/home/u/.config/x";
	gives("- ~/.config", "nor ~/.config");
	touch_many(QSB__TOUCH_REMOVE, "/home/u/.config/tool/%d", 3);
	gives("w ~/.config/tool", "one program's folder in it is");
}

static void places(void)
{
	touch(QSB__TOUCH_CREATE, "/home/u/.cache/pip/http/a/b/c/d");
	gives("w ~/.cache/pip", "a cache is one entry");
	touch(QSB__TOUCH_CREATE, "/home/u/.npm/_cacache/tmp/x");
	touch(QSB__TOUCH_WRITE, "/home/u/.npm/_logs/y");
	gives("w ~/.npm", "so is npm's");
	touch(QSB__TOUCH_CREATE, "/home/u/.cargo/registry/index/x");
	touch(QSB__TOUCH_WRITE, "/home/u/.cargo/.global-cache");
	gives("w ~/.cargo/.global-cache, w ~/.cargo/registry", "cargo's registry is, cargo's folder is not");
	touch(QSB__TOUCH_CREATE, "/home/u/.local/share/tool/state/x");
	touch(QSB__TOUCH_CREATE, "/home/u/go/pkg/mod/cache/x");
	gives("w ~/.local/share/tool, w ~/go/pkg", "data and module folders are");
	touch(QSB__TOUCH_WRITE, "/home/u/.cache/file");
	gives("w ~/.cache/file", "a file right in ~/.cache is a file");
	touch(QSB__TOUCH_READ, "/home/u/.local/share/tool/file");
	gives("r ~/.local/share/tool/file", "reading one file of a place does not open the place");
}

static void reads(void)
{
	touch(QSB__TOUCH_READ, "/opt/tool/lib/one");
	touch(QSB__TOUCH_READ, "/home/u/.gone");
	missing[0] = "/home/u/.gone";
	gives("r /opt/tool/lib/one", "what is not there is not read");
	touch_many(QSB__TOUCH_READ, "/opt/tool/lib/%d", 5);
	gives("r /opt/tool/lib", "many files of a folder are read as the folder");
	touch(QSB__TOUCH_READ, "/home/u/list");
	folders[0] = "/home/u/list";
	gives("r ~/list", "a folder that is listed is read");
	touch(QSB__TOUCH_READ, "/home/u");
	folders[0] = "/home/u";
	gives("- ~", "the home is not");
	touch(QSB__TOUCH_READ, "/home/u/a/x");
	touch(QSB__TOUCH_WRITE, "/home/u/a/x");
	gives("w ~/a/x", "writing includes reading");
	touch(QSB__TOUCH_READ, "/home/u/b/a");
	touch_many(QSB__TOUCH_WRITE, "/home/u/b/part%d/file", 40);
	gives("w ~/b", "a crowd is seen behind an entry of another kind");
	touch(QSB__TOUCH_READ, "/home/u/a/list");
	touch(QSB__TOUCH_WRITE, "/home/u/a/list/x");
	gives("r ~/a/list, w ~/a/list/x", "reading does not include writing");
}

static void names(void)
{
	static const char *const passing[] = {"tmpabc", ".tmp12",       "x.tmp",        "x.lock",
					      "x~",     "a.swp",        "npm-1a2B3c4D", "sqlite-12345",
					      "x.part", "4f2a9c1d8e7b", "aB3xQ9zz",     NULL};
	static const char *const lasting[] = {"config.json",       "index.html", "python3.11", "libfoo.so.6", "README",
					      "package-lock.json", ".newest",    "deadbeef",   "Makefile",    NULL};

	for (const char *const *name = passing; *name; name++)
		tap_ok(qsb__learn_is_passing(*name), "%s is a passing name", *name);
	for (const char *const *name = lasting; *name; name++)
		tap_ok(!qsb__learn_is_passing(*name), "%s is a lasting name", *name);
}

static void who(void)
{
	const struct qsb__learn_judge judge = {is_refused, is_held, kind_of, NULL};
	struct qsb__lessons lessons;

	touch_by(QSB__TOUCH_WRITE, "/home/u/a/1", "one");
	touch_by(QSB__TOUCH_REMOVE, "/home/u/a/2", "two");
	touch_by(QSB__TOUCH_WRITE, "/home/u/a/3", "three");
	touch_by(QSB__TOUCH_WRITE, "/home/u/a/3", "four");
	qsb__lessons_draw(&lessons, &touches, &judge);
	tap_is_number((long long)lessons.count, 1, "one entry");
	tap_is_text(lessons.items[0].processes, "one, two, three and others", "the first three programs are named");
	tap_is_number((long long)lessons.items[0].count, 4, "and all that was done is counted");
	qsb__lessons_clear(&lessons);
	begin();
}

/* ---- hosts ---- */

static struct qsb__reached reached;

static void reach_as(const char *host, uint16_t port, bool failed)
{
	struct qsb__broker_event event = {.kind = QSB__BROKER_CONNECTION,
					  .way = QSB__WAY_DIRECT,
					  .allowed = true,
					  .failed = failed,
					  .port = port};

	snprintf(event.host, sizeof(event.host), "%s", host);
	qsb__reached_add(&reached, &event);
}

static void needs(const char *wanted, const char *name)
{
	static char given[] = "given.example";
	static char *allowed[] = {given, NULL}, *denied[] = {NULL};
	static uint16_t no_ports[] = {0};
	const struct qsb__plan plan = {.network = QSB__NETWORK_FILTERED,
				       .allowed_domains = allowed,
				       .denied_domains = denied,
				       .publish_ports = no_ports,
				       .reach_ports = no_ports};
	size_t count;
	struct qsb__learnt_host *hosts = qsb__reached_draw(&reached, &plan, &count);
	char text[2000] = "";

	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s", i ? ", " : "",
			 hosts[i].failed ? "-" : "", hosts[i].pattern);
	tap_is_text(text, wanted, name);
	free(hosts);
	reached.count = 0;
}

static void hosts(void)
{
	char name[64];

	qsb__reached_init(&reached);
	reach_as("given.example", 443, false);
	needs("", "a host that the policy allows is no entry");
	reach_as("a.example.com", 443, false);
	reach_as("a.example.com", 80, false);
	reach_as("b.example.com", 8443, false);
	reach_as("2001:db8::1", 22, false);
	reach_as("2001:db8::1", 443, false);
	needs("a.example.com, b.example.com:8443, [2001:db8::1]:22, 2001:db8::1", "unusual ports are named");
	reach_as("gone.example.com", 443, true);
	needs("-gone.example.com", "a host that was never reached is no entry");
	reach_as("late.example.com", 443, true);
	reach_as("late.example.com", 443, false);
	needs("late.example.com", "one that was reached at last is");
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "h%d.example.com", i);
		reach_as(name, 443, false);
	}
	needs("h0.example.com, h1.example.com, h2.example.com, h3.example.com, h4.example.com", "five stay exact");
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "h%d.example.com", i);
		reach_as(name, 443, false);
	}
	reach_as("other.example.org", 443, false);
	needs("*.example.com, other.example.org", "more than five of one domain are its subdomains");
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "h%d.co.uk", i);
		reach_as(name, 443, false);
	}
	needs("h0.co.uk, h1.co.uk, h2.co.uk, h3.co.uk, h4.co.uk, h5.co.uk", "but not where many owners share one");
	for (int i = 0; i < 2 * QSB__LEARN_HOSTS; i++) {
		snprintf(name, sizeof(name), "h%d.d%d.example", i, i);
		reach_as(name, 443, false);
	}
	tap_is_number((long long)reached.count, QSB__LEARN_HOSTS, "memory is bounded");
	tap_is_number((long long)reached.lost, QSB__LEARN_HOSTS, "and what it could not take is counted");
	qsb__reached_clear(&reached);
}

int main(void)
{
	begin();
	files();
	changes_of_names();
	wide_folders();
	places();
	reads();
	names();
	who();
	hosts();
	qsb__touches_clear(&touches);
	return tap_done();
}
