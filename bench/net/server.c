#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_MAX = 4096, STACK = 64 * 1024, BACKLOG = 4096, TLS_HANDSHAKE = 22, TLS_RECORD_HEAD = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static unsigned long releases;
static pthread_attr_t detached;

/* Reads a request's head, byte runs at a time. The client sends nothing after it before it has its answer. */
static int read_head(int fd, char *head)
{
	size_t have = 0;

	while (have < HEAD_MAX - 1) {
		ssize_t got = read(fd, head + have, HEAD_MAX - 1 - have);

		if (got <= 0)
			return -1;
		have += (size_t)got;
		head[have] = '\0';
		if (strstr(head, "\r\n\r\n"))
			return 0;
	}
	return -1;
}

/* A hello that stands before the request is left unanswered: nobody in between may wait for an answer to it. */
static int skip_hello(int fd)
{
	uint8_t record[TLS_RECORD_HEAD], hello[1024];
	size_t size;

	if (recv(fd, record, sizeof(record), MSG_PEEK | MSG_WAITALL) != sizeof(record))
		return -1;
	if (record[0] != TLS_HANDSHAKE)
		return 0;
	size = sizeof(record) + ((size_t)record[3] << 8 | record[4]);
	return size > sizeof(hello) ? -1 : read_all(fd, hello, size);
}

static int send_zeroes(int fd, int64_t bytes)
{
	static const char zeroes[CHUNK];

	while (bytes > 0) {
		ssize_t sent = write(fd, zeroes, bytes < CHUNK ? (size_t)bytes : CHUNK);

		if (sent <= 0)
			return -1;
		bytes -= sent;
	}
	return 0;
}

static int send_head(int fd, int64_t bytes)
{
	char head[128];
	int size = snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\nConnection: close\r\n\r\n",
			    (long long)bytes);

	return write_all(fd, head, (size_t)size);
}

static int hold(int fd)
{
	unsigned long before;

	/* Counted before the first byte: a client that has it may ask for the release at once. */
	pthread_mutex_lock(&lock);
	before = releases;
	pthread_mutex_unlock(&lock);
	if (send_head(fd, 2) < 0 || send_zeroes(fd, 1) < 0)
		return -1;
	pthread_mutex_lock(&lock);
	while (releases == before)
		pthread_cond_wait(&released, &lock);
	pthread_mutex_unlock(&lock);
	return send_zeroes(fd, 1);
}

static void release(void)
{
	pthread_mutex_lock(&lock);
	releases++;
	pthread_cond_broadcast(&released);
	pthread_mutex_unlock(&lock);
}

static void answer(int fd)
{
	char head[HEAD_MAX];
	const char *data;

	if (skip_hello(fd) < 0 || read_head(fd, head) < 0)
		return;
	data = strstr(head, "/data/");
	if (data) {
		int64_t bytes = atoll(data + strlen("/data/"));

		if (send_head(fd, bytes) == 0)
			send_zeroes(fd, bytes);
	} else if (strstr(head, "/hold ")) {
		hold(fd);
	} else if (strstr(head, "/release ")) {
		release();
		if (send_head(fd, 1) == 0)
			send_zeroes(fd, 1);
	}
}

static void *connection(void *argument)
{
	int fd = (int)(intptr_t)argument, on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	answer(fd);
	close(fd);
	return NULL;
}

static void *accept_all(void *argument)
{
	int listener = (int)(intptr_t)argument;

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pthread_t thread;

		if (fd >= 0 && pthread_create(&thread, &detached, connection, (void *)(intptr_t)fd) != 0)
			close(fd);
		else if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
			usleep(1000);
	}
	return NULL;
}

static int listen_on(const char *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				      .sin_port = htons((uint16_t)atoi(port))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int serve(char **ports)
{
	pthread_attr_init(&detached);
	pthread_attr_setstacksize(&detached, STACK);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (; *ports; ports++) {
		int listener = listen_on(*ports);
		pthread_t thread;

		if (listener < 0 || pthread_create(&thread, &detached, accept_all, (void *)(intptr_t)listener) != 0) {
			fprintf(stderr, "qsb-net: port %s: %s\n", *ports, strerror(errno));
			return 1;
		}
	}
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}
