/* Storage that gives itself back when its scope ends. */
#ifndef QSB_CORE_CLEANUP_H
#define QSB_CORE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

static inline void qsb__free_at(void *pointer)
{
	free(*(void **)pointer);
}

static inline void qsb__close_at(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define QSB_CLEANUP_FREE      __attribute__((cleanup(qsb__free_at)))
#define QSB_CLEANUP_FD        __attribute__((cleanup(qsb__close_at)))
#define QSB_CLEANUP(function) __attribute__((cleanup(function)))

/* Hands the descriptor on: the variable no longer owns it. */
static inline int qsb__take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Hands the heap object on: the variable no longer owns it. */
#define QSB_TAKE(pointer)                               \
	__extension__({                                 \
		__typeof__(pointer) taken_ = (pointer); \
		(pointer) = NULL;                       \
		taken_;                                 \
	})

#endif
