/* One environment of Node: its thread, the way back to JavaScript, and its end. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "addon.h"

enum { STACK = 256 * 1024, MOST_WAKES = 4 };

struct environment *environment_new(void)
{
	struct environment *environment = calloc(1, sizeof(*environment));

	if (!environment)
		return NULL;
	environment->epoll = environment->orders_fd = environment->rest.fd = -1;
	pthread_mutex_init(&environment->lock, NULL);
	pthread_cond_init(&environment->started, NULL);
	return environment;
}

void environment_free(napi_env env, void *data, void *hint)
{
	struct environment *environment = data;

	if (environment->turn)
		napi_delete_reference(env, environment->turn);
	orders_free(environment->orders);
	orders_free(environment->waiting);
	events_free(environment->events);
	pthread_cond_destroy(&environment->started);
	pthread_mutex_destroy(&environment->lock);
	free(environment);
}

static void close_at(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_descriptors(struct environment *environment)
{
	close_at(&environment->epoll);
	close_at(&environment->orders_fd);
	close_at(&environment->rest.fd);
}

void environment_close(void *data)
{
	struct environment *environment = data;

	pthread_mutex_lock(&environment->lock);
	environment->closing = true;
	pthread_mutex_unlock(&environment->lock);
	queue_wake(environment);
	pthread_join(environment->thread, NULL);
	environment->running = false;
	/* Nobody calls it any more: the thread was the only one. */
	napi_release_threadsafe_function(environment->wake, napi_tsfn_abort);
	close_descriptors(environment);
}

/* On JavaScript's thread. What the function throws is an uncaught exception, as in any callback of Node. */
static void call_turn(napi_env env, napi_value turn, void *context, void *data)
{
	napi_value undefined, thrown;

	if (!env || !turn || napi_get_undefined(env, &undefined) != napi_ok)
		return;
	if (napi_call_function(env, undefined, turn, 0, NULL, NULL) == napi_pending_exception &&
	    napi_get_and_clear_last_exception(env, &thrown) == napi_ok)
		napi_fatal_exception(env, thrown);
}

static bool open_wake(napi_env env, struct environment *environment)
{
	napi_value turn, name;

	return value_ok(env, napi_get_reference_value(env, environment->turn, &turn)) &&
	       value_ok(env, napi_create_string_utf8(env, "qiming-sandbox", NAPI_AUTO_LENGTH, &name)) &&
	       value_ok(env, napi_create_threadsafe_function(env, turn, NULL, name, MOST_WAKES, 1, NULL, NULL,
							     environment, call_turn, &environment->wake));
}

/* Every signal stays with the threads that Node has for them. */
static int start_thread(struct environment *environment)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int failed;

	if (pthread_attr_init(&attributes))
		return ENOMEM;
	pthread_attr_setstacksize(&attributes, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&environment->thread, &attributes, thread_run, environment);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return failed;
}

static bool open_descriptors(napi_env env, struct environment *environment)
{
	struct epoll_event orders = {.events = EPOLLIN, .data = {.ptr = NULL}};
	struct epoll_event rest = {.events = EPOLLIN, .data = {.ptr = &environment->rest}};

	environment->epoll = epoll_create1(EPOLL_CLOEXEC);
	environment->orders_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	environment->rest.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	environment->rest.waiting = true;
	environment->rest.ready = sources_wake;
	if (environment->epoll >= 0 && environment->orders_fd >= 0 && environment->rest.fd >= 0 &&
	    epoll_ctl(environment->epoll, EPOLL_CTL_ADD, environment->orders_fd, &orders) == 0 &&
	    epoll_ctl(environment->epoll, EPOLL_CTL_ADD, environment->rest.fd, &rest) == 0)
		return true;
	close_descriptors(environment);
	return value_throw(env, QSB_E_OS, strerror(errno));
}

bool environment_open(napi_env env, struct environment *environment)
{
	int failed;

	if (environment->running)
		return true;
	if (!open_descriptors(env, environment))
		return false;
	if (!open_wake(env, environment)) {
		close_descriptors(environment);
		return false;
	}
	failed = start_thread(environment);
	environment->running = failed == 0;
	/* Added after the thread-safe function, it runs before that one's own: a thread that calls a function which is
	 * gone would crash. */
	if (environment->running && value_ok(env, napi_add_env_cleanup_hook(env, environment_close, environment)))
		return true;
	if (environment->running) {
		environment_close(environment);
		return false;
	}
	napi_release_threadsafe_function(environment->wake, napi_tsfn_abort);
	close_descriptors(environment);
	return value_throw(env, QSB_E_OS, strerror(failed));
}
