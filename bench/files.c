#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int make_files(int count)
{
	for (int i = 0; i < count; i++) {
		int fd = open("qsb-bench.file", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

		if (fd < 0 || close(fd) != 0 || unlink("qsb-bench.file") != 0) {
			perror("qsb-bench.file");
			return 1;
		}
	}
	return 0;
}
