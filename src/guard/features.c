/* What the kernel must have for live rules, found by trying, before anything starts. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <linux/filter.h>

#include "core/cleanup.h"
#include "guard/internal.h"

/* Flags of seccomp(2) are looked at before the program: a missing one is EINVAL, a missing program EFAULT. */
bool qsb__guard_available(void)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, NULL) != 0 &&
	       errno == EFAULT;
}

/* Can an answer give a descriptor in one step? There is no such call, so ENOENT is the good answer. */
static bool has_descriptors(int listener)
{
	struct seccomp_notif_addfd added = {.id = 1, .srcfd = (unsigned)listener, .flags = SECCOMP_ADDFD_FLAG_SEND};

	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &added) < 0 && errno == ENOENT;
}

/* A filter is a thread's own: this one's ends with it. */
static void *try_listener(void *result)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};
	enum qsb__guard_lack *lack = result;
	QSB_CLEANUP_FD int listener = -1;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		listener =
			(int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener < 0)
		*lack = errno == EBUSY ? QSB__LACK_LISTENER : QSB__LACK_FILTER;
	else if (!has_descriptors(listener))
		*lack = QSB__LACK_DESCRIPTORS;
	return NULL;
}

enum qsb__guard_lack qsb__guard_lacks(void)
{
	enum qsb__guard_lack lack = QSB__LACK_NOTHING;
	pthread_t thread;

	if (!qsb__guard_available())
		return errno == EINVAL ? QSB__LACK_FLAGS : QSB__LACK_FILTER;
	if (pthread_create(&thread, NULL, try_listener, &lack) != 0)
		return QSB__LACK_FILTER;
	pthread_join(thread, NULL);
	return lack;
}

const char *qsb__guard_lack_text(enum qsb__guard_lack lack, const char **fix)
{
	static const struct {
		const char *cause, *fix;
	} texts[] = {
		[QSB__LACK_NOTHING] = {NULL, ""},
		[QSB__LACK_FLAGS] = {"that needs Linux 5.19", "use Linux 5.19 or newer"},
		[QSB__LACK_DESCRIPTORS] = {"the kernel cannot hand descriptors over with an answer",
					   "use Linux 5.19 or newer"},
		[QSB__LACK_FILTER] = {"something around this process forbids seccomp filters",
				      "start from outside the container or sandbox that forbids seccomp(2)"},
		[QSB__LACK_LISTENER] = {"a sandbox around this process answers system calls already, and the kernel "
					"takes one",
					"start from outside it"},
	};

	*fix = texts[lack].fix;
	return texts[lack].cause;
}
