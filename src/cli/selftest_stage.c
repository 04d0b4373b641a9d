/* The self-test's folder, services and victim. */
#include "cli/selftest_stage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/selftest_attacks.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "os/child.h"

#define WHERE "self-test"

void qsb__stage_path(const struct qsb__stage *stage, const char *name, char out[QSB__STAGE_WORD])
{
	snprintf(out, QSB__STAGE_WORD, "%s/%s", stage->folder, name);
}

bool qsb__stage_file(const struct qsb__stage *stage, const char *name, const char *text)
{
	char path[QSB__STAGE_WORD];
	QSB_CLEANUP_FD int fd = -1;

	qsb__stage_path(stage, name, path);
	for (char *slash = path + strlen(stage->folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool make_files(const struct qsb__stage *stage)
{
	static const char policy[] = "{\"extends\": \"workspace\", \"limits\": {\"timeout\": 20}}";
	static const char *const plain[] = {"outside/file", "ws/closed/file", "ws/outer/inner/file",
					    "ws/.git/hooks/pre-commit"};
	bool good = qsb__stage_file(stage, "policy.json", policy) &&
		    qsb__stage_file(stage, "secret/key", stage->nonce) && qsb__stage_file(stage, "leak", stage->nonce);

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		good = good && qsb__stage_file(stage, plain[i], "before");
	return good;
}

/* One line of a helper that was just started. */
static bool read_line(int fd, char *out, size_t size)
{
	size_t used = 0;

	while (used + 1 < size && read(fd, out + used, 1) == 1 && out[used] != '\n')
		used++;
	out[used] = '\0';
	return used > 0;
}

static int start_helper(int64_t *pid, const struct qsb__stage *stage, const char *const words[2], int input,
			int *output, struct qsb_error *err)
{
	char program[] = "qiming-sandbox", command[] = QSB__PROBE_COMMAND;
	char *const argv[] = {program, command, (char *)(uintptr_t)words[0], (char *)(uintptr_t)words[1], NULL};
	int ends[2];
	int rc = qsb__pipe(ends, err);

	if (rc)
		return rc;
	rc = qsb__child_start(
		pid, &(struct qsb__child){.program = stage->program, .argv = argv, .stdio = {input, ends[1], -1}}, err);
	close(ends[1]);
	if (rc)
		close(ends[0]);
	else
		*output = ends[0];
	return rc;
}

/* Not the temporary folder where another one can be had: the sandbox has one of its own, so that an attack on a path in
 * it would meet another file than the host's. */
static const char *choose_place(void)
{
	static char cache[QSB__PATH_MAX];
	const char *home = getenv("HOME");
	const char *const places[] = {getenv("XDG_CACHE_HOME"), cache, home, "/tmp"};

	snprintf(cache, sizeof(cache), "%s/.cache", home ? home : "");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i] && places[i][0] == '/' && access(places[i], W_OK | X_OK) == 0)
			return places[i];
	return "/tmp";
}

static int make_folder(struct qsb__stage *stage, struct qsb_error *err)
{
	const char *place = choose_place();
	const char *const words[] = {"keeper", place};
	char folder[sizeof(stage->folder)];
	int ends[2], rc = qsb__pipe(ends, err);
	QSB_CLEANUP_FD int output = -1;

	if (rc)
		return rc;
	rc = start_helper(&stage->keeper, stage, words, ends[0], &output, err);
	close(ends[0]);
	stage->keeper_fd = ends[1];
	if (rc)
		return rc;
	if (!read_line(output, folder, sizeof(folder)) || !realpath(folder, stage->folder))
		return qsb__fail(err, QSB_E_OS, WHERE, "cannot make a folder for the self-test in %s", place);
	return 0;
}

static int listen_at(const void *address, socklen_t length)
{
	const struct sockaddr *any = address;
	int fd = socket(any->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && (bind(fd, any, length) < 0 || listen(fd, 8) < 0))
		close(qsb__take_fd(&fd));
	return fd;
}

static int open_services(struct qsb__stage *stage, struct qsb_error *err)
{
	struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "socket"}, abstract = {.sun_family = AF_UNIX};
	socklen_t length = sizeof(loopback);
	char folder[QSB__STAGE_WORD];
	QSB_CLEANUP_FD int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	stage->tcp_fd = listen_at(&loopback, sizeof(loopback));
	if (stage->tcp_fd >= 0 && getsockname(stage->tcp_fd, (struct sockaddr *)&loopback, &length) == 0)
		stage->port = ntohs(loopback.sin_port);
	snprintf(abstract.sun_path + 1, sizeof(abstract.sun_path) - 1, "%s", stage->nonce);
	stage->abstract_fd =
		listen_at(&abstract, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(stage->nonce)));
	/* An address holds 107 bytes: it is bound from where its name is short. */
	qsb__stage_path(stage, "ws", folder);
	if (here >= 0 && chdir(folder) == 0) {
		stage->unix_fd = listen_at(&path, sizeof(path));
		if (fchdir(here) < 0)
			return qsb__fail_os(err, errno, WHERE, "cannot return to the current folder");
	}
	return stage->tcp_fd < 0 || stage->unix_fd < 0 || stage->abstract_fd < 0
		       ? qsb__fail_os(err, errno, WHERE, "cannot open the sockets of the self-test")
		       : 0;
}

