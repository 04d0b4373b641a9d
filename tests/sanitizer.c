/*
 * Options of the sanitizers, built into every program of a sanitized build: tests set the environment as they need,
 * throw stderr away, and close what they like, and a complaint must still be seen. tests/run collects the reports.
 */
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
