/*
 * libqsandbox: run a command of an AI agent in a sandbox on this machine.
 *
 * The library never forks, never writes to stderr, never exits. It reads policies, makes the plan of what the
 * operating system is asked to enforce, explains it, and starts the program `qiming-sandbox`, which does the rest.
 *
 * Every function that can fail returns 0 or a negative QSB_E_* and, where `err` is not NULL, fills it in.
 * No function keeps a pointer that the caller passed in. Objects may be used by one thread at a time.
 */
#ifndef QIMING_SANDBOX_H
#define QIMING_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define QSB_API
#else
#define QSB_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define QSB_VERSION_MAJOR 0
#define QSB_VERSION_MINOR 1
#define QSB_VERSION_PATCH 0
#define QSB_VERSION "0.1.0"

/* What went wrong, as a class. The sentence for a person stands in qsb_error.message. */
enum {
	QSB_E_MEMORY = -1,      /* no memory */
	QSB_E_OS = -2,          /* a call to the operating system failed: os_code says how */
	QSB_E_INVALID = -3,     /* an argument or a policy value has the wrong type or form */
	QSB_E_RANGE = -4,       /* a number outside its range */
	QSB_E_UNKNOWN = -5,     /* an unknown key, option, preset or back end */
	QSB_E_NOT_FOUND = -6,   /* a named file or folder is not there */
	QSB_E_UNSUPPORTED = -7, /* this host or this build cannot enforce what was asked: nothing ran */
	QSB_E_DENIED = -8,      /* the managed policy or a project's trust forbids it */
	QSB_E_PROTOCOL = -9,    /* the program's answer could not be understood */
	QSB_E_STATE = -10       /* a call out of order: waited twice, killed after the end */
};

/*
 * The details of a failure, owned by the caller. Plain bytes without pointers: it works out of memory and travels
 * between processes in one write.
 */
struct qsb_error {
	int code;          /* QSB_E_*, 0 = none */
	int os_code;       /* errno, 0 = not from the operating system */
	char where[64];    /* the step or the policy path: "mounts", "/filesystem/denyWrite/2" */
	char message[400]; /* one sentence, no newline, UTF-8 */
};

#ifdef __cplusplus
}
#endif

#endif
