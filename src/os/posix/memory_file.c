#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/cleanup.h"
#include "core/error.h"
#include "os/child.h"
#include "os/descriptors.h"

int qsb__memory_file(const char *data, size_t length, struct qsb_error *err)
{
	/* By number: the call is younger than some of the C libraries this is built for. */
	QSB_CLEANUP_FD int file = (int)syscall(SYS_memfd_create, "policy", MFD_CLOEXEC);
	int rc;

	if (file < 0)
		return qsb__fail_os(err, errno, "spawn", "cannot make a file in memory");
	rc = qsb__descriptor_write(file, data, length, err);
	if (rc)
		return rc;
	if (lseek(file, 0, SEEK_SET) < 0)
		return qsb__fail_os(err, errno, "spawn", "cannot rewind a file in memory");
	return qsb__descriptor_copy(file, err);
}
