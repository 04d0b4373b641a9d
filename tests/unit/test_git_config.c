/* Git's settings: read as git itself reads them, and judged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard/git_config.h"

#include "tap.h"

static const char folder[] = "/w/.git";

static bool is_harmless(const char *text)
{
	struct qsb__git_verdict verdict;

	qsb__git_config_judge(text, strlen(text), folder, &verdict);
	return verdict.harmless && !verdict.keys[0];
}

static bool names(const char *text, const char *keys)
{
	struct qsb__git_verdict verdict;

	qsb__git_config_judge(text, strlen(text), folder, &verdict);
	if (verdict.harmless || strcmp(verdict.keys, keys) != 0 || !verdict.reason[0])
		printf("# keys: %s, reason: %s\n", verdict.keys, verdict.reason);
	return !verdict.harmless && strcmp(verdict.keys, keys) == 0 && verdict.reason[0];
}

static bool worktree_stays(const char *git_folder, const char *value)
{
	struct qsb__git_verdict verdict;
	char text[300];

	snprintf(text, sizeof(text), "[core]\nworktree = %s\n", value);
	qsb__git_config_judge(text, strlen(text), git_folder, &verdict);
	return verdict.harmless;
}

static int print(void *context, const struct qsb__git_setting *setting)
{
	fprintf(context, "%s", setting->name);
	if (setting->value)
		fprintf(context, "\n%s", setting->value);
	fputc('\0', context);
	return 0;
}

/* What git itself makes of the file; NULL = it refuses it. */
static char *ask_git(const char *text, size_t length, size_t *size)
{
	char path[] = "/tmp/qsb-git-config-XXXXXX", command[200];
	int fd = mkstemp(path);
	char *answer = calloc(1, 65536);
	FILE *git;
	int status;

	if (fd < 0 || !answer || write(fd, text, length) != (ssize_t)length)
		abort();
	close(fd);
	snprintf(command, sizeof(command), "git config --list -z --no-includes -f %s 2>/dev/null", path);
	git = popen(command, "r");
	*size = git ? fread(answer, 1, 65536, git) : 0;
	status = git ? pclose(git) : -1;
	unlink(path);
	if (status == 0)
		return answer;
	free(answer);
	return NULL;
}

/* Runs of white space within a value: git before 2.45 makes each a space, later ones keep them. */
static void flatten(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] == '\t' || text[i] == '\r')
			text[i] = ' ';
}

static bool reads_as_git(const char *text, size_t length)
{
	char *own = NULL, *gits;
	size_t size = 0, gits_size = 0;
	FILE *to = open_memstream(&own, &size);
	int code = qsb__git_config_read(text, length, print, to, NULL);
	bool same;

	fclose(to);
	gits = ask_git(text, length, &gits_size);
	flatten(own, size);
	if (gits)
		flatten(gits, gits_size);
	/* To refuse more than git does is no fault; to take what git refuses, or in another way, is one. */
	same = code != 0 ? true : gits && size == gits_size && memcmp(own, gits, size) == 0;
	if (!same)
		printf("# git %s, here %zu bytes of %zu: %.200s\n", gits ? "takes it" : "refuses it", size, gits_size,
		       own);
	free(own);
	free(gits);
	return same;
}

