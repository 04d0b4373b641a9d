/*
 * Options of the sanitizers, built into every program of a sanitized build: tests set the environment as they need,
 * throw stderr away, and close what they like, and a complaint must still be seen. tests/run collects the reports.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <sanitizer/common_interface_defs.h>

#include "os/confine.h"

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

#define REPORTS "log_path=" QSB_REPORTS "/report"

/* Leaks are off here: the search for them needs ptrace, which the sandbox takes away. Unit tests switch it on. */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return REPORTS ":detect_leaks=0:abort_on_error=0:exitcode=99";
}

__attribute__((visibility("default"))) const char *__ubsan_default_options(void)
{
	return REPORTS ":halt_on_error=1:print_stacktrace=1:exitcode=99";
}

/*
 * In place of qsb__confine_server, by the linker's --wrap. Afterwards no file can be opened, so the report's is open
 * before, and what is mapped where is known.
 */
int __real_qsb__confine_server(struct qsb_error *err);
int __wrap_qsb__confine_server(struct qsb_error *err);

__attribute__((visibility("default"))) int __wrap_qsb__confine_server(struct qsb_error *err)
{
	__sanitizer_sandbox_arguments nothing = {0};
	char path[sizeof(QSB_REPORTS) + 40];
	int fd;

	snprintf(path, sizeof(path), "%s/report.confined-%u", QSB_REPORTS, (unsigned)geteuid());
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd >= 0)
		__sanitizer_set_report_fd((void *)(intptr_t)fd);
	__sanitizer_sandbox_on_notify(&nothing);
	return __real_qsb__confine_server(err);
}
