/* SPDX-License-Identifier: MIT */
/* A meter of our own: what the agent would do, in this process, and gone with it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "config.h"
#include "error.h"
#include "identity.h"
#include "job_record.h"
#include "managers.h"
#include "processes.h"
#include "sampler.h"
#include "snapshot.h"
#include "tick.h"
#include "top_source.h"

#define FOLDER                                                                                     \
	"/run/jobmeter-top-XXXXXX" /* of memory: what a kill leaves goes with the next boot */

struct own_source {
	struct top_source source;
	struct config *config;
	struct sampler *sampler;
	int root_fd;
	char folder[sizeof(FOLDER)]; /* "": there is none */
};

static struct own_source *source_of(struct top_source *s)
{
	return (struct own_source *)(void *)s;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static void close_own(struct top_source *s)
{
	struct own_source *o = source_of(s);

	sampler_close(o->sampler, false);
	config_free(o->config);
	if (*o->folder)
		(void)nftw(o->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
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
		     struct tick *to)
{
	struct job_record_node node;
	int r = 0;

	sampler_get_node(o->sampler, &node);
	for (size_t i = 0; r == 0 && i < s->job_count; i++) {
		struct record *record = NULL;

		if (!is_wanted(s, &s->jobs[i], ended_ns))
			continue;
		r = job_record_make(s, &s->jobs[i], &node, &record);
		if (r == 0)
			r = job_record_add_label(&s->jobs[i], record);
		if (r == 0)
			r = records_add(&to->jobs, record);
		if (r < 0)
			record_free(record);
	}
	return r;
}

static int read_own(struct top_source *s, uint64_t max_age_ns, uint64_t ended_ns,
		    const struct tick *before, struct tick *ret, struct error *err)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct own_source *o = source_of(s);
	struct tick tick = {};
	int r;

	(void)before; /* there is no way to be made shorter */
	sampler_want_commands(o->sampler);
	r = sampler_get(o->sampler, max_age_ns, &snapshot, err);
	if (r < 0)
		return r;
	tick.real_ns = snapshot->real_ns;
	tick.boot_ns = snapshot->boot_ns;
	tick.took_ns = snapshot->took_ns;
	r = take_jobs(o, snapshot, ended_ns, &tick);
	if (r < 0) {
		tick_clear(&tick);
		return error_set_errno(err, r, "cannot look at the jobs");
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

static int make_folder(struct own_source *o, struct error *err)
{
	char folder[] = FOLDER;

	if (!mkdtemp(folder))
		return error_set_errno(err, errno, "cannot make a folder '%s'", folder);
	memcpy(o->folder, folder, sizeof(folder));
	return 0;
}

static int start(struct own_source *o, struct error *err)
{
	struct sampler_options options = { .uid = geteuid(),
					   .gid = getegid(),
					   .state_dir = o->folder };
	struct managers managers = {};
	int r = config_load(NULL, environ, &o->config, NULL, err);

	if (r < 0)
		return r;
	o->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->root_fd < 0)
		return error_set_errno(err, errno, "cannot open '/'");
	managers_read(o->root_fd, &managers);
	o->config->has_units |= managers.count == 0;
	options.config = o->config;
	options.root_fd = o->root_fd;
	r = make_folder(o, err);
	return r < 0 ? r : sampler_open(&options, &o->sampler, err);
}

int top_source_open_own(struct top_source **ret, struct error *err)
{
	struct own_source *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return error_set_errno(err, ENOMEM, "cannot look at the jobs");
	*o = (struct own_source){ .source = { .name = "meter of our own",
					      .read = read_own,
					      .describe = describe_own,
					      .locate = locate_own,
					      .close = close_own },
				  .root_fd = -EBADF };
	r = start(o, err);
	if (r < 0) {
		close_own(&o->source);
		return r;
	}
	*ret = &o->source;
	return 0;
}