static int make_environment(struct qsb__stage *stage, struct qsb_error *err)
{
	size_t count = 0;

	while (environ[count])
		count++;
	stage->environment = calloc(count + 2, sizeof(char *));
	if (!stage->environment)
		return qsb__fail_memory(err, WHERE);
	memcpy(stage->environment, environ, count * sizeof(char *));
	snprintf(stage->secret, sizeof(stage->secret), "QIMING_SELF_TEST_TOKEN=%s", stage->nonce);
	stage->environment[count] = stage->secret;
	return 0;
}

static int make_nonce(char out[33], struct qsb_error *err)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return qsb__fail_os(err, errno, WHERE, "cannot get random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int qsb__stage_open(struct qsb__stage *stage, const char *program, const char *backend, struct qsb_error *err)
{
	char path[QSB__STAGE_WORD];
	int rc;

	*stage = (struct qsb__stage){.program = program, .backend = backend};
	stage->keeper_fd = stage->tcp_fd = stage->unix_fd = stage->abstract_fd = stage->leak_fd = -1;
	rc = make_nonce(stage->nonce, err);
	if (rc == 0)
		rc = make_folder(stage, err);
	if (rc == 0 && !make_files(stage))
		rc = qsb__fail_os(err, errno, WHERE, "cannot make the files of the self-test in %s", stage->folder);
	if (rc == 0)
		rc = open_services(stage, err);
	if (rc == 0)
		rc = make_environment(stage, err);
	if (rc)
		return rc;
	qsb__stage_path(stage, "leak", path);
	stage->leak_fd = open(path, O_RDONLY | O_CLOEXEC);
	return stage->leak_fd < 0 ? qsb__fail_os(err, errno, WHERE, "cannot open %s", path) : 0;
}

int qsb__stage_target(struct qsb__stage *stage, struct qsb_error *err)
{
	const char *const words[] = {"target", stage->nonce};
	QSB_CLEANUP_FD int output = -1;
	char ready[16];
	int rc;

	if (stage->target)
		return 0;
	rc = start_helper(&stage->target, stage, words, -1, &output, err);
	if (rc == 0 && !read_line(output, ready, sizeof(ready)))
		rc = qsb__fail(err, QSB_E_OS, WHERE, "the process to attack does not start");
	return rc;
}

bool qsb__stage_target_died(struct qsb__stage *stage)
{
	enum { ROUNDS = 10, ROUND_US = 10000 };

	for (int i = 0; stage->target && i < ROUNDS; i++) {
		if (waitpid((pid_t)stage->target, NULL, WNOHANG) > 0) {
			stage->target = 0;
			return true;
		}
		usleep(ROUND_US);
	}
	return false;
}

void qsb__stage_close(struct qsb__stage *stage)
{
	int *const fds[] = {&stage->tcp_fd, &stage->unix_fd, &stage->abstract_fd, &stage->leak_fd, &stage->keeper_fd};
	int status;

	if (stage->target) {
		qsb__child_signal(stage->target, SIGKILL, NULL);
		qsb__child_wait(stage->target, &status, NULL);
	}
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			close(qsb__take_fd(fds[i]));
	if (stage->keeper)
		qsb__child_wait(stage->keeper, &status, NULL);
	free(stage->environment);
}