static const struct {
	const char *name, *text;
	bool read;
} files[] = {
	{"an empty file", "", true},
	{"plain settings", "[core]\n\tbare = false\n\tfilemode = true\n", true},
	{"a key without a value", "[core]\n bare\n", true},
	{"a key without a value at the end of the file", "[core]\n bare", true},
	{"a value at the end of the file", "[a]b=c", true},
	{"a section and a key on one line", "[core] bare = true\n", true},
	{"two sections on one line", "[core] [user] name = x\n", true},
	{"keys and sections in any case", "[CoRe]\nBaRe = TRUE\n", true},
	{"a subsection keeps its case", "[Branch \"Main\"]\nReMote = Origin\n", true},
	{"a subsection with escapes", "[a \"b\\\"c\\\\d\\e\"]\nk = v\n", true},
	{"a subsection with a dot and a bracket", "[a \"b.c]d\"]\nk = v\n", true},
	{"the old form of subsections", "[a.B.c]\nk = v\n", true},
	{"a subsection after many spaces", "[a  \t \"b\"]\nk = v\n", true},
	{"a line that goes on", "[a]\nk = one \\\n   two\n", true},
	{"a key whose comment would go on", "[a]\nk = one ; two \\\nm = n\n", true},
	{"quotes within a value", "[a]\nk = \"x ; y\" z # c\n", true},
	{"quotes that keep spaces", "[a]\nk = \"  x  \"  \n", true},
	{"escapes in a value", "[a]\nk = a\\tb\\nc\\\\d\\\"e\\bf\n", true},
	{"spaces within a value", "[a]\nk = x   y\t\tz\n", true},
	{"comments", "# one\n; two\n[a] # three\nk = v ; four\n", true},
	{"lines of Windows", "[a]\r\nk = v\r\n[b \"c\"]\r\nl\r\n", true},
	{"a lone carriage return", "[a]\nk = x\ry\n", true},
	{"a byte order mark", "\xef\xbb\xbf[a]\nk = v\n", true},
	{"a dash and a digit in a key", "[a-1]\nk-2 = v\n", true},
	{"an empty value", "[a]\nk =\n", true},
	{"bytes above ASCII", "[a \"\xc3\xa9\xff\"]\nk = \xff\n", true},
	{"a hash directly behind a value", "[a]\nk = x#y\n", true},
	{"the same key twice", "[a]\nk = x\nk = y\n", true},
	{"half a byte order mark", "\xef\xbb[a]\nk = v\n", false},
	{"a mark in the middle", "[a]\n\xef\xbb\xbfk = v\n", false},
	{"a quote that does not end", "[a]\nk = \"x\n", false},
	{"an unknown escape", "[a]\nk = \\x\n", false},
	{"a section that does not end", "[a\nk = v\n", false},
	{"a section at the end of the file", "[a", false},
	{"a subsection that does not end", "[a \"b\nk = v\n", false},
	{"a subsection without quotes", "[a b]\nk = v\n", false},
	{"a letter behind a subsection", "[a \"b\" c]\nk = v\n", false},
	{"a key that begins with a digit", "[a]\n1k = v\n", false},
	{"a key with an underscore", "[a]\nk_k = v\n", false},
	{"a key without a section", "k = v\n", false},
	{"a word behind a key", "[a]\nk v\n", false},
	{"an underscore in a section", "[a_b]\nk = v\n", false},
	{"a backslash at the end of the file", "[a]\nk = v\\", true},
};

static void test_syntax(void)
{
	bool have_git = system("git --version > /dev/null 2>&1") == 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *own = NULL;
		size_t size = 0;
		FILE *to = open_memstream(&own, &size);
		bool read = qsb__git_config_read(files[i].text, strlen(files[i].text), print, to, NULL) == 0;

		fclose(to);
		free(own);
		tap_ok(read == files[i].read, "%s is %s", files[i].name, files[i].read ? "read" : "refused");
		if (have_git)
			tap_ok(reads_as_git(files[i].text, strlen(files[i].text)), "%s: as git reads it",
			       files[i].name);
		else
			tap_ok(true, "%s # SKIP there is no git here", files[i].name);
	}
	tap_ok(qsb__git_config_read("[a]\nk = v\0w\n", 12, print, stdout, NULL) < 0, "a NUL is refused");
}

/* Pieces that mean something, put together at random: whatever is read here, git reads the same. */
static void test_random(void)
{
	static const char *const pieces[] = {
		"[",  "]",  "\"",   "a", "core", " ",     "\n",          "=",       "\\",   "#",   ";",
		"\t", "\r", "\r\n", ".", "b",    "[a]\n", "[a \"b\"]\n", "k = v\n", "\\\n", "\\n", "\xef\xbb\xbf",
		"-",  "1",  "true"};
	bool same = true;

	srandom(7);
	for (unsigned i = 0; i < 400 && same; i++) {
		char text[400];
		size_t length = (size_t)snprintf(text, sizeof(text), "%s", i % 4 ? "[a]\n" : "");

		for (long n = random() % 20; n > 0; n--)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s",
						   pieces[(size_t)random() % (sizeof(pieces) / sizeof(*pieces))]);
		same = reads_as_git(text, length);
		if (!same)
			printf("# text: %s\n", text);
	}
	tap_ok(same, "whatever is read of random files is what git reads");
}

