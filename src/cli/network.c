#include "cli/network.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/message.h"
#include "core/cleanup.h"
#include "core/domain.h"
#include "core/error.h"
#include "core/size.h"

enum { ASK_MS = 60 * 1000, MOST_ASK_MS = 24 * 3600 * 1000 };

/* Non-blocking: nobody need be reading a FIFO, and a run waits for none who stops. */
static int open_log(int *out, const char *path, struct qsb_error *err)
{
	QSB_CLEANUP_FD int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, S_IRUSR | S_IWUSR);
	struct stat info;

	if (fd < 0 && errno == EISDIR)
		return qsb__fail(err, QSB_E_INVALID, "--network-log",
				 "--network-log: %s is a folder; name a file in it", path);
	if (fd < 0 && errno == ENXIO && stat(path, &info) == 0 && S_ISFIFO(info.st_mode))
		return qsb__fail(err, QSB_E_INVALID, "--network-log", "--network-log: nobody reads from the FIFO %s",
				 path);
	if (fd < 0)
		return qsb__fail_os(err, errno, "--network-log", "--network-log: cannot write to %s", path);
	*out = qsb__take_fd(&fd);
	return 0;
}

static int read_log(struct qsb__run_request *request, const char *path, struct qsb_error *err)
{
	request->network_log_fd = -1;
	if (!path)
		return 0;
	if (!*path)
		return qsb__fail(err, QSB_E_INVALID, "--network-log", "--network-log needs the name of a file");
	/* An empty log would say that there was no connection. */
	if (request->plan->network == QSB__NETWORK_HOST)
		return qsb__fail(err, QSB_E_INVALID, "--network-log",
				 "--network-log: connections over the host's network are not seen; use --network "
				 "filtered");
	return open_log(&request->network_log_fd, path, err);
}

static int read_ask(struct qsb__run_request *request, const struct qsb__invocation *invocation, struct qsb_error *err)
{
	const char *timeout = qsb__invocation_value(invocation, QSB__OPT_ASK_TIMEOUT);

	request->ask_network = qsb__invocation_value(invocation, QSB__OPT_ASK_NETWORK) != NULL;
	request->ask_ms = ASK_MS;
	if (request->ask_network && (request->events_fd < 0 || request->control_fd < 0))
		return qsb__fail(err, QSB_E_INVALID, "--ask-network",
				 "--ask-network needs --events-fd, where it asks, and --control-fd, where the answer "
				 "comes");
	if (!timeout)
		return 0;
	if (!request->ask_network)
		return qsb__fail(err, QSB_E_INVALID, "--ask-timeout",
				 "--ask-timeout has a meaning only together with --ask-network");
	if (qsb__duration_parse(timeout, &request->ask_ms) || request->ask_ms < 1 || request->ask_ms > MOST_ASK_MS)
		return qsb__fail(err, QSB_E_INVALID, "--ask-timeout", "--ask-timeout must be %s, up to 1d; it is %.80s",
				 QSB__DURATION_FORMS, timeout);
	return 0;
}

int qsb__network_options(struct qsb__run_request *request, const struct qsb__invocation *invocation,
			 struct qsb_error *err)
{
	int code = read_ask(request, invocation, err);

	return code ? code : read_log(request, qsb__invocation_value(invocation, QSB__OPT_NETWORK_LOG), err);
}

void qsb__network_warn(const struct qsb__plan *plan)
{
	char *const *pattern = plan->network == QSB__NETWORK_FILTERED ? plan->allowed_domains : NULL;

	for (; pattern && *pattern; pattern++) {
		const char *caution = qsb__domain_caution(*pattern);

		if (caution)
			qsb__message("warning: %s %s", *pattern, caution);
	}
}

void qsb__network_report(const struct qsb__result *result)
{
	const char *why = result->broker_error.code ? result->broker_error.message : "its broker has ended";

	if (result->broker_lost)
		qsb__message("the command lost its network while it ran: %s", why);
	if (result->log_lost == 0)
		return;
	qsb__message("%llu connections are missing in the network log: %s", (unsigned long long)result->log_lost,
		     result->log_error ? strerror(result->log_error) : "they came faster than they could be written");
}
