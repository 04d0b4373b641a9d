/* The attacks of the self-test, and how each is judged. */
#include "cli/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "cli/selftest_attacks.h"
#include "cli/selftest_stage.h"
#include "core/cleanup.h"

enum { MOST_WORDS = 6 };

struct attack {
	const char *name, *title;
	const char *words[MOST_WORDS];   /* of the probe */
	const char *options[MOST_WORDS]; /* of the run */
	/* What the host sees of a success, and undoes; NULL: the probe's own word counts. */
	bool (*happened)(struct qsb__stage *stage);
	bool terminal;       /* on a terminal of its own */
	bool target;         /* needs a process to attack */
	bool may_end;        /* held also when the sandbox ends the whole run at its limit */
	const char *held_by; /* instead of the system's words */
};

/* A victim that no longer holds what it held before. */
static bool was_changed(struct qsb__stage *stage, const char *name)
{
	char path[QSB__STAGE_WORD], text[16] = "";
	QSB_CLEANUP_FD int fd = -1;

	qsb__stage_path(stage, name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) == 6 && strcmp(text, "before") == 0)
		return false;
	qsb__stage_file(stage, name, "before");
	return true;
}

static bool outside_changed(struct qsb__stage *stage)
{
	return was_changed(stage, "outside/file");
}

static bool hook_changed(struct qsb__stage *stage)
{
	return was_changed(stage, "ws/.git/hooks/pre-commit");
}

static bool has_appeared(const struct qsb__stage *stage, const char *name)
{
	char path[QSB__STAGE_WORD];

	qsb__stage_path(stage, name, path);
	return unlink(path) == 0;
}

static bool file_appeared(struct qsb__stage *stage)
{
	return has_appeared(stage, "ws/closed/new");
}

static bool name_appeared(struct qsb__stage *stage)
{
	return has_appeared(stage, "ws/later");
}

static bool setuid_appeared(struct qsb__stage *stage)
{
	char path[QSB__STAGE_WORD];
	struct stat status;
	bool there;

	qsb__stage_path(stage, "ws/setuid", path);
	there = lstat(path, &status) == 0 && (status.st_mode & S_ISUID);
	unlink(path);
	return there;
}