static void test_harmless(void)
{
	tap_ok(is_harmless(
		       "[core]\nrepositoryformatversion = 0\nfilemode = true\nbare = false\nlogallrefupdates = true\n"),
	       "what git init writes");
	tap_ok(is_harmless(
		       "[remote \"origin\"]\nurl = https://host/x.git\nfetch = +refs/heads/*:refs/remotes/origin/*\n"
		       "[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n"),
	       "what git clone writes");
	tap_ok(is_harmless("[user]\nname = A \"B\" C\nemail = a@b\n[pull]\nrebase = true\n[init]\ndefaultBranch = x\n"),
	       "names and choices");
	tap_ok(is_harmless("[submodule \"lib/x\"]\nurl = ../x.git\nactive = true\nupdate = rebase\n"), "submodules");
	tap_ok(is_harmless("[extensions]\nworktreeConfig = true\n[protocol \"file\"]\nallow = always\n"), "extensions");
	tap_ok(is_harmless("[core]\nfsmonitor = true\n[credential]\nhelper =\n[merge]\ntool = meld\n[color]\npager = "
			   "true\n"),
	       "switches of what may name programs");
	tap_ok(is_harmless("[lfs]\nrepositoryformatversion = 0\n[gc]\nauto = 0\n[http]\nsslVerify = true\n"), "others");
}

