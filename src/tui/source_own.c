/* SPDX-License-Identifier: MIT */
/* A meter of our own: what the agent would do, in this process, and gone with it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "config/config.h"
#include "basic/error.h"
#include "cgroup/identity.h"
#include "node/job_record.h"
#include "cgroup/managers.h"
#include "config/metering.h"
#include "tui/processes.h"
#include "node/sampler.h"
#include "model/snapshot.h"
#include "codec/wire_snapshot.h"
#include "tui/top_source.h"
#include "basic/waiter.h"

struct own_source {
	struct top_source source;
	struct config *config;
	struct sampler *sampler;
	int root_fd;

	/* Loading programs into the kernel takes a second and more, in a thread of its own.  That
	 * lives as long as the meter: a child that the meter made ends with the thread that made it
	 * (PR_SET_PDEATHSIG). */
	const struct waiter *waiter;
	pthread_t starter;
	sem_t is_closing;
	int started_fd; /* readable: the starter is done with it; < 0: there is none */
	bool is_started;
	int status; /* of starting, and why, from when it is done on */
	struct error error;
};

static struct own_source *source_of(struct top_source *s)
{
	return (struct own_source *)(void *)s;
}

static void close_own(struct top_source *s)
{
	struct own_source *o = source_of(s);

	if (o->started_fd >= 0) {
		sem_post(&o->is_closing);
		pthread_join(o->starter, NULL);
		sem_destroy(&o->is_closing);
		close(o->started_fd);
	}
	sampler_close(o->sampler, false);
	config_free(o->config);
	if (o->root_fd >= 0)
		close(o->root_fd);
	free(o);
}

static bool is_wanted(const struct snapshot *s, const struct snapshot_job *job, uint64_t ended_ns)
{
	return job->is_live || s->boot_ns <= job->job->end_boot_ns ||
	       s->boot_ns - job->job->end_boot_ns <= ended_ns;
}

static int take_jobs(const struct own_source *o, const struct snapshot *s, uint64_t ended_ns,
		     bool in_sums, struct tick *to)
{
	struct job_record_node node;
	int r = 0;

	sampler_get_node(o->sampler, &node);
	for (size_t i = 0; r == 0 && i < s->job_count; i++) {
		struct record *record = NULL;

		if (!is_wanted(s, &s->jobs[i], ended_ns))
			continue;
		r = job_record_make(s, &s->jobs[i], &node, in_sums, &record);
		if (r == 0)
			r = job_record_add_label(&s->jobs[i], record);
		if (r == 0)
			r = records_add(&to->jobs, record);
		if (r < 0)
			record_free(record);
	}
	return r;
}

/* ---- starting ---- */

static int start(struct own_source *o, struct error *err)
{
	_cleanup_(metering_clear) struct metering metering = {};
	struct managers managers = {};
	int r = config_load(NULL, environ, &o->config, NULL, err);

	if (r < 0)
		return r;
	o->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->root_fd < 0)
		return error_set_errno(err, errno, "cannot open '/'");
	managers_read(o->root_fd, &managers);
	o->config->has_units |= managers.count == 0;
	r = metering_of(o->config, &metering);
	if (r < 0)
		return error_set_errno(err, r, "cannot read the jobs");
	metering.options.root_fd = o->root_fd;
	metering.options.state_dir = metering.options.pin_dir = NULL;
	return sampler_open(&metering.options, &o->sampler, err);
}

static void *run_starter(void *data)
{
	struct own_source *o = data;

	o->status = start(o, &o->error);
	(void)eventfd_write(o->started_fd, 1);
	while (sem_wait(&o->is_closing) < 0)
		;
	return NULL;
}

static int begin_start(struct own_source *o, struct error *err)
{
	int fd = eventfd(0, EFD_CLOEXEC), r;

	if (fd < 0)
		return error_set_errno(err, errno, "cannot read the jobs");
	(void)sem_init(&o->is_closing, 0, 0);
	o->started_fd = fd;
	r = pthread_create(&o->starter, NULL, run_starter, o);
	if (r == 0)
		return 0;
	o->started_fd = -EBADF;
	sem_destroy(&o->is_closing);
	close(fd);
	return error_set_errno(err, r, "cannot read the jobs");
}

