/* SPDX-License-Identifier: MIT */
/* A sampler of our own that knows all jobs of the node, as the agent's does: for several at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "client/client.h"
#include "basic/error.h"
#include "model/record.h"
#include "node/sampler.h"
#include "cli/on_demand.h"
#include "sources/sources.h"
#include "cli/watch.h"

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

static int list_jobs(void *context, struct client_jobs *ret, struct error *err)
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

static int get_record(void *context, const char *manager, const char *id, struct record **ret,
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
	*ret = (struct watch_backend){ n, list_jobs, get_record, close_node };
	return 0;
}
