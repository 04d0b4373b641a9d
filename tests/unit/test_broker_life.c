/* The broker besides its connections: names, questions to the caller, few descriptors, the end. */
#include "played_broker.h"

/* ---- names ---- */

static size_t write_question(uint8_t *out, uint16_t id, const char *name, uint16_t type)
{
	const uint8_t head[12] = {(uint8_t)(id >> 8), (uint8_t)id, 1, 0, 0, 1};
	const uint8_t tail[5] = {0, (uint8_t)(type >> 8), (uint8_t)type, 0, 1};
	size_t used = sizeof(head);

	memcpy(out, head, sizeof(head));
	while (*name) {
		size_t label = strcspn(name, ".");

		out[used++] = (uint8_t)label;
		memcpy(out + used, name, label);
		used += label;
		name += label + (name[label] == '.');
	}
	memcpy(out + used, tail, sizeof(tail));
	return used + sizeof(tail);
}

/* The code of the answer, -1 = none came. `address`: the last four bytes. */
static int ask_name(const struct world *world, const char *name, uint16_t type, uint8_t *address)
{
	uint8_t message[600];
	size_t size = write_question(message, 77, name, type);
	int fd = call(world->ports[DNS_UDP], SOCK_DGRAM);
	ssize_t length = say(fd, message, size) ? recv(fd, message, sizeof(message), 0) : -1;

	close(fd);
	if (length < 12 || message[1] != 77 || !(message[2] & 0x80))
		return -1;
	memcpy(address, message + length - 4, 4);
	return message[3] & 15;
}

static void test_names(struct world *world)
{
	uint8_t address[4], again[4];

	tap_ok(ask_name(world, "www.allowed.test", 1, address) == 0 && address[0] == 198 && address[1] == 18,
	       "an allowed name has an address that stands for it");
	tap_ok(ask_name(world, "WWW.allowed.test", 1, again) == 0 && memcmp(address, again, 4) == 0,
	       "the same one every time");
	tap_is_number(ask_name(world, "www.allowed.test", 28, again), 0, "and one of IPv6");
	tap_is_number(ask_name(world, "other.test", 1, address), 3, "a name under no rule does not exist");
	tap_is_number(ask_name(world, "no.allowed.test", 28, address), 3, "nor one that is denied");
	tap_ok(ask_name(world, "localhost", 1, address) == 0 && address[0] == 127, "localhost is the sandbox's own");
}

/* More questions at once than the broker's buffer holds, and no word after them. */
static void test_names_by_tcp(struct world *world)
{
	enum { QUESTIONS = 60 };
	uint8_t bytes[QUESTIONS * 60];
	static uint8_t answers[QUESTIONS * 120];
	size_t used = 0, got = 0, count = 0;
	ssize_t length = 1;
	int fd = call(world->ports[DNS_TCP], SOCK_STREAM);

	for (int i = 0; i < QUESTIONS; i++) {
		char name[40];
		size_t size;

		snprintf(name, sizeof(name), "host-%d.allowed.test", i);
		size = write_question(bytes + used + 2, (uint16_t)i, name, 1);
		bytes[used] = 0;
		bytes[used + 1] = (uint8_t)size;
		used += size + 2;
	}
	say(fd, bytes, used);
	shutdown(fd, SHUT_WR);
	while (length > 0) {
		length = recv(fd, answers + got, sizeof(answers) - got, 0);
		got += length > 0 ? (size_t)length : 0;
	}
	for (size_t at = 0; at + 2 <= got; at += 2U + ((size_t)answers[at] << 8 | answers[at + 1]))
		count++;
	tap_is_number((long long)count, QUESTIONS, "all questions of one stream are answered");
	close(fd);
}

/* ---- its end, its limits, its questions ---- */

