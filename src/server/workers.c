/* SPDX-License-Identifier: MIT */
#include "server/workers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "server/api/caller.h"
#include "server/server.h"
#include "server/server_config.h"
#include "server/store/pg.h"

#define RETRY_AFTER_S 5
#define WHOLE_BYTES 65536 /* an answer of less has its length in its head */
#define THREADS (2 + WORKER_READERS)

struct work {
	struct work *next; /* in its queue */
	struct workers *workers;
	enum worker_kind kind;
	void (*run)(struct server *s, void *context);
	void *context;
	int fd; /* is written to when it is done */
	bool owns_fd;
	bool is_taken, is_done;
	uint64_t took_ns;
};

struct worker {
	struct workers *workers;
	enum worker_kind kind;
	struct server server; /* as its routes see it */
	pthread_t thread;
	bool is_running;
};

struct workers {
	struct server *server;
	pthread_mutex_t lock; /* of all below, and of works */
	pthread_cond_t comes, is_done;
	struct work *queues[WORKER_KIND_COUNT]; /* the oldest first */
	bool is_ending;
	struct server_figures figures; /* as the writer has them */
	size_t unsent; /* bytes; the loop's alone */
	struct worker items[THREADS];
};

/* ---- works ---- */

static struct work *work_new(struct workers *w, enum worker_kind kind,
			     void (*run)(struct server *s, void *context), void *context, int fd)
{
	struct work *work = calloc(1, sizeof(*work));
	struct work **end;

	if (!work)
		return NULL;
	*work = (struct work){ .workers = w, .kind = kind, .run = run, .context = context };
	work->owns_fd = fd < 0;
	work->fd = fd < 0 ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : fd;
	if (work->fd < 0) {
		free(work);
		return NULL;
	}
	pthread_mutex_lock(&w->lock);
	for (end = &w->queues[kind]; *end; end = &(*end)->next)
		;
	*end = work;
	pthread_cond_broadcast(&w->comes);
	pthread_mutex_unlock(&w->lock);
	return work;
}

struct work *work_begin(struct server *s, void (*run)(struct server *s, void *context),
			void *context, int fd)
{
	uint64_t before;

	(void)!read(fd, &before, sizeof(before));
	return work_new(s->workers, WORKER_READER, run, context, fd);
}

int work_is_done(struct work *work)
{
	int is_done;

	pthread_mutex_lock(&work->workers->lock);
	is_done = work->is_done;
	pthread_mutex_unlock(&work->workers->lock);
	return is_done;
}

struct work *work_end(struct work *work)
{
	struct workers *w = work ? work->workers : NULL;

	if (!work)
		return NULL;
	pthread_mutex_lock(&w->lock);
	if (!work->is_taken) { /* it is not wanted any more */
		struct work **at = &w->queues[work->kind];

		while (*at != work)
			at = &(*at)->next;
		*at = work->next;
		work->is_done = true;
	}
	while (!work->is_done)
		pthread_cond_wait(&w->is_done, &w->lock);
	pthread_mutex_unlock(&w->lock);
	if (work->owns_fd)
		close(work->fd);
	free(work);
	return NULL;
}

/* ---- threads ---- */

/* The next one of that kind; NULL: it is time for upkeep.  False: for the end. */
static bool take_work(struct worker *one, struct work **ret)
{
	struct workers *w = one->workers;
	struct work *work = NULL;
	bool goes_on;

	pthread_mutex_lock(&w->lock);
	while (!w->is_ending && !(work = w->queues[one->kind])) {
		const uint64_t due_ms = one->server.next_work_ms;
		const struct timespec due = { (time_t)(due_ms / 1000),
					      (long)(due_ms % 1000) * 1000000 };

		if (one->kind != WORKER_WRITER)
			pthread_cond_wait(&w->comes, &w->lock);
		else if (pthread_cond_timedwait(&w->comes, &w->lock, &due) == ETIMEDOUT)
			break;
	}
	if (work) {
		w->queues[one->kind] = work->next;
		work->is_taken = true;
	}
	goes_on = !w->is_ending;
	pthread_mutex_unlock(&w->lock);
	*ret = work;
	return goes_on;
}

static void finish_work(struct workers *w, struct work *work)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&w->lock);
	work->is_done = true;
	(void)!write(work->fd, &one, sizeof(one)); /* under the lock: its end closes it */
	pthread_cond_broadcast(&w->is_done);
	pthread_mutex_unlock(&w->lock);
}

static void publish_figures(struct worker *writer)
{
	struct workers *w = writer->workers;
	struct server *s = &writer->server;

	s->figures.facts = *store_counted(s->store);
	pthread_mutex_lock(&w->lock);
	w->figures = s->figures;
	pthread_mutex_unlock(&w->lock);
}

/* What a request did is counted before it is answered, and no request waits for the upkeep. */
static void *run_thread(void *context)
{
	struct worker *one = context;
	const bool is_writer = one->kind == WORKER_WRITER;
	struct work *work;

	while (take_work(one, &work)) {
		const uint64_t begun_ns = clock_now_ns(CLOCK_MONOTONIC);

		if (work) {
			server_read_fetched(&one->server);
			work->run(&one->server, work->context);
			work->took_ns = clock_now_ns(CLOCK_MONOTONIC) - begun_ns;
			if (is_writer)
				publish_figures(one);
			finish_work(one->workers, work);
		}
		if (is_writer) {
			server_work(&one->server, clock_now_ns(CLOCK_MONOTONIC) / 1000000);
			publish_figures(one);
		}
	}
	return NULL;
}

void workers_read_figures(struct workers *w, struct server_figures *ret)
{
	pthread_mutex_lock(&w->lock);
	*ret = w->figures;
	pthread_mutex_unlock(&w->lock);
}

