/* Signals as events: each is read from a descriptor, with its origin. */
#ifndef QSB_OS_SIGNALS_H
#define QSB_OS_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>

struct qsb__signal {
	int number;
	bool from_terminal; /* Ctrl-C and its kin: every process of the terminal's foreground group got it */
};

/*
 * Takes the named signals (0-terminated) out of their usual way and into a descriptor that can be polled. A signal that
 * was ignored when the program started stays ignored: that is what nohup and a shell's "&" mean. -errno on failure.
 */
int qsb__signals_open(const int *numbers);

/* The next one that waits. False: none. */
bool qsb__signals_read(int fd, struct qsb__signal *out);

/* Back to the usual way. Closes the descriptor. */
void qsb__signals_close(int fd);

#endif