static void test_dangerous(void)
{
	static const char *const texts[][2] = {
		{"[core]\nfsmonitor = /tmp/x\n", "core.fsmonitor"},
		{"[core]\nhooksPath = ../hooks\n", "core.hookspath"},
		{"[core]\nhooksPath = true\n", "core.hookspath"},
		{"[core]\nsshCommand = x\n", "core.sshcommand"},
		{"[CORE]\nEDITOR = x\n", "core.editor"},
		{"[core]\npager = x\n", "core.pager"},
		{"[core]\naskPass = x\n", "core.askpass"},
		{"[core]\ngitProxy = x\n", "core.gitproxy"},
		{"[core]\nalternateRefsCommand = x\n", "core.alternaterefscommand"},
		{"[sequence]\neditor = x\n", "sequence.editor"},
		{"[pager]\nlog = x\n", "pager.log"},
		{"[diff]\nexternal = x\n", "diff.external"},
		{"[diff \"x\"]\ncommand = y\n", "diff.x.command"},
		{"[diff \"x\"]\ntextconv = y\n", "diff.x.textconv"},
		{"[merge \"x\"]\ndriver = y\n", "merge.x.driver"},
		{"[filter \"X\"]\nclean = y\n", "filter.X.clean"},
		{"[filter \"x\"]\nsmudge = y\n", "filter.x.smudge"},
		{"[filter \"x\"]\nprocess = y\n", "filter.x.process"},
		{"[include]\npath = x\n", "include.path"},
		{"[includeIf \"gitdir:/\"]\npath = x\n", "includeif.gitdir:/.path"},
		{"[credential]\nhelper = !x\n", "credential.helper"},
		{"[credential \"https://h\"]\nhelper = x\n", "credential.https://h.helper"},
		{"[alias]\nst = !x\n", "alias.st"},
		{"[alias]\nup = fetch --upload-pack=x\n", "alias.up"},
		{"[alias \"st\"]\ncommand = x\n", "alias.st.command"},
		{"[gpg]\nprogram = x\n", "gpg.program"},
		{"[gpg \"ssh\"]\nprogram = x\n", "gpg.ssh.program"},
		{"[gpg \"ssh\"]\ndefaultKeyCommand = x\n", "gpg.ssh.defaultkeycommand"},
		{"[uploadpack]\npackObjectsHook = x\n", "uploadpack.packobjectshook"},
		{"[remote \"o\"]\nuploadpack = x\n", "remote.o.uploadpack"},
		{"[remote \"o\"]\nreceivepack = x\n", "remote.o.receivepack"},
		{"[remote \"o\"]\nvcs = ext\n", "remote.o.vcs"},
		{"[remote \"o\"]\nurl = ext::sh -c x\n", "remote.o.url"},
		{"[url \"ext::sh -c x\"]\ninsteadOf = https://\n", "url.ext::sh -c x.insteadof"},
		{"[protocol \"ext\"]\nallow = always\n", "protocol.ext.allow"},
		{"[protocol]\nallow = always\n", "protocol.allow"},
		{"[submodule \"x\"]\nupdate = !x\n", "submodule.x.update"},
		{"[browser \"x\"]\ncmd = y\n", "browser.x.cmd"},
		{"[difftool \"x\"]\npath = y\n", "difftool.x.path"},
		{"[mergetool \"x\"]\ncmd = y\n", "mergetool.x.cmd"},
		{"[merge]\ntool = ../../x\n", "merge.tool"},
		{"[man \"x\"]\ncmd = y\n", "man.x.cmd"},
		{"[instaweb]\nhttpd = x\n", "instaweb.httpd"},
		{"[sendemail]\nsmtpServer = /x\n", "sendemail.smtpserver"},
		{"[sendemail]\ntoCmd = x\n", "sendemail.tocmd"},
		{"[trailer \"x\"]\ncommand = y\n", "trailer.x.command"},
		{"[trailer \"x\"]\ncmd = y\n", "trailer.x.cmd"},
		{"[init]\ntemplateDir = x\n", "init.templatedir"},
		{"[tar \"x\"]\ncommand = y\n", "tar.x.command"},
		{"[interactive]\ndiffFilter = x\n", "interactive.difffilter"},
		{"[web]\nbrowser = x\n", "web.browser"},
		{"[guitool \"x\"]\ncmd = y\n", "guitool.x.cmd"},
		{"[hook \"x\"]\ncommand = y\n", "hook.x.command"},
		{"[rebase]\ninstructionFormat = %n exec x\n", "rebase.instructionformat"},
		{"[branch \"m\"]\nmergeOptions = --x\n", "branch.m.mergeoptions"},
		{"[http]\nproxy = http://x\n", "http.proxy"},
		{"[http]\nsslVerify = false\n", "http.sslverify"},
		{"[lfs \"extension.x\"]\nclean = y\n", "lfs.extension.x.clean"},
		{"[svn]\nauthorsProg = x\n", "svn.authorsprog"},
		{"[core.fsmonitor]\nx = y\n[core]fsmonitor=z", "core.fsmonitor"},
		{"[core]\nfs\\\nmonitor = x\n", "line 2"},
		{"[core \"\\\"]\nfsmonitor = x\n", "line 2"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		tap_ok(names(texts[i][0], texts[i][1]), "%s is not harmless", texts[i][1]);
	tap_ok(names("[alias]\na=b\nc=d\n[core]\neditor=x\neditor=y\n", "alias.a, alias.c, core.editor"),
	       "each key is named once");
	tap_ok(names("[core]\neditor = x\n[a]\nk = \\q\n", "core.editor"), "what comes before bad syntax is named");
}

static void test_worktree(void)
{
	tap_ok(worktree_stays("/w/.git", "..") && worktree_stays("/w/.git", "/w"),
	       "the folder above is git's own choice");
	tap_ok(!worktree_stays("/w/.git", "../sub") && !worktree_stays("/w/.git", "/") &&
		       !worktree_stays("/w/.git", "../.."),
	       "another one is not");
	tap_ok(worktree_stays("/w/.git/modules/x", "../../../x") &&
		       worktree_stays("/w/.git/modules/a/b", "../../../../a/b"),
	       "a submodule's lies in the folder above");
	tap_ok(worktree_stays("/w/.git/modules/a/modules/b", "../../../../../a/b"), "also one within another");
	tap_ok(!worktree_stays("/w/.git/modules/x", "../../../../x") && !worktree_stays("/w/.git/modules/x", "/home/x"),
	       "and not outside it");
	tap_ok(!worktree_stays("/w/.git/modules/x", "../../../x/../../y"), "no way up behind a name");
	tap_ok(!worktree_stays("/w/.git/modules/x", "../../hooks") &&
		       !worktree_stays("/w/.git/modules/x", "/w/.GIT/hooks") &&
		       !worktree_stays("/w/.git/modules/x", "../../../y/.git"),
	       "nor in a git folder, where files would be hooks");
}

static void differ(const char *before, const char *after, char *keys, size_t size)
{
	qsb__git_config_difference(&(struct qsb__git_text){before, strlen(before)},
				   &(struct qsb__git_text){after, strlen(after)}, keys, size);
}

static void test_difference(void)
{
	static const char before[] = "[user]\nname = a\n[core]\nbare = false\n";
	static const char after[] =
		"[core]\nbare = false\n[user]\nname = b\n[branch \"topic\"]\nremote = o\nmerge = m\n";
	char keys[160];

	differ(before, after, keys, sizeof(keys));
	tap_is_text(keys, "branch.topic.merge, branch.topic.remote, user.name", "what two files differ in is named");
	differ(before, before, keys, sizeof(keys));
	tap_is_text(keys, "", "nothing, where they are the same");
	differ(before, "[", keys, sizeof(keys));
	tap_is_text(keys, "", "nor where one is not understood");
	differ("", after, keys, 40);
	tap_is_text(keys, "branch.topic.merge and 3 more", "what does not fit is counted");
}

int main(void)
{
	test_syntax();
	test_random();
	test_harmless();
	test_dangerous();
	test_worktree();
	test_difference();
	return tap_done();
}