int workers_open(struct server *s, struct error *err)
{
	static const enum worker_kind first[] = { WORKER_WRITER, WORKER_WATCH };
	struct workers *w = calloc(1, sizeof(*w));
	pthread_condattr_t monotonic;
	int r = 0;

	if (!w)
		return error_set_errno(err, ENOMEM, "cannot start");
	w->server = s;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->comes, &monotonic);
	pthread_cond_init(&w->is_done, NULL);
	pthread_condattr_destroy(&monotonic);
	s->workers = w;
	for (size_t i = 0; r >= 0 && i < THREADS; i++) {
		struct worker *one = &w->items[i];

		*one = (struct worker){ .workers = w, .server = *s };
		one->kind = i < ARRAY_SIZE(first) ? first[i] : WORKER_READER;
		r = store_open_any(s->config->database, i == 0 ? STORE_WRITE : STORE_READ,
				   &one->server.store, err);
	}
	if (r < 0)
		s->workers = workers_close(w);
	return r;
}

int workers_start(struct workers *w, struct error *err)
{
	sigset_t all, before;
	int r = 0;

	sigfillset(&all); /* the loop alone hears of the end */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; r == 0 && i < THREADS; i++) {
		r = pthread_create(&w->items[i].thread, NULL, run_thread, &w->items[i]);
		w->items[i].is_running = r == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r ? error_set_errno(err, r, "cannot start a thread") : 0;
}

struct workers *workers_close(struct workers *w)
{
	if (!w)
		return NULL;
	pthread_mutex_lock(&w->lock);
	w->is_ending = true;
	pthread_cond_broadcast(&w->comes);
	pthread_mutex_unlock(&w->lock);
	for (size_t i = 0; i < THREADS; i++) {
		if (w->items[i].is_running)
			pthread_join(w->items[i].thread, NULL);
		store_close(w->items[i].server.store);
		models_clear(&w->items[i].server.served.models);
		emission_factors_clear(&w->items[i].server.fetched);
		explicit_bzero(&w->items[i].server, sizeof(w->items[i].server)); /* a secret */
	}
	pthread_cond_destroy(&w->comes);
	pthread_cond_destroy(&w->is_done);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}

/* ---- requests ---- */

struct deferred {
	struct work *work;
	struct workers *workers;
	const struct http_route *route;
	const struct http_request *request;
	struct http_answer answer;
	int code;
	size_t given; /* of a large answer's text */
};

static void call_route(struct server *s, void *context)
{
	struct deferred *d = context;

	struct http_request request = *d->request;
	struct error err = {};
	int r = d->route->identify ? caller_confirm(s, request.caller, &err) : 0;

	if (r == -EPERM)
		caller_audit(s, NULL, &request, err.text);
	if (r == -EPERM && d->route->identify == caller_identify_visitor) { /* asked to sign in */
		request.caller = NULL;
		r = 0;
	}
	d->code = r == 0 ? d->route->answer(s, &request, &d->answer)
			 : http_fail(&d->answer, r == -EPERM ? 401 : 503, "%s", err.text);
}

static void free_deferred(void *context)
{
	struct deferred *d = context;

	d->work = work_end(d->work);
	if (d->given != SIZE_MAX)
		d->workers->unsent -= d->answer.length;
	http_answer_clear(&d->answer);
	free(d);
}

static ssize_t give_text(void *context, char *buffer, size_t size)
{
	struct deferred *d = context;
	const size_t length = MIN(size, d->answer.length - d->given);

	memcpy(buffer, d->answer.text + d->given, length);
	d->given += length;
	return (ssize_t)length;
}

/* The loop's: the answer, once it is there. */
static int take_answer(void *context, struct http_answer *ret)
{
	struct deferred *d = context;
	struct http_answer answer;

	if (!work_is_done(d->work))
		return -EAGAIN;
	http_charge_sender(d->request, d->work->took_ns);
	answer = d->answer;
	d->answer = (struct http_answer){};
	if (d->code < 0)
		(void)http_fail(&answer, 500, "this went wrong inside");
	if (answer.text && answer.length > WHOLE_BYTES) {
		d->work = work_end(d->work);
		d->given = 0;
		d->answer = (struct http_answer){ .text = answer.text, .length = answer.length };
		d->workers->unsent += answer.length;
		answer.text = NULL;
		answer.length = 0;
		answer.next = give_text;
		answer.done = free_deferred;
		answer.context = d;
	} else {
		free_deferred(d);
	}
	*ret = answer;
	return 0;
}

int workers_defer(void *context, const struct http_route *route, const struct http_request *request,
		  struct http_answer *ret)
{
	struct server *s = context;
	struct deferred *d;

	if (!s->workers || s->workers->unsent > WORKERS_UNSENT_MAX) {
		int r = s->workers ? http_fail(ret, 503, "too many large answers are on their way")
				   : http_fail(ret, 503, "it lives, and is not ready: %s",
					       s->health.err.text);

		ret->retry_after_s = RETRY_AFTER_S;
		return r;
	}
	d = malloc(sizeof(*d));
	if (!d)
		return -ENOMEM;
	*d = (struct deferred){ .workers = s->workers,
				.route = route,
				.request = request,
				.answer = *ret,
				.given = SIZE_MAX };
	d->work = work_new(s->workers, (enum worker_kind)route->thread, call_route, d, -EBADF);
	if (!d->work) {
		free(d);
		return -ENOMEM;
	}
	ret->fd = d->work->fd;
	ret->begin = take_answer;
	ret->done = free_deferred;
	ret->context = d;
	ret->is_of_thread = true;
	return 0;
}
