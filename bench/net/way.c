#include "net.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { REQUEST_MAX = 1024, PATIENCE_S = 30 };

int write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size > 0) {
		ssize_t sent = write(fd, at, size);

		if (sent <= 0)
			return -1;
		at += sent;
		size -= (size_t)sent;
	}
	return 0;
}

int read_all(int fd, void *bytes, size_t size)
{
	char *at = bytes;

	while (size > 0) {
		ssize_t got = read(fd, at, size);

		if (got <= 0)
			return -1;
		at += got;
		size -= (size_t)got;
	}
	return 0;
}

/* "http://…:PORT", "socks5h://…:PORT" */
static const char *proxy_of_environment(const char *variable)
{
	const char *value = getenv(variable);
	const char *port = value ? strrchr(value, ':') : NULL;

	return port ? port + 1 : "0";
}

static int is(const struct way *way, const char *kind)
{
	return strcmp(way->kind, kind) == 0;
}

int way_init(struct way *way, char **argv)
{
	const char *port;

	*way = (struct way){.kind = argv[0], .host = argv[1], .port = argv[2], .to.sin_family = AF_INET};
	port = way->port;
	if (is(way, "name") || is(way, "tls")) {
		if (look_up(way->host, &way->to.sin_addr) < 0) {
			fprintf(stderr, "qsb-net: the resolver does not know %s\n", way->host);
			return -1;
		}
	} else if (is(way, "plain")) {
		inet_pton(AF_INET, way->host, &way->to.sin_addr);
	} else if (argv[3]) {
		way->to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		port = isdigit((unsigned char)argv[3][0]) ? argv[3] : proxy_of_environment(argv[3]);
		way->authorization = argv[4];
	} else {
		fprintf(stderr, "qsb-net: no way: %s\n", way->kind);
		return -1;
	}
	way->to.sin_port = htons((uint16_t)atoi(port));
	return 0;
}

/* Reads up to the end of an HTTP head, a byte at a time: what follows it is not ours to take. */
static int read_head(int fd, char *head, size_t size)
{
	for (size_t have = 0; have < size - 1; have++) {
		if (read_all(fd, head + have, 1) < 0)
			return -1;
		head[have + 1] = '\0';
		if (have >= 3 && memcmp(head + have - 3, "\r\n\r\n", 4) == 0)
			return 0;
	}
	return -1;
}

static int by_connect(const struct way *way, int fd)
{
	char text[REQUEST_MAX];
	int size = snprintf(text, sizeof(text), "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n%s%s%s\r\n", way->host,
			    way->port, way->host, way->port, way->authorization ? "Proxy-Authorization: Basic " : "",
			    way->authorization ? way->authorization : "", way->authorization ? "\r\n" : "");

	if (write_all(fd, text, (size_t)size) < 0 || read_head(fd, text, sizeof(text)) < 0)
		return -1;
	return strncmp(text + strlen("HTTP/1.1"), " 200", 4) == 0 ? 0 : -1;
}

/* RFC 1929: "user:password" as two counted strings. */
static int log_in(const struct way *way, int fd)
{
	const char *password = strchr(way->authorization, ':');
	size_t user = password ? (size_t)(password - way->authorization) : 0;
	uint8_t text[REQUEST_MAX], reply[2];
	int size;

	if (!password)
		return -1;
	size = snprintf((char *)text, sizeof(text), "\x01%c%.*s%c%s", (int)user, (int)user, way->authorization,
			(int)strlen(password + 1), password + 1);
	if (write_all(fd, text, (size_t)size) < 0 || read_all(fd, reply, sizeof(reply)) < 0)
		return -1;
	return reply[1] == 0 ? 0 : -1;
}

static int by_socks(const struct way *way, int fd)
{
	const uint8_t offer[] = {5, 1, way->authorization ? 2 : 0};
	uint8_t text[REQUEST_MAX], reply[10];
	size_t size = strlen(way->host);
	unsigned port = (unsigned)atoi(way->port);

	if (write_all(fd, offer, sizeof(offer)) < 0 || read_all(fd, reply, 2) < 0 || reply[1] != offer[2])
		return -1;
	if (way->authorization && log_in(way, fd) < 0)
		return -1;
	memcpy(text, (const uint8_t[]){5, 1, 0, 3, (uint8_t)size}, 5);
	memcpy(text + 5, way->host, size);
	text[5 + size] = (uint8_t)(port >> 8);
	text[6 + size] = (uint8_t)port;
	/* The answer names an IPv4 address, as each of the proxies here gives it. */
	if (write_all(fd, text, 7 + size) < 0 || read_all(fd, reply, sizeof(reply)) < 0)
		return -1;
	return reply[1] == 0 && reply[3] == 1 ? 0 : -1;
}

static int request(const struct way *way, int fd, const char *path)
{
	char text[REQUEST_MAX];
	size_t at = is(way, "tls") ? write_hello(way->host, (uint8_t *)text, sizeof(text) / 2) : 0;
	int absolute = is(way, "get"), size;

	if (is(way, "connect") && by_connect(way, fd) < 0)
		return -1;
	if (is(way, "socks") && by_socks(way, fd) < 0)
		return -1;
	size = snprintf(
		text + at, sizeof(text) - at, "GET %s%s%s%s%s HTTP/1.1\r\nHost: %s:%s\r\n%s%s%s\r\n",
		absolute ? "http://" : "", absolute ? way->host : "", absolute ? ":" : "", absolute ? way->port : "",
		path, way->host, way->port, absolute && way->authorization ? "Proxy-Authorization: Basic " : "",
		absolute && way->authorization ? way->authorization : "", absolute && way->authorization ? "\r\n" : "");
	return write_all(fd, text, at + (size_t)size);
}

int way_ask(const struct way *way, const char *path)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, error;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (const struct sockaddr *)&way->to, sizeof(way->to)) == 0 && request(way, fd, path) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

int64_t read_to_body(int fd)
{
	char head[REQUEST_MAX];
	size_t have = 0;

	for (;;) {
		ssize_t got = read(fd, head + have, sizeof(head) - 1 - have);
		const char *end;

		if (got <= 0)
			return -1;
		have += (size_t)got;
		head[have] = '\0';
		end = strstr(head, "\r\n\r\n");
		if (strncmp(head, "HTTP/1.1 200 ", have < 13 ? have : 13) != 0 || (!end && have == sizeof(head) - 1))
			return -1;
		if (end && end + 4 < head + have)
			return head + have - (end + 4);
		if (end) /* the body begins with the next byte */
			return read(fd, head, 1) == 1 ? 1 : -1;
	}
}
