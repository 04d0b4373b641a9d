/*
 * What /proc/PID/status says: one line a key. The first one holds the name, which its process chooses and which may
 * look like any other line: keys are found at the start of a later one.
 */
#ifndef QSB_LINUX_PROC_STATUS_H
#define QSB_LINUX_PROC_STATUS_H

#include <stdbool.h>
#include <stddef.h>

enum { QSB__STATUS_BYTES = 4096 };

/* The text of a file, by its path from a folder. False, and "": it cannot be read. */
bool qsb__status_read(int folder, const char *path, char text[QSB__STATUS_BYTES]);

/* The first number behind "Key:", 0 = there is none. */
unsigned long long qsb__status_number(const char *status, const char *key, int base);

/* Of the numbers that a process has in one namespace after the other: that in the sandbox's own, and that in its
 * innermost one, by which it calls itself. 0 = there is none. */
int qsb__status_inside(const char *status, const char *key);
int qsb__status_innermost(const char *status, const char *key);

void qsb__status_name(const char *status, char *name, size_t size);

#endif
