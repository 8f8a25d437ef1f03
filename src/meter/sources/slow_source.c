/* SPDX-License-Identifier: MIT */
#include "sources/slow_source.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "sources/source.h"

#define NS_OF_A_MS UINT64_C(1000000)
#define STACK_BYTES (256u << 10)

struct slow_source {
	const struct source *source;
	int root_fd;
	bool has_thread;
	pthread_t thread;
	/* Of whoever asks. */
	uint64_t asked_ns, late;
	bool is_counted; /* that the sample under way, or just done, is late */

	pthread_mutex_t lock; /* of the following; the state, the samples and their error are the
				 thread's while it is busy */
	pthread_cond_t changed;
	bool is_busy, is_done, is_left;
	uint64_t done_ns;
	struct source_state *state;
	struct samples samples;
	int error;
};

static void destroy(struct slow_source *s)
{
	source_close(s->source, s->state);
	samples_clear(&s->samples);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	closep(&s->root_fd);
	free(s);
}

/* ---- the thread ---- */

/* Samples on request. If it is freed while busy, it destroys @s itself. */
static void *work(void *context)
{
	struct slow_source *s = context;
	bool is_last;

	pthread_setname_np(pthread_self(), s->source->name);
	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (!s->is_busy && !s->is_left)
			pthread_cond_wait(&s->changed, &s->lock);
		is_last = s->is_busy;
		if (s->is_left)
			break;
		pthread_mutex_unlock(&s->lock);
		samples_clear(&s->samples);
		s->error = s->source->sample(s->state, clock_now_ns(CLOCK_BOOTTIME), &s->samples);
		pthread_mutex_lock(&s->lock);
		if (s->is_left)
			break;
		s->done_ns = clock_now_ns(CLOCK_BOOTTIME);
		s->is_busy = false;
		s->is_done = true;
	}
	pthread_mutex_unlock(&s->lock);
	if (is_last)
		destroy(s);
	return NULL;
}

/* The thread takes no signals. */
static int start_thread(struct slow_source *s)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int r;

	sigfillset(&all);
	r = -pthread_attr_init(&attributes);
	if (r < 0)
		return r;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&s->thread, &attributes, work, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	s->has_thread = r == 0;
	return r;
}

/* ---- who asks ---- */

int slow_source_open(const struct source *source, const struct source_options *options,
		     struct slow_source **ret, struct error *err)
{
	struct slow_source *s = calloc(1, sizeof(*s));
	struct source_options own = *options;
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->source = source;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->root_fd = own.root_fd = fcntl(options->root_fd, F_DUPFD_CLOEXEC, 0);
	if (s->root_fd < 0)
		r = -errno;
	if (r == 0)
		r = source_open(source, &own, &s->state, err);
	if (r < 0) {
		destroy(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct slow_source *slow_source_free(struct slow_source *s)
{
	bool is_busy;

	if (!s)
		return NULL;
	pthread_mutex_lock(&s->lock);
	s->is_left = true;
	is_busy = s->is_busy;
	pthread_cond_signal(&s->changed);
	if (is_busy)
		pthread_detach(s->thread);
	pthread_mutex_unlock(&s->lock);
	if (is_busy)
		return NULL;
	if (s->has_thread)
		pthread_join(s->thread, NULL);
	destroy(s);
	return NULL;
}

int slow_source_ask(struct slow_source *s)
{
	int r = s->has_thread ? 0 : start_thread(s);

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	if (!s->is_busy) {
		s->asked_ns = clock_now_ns(CLOCK_BOOTTIME);
		s->is_counted = s->is_done = false;
		s->is_busy = true;
		pthread_cond_signal(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* Of the sample that began last: over at @end_ns, or not yet then. */
static bool is_late(const struct slow_source *s, uint64_t end_ns)
{
	return end_ns - s->asked_ns > s->source->deadline_ms * NS_OF_A_MS;
}

static int withhold(struct slow_source *s, struct samples *ret)
{
	s->late += !s->is_counted;
	s->is_counted = true;
	samples_clear(ret);
	return -ETIME;
}

int slow_source_take(struct slow_source *s, struct samples *ret)
{
	bool is_busy, is_done;

	pthread_mutex_lock(&s->lock);
	is_busy = s->is_busy;
	is_done = s->is_done;
	s->is_done = false;
	pthread_mutex_unlock(&s->lock);
	if (is_busy)
		return is_late(s, clock_now_ns(CLOCK_BOOTTIME)) ? withhold(s, ret) : -EBUSY;
	if (!is_done)
		return s->has_thread ? 0 : -EBUSY;
	if (is_late(s, s->done_ns))
		return withhold(s, ret);
	samples_clear(ret);
	*ret = s->samples;
	s->samples = (struct samples){};
	return s->error;
}

struct source_state *slow_source_state(const struct slow_source *s)
{
	return s->state;
}

uint64_t slow_source_late(const struct slow_source *s)
{
	return s->late;
}
