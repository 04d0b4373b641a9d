/* Shutting a process of our own in, before it reads what strangers send. */
#ifndef QSB_OS_CONFINE_H
#define QSB_OS_CONFINE_H

#include <qiming/sandbox.h>

/*
 * From here on this process can only serve sockets: no program, no file, no new listening socket, no signal to
 * others, no capability, no way back.
 *   QSB_E_OS  the kernel refused: the caller must not go on
 */
int qsb__confine_server(struct qsb_error *err);

#endif