static void test_finish(void)
{
	struct qsb__broker_event event;
	struct world world;
	char text[300];
	int client, peer, silent, code;

	if (!begin(&world, false))
		return;
	silent = call(world.ports[HTTP_PROXY], SOCK_STREAM);
	client = ask_for(&world, "localhost", world.server_port);
	peer = answer_call(world.server, PATIENCE_MS);
	hear(client, text, sizeof(text), "\r\n\r\n");
	say(client, "\1x", 2);
	hear(peer, text, sizeof(text), "x");
	qsb__broker_finish(&world.broker);
	tap_ok(next_event(&world, PATIENCE_MS, &event) && event.allowed && event.sent == 2,
	       "the end of the command is told of what was open");
	tap_ok(!next_event(&world, PATIENCE_MS, &event), "a client that never asked for anything was not refused");
	code = qsb__broker_read(&world.broker, &event);
	tap_is_number(code, -1, "and then the broker is gone");
	tap_ok(recv(peer, text, sizeof(text), 0) <= 0, "the server sees the end");
	close(silent);
	close(client);
	close(peer);
	end(&world);
}

/* What was said before the command's end arrives, as it would without a broker. */
static void test_last_bytes(void)
{
	static char bytes[65536];
	struct qsb__broker_event event;
	struct world world;
	char text[300];
	int client, peer;
	struct pollfd room;
	uint64_t sent = 0, got = 0;
	ssize_t length;

	if (!begin(&world, false))
		return;
	client = ask_for(&world, "localhost", world.server_port);
	peer = answer_call(world.server, PATIENCE_MS);
	hear(client, text, sizeof(text), "\r\n\r\n");
	room = (struct pollfd){.fd = client, .events = POLLOUT};
	while (poll(&room, 1, QUIET_MS) == 1) {
		length = send(client, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
		sent += length > 0 ? (uint64_t)length : 0;
	}
	close(client);
	qsb__broker_finish(&world.broker);
	while ((length = recv(peer, bytes, sizeof(bytes), 0)) > 0)
		got += (uint64_t)length;
	tap_ok(length == 0 && got == sent, "%llu of %llu bytes that the command sent before its end arrive",
	       (unsigned long long)got, (unsigned long long)sent);
	tap_ok(next_event(&world, PATIENCE_MS, &event) && event.sent == sent, "and are counted");
	tap_ok(!next_event(&world, PATIENCE_MS, &event) && qsb__broker_read(&world.broker, &event) == -1,
	       "then the broker is gone");
	close(peer);
	end(&world);
}

/* A server that takes nothing keeps nobody waiting for ever. */
static void test_last_bytes_of_nobody(void)
{
	static char bytes[65536];
	struct qsb__broker_event event;
	struct world world;
	char text[300];
	int client, peer;
	struct pollfd room;

	if (!begin(&world, false))
		return;
	client = ask_for(&world, "localhost", world.server_port);
	peer = answer_call(world.server, PATIENCE_MS);
	hear(client, text, sizeof(text), "\r\n\r\n");
	room = (struct pollfd){.fd = client, .events = POLLOUT};
	while (poll(&room, 1, QUIET_MS) == 1 && send(client, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		;
	close(client);
	qsb__broker_finish(&world.broker);
	tap_ok(next_event(&world, PATIENCE_MS, &event) && event.sent > 0, "a server that does not read is given up");
	tap_ok(!next_event(&world, PATIENCE_MS, &event) && qsb__broker_read(&world.broker, &event) == -1,
	       "and the broker ends");
	close(peer);
	end(&world);
}

/* With few descriptors clients wait for others to end; nobody's connection breaks, and the broker rests meanwhile. */
static void test_few_descriptors(void)
{
	enum { CLIENTS = 16, FAILED = 100 };
	struct rlimit few, before;
	struct world world;
	char text[300];
	int clients[CLIENTS], client, peer, status = 0;
	bool began;

	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = few.rlim_max = 104;
	/* The limit is the child's: it is inherited. Only root could raise the hard one again. */
	if (fork() == 0) {
		int counted = tap_count;

		tap_failures = 0;
		setrlimit(RLIMIT_NOFILE, &few);
		began = begin(&world, false);
		for (int i = 0; i < CLIENTS; i++)
			clients[i] = call(world.ports[HTTP_PROXY], SOCK_STREAM);
		client = ask_for(&world, "localhost", world.server_port);
		tap_ok(began && answer_call(world.server, QUIET_MS) < 0, "a client more than there is room for waits");
		tap_ok(is_idle(&world), "without the broker turning in circles");
		for (int i = 0; i < CLIENTS; i++)
			close(clients[i]);
		peer = answer_call(world.server, PATIENCE_MS);
		hear(client, text, sizeof(text), "\r\n\r\n");
		tap_ok(peer >= 0 && strncmp(text, "HTTP/1.1 200 ", 13) == 0, "it is served when others have ended");
		end(&world);
		_exit(tap_count - counted + (tap_failures ? FAILED : 0));
	}
	wait(&status);
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 0 || WEXITSTATUS(status) >= FAILED)
		tap_failures++;
	tap_count += WIFEXITED(status) ? WEXITSTATUS(status) % FAILED : 0;
}

/* The proxy behind us, which knows every name. */
static void connect_by_proxy(const struct world *world)
{
	char text[600];
	int proxy = answer_call(world->proxy, PATIENCE_MS);

	hear(proxy, text, sizeof(text), "\r\n\r\n");
	say_text(proxy, "HTTP/1.1 200 OK\r\n\r\n");
	close(proxy);
}

static void answer_request(struct world *world, enum qsb__broker_answer answer, const char *what, const char *status)
{
	struct qsb__broker_event event;
	int first = ask_for(world, "ask.test", 443), second;
	char text[600];
	bool asked = next_event(world, PATIENCE_MS, &event);

	second = ask_for(world, "ask.test", 443);
	tap_ok(asked && event.kind == QSB__BROKER_REQUEST && strcmp(event.host, "ask.test") == 0 && event.port == 443 &&
		       is_quiet(world->broker.events_fd),
	       "two clients wait for one answer");
	qsb__broker_answer(&world->broker, event.id + 1, QSB__ANSWER_RUN);
	tap_ok(is_quiet(first), "an answer to another question is none");
	qsb__broker_answer(&world->broker, event.id, answer);
	for (int i = 0; i < 2 && answer != QSB__ANSWER_DENY; i++)
		connect_by_proxy(world);
	hear(first, text, sizeof(text), "\r\n\r\n");
	tap_ok(strncmp(text, status, strlen(status)) == 0, "%s: the first hears it", what);
	hear(second, text, sizeof(text), "\r\n\r\n");
	tap_ok(strncmp(text, status, strlen(status)) == 0, "%s: so does the second", what);
	close(first);
	close(second);
	tap_ok(next_event(world, PATIENCE_MS, &event) && event.kind == QSB__BROKER_CONNECTION &&
		       event.allowed == (answer != QSB__ANSWER_DENY) && next_event(world, PATIENCE_MS, &event) &&
		       event.kind == QSB__BROKER_CONNECTION,
	       "%s: both are told", what);
}

static void test_asking(void)
{
	struct qsb__broker_event event;
	struct world world;
	char text[300];
	int client;

	if (!begin(&world, true))
		return;
	answer_request(&world, QSB__ANSWER_DENY, "no", "HTTP/1.1 403 ");
	answer_request(&world, QSB__ANSWER_ONCE, "once", "HTTP/1.1 200 ");
	answer_request(&world, QSB__ANSWER_RUN, "for this run", "HTTP/1.1 200 ");
	client = ask_for(&world, "ask.test", 443);
	connect_by_proxy(&world);
	hear(client, text, sizeof(text), "\r\n\r\n");
	tap_ok(strncmp(text, "HTTP/1.1 200 ", 13) == 0, "then nobody is asked again");
	close(client);
	tap_ok(next_event(&world, PATIENCE_MS, &event) && event.kind == QSB__BROKER_CONNECTION, "it is told");
	end(&world);
}

static void test_lookups(void)
{
	struct world world;

	if (!begin(&world, false))
		return;
	test_names(&world);
	test_names_by_tcp(&world);
	tap_ok(is_idle(&world), "then it has nothing to do");
	end(&world);
}

int main(void)
{
	struct qsb__broker none = {.launch_fd = -1, .events_fd = -1};

	signal(SIGPIPE, SIG_IGN);
	test_lookups();
	test_finish();
	test_last_bytes();
	test_last_bytes_of_nobody();
	test_asking();
	test_few_descriptors();
	qsb__broker_free(&none);
	return tap_done();
}
