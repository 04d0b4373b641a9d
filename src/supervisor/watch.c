/*
 * What the kernel does not bound by itself is looked at from time to time: memory and processes where no control group
 * holds them, and the room on the file systems that the command may write to. The pause grows with the distance to
 * the limit, so that a command far below it is never disturbed.
 */
#include <signal.h>
#include <string.h>
#include <sys/statvfs.h>

#include "supervisor/internal.h"

enum { FIRST_MS = 20, SHORTEST_MS = 5, LONGEST_MS = 250 };

/* How fast memory can grow at worst, in bytes a millisecond: all processors writing to fresh pages. */
enum { WORST_GROWTH_PER_MS = 8 * 1024 * 1024 };

static bool is_over(struct qsb__supervisor *supervisor, uint64_t memory, uint64_t processes)
{
	const struct qsb__plan *plan = supervisor->request->plan;
	const struct qsb__backend *backend = supervisor->request->backend;

	if (plan->memory_bytes && memory > plan->memory_bytes &&
	    strcmp(backend->limit_by(supervisor->sandbox, "memory"), "watch") == 0) {
		supervisor->result->out_of_memory = true;
		qsb__deny_limit(supervisor, "memory", "/limits/memory", "--memory SIZE");
		return true;
	}
	if (plan->processes && processes > plan->processes &&
	    strcmp(backend->limit_by(supervisor->sandbox, "processes"), "watch") == 0) {
		qsb__deny_limit(supervisor, "processes", "/limits/processes", "--processes N");
		return true;
	}
	return false;
}

/* The least free space of all that may be written. */
static bool free_space(const struct qsb__plan *plan, uint64_t *bytes)
{
	bool known = false;

	for (size_t i = 0; i < plan->step_count; i++) {
		struct statvfs status;
		uint64_t available;

		if (plan->steps[i].kind != QSB__STEP_BIND_RW || statvfs(plan->steps[i].path, &status) != 0)
			continue;
		available = (uint64_t)status.f_bavail * status.f_frsize;
		if (!known || available < *bytes)
			*bytes = available;
		known = true;
	}
	return known;
}

static bool is_disk_full(struct qsb__supervisor *supervisor)
{
	const struct qsb__plan *plan = supervisor->request->plan;
	uint64_t available;

	/* A disk that was that full before is not this command's doing. */
	if (!plan->disk_reserve_bytes || supervisor->disk_free_at_start < plan->disk_reserve_bytes ||
	    !free_space(plan, &available) || available >= plan->disk_reserve_bytes)
		return false;
	qsb__deny_limit(supervisor, "disk", "/limits/diskReserve", "free some space, or lower limits.diskReserve");
	return true;
}

static uint64_t pause_ms(const struct qsb__plan *plan, uint64_t memory)
{
	uint64_t pause = LONGEST_MS;

	if (plan->memory_bytes)
		pause = plan->memory_bytes > memory ? (plan->memory_bytes - memory) / WORST_GROWTH_PER_MS : 0;
	return pause < SHORTEST_MS ? SHORTEST_MS : pause > LONGEST_MS ? LONGEST_MS : pause;
}

static void look(uv_timer_t *timer)
{
	struct qsb__supervisor *supervisor = timer->data;
	const struct qsb__backend *backend = supervisor->request->backend;
	uint64_t memory = 0, processes = 0;

	if (supervisor->ended)
		return;
	if (backend->measure(supervisor->sandbox, &memory, &processes)) {
		if (processes > supervisor->result->processes)
			supervisor->result->processes = processes;
		if (is_over(supervisor, memory, processes)) {
			backend->kill(supervisor->sandbox);
			return;
		}
	}
	if (is_disk_full(supervisor)) {
		backend->kill(supervisor->sandbox);
		return;
	}
	uv_timer_start(timer, look, pause_ms(supervisor->request->plan, memory), 0);
}

void qsb__watch_start(struct qsb__supervisor *supervisor)
{
	supervisor->watch.data = supervisor;
	uv_timer_init(&supervisor->loop, &supervisor->watch);
	if (supervisor->request->plan->disk_reserve_bytes &&
	    !free_space(supervisor->request->plan, &supervisor->disk_free_at_start))
		supervisor->disk_free_at_start = 0;
	uv_timer_start(&supervisor->watch, look, FIRST_MS, 0);
}

/* A command that dies of a file's size, or tells of it as a shell does. */
static bool died_of_size(const struct qsb__supervisor *supervisor)
{
	const struct qsb__result *result = supervisor->result;

	return supervisor->request->plan->file_bytes &&
	       (result->signal == SIGXFSZ || result->exit_code == 128 + SIGXFSZ);
}

/* What the kernel itself stopped at a limit, seen at the end. */
void qsb__watch_settle(struct qsb__supervisor *supervisor)
{
	const struct qsb__plan *plan = supervisor->request->plan;
	struct qsb__limits_hit hit = {.memory = false};

	supervisor->request->backend->limits_hit(supervisor->sandbox, &hit);
	if (hit.memory) {
		supervisor->result->out_of_memory = true;
		qsb__deny_limit(supervisor, "memory", "/limits/memory", "--memory SIZE");
	}
	if (hit.processes || (plan->processes && supervisor->result->processes >= plan->processes))
		qsb__deny_limit(supervisor, "processes", "/limits/processes", "--processes N");
	if (hit.scratch)
		qsb__deny_limit(supervisor, "tmpSize", "/limits/tmpSize", "--tmp-size SIZE");
	if (died_of_size(supervisor))
		qsb__deny_limit(supervisor, "fileSize", "/limits/fileSize", "--file-size SIZE");
	if (supervisor->result->processes == 0 && supervisor->outcome.end == QSB__END_EXITED)
		supervisor->result->processes = 1;
}
