/* SPDX-License-Identifier: MIT */
/* Who knows all jobs of the node as a source, most of all its agent: it counts from each job's
 * beginning, whoever looks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "client/client.h"
#include "basic/error.h"
#include "basic/text.h"
#include "cli/watch.h"
#include "cli/watch_target.h"
#include "model/record.h"
#include "node/sampler.h"
#include "cli/on_demand.h"
#include "sources/sources.h"

struct jobs_source {
	struct watch_source source;
	struct watch_backend backend;
	bool is_of_user;
	bool has_looked; /* jobs that come from now on are new ones */
	uint64_t since_ns; /* when we began, since the epoch */
	int64_t uid;
	struct client_jobs chosen; /* else: those */
};

static struct jobs_source *source_of(struct watch_source *s)
{
	return (struct jobs_source *)(void *)s;
}

static void close_jobs(struct watch_source *s)
{
	struct jobs_source *a = source_of(s);

	if (a->backend.close)
		a->backend.close(a->backend.context);
	client_jobs_clear(&a->chosen);
	free(a);
}

/* Of several of one name the last. */
static struct watched *find_watched(const struct watched_list *list, const struct client_job *job)
{
	for (size_t i = list->count; i > 0; i--) {
		struct watched *watched = list->items[i - 1];

		if (text_is_equal(watched->manager, job->manager) &&
		    text_is_equal(watched->id, job->id))
			return watched;
	}
	return NULL;
}

static int watch_job(struct watched_list *list, const struct client_job *job, bool is_new)
{
	struct watched *watched = watched_add(list);

	if (!watched)
		return list->count >= WATCHED_MAX ? 0 : -ENOMEM; /* what is over the bound is not
								    watched */
	watched->manager = strdup(job->manager);
	watched->id = strdup(job->id);
	if (asprintf(&watched->label, "%s/%s", job->manager, job->id) < 0)
		watched->label = NULL;
	watched->is_new = is_new;
	watched->is_live = job->is_live;
	return watched->manager && watched->id && watched->label ? 0 : -ENOMEM;
}

static bool is_chosen(const struct jobs_source *a, const struct client_job *job)
{
	if (a->is_of_user)
		return job->uid == a->uid;
	for (size_t i = 0; i < a->chosen.count; i++) {
		if (strcmp(a->chosen.items[i].manager, job->manager) == 0 &&
		    strcmp(a->chosen.items[i].id, job->id) == 0)
			return true;
	}
	return false;
}

/* What is no longer listed has ended long ago. */
static int refresh_jobs(struct watch_source *s, struct watched_list *list, struct error *err)
{
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	struct jobs_source *a = source_of(s);
	int r = a->backend.list(a->backend.context, &jobs, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < list->count; i++)
		list->items[i]->is_live = false;
	for (size_t i = 0; r == 0 && i < jobs.count; i++) {
		const struct client_job *job = &jobs.items[i];
		struct watched *watched = find_watched(list, job);

		if (watched)
			watched->is_live = job->is_live;
		/* What had ended before we came is still listed for a while, and none of ours. */
		else if (is_chosen(a, job) &&
			 (job->is_live || (a->has_looked && job->end_ns >= a->since_ns)))
			r = watch_job(list, job, a->has_looked);
	}
	a->has_looked = true;
	return r < 0 ? error_set_errno(err, r, "cannot watch the jobs") : 0;
}

static int read_job(struct watch_source *s, const struct watched *job, struct record **ret,
		    struct error *err)
{
	const struct watch_backend *backend = &source_of(s)->backend;

	return backend->get_record(backend->context, job->manager, job->id, ret, err);
}

static struct jobs_source *new_source(struct error *err)
{
	struct jobs_source *a = calloc(1, sizeof(*a));

	if (!a) {
		error_set_errno(err, ENOMEM, "cannot watch");
		return NULL;
	}
	a->since_ns = clock_now_ns(CLOCK_REALTIME);
	a->source = (struct watch_source){ refresh_jobs, read_job, close_jobs };
	return a;
}

static int choose(struct jobs_source *a, const struct client_job *job)
{
	struct client_job *larger = reallocarray(a->chosen.items, a->chosen.count + 1,
						 sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	a->chosen.items = larger;
	a->chosen.items[a->chosen.count++] = (struct client_job){ .manager = strdup(job->manager),
								  .id = strdup(job->id) };
	return larger[a->chosen.count - 1].manager && larger[a->chosen.count - 1].id ? 0 : -ENOMEM;
}

/* Records of several are of whole jobs, as all of the agent's are. */
static int refuse_step(const struct watch_target *target, const struct client_jobs *jobs,
		       struct error *err)
{
	const char *step = watch_find_step(target->id);
	_cleanup_free_ char *id = step ? strndup(target->id, (size_t)(step - target->id) - 1)
				       : NULL;
	struct watch_target whole = { .manager = target->manager, .id = id };
	size_t chosen;

	if (!id || watch_target_choose(&whole, jobs->items, jobs->count, &chosen, NULL) < 0)
		return 0;
	return error_set(err, -ENOENT,
			 "whole jobs are watched here: '--job %s/%s' holds step '%s' too",
			 jobs->items[chosen].manager, jobs->items[chosen].id, step);
}

static int choose_target(struct jobs_source *a, const struct watch_target *target,
			 const struct client_jobs *jobs, struct error *err)
{
	size_t chosen;
	int r = watch_target_choose(target, jobs->items, jobs->count, &chosen, err);

	if (r == -ENOENT && refuse_step(target, jobs, err) < 0)
		return -ENOENT;
	if (r < 0)
		return r;
	if (!jobs->items[chosen].is_live)
		return error_set(err, -ENOENT,
				 "job '%s/%s' has ended: 'jobmeter report %s' prints its record",
				 jobs->items[chosen].manager, jobs->items[chosen].id,
				 jobs->items[chosen].id);
	r = choose(a, &jobs->items[chosen]);
	return r < 0 ? error_set_errno(err, r, "cannot watch") : 0;
}

int watch_jobs_open(const struct watch_backend *backend, const struct watch_targets *targets,
		    struct watch_source **ret, struct error *err)
{
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	struct jobs_source *a;
	int r = backend->list(backend->context, &jobs, err);

	if (r < 0)
		return r;
	a = new_source(err);
	if (!a)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < targets->count; i++)
		r = choose_target(a, &targets->items[i], &jobs, err);
	if (r < 0) {
		close_jobs(&a->source);
		return r;
	}
	a->backend = *backend;
	*ret = &a->source;
	return 0;
}

