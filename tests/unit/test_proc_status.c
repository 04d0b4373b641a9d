/* What /proc/PID/status says, where the process has named itself after one of its lines. */
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "backend/linux/proc_status.h"
#include "tap.h"

static const char nested[] = "Name:\tNStgid:\t1\nUmask:\t0027\nState:\tR (running)\nTgid:\t4242\nNStgid:\t4242\t17\t3\n"
			     "NSpid:\t4243\t18\nSigBlk:\t00000000000000ff\n";

static void test_text(void)
{
	char name[32], little[4];

	tap_is_number(qsb__status_inside(nested, "NStgid"), 17, "the sandbox's number is the second one");
	tap_is_number(qsb__status_innermost(nested, "NStgid"), 3, "the innermost is the last one");
	tap_is_number(qsb__status_innermost(nested, "NSpid"), 18, "of that line");
	tap_is_number(qsb__status_inside(nested, "Tgid"), 0, "one number is not two");
	tap_is_number((long long)qsb__status_number(nested, "Umask", 8), 027, "a number has its base");
	tap_is_number((long long)qsb__status_number(nested, "SigBlk", 16), 0xff, "the last line is found");
	tap_is_number((long long)qsb__status_number(nested, "Nothing", 10), 0, "what is not there is 0");
	tap_is_number((long long)qsb__status_number(nested, "gid", 10), 0, "a key is a whole one");
	qsb__status_name(nested, name, sizeof(name));
	tap_is_text(name, "NStgid:\t1", "the name is the first line");
	qsb__status_name(nested, little, sizeof(little));
	tap_is_text(little, "NSt", "and is cut");
	tap_is_number(qsb__status_inside("", "NStgid"), 0, "no text, no number");
	qsb__status_name("", name, sizeof(name));
	tap_is_text(name, "", "and no name");
}

static void test_kernel(void)
{
	char text[QSB__STATUS_BYTES], name[32];

	prctl(PR_SET_NAME, "a\nTgid: 1");
	tap_ok(qsb__status_read(AT_FDCWD, "/proc/self/status", text), "the kernel's text is read");
	tap_is_number((long long)qsb__status_number(text, "Tgid", 10), getpid(),
		      "a name with a line in it changes nothing");
	qsb__status_name(text, name, sizeof(name));
	tap_is_text(name, "a\\nTgid: 1", "the kernel keeps the name in one line");
	tap_ok(!qsb__status_read(AT_FDCWD, "/proc/self/nothing", text) && text[0] == '\0',
	       "what is not there is empty");
}

int main(void)
{
	test_text();
	test_kernel();
	return tap_done();
}
