/* SPDX-License-Identifier: MIT */
/* The agent of the node as a source: it counts from each job's beginning, whoever looks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "client.h"
#include "error.h"
#include "macro.h"
#include "text.h"
#include "watch_source.h"
#include "watch_target.h"

struct agent_source {
	struct watch_source source;
	struct client *client;
	bool is_of_user;
	bool has_looked; /* jobs that come from now on are new ones */
	uint64_t since_ns; /* when we began, since the epoch */
	int64_t uid;
	struct client_jobs chosen; /* else: those */
};

static struct agent_source *source_of(struct watch_source *s)
{
	return (struct agent_source *)(void *)s;
}

static void close_agent(struct watch_source *s)
{
	struct agent_source *a = source_of(s);

	client_close(a->client);
	client_jobs_clear(&a->chosen);
	free(a);
}

static struct watched *find_watched(const struct watched_list *list, const struct client_job *job)
{
	for (size_t i = 0; i < list->count; i++) {
		if (text_is_equal(list->items[i]->manager, job->manager) &&
		    text_is_equal(list->items[i]->id, job->id))
			return list->items[i];
	}
	return NULL;
}

static int watch_job(struct watched_list *list, const struct client_job *job, bool is_new)
{
	struct watched *watched = watched_add(list);

	if (!watched)
		return list->count >= WATCHED_MAX
			       ? 0
			       : -ENOMEM; /* what is over the bound is not watched */
	watched->manager = strdup(job->manager);
	watched->id = strdup(job->id);
	if (asprintf(&watched->label, "%s/%s", job->manager, job->id) < 0)
		watched->label = NULL;
	watched->is_new = is_new;
	watched->is_live = job->is_live;
	return watched->manager && watched->id && watched->label ? 0 : -ENOMEM;
}

static bool is_chosen(const struct agent_source *a, const struct client_job *job)
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

/* What had ended before we came is still listed for a while, and none of ours. */
static bool is_of_our_time(const struct agent_source *a, const struct client_job *job)
{
	return job->is_live || (a->has_looked && job->end_ns >= a->since_ns);
}

/* What is no longer listed has ended long ago. */
static int refresh_agent(struct watch_source *s, struct watched_list *list, struct error *err)
{
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	struct agent_source *a = source_of(s);
	int r = client_list_jobs(a->client, &jobs, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < list->count; i++)
		list->items[i]->is_live = false;
	for (size_t i = 0; r == 0 && i < jobs.count; i++) {
		const struct client_job *job = &jobs.items[i];
		struct watched *watched = find_watched(list, job);

		if (watched)
			watched->is_live = job->is_live;
		else if (is_chosen(a, job) && is_of_our_time(a, job))
			r = watch_job(list, job, a->has_looked);
	}
	a->has_looked = true;
	return r < 0 ? error_set_errno(err, r, "cannot watch the jobs") : 0;
}

static int read_agent(struct watch_source *s, const struct watched *job, struct record **ret,
		      struct error *err)
{
	return client_get_record(source_of(s)->client, job->manager, job->id, ret, err);
}

static struct agent_source *new_source(struct error *err)
{
	struct agent_source *a = calloc(1, sizeof(*a));
	struct timespec now;

	if (!a) {
		error_set_errno(err, ENOMEM, "cannot watch");
		return NULL;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	a->since_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	a->source = (struct watch_source){ refresh_agent, read_agent, close_agent };
	return a;
}

static int choose(struct agent_source *a, const struct client_job *job)
{
	struct client_job *larger =
		reallocarray(a->chosen.items, a->chosen.count + 1, sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	a->chosen.items = larger;
	a->chosen.items[a->chosen.count++] =
		(struct client_job){ .manager = strdup(job->manager), .id = strdup(job->id) };
	return larger[a->chosen.count - 1].manager && larger[a->chosen.count - 1].id ? 0 : -ENOMEM;
}

/* The agent's records are of whole jobs. */
static int refuse_step(const struct watch_target *target, const struct watch_candidate *candidates,
		       size_t count, struct error *err)
{
	const char *step = watch_find_step(target->id);
	_cleanup_free_ char *id =
		step ? strndup(target->id, (size_t)(step - target->id) - 1) : NULL;
	struct watch_target whole = { .manager = target->manager, .id = id };
	size_t chosen;

	if (!id || watch_target_choose(&whole, candidates, count, &chosen, NULL) < 0)
		return 0;
	return error_set(err, -ENOENT,
			 "the agent watches whole jobs: '--job %s/%s' holds step '%s' too",
			 candidates[chosen].manager, candidates[chosen].id, step);
}

static int choose_target(struct agent_source *a, const struct watch_target *target,
			 const struct client_jobs *jobs, struct error *err)
{
	_cleanup_free_ struct watch_candidate *candidates =
		calloc(jobs->count + 1, sizeof(*candidates));
	size_t chosen;
	int r;

	if (!candidates)
		return error_set_errno(err, ENOMEM, "cannot watch");
	for (size_t i = 0; i < jobs->count; i++)
		candidates[i] =
			(struct watch_candidate){ jobs->items[i].manager, jobs->items[i].id };
	r = watch_target_choose(target, candidates, jobs->count, &chosen, err);
	if (r == -ENOENT && refuse_step(target, candidates, jobs->count, err) < 0)
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

int watch_agent_open_jobs(struct client *client, const struct watch_targets *targets,
			  struct watch_source **ret, struct error *err)
{
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	struct agent_source *a;
	int r = client_list_jobs(client, &jobs, err);

	if (r < 0)
		return r;
	a = new_source(err);
	if (!a)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < targets->count; i++)
		r = choose_target(a, &targets->items[i], &jobs, err);
	if (r < 0) {
		close_agent(&a->source);
		return r;
	}
	a->client = client;
	*ret = &a->source;
	return 0;
}

int watch_agent_open_user(struct client *client, uid_t uid, struct watch_source **ret,
			  struct error *err)
{
	struct agent_source *a = new_source(err);

	if (!a)
		return -ENOMEM;
	a->is_of_user = true;
	a->uid = uid;
	a->client = client;
	*ret = &a->source;
	return 0;
}

int watch_agent_open_group(struct client *client, pid_t pid, const char *path,
			   struct watch_source **ret, struct error *err)
{
	_cleanup_(client_group_clear) struct client_group group = {};
	struct agent_source *a;
	int r = pid ? client_find_process(client, pid, &group, err)
		    : client_find_group(client, path, &group, err);

	if (r < 0)
		return r;
	a = new_source(err);
	if (!a)
		return -ENOMEM;
	r = choose(a, &(struct client_job){ .manager = group.manager, .id = group.id });
	if (r < 0) {
		close_agent(&a->source);
		return error_set_errno(err, r, "cannot watch");
	}
	a->client = client;
	*ret = &a->source;
	return 0;
}
