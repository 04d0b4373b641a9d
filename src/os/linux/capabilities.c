#include "os/capabilities.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>

bool qsb__capabilities_drop(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};

	return syscall(SYS_capset, &header, none) == 0;
}