static bool somebody_came(int fd)
{
	bool came = false;
	int guest;

	while ((guest = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		came = true;
		close(guest);
	}
	return came;
}

static bool tcp_reached(struct qsb__stage *stage)
{
	return somebody_came(stage->tcp_fd);
}

static bool unix_reached(struct qsb__stage *stage)
{
	return somebody_came(stage->unix_fd);
}

static bool abstract_reached(struct qsb__stage *stage)
{
	return somebody_came(stage->abstract_fd);
}

/* It holds a lock as long as it lives, and ends when its file has no name. */
static bool daemon_lives(struct qsb__stage *stage)
{
	char path[QSB__STAGE_WORD];
	QSB_CLEANUP_FD int fd = -1;
	bool lives;

	qsb__stage_path(stage, "ws/daemon", path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	lives = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	unlink(path);
	return lives;
}

static const struct attack attacks[] = {
	{.name = "write-outside",
	 .title = "change a file outside the workspace",
	 .words = {"write", "@/outside/file"},
	 .happened = outside_changed},
	{.name = "read-denied",
	 .title = "read a file that is denied",
	 .words = {"read", "@/secret/key", "@NONCE"},
	 .options = {"--deny-read", "@/secret"}},
	{.name = "write-denied",
	 .title = "make a file in a folder denied for writing",
	 .words = {"write", "@/ws/closed/new"},
	 .options = {"--deny-write", "@/ws/closed"},
	 .happened = file_appeared},
	{.name = "denied-name",
	 .title = "make a file whose name is denied",
	 .words = {"write", "@/ws/later"},
	 .options = {"--deny-write", "@/ws/later"},
	 .happened = name_appeared},
	{.name = "protected-name",
	 .title = "change a git hook of the project",
	 .words = {"write", "@/ws/.git/hooks/pre-commit"},
	 .happened = hook_changed},
	{.name = "rename-parent",
	 .title = "rename the parent of a protected folder",
	 .words = {"rename", "@/ws/outer", "@/ws/moved"},
	 .options = {"--deny-write", "@/ws/outer/inner"}},
	{.name = "setuid",
	 .title = "leave a setuid file in the workspace",
	 .words = {"setuid", "@/ws/setuid"},
	 .happened = setuid_appeared},
	{.name = "tcp-loopback",
	 .title = "reach a service on this machine's loopback",
	 .words = {"tcp", "@PORT"},
	 .happened = tcp_reached},
	{.name = "unix-path",
	 .title = "reach a service by a unix socket's path",
	 .words = {"unix", "@/ws/socket"},
	 .happened = unix_reached},
	{.name = "unix-abstract",
	 .title = "reach a service by an abstract unix socket",
	 .words = {"abstract", "@NONCE"},
	 .happened = abstract_reached},
	{.name = "signal",
	 .title = "send a signal to a process outside",
	 .words = {"signal", "@TARGET", "@NONCE"},
	 .target = true,
	 .happened = qsb__stage_target_died},
	{.name = "trace",
	 .title = "trace or read a process outside",
	 .words = {"trace", "@TARGET", "@NONCE"},
	 .target = true},
	{.name = "environment",
	 .title = "read a secret of the caller's environment",
	 .words = {"environment", "QIMING_SELF_TEST_TOKEN", "@NONCE"},
	 .held_by = "it is not there"},
	{.name = "descriptor",
	 .title = "use a descriptor the caller left open",
	 .words = {"descriptor", "@FD", "@NONCE"}},
	{.name = "user-namespace", .title = "make a user namespace", .words = {"user-namespace"}},
	{.name = "mount", .title = "mount something", .words = {"mount", "@/ws/outer", "@PLACE"}},
	{.name = "io-uring", .title = "open an io_uring", .words = {"io-uring"}},
	{.name = "keyring", .title = "put a key into a kernel keyring", .words = {"keyring"}},
	{.name = "terminal", .title = "type into the caller's terminal", .words = {"push"}, .terminal = true},
	{.name = "memory",
	 .title = "take 256 MiB with a limit of 64 MiB",
	 .words = {"memory", "256"},
	 .options = {"--memory", "64m"},
	 .may_end = true},
	{.name = "processes",
	 .title = "make 96 processes with a limit of 32",
	 .words = {"processes", "96"},
	 .options = {"--processes", "32"},
	 .may_end = true},
	{.name = "tmp-size",
	 .title = "write 8 MiB to a /tmp of 1 MiB",
	 .words = {"fill", "/tmp/" QSB__PROBE_FOLDER "fill", "8"},
	 .options = {"--tmp-size", "1m"}},
	{.name = "timeout",
	 .title = "outlive a timeout of 0.5 s without SIGTERM",
	 .words = {"linger", "@SECONDS"},
	 .options = {"--timeout", "0.5"},
	 .may_end = true},
	{.name = "daemon",
	 .title = "leave a daemon behind",
	 .words = {"daemon", "@/ws/daemon"},
	 .happened = daemon_lives,
	 .held_by = "it died with the run"},
};

enum { ATTACK_COUNT = sizeof(attacks) / sizeof(attacks[0]) };
_Static_assert((int)ATTACK_COUNT <= (int)QSB__SELF_TEST_ROWS, "every attack has a row");

static bool did_happen(const struct attack *attack, struct qsb__stage *stage, const struct qsb__trial *trial)
{
	/* Asked in any case: it also undoes what was done. */
	bool seen = attack->happened && attack->happened(stage);

	if (attack->happened)
		return seen;
	return trial->pushed || trial->status == QSB__PROBE_WORKED;
}

static bool gave_answer(const struct qsb__trial *trial)
{
	return trial->status == QSB__PROBE_WORKED || trial->status == QSB__PROBE_REFUSED;
}

/* What did not succeed inside was held, if the attack was really tried. */
static void judge(const struct attack *attack, const struct qsb__trial *trial, bool happened,
		  struct qsb__self_test_row *row)
{
	if (happened) {
		row->verdict = QSB__NOT_HELD;
		snprintf(row->detail, sizeof(row->detail), "it worked inside the sandbox");
	} else if (trial->failed[0]) {
		snprintf(row->detail, sizeof(row->detail), "no sandbox: %.250s", trial->failed);
	} else if (attack->may_end && trial->limited) {
		row->verdict = QSB__HELD;
		snprintf(row->detail, sizeof(row->detail), "ended at the limit: %s", trial->limit);
	} else if (gave_answer(trial)) {
		row->verdict = QSB__HELD;
		snprintf(row->detail, sizeof(row->detail), "%s", attack->held_by ? attack->held_by : trial->said);
	} else {
		snprintf(row->detail, sizeof(row->detail), "inside, the attack ended without an answer: status %d%s%s",
			 trial->status, trial->said[0] ? ": " : "", trial->said);
	}
}

static int run_attack(const struct attack *attack, struct qsb__stage *stage, struct qsb__self_test_row *row,
		      struct qsb_error *err)
{
	struct qsb__trial_request request = {
		.words = attack->words, .options = attack->options, .terminal = attack->terminal};
	struct qsb__trial trial;
	int rc = attack->target ? qsb__stage_target(stage, err) : 0;

	if (rc == 0)
		rc = qsb__stage_try(stage, &request, &trial, err);
	if (rc)
		return rc;
	if (!did_happen(attack, stage, &trial)) {
		snprintf(row->detail, sizeof(row->detail), "without the sandbox it fails too: %s",
			 trial.said[0] ? trial.said : "no answer");
		return 0;
	}
	request.inside = true;
	rc = attack->target ? qsb__stage_target(stage, err) : 0;
	if (rc == 0)
		rc = qsb__stage_try(stage, &request, &trial, err);
	if (rc == 0)
		judge(attack, &trial, did_happen(attack, stage, &trial), row);
	return rc;
}

void qsb__self_test_run(struct qsb__self_test *out, const struct qsb__backend *backend, const char *program)
{
	struct qsb__stage stage;
	struct qsb_error fault = {.code = 0};

	memset(out, 0, sizeof(*out));
	if (!program) {
		snprintf(out->problem, sizeof(out->problem),
			 "this program does not know its own file: is /proc there?");
		return;
	}
	if (qsb__stage_open(&stage, program, backend->name, &fault) == 0) {
		for (size_t i = 0; i < ATTACK_COUNT && fault.code == 0; i++) {
			struct qsb__self_test_row *row = &out->rows[out->count++];

			row->name = attacks[i].name;
			row->title = attacks[i].title;
			row->verdict = QSB__CANNOT_TELL;
			run_attack(&attacks[i], &stage, row, &fault);
		}
	}
	snprintf(out->problem, sizeof(out->problem), "%s", fault.message);
	qsb__stage_close(&stage);
}

bool qsb__self_test_held(const struct qsb__self_test *test)
{
	bool held = test->count > 0 && !test->problem[0];

	for (size_t i = 0; i < test->count; i++)
		held = held && test->rows[i].verdict == QSB__HELD;
	return held;
}

const char *qsb__verdict_name(enum qsb__verdict_kind verdict)
{
	static const char *const names[] = {
		[QSB__HELD] = "held", [QSB__NOT_HELD] = "NOT HELD", [QSB__CANNOT_TELL] = "cannot tell"};

	return names[verdict];
}
