/*
 * The other side of the library's protocol, for its test: it plays `qiming-sandbox run`. What it plays is the first
 * word of the command.
 */
#ifndef QSB_TESTS_PLAYED_PROGRAM_H
#define QSB_TESTS_PLAYED_PROGRAM_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <qiming/sandbox.h>

static int number_after(char **argv, const char *option)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, option) == 0)
			return atoi(argv[1]);
	return -1;
}

static char **command_of(char **argv)
{
	while (*argv && strcmp(*argv, "--") != 0)
		argv++;
	return *argv ? argv + 1 : argv;
}

static void answer(int fd, json_t *result)
{
	char *text = json_dumps(result, 0);
	size_t length = strlen(text);

	if (write(fd, text, length) != (ssize_t)length)
		_exit(99);
	free(text);
	json_decref(result);
}

/* In pieces, and more than a pipe holds. */
static void answer_slowly(int fd)
{
	static const char part[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	bool good = write(fd, "{\"exitCode\":0,\"x\":\"", 20) == 20;

	for (int i = 0; i < 4000; i++) {
		good = good && write(fd, part, 36) == 36;
		if (i % 1000 == 0)
			usleep(20000);
	}
	if (!good || write(fd, "\"}", 2) != 2)
		_exit(99);
}

static json_t *arguments(char **argv)
{
	json_t *list = json_array();

	for (; *argv; argv++)
		json_array_append_new(list, json_string(*argv));
	return list;
}

static json_t *open_descriptors(void)
{
	json_t *list = json_array();

	for (int fd = 3; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			json_array_append_new(list, json_integer(fd));
	return list;
}

static json_t *text_from(int fd)
{
	static char text[8192];
	ssize_t length = read(fd, text, sizeof(text));

	return json_stringn(text, length > 0 ? (size_t)length : 0);
}

static const char whole[] =
	"{\"exitCode\":143,\"signal\":\"SIGTERM\",\"stdout\":\"a\\u0000b\",\"stderr\":\"err\",\"timedOut\":true,"
	"\"outOfMemory\":false,\"truncated\":{\"stdout\":false,\"stderr\":true},\"durationMs\":12,"
	"\"usage\":{\"userMs\":3,\"sysMs\":4,\"maxRssBytes\":8589934592,\"processes\":5},"
	"\"denials\":[{\"kind\":\"file\",\"operation\":\"write\",\"target\":\"/etc/x\",\"rule\":\"/filesystem/"
	"allowWrite\","
	"\"pid\":7,\"process\":\"sh\",\"time\":\"2026-01-31T12:00:00.000Z\",\"suggestion\":\"--write "
	"/etc/x\",\"count\":2,\"detail\":\"core.pager\"},"
	"{\"kind\":\"limit\",\"operation\":\"memory\",\"pid\":null,\"process\":null}],\"denialsLeftOut\":9,"
	"\"findings\":[{\"kind\":\"gitHook\",\"path\":\"/w/x/hooks/update\",\"what\":\"update\",\"reason\":\"git runs "
	"it\","
	"\"movedTo\":\"/w/x/hooks/update.quarantined\",\"error\":null},"
	"{\"kind\":\"gitConfig\",\"path\":\"/w/y/config\",\"what\":\"core.pager\",\"reason\":\"it "
	"runs\",\"movedTo\":null,"
	"\"error\":\"Read-only file system\"}],\"findingsLeftOut\":3,"
	"\"sandbox\":{\"backend\":\"played\",\"enforced\":{\"files\":true,\"nameRules\":\"existing\"},"
	"\"reported\":{\"files\":true,\"secretReads\":\"some\",\"calls\":false},"
	"\"limitsBy\":{\"memory\":\"watch\"},\"notEnforced\":[{\"what\":\"names\",\"rule\":\"built-in\"}]},\"later\":"
	"1}";

static int play(char **argv)
{
	char **command = command_of(argv);
	const char *role = *command ? *command : "arguments";
	int result = number_after(argv, "--result-fd");

	if (strcmp(role, "whole") == 0)
		answer(result, json_loads(whole, JSON_ALLOW_NUL, NULL));
	else if (strcmp(role, "fails") == 0)
		answer(result, json_pack("{s:i, s:{s:s, s:s, s:s}}", "exitCode", 125, "error", "code", "unsupported",
					 "where", "user namespaces", "message", "not here"));
	else if (strcmp(role, "slow") == 0)
		answer_slowly(result);
	else if (strcmp(role, "garbage") == 0)
		return write(result, "{\"exitCode\":", 12) == 12 ? 0 : 99;
	else if (strcmp(role, "no-code") == 0)
		answer(result, json_object());
	else if (strcmp(role, "silent") == 0)
		return 125;
	else if (strcmp(role, "dies") == 0)
		raise(SIGKILL);
	else if (strcmp(role, "descriptors") == 0)
		answer(result, json_pack("{s:i, s:o}", "exitCode", 0, "list", open_descriptors()));
	else if (strcmp(role, "order") == 0)
		answer(result,
		       json_pack("{s:i, s:o}", "exitCode", 0, "stdout", text_from(number_after(argv, "--control-fd"))));
	else if (strcmp(role, "policy") == 0)
		answer(result,
		       json_pack("{s:i, s:o}", "exitCode", 0, "stdout", text_from(number_after(argv, "--policy-fd"))));
	else if (strcmp(role, "input") == 0)
		answer(result, json_pack("{s:i, s:o}", "exitCode", 0, "stdout", text_from(0)));
	else if (strcmp(role, "prints") == 0)
		return write(1, "out", 3) == 3 && write(2, "err", 3) == 3
		       ? answer(result, json_pack("{s:i}", "exitCode", 0)),
		       0 : 99;
	else if (strcmp(role, "signals") == 0) {
		sigset_t blocked;
		struct sigaction pipe_action;

		sigprocmask(SIG_SETMASK, NULL, &blocked);
		sigaction(SIGPIPE, NULL, &pipe_action);
		answer(result, json_pack("{s:i}", "exitCode",
					 sigismember(&blocked, SIGTERM) + 2 * (pipe_action.sa_handler == SIG_IGN)));
	} else if (strcmp(role, "events") == 0)
		return write(number_after(argv, "--events-fd"), "{}\n", 3) == 3
		       ? answer(result, json_pack("{s:i}", "exitCode", 0)),
		       0 : 99;
	else if (strcmp(role, "sleeps") == 0)
		for (;;)
			pause();
	else
		answer(result, json_pack("{s:i, s:o}", "exitCode", 0, "list", arguments(argv)));
	return 0;
}

#endif
