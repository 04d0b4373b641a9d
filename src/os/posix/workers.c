#include "os/workers.h"

#include <pthread.h>
#include <stdlib.h>

#include "os/threads.h"

enum { RUNNING_MAX = 256, IDLE_MAX = 2, STACK_BYTES = 64 * 1024 };

/* Made once, kept for the next job: making a thread costs more than most jobs. */
struct worker {
	struct worker *next; /* in the list of idle ones */
	pthread_cond_t woken;
	void (*job)(void *argument);
	void *argument;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker *idle;
static unsigned idle_count, running;

/* Waits for the next job. false = enough others wait: this one goes. */
static bool rest(struct worker *worker)
{
	bool stays;

	pthread_mutex_lock(&lock);
	running--;
	stays = idle_count < IDLE_MAX;
	if (stays) {
		worker->job = NULL;
		worker->next = idle;
		idle = worker;
		idle_count++;
		while (!worker->job)
			pthread_cond_wait(&worker->woken, &lock);
	}
	pthread_mutex_unlock(&lock);
	return stays;
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	do
		worker->job(worker->argument);
	while (rest(worker));
	pthread_cond_destroy(&worker->woken);
	free(worker);
	return NULL;
}

static bool start(void (*job)(void *argument), void *argument)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	bool started;

	if (!worker)
		return false;
	worker->job = job;
	worker->argument = argument;
	pthread_cond_init(&worker->woken, NULL);
	started = qsb__thread_start(work, worker, STACK_BYTES) == 0;
	if (!started)
		free(worker);
	return started;
}

bool qsb__workers_run(void (*job)(void *argument), void *argument)
{
	struct worker *worker;
	bool allowed;

	pthread_mutex_lock(&lock);
	allowed = running < RUNNING_MAX;
	running += allowed ? 1 : 0;
	worker = allowed ? idle : NULL;
	if (worker) {
		idle = worker->next;
		idle_count--;
		worker->argument = argument;
		worker->job = job;
		pthread_cond_signal(&worker->woken);
	}
	pthread_mutex_unlock(&lock);
	if (worker || (allowed && start(job, argument)))
		return true;
	if (allowed) {
		pthread_mutex_lock(&lock);
		running--;
		pthread_mutex_unlock(&lock);
	}
	return false;
}
