/* Something that a command did with a file: told by a back end while it happens, to whoever asked. */
#ifndef QSB_BACKEND_TOUCH_H
#define QSB_BACKEND_TOUCH_H

/* What was done with the name. */
enum qsb__touch_kind {
	QSB__TOUCH_READ = 1U << 0,    /* opened for reading, listed, or run */
	QSB__TOUCH_WRITE = 1U << 1,   /* opened for writing, or its attributes changed: the name was there */
	QSB__TOUCH_CREATE = 1U << 2,  /* the name is new */
	QSB__TOUCH_REPLACE = 1U << 3, /* it came by a rename or a link, or went by one */
	QSB__TOUCH_REMOVE = 1U << 4
};

struct qsb__touch {
	enum qsb__touch_kind kind;
	const char *path;    /* real, absolute, as the sandbox sees it */
	const char *process; /* name, "" = unknown */
	const char *asked;   /* the other path by which it was read, through links; NULL = by that one */
};

/* Called on any thread of the back end, while the caller of the call waits: quick, and with its own lock. Only calls
 * that succeeded, and those that are let wait. */
struct qsb__touch_listener {
	void (*touched)(void *context, const struct qsb__touch *touch);
	void *context;
};

#endif