/* For the starter.  < 0: the waiter gave up, and the starter continues until it is closed. */
static int wait_for_start(const struct own_source *o)
{
	const struct waiter *w = o->waiter;
	struct pollfd fds[1 + ARRAY_SIZE(w->fds)] = { { o->started_fd, POLLIN, 0 } };
	int r = 0;

	for (size_t i = 0; w && i < ARRAY_SIZE(w->fds); i++)
		fds[1 + i] = (struct pollfd){ w->fds[i], POLLIN, 0 };
	while (r == 0 && !fds[0].revents) {
		(void)poll(fds, w ? ARRAY_SIZE(fds) : 1, w ? w->timeout_ms : -1);
		r = w ? w->run(w->context) : 0;
	}
	return r;
}

static int be_started(struct own_source *o, struct error *err)
{
	int r = o->started_fd < 0 ? begin_start(o, err) : 0;

	if (r < 0)
		return r;
	r = o->is_started ? 0 : wait_for_start(o);
	if (r < 0)
		return error_set(err, r, "the wait for a meter was given up");
	o->is_started = true;
	if (o->status < 0)
		*err = o->error;
	return o->status;
}

static void set_waiter_own(struct top_source *s, const struct waiter *waiter)
{
	source_of(s)->waiter = waiter;
}

/* ---- looking ---- */

static int read_own(struct top_source *s, uint64_t max_age_ns, uint64_t ended_ns,
		    const struct tick *before, struct tick *ret, struct error *err)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct own_source *o = source_of(s);
	struct tick tick = {};
	int r = be_started(o, err);

	if (r < 0)
		return r;
	sampler_want_commands(o->sampler);
	r = sampler_get(o->sampler, max_age_ns, &snapshot, err);
	if (r < 0)
		return r;
	tick.real_ns = snapshot->real_ns;
	tick.boot_ns = snapshot->boot_ns;
	tick.took_ns = snapshot->took_ns;
	tick.node = sampler_get_node_values(o->sampler);
	r = take_jobs(o, snapshot, ended_ns, before && s->takes_sums, &tick);
	if (r < 0) {
		wire_snapshot_clear(&tick);
		return error_set_errno(err, r, "cannot read the jobs");
	}
	*ret = tick;
	return 0;
}

/* Out of the last reading, that was shown just now. */
static int describe_own(struct top_source *s, const char *manager, const char *id,
			struct record **ret, struct error *err)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct own_source *o = source_of(s);
	struct error unheard = {};
	const struct snapshot_job *job;
	int r;

	err = err ? err : &unheard;
	r = sampler_get(o->sampler, UINT64_MAX, &snapshot, err);
	if (r < 0)
		return r;
	job = snapshot_find(snapshot, manager, id);
	return job ? sampler_get_record(o->sampler, snapshot, job, ret, err) : -ENOENT;
}

static int locate_own(struct top_source *s, const char *path, struct process_place *ret)
{
	struct identity identity;

	if (!identity_of(sampler_rules(source_of(s)->sampler), path, &identity))
		return -ENOENT;
	*ret = (struct process_place){ strdup(identity.manager), strdup(identity.job),
				       strdup(identity.step), strdup(identity.task) };
	return ret->manager && ret->id && ret->step && ret->task ? 0 : -ENOMEM;
}

int top_source_open_own(struct top_source **ret, struct error *err)
{
	struct own_source *o = calloc(1, sizeof(*o));

	if (!o)
		return error_set_errno(err, ENOMEM, "cannot read the jobs");
	*o = (struct own_source){ .source = { .name = "meter of our own",
					      .starting = "starting a meter of our own",
					      .set_waiter = set_waiter_own,
					      .read = read_own,
					      .describe = describe_own,
					      .locate = locate_own,
					      .close = close_own },
				  .root_fd = -EBADF,
				  .started_fd = -EBADF };
	*ret = &o->source;
	return 0;
}