int watch_jobs_open_user(const struct watch_backend *backend, uid_t uid, struct watch_source **ret,
			 struct error *err)
{
	struct jobs_source *a = new_source(err);

	if (!a)
		return -ENOMEM;
	a->is_of_user = true;
	a->uid = uid;
	a->backend = *backend;
	*ret = &a->source;
	return 0;
}

/* ---- the agent ---- */

static int list_of_agent(void *client, struct client_jobs *ret, struct error *err)
{
	return client_list_jobs(client, ret, err);
}

static int record_of_agent(void *client, const char *manager, const char *id, struct record **ret,
			   struct error *err)
{
	return client_get_record(client, manager, id, ret, err);
}

static void close_client(void *client)
{
	client_close(client);
}

struct watch_backend watch_backend_of(struct client *client)
{
	return (struct watch_backend){ client, list_of_agent, record_of_agent, close_client };
}

int watch_agent_open_group(struct client *client, pid_t pid, const char *path,
			   struct watch_source **ret, struct error *err)
{
	_cleanup_(client_group_clear) struct client_group group = {};
	struct jobs_source *a;
	int r = pid ? client_find_process(client, pid, &group, err)
		    : client_find_group(client, path, &group, err);

	if (r < 0)
		return r;
	a = new_source(err);
	if (!a)
		return -ENOMEM;
	r = choose(a, &(struct client_job){ .manager = group.manager, .id = group.id });
	if (r < 0) {
		close_jobs(&a->source);
		return error_set_errno(err, r, "cannot watch");
	}
	a->backend = watch_backend_of(client);
	*ret = &a->source;
	return 0;
}

#define RECORD_AGE_NS 50000000 /* what has just ended comes with a later reading */

struct node {
	struct sampler *sampler;
	int root_fd;
};

static void close_node(void *context)
{
	struct node *n = context;

	sampler_close(n->sampler, false);
	if (n->root_fd >= 0)
		close(n->root_fd);
	free(n);
}

static int list_of_node(void *context, struct client_jobs *ret, struct error *err)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	struct node *n = context;
	int r = sampler_get(n->sampler, 0, &snapshot, err);

	if (r < 0)
		return r;
	jobs.items = calloc(snapshot->job_count + 1, sizeof(*jobs.items));
	if (!jobs.items)
		return error_set_errno(err, ENOMEM, "cannot list the jobs");
	for (size_t i = 0; i < snapshot->job_count; i++) {
		const struct snapshot_job *job = &snapshot->jobs[i];
		struct client_job *to = &jobs.items[jobs.count++];

		*to = (struct client_job){ .manager = strdup(job->job->manager),
					   .id = strdup(job->job->id),
					   .uid = job->job->uid,
					   .is_live = job->is_live,
					   .end_ns = job->job->end_ns };
		if (!to->manager || !to->id)
			return error_set_errno(err, ENOMEM, "cannot list the jobs");
	}
	*ret = jobs;
	jobs.items = NULL; /* they are the caller's */
	jobs.count = 0;
	return 0;
}

static int record_of_node(void *context, const char *manager, const char *id, struct record **ret,
			  struct error *err)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	const struct snapshot_job *job;
	struct node *n = context;
	int r = sampler_get(n->sampler, RECORD_AGE_NS, &snapshot, err);

	if (r < 0)
		return r;
	job = snapshot_find(snapshot, manager, id);
	if (!job)
		return error_set(err, -ENOENT, "there is no job '%s/%s'", manager, id);
	r = sampler_get_record(n->sampler, snapshot, job, ret, err);
	if (r >= 0 && !(*ret)->time.start_ns) /* it was there before us: of the time that we
						 measured */
		(*ret)->time.elapsed_ns = (job->is_live ? snapshot->real_ns : job->job->end_ns) -
					  (*ret)->time.measured_from_ns;
	return r;
}

int watch_node_open(const struct on_demand *demand, struct watch_backend *ret, struct error *err)
{
	static const char *const unwanted[] = { "hardware", "node_files", "node_mounts", NULL };
	bool has_source[SOURCES_MAX];
	struct sampler_options options;
	struct node *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return error_set_errno(err, ENOMEM, "cannot watch");
	sources_want_others(has_source, unwanted);
	n->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	options = sampler_options_full(n->root_fd);
	options.has_source = has_source;
	options.names_syscalls = demand->names_syscalls;
	options.follows_files = demand->follows_files;
	r = n->root_fd < 0 ? error_set_errno(err, errno, "cannot open '/'")
			   : sampler_open(&options, &n->sampler, err);
	if (r < 0) {
		close_node(n);
		return r;
	}
	*ret = (struct watch_backend){ n, list_of_node, record_of_node, close_node };
	return 0;
}
