/* Starting another program, for hosts of any size: never by fork. */
#ifndef QSB_OS_CHILD_H
#define QSB_OS_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include <qiming/sandbox.h>

struct qsb__child {
	const char *program; /* a path */
	char *const *argv;
	char *const *environment; /* NULL = this process's */
	int stdio[3];             /* descriptors above 2; -1 = the null device */
	const int *keep;          /* further descriptors, above 2, that it gets under their own numbers */
	size_t keep_count;
};

/* Signals are unblocked and as the system made them in the new program, whatever the host did with its own. */
int qsb__child_start(int64_t *pid, const struct qsb__child *child, struct qsb_error *err);

/* Waits for its end: the exit code, or minus the number of the signal that ended it; 0 where the host did not let the
 * system keep it (SIGCHLD ignored). */
int qsb__child_wait(int64_t pid, int *status, struct qsb_error *err);

/* No error when it has ended and was not waited for. */
int qsb__child_signal(int64_t pid, int signal_number, struct qsb_error *err);

/* An unnamed file with these bytes, to be read from its start; close-on-exec. Negative: QSB_E_*. */
int qsb__memory_file(const char *data, size_t length, struct qsb_error *err);

/* A copy of a descriptor above 2, close-on-exec. Negative: QSB_E_*. */
int qsb__descriptor_copy(int fd, struct qsb_error *err);

/* A pipe (read, write) or a connected pair that carries both ways; above 2, close-on-exec. */
int qsb__pipe(int ends[2], struct qsb_error *err);
int qsb__channel(int ends[2], struct qsb_error *err);

/* Writes to a channel; a reader that has gone is no signal and no error. */
int qsb__channel_send(int fd, const char *data, size_t length, struct qsb_error *err);

/* Bytes that were read. The owner frees `data`, which is NULL or has a NUL behind its `length` bytes. */
struct qsb__bytes {
	char *data;
	size_t length, room;
};

/* Reads more of a descriptor: to its end (1), or, without `wait`, to where it would have to wait (0). Negative:
 * QSB_E_*. */
int qsb__descriptor_read(int fd, struct qsb__bytes *to, bool wait, struct qsb_error *err);

/* The same, waiting, with what there is given out also after a failure: the caller frees *text. */
int qsb__descriptor_read_all(int fd, char **text, size_t *length, struct qsb_error *err);

/* Does a file stand there that this process may execute? */
bool qsb__is_program(const char *path);

/* The folder of the file that this code was loaded from: the shared library, or the executable. false = unknown. */
bool qsb__own_folder(char *out, size_t size);

#endif
