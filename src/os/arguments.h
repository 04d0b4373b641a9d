/* This program's own command line and environment, as the kernel shows them to others in /proc/PID. */
#ifndef QSB_OS_ARGUMENTS_H
#define QSB_OS_ARGUMENTS_H

/* Remembers where they lie. To be called first in main(), before anything changes `environ`. */
void qsb__program_arguments_keep(int argc, char **argv);

/*
 * Overwrites them in this process: the strings of argv and environ are gone after it, only the program's name is left.
 * What is still needed of them must have been copied. Async-signal-safe; nothing happens without a "keep" before.
 */
void qsb__program_arguments_wipe(void);

#endif
