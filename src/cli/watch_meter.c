/* SPDX-License-Identifier: MIT */
/* A sampler of our own as a source: it counts one group from now on. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "cgroup/group.h"
#include "cgroup/identity.h"
#include "model/record.h"
#include "selftest/rights.h"
#include "node/sampler.h"
#include "sources/sources.h"
#include "cli/watch.h"
#include "cli/watch_target.h"

#define SETTLE_MS 1000
#define CGROUP_TEXT_MAX 65536

struct meter_source {
	struct watch_source source;
	int root_fd;
	struct hierarchy hierarchy;
	char *path;
	struct group *group;
	struct sampler_one one;
	struct sampler *sampler;
	struct identity identity;
	bool has_identity, was_peopled;
	struct watch_meter_options options;
	uint64_t start_ns, start_boot_ns;
};

static struct meter_source *source_of(struct watch_source *s)
{
	return (struct meter_source *)(void *)s;
}

static void close_meter(struct watch_source *s)
{
	struct meter_source *m = source_of(s);

	sampler_close(m->sampler, false);
	group_remove(m->group); /* one of others: it is only closed */
	hierarchy_clear(&m->hierarchy);
	if (m->root_fd >= 0)
		close(m->root_fd);
	free(m->path);
	free(m);
}

/* "slurm/123", "slurm/123.0", or the group's path; NULL: no memory. */
static char *make_label(const struct meter_source *m)
{
	const struct identity *identity = &m->identity;
	char *label;

	if (!m->has_identity)
		return strdup(m->path);
	if (asprintf(&label, "%s/%s%s%s", identity->manager, identity->job,
		     *identity->step ? "." : "", identity->step) < 0)
		return NULL;
	return label;
}

/* It ends when its last process ends.  One that never had a process is waited for. */
static int refresh_meter(struct watch_source *s, struct watched_list *list, struct error *err)
{
	struct meter_source *m = source_of(s);
	struct watched *job = list->count ? list->items[0] : watched_add(list);
	struct snapshot *snapshot;
	pid_t pid;
	int r;

	if (!job)
		return error_set_errno(err, ENOMEM, "cannot watch");
	if (!job->label && !(job->label = make_label(m)))
		return error_set_errno(err, ENOMEM, "cannot watch");
	m->was_peopled |= group_list_processes(m->group, &pid, 1) > 0;
	job->is_live = group_exists(m->group) &&
		       (!m->was_peopled || group_list_processes(m->group, NULL, 0) > 0);
	r = sampler_get(m->sampler, 0, &snapshot, err);
	if (r >= 0)
		snapshot_unref(snapshot);
	return r;
}

static void add_owner(const struct meter_source *m, struct record *record)
{
	char path[64], text[8192];
	struct rights rights = {};
	const struct passwd *user;
	pid_t pid;

	if (group_list_processes(m->group, &pid, 1) < 1)
		return;
	snprintf(path, sizeof(path), "proc/%d/status", pid);
	if (file_read_small(m->root_fd, path, text, sizeof(text)) < 0 ||
	    rights_parse_status(text, &rights) < 0)
		return;
	record->job.uid = rights.uid;
	user = getpwuid(rights.uid);
	free(record->job.user);
	record->job.user = user ? strdup(user->pw_name) : NULL;
}

/* Of this time, and as the source names it. */
static int tell(const struct meter_source *m, const struct watched *job, struct record *record)
{
	record->is_final = !job->is_live;
	record->time.start_ns = 0;
	record->time.measured_from_ns = m->start_ns;
	record->time.elapsed_ns = clock_now_ns(CLOCK_BOOTTIME) - m->start_boot_ns;
	if (!job->is_live) {
		record->time.end_ns = m->start_ns + record->time.elapsed_ns;
		free(record->job.state);
		record->job.state = strdup("ENDED");
	}
	record->job.name = make_label(m);
	if (!record->job.name)
		return -ENOMEM;
	add_owner(m, record);
	if (group_exists(m->group))
		return 0;
	return strings_add(&record->coverage.notes,
			   "memory and throttling of the cgroup are those of the last sample");
}

static int read_meter(struct watch_source *s, const struct watched *job, struct record **ret,
		      struct error *err)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	_cleanup_(record_freep) struct record *record = NULL;
	struct meter_source *m = source_of(s);
	int r;

	if (!job->is_live)
		(void)sampler_settle(m->sampler, SETTLE_MS);
	r = sampler_get(m->sampler, job->is_live ? UINT64_MAX : 0, &snapshot, err);
	if (r >= 0)
		r = sampler_get_record(m->sampler, snapshot, &snapshot->jobs[0], &record, err);
	if (r < 0)
		return r;
	r = tell(m, job, record);
	if (r < 0)
		return error_set_errno(err, r, "cannot watch");
	*ret = TAKE_PTR(record);
	return 0;
}

static int start_meter(struct meter_source *m, struct error *err)
{
	static const char *const unwanted[] = { "node_files", "node_mounts", NULL };
	bool has_source[SOURCES_MAX];
	struct sampler_options options = sampler_options_full(m->root_fd);
	int r = group_open(m->root_fd, &m->hierarchy, m->path, &m->group, err);

	if (r < 0)
		return r;
	m->has_identity = identity_of(NULL, m->path, &m->identity);
	m->one = (struct sampler_one){
		.group = m->group,
		.path = m->path,
		.manager = m->has_identity ? m->identity.manager : "",
		.id = m->has_identity ? m->identity.job : "",
		.followed_max = m->options.followed_max,
		.hardware = m->options.hardware,
	};
	sources_want_others(has_source, unwanted);
	options.names_syscalls = m->options.names_syscalls;
	options.has_source = has_source;
	options.one = &m->one;
	r = sampler_open(&options, &m->sampler, err);
	m->start_ns = clock_now_ns(CLOCK_REALTIME);
	m->start_boot_ns = clock_now_ns(CLOCK_BOOTTIME);
	return r;
}

static int find_path_of(struct meter_source *m, pid_t pid, struct error *err)
{
	_cleanup_free_ char *cgroups = NULL;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "proc/%d/cgroup", pid);
	r = file_read(m->root_fd, path, CGROUP_TEXT_MAX, &cgroups, NULL);
	if (r == -ENOENT)
		return error_set(err, r, "there is no process %d", pid);
	if (r == 0)
		r = hierarchy_find_path(&m->hierarchy, cgroups, &m->path);
	return r < 0 ? error_set_errno(err, r, "cannot find the group of process %d", pid) : 0;
}

static int find_path(struct meter_source *m, struct error *err)
{
	const struct watch_meter_options *o = &m->options;

	if (o->job)
		return watch_groups_find(m->root_fd, &m->hierarchy, o->job, &m->path, err);
	if (o->pid)
		return find_path_of(m, o->pid, err);
	m->path = hierarchy_path_of(&m->hierarchy, o->group);
	return m->path ? 0 : error_set_errno(err, ENOMEM, "cannot watch");
}

int watch_meter_open(const struct watch_meter_options *options, struct watch_source **ret,
		     struct error *err)
{
	struct meter_source *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return error_set_errno(err, ENOMEM, "cannot watch");
	m->source = (struct watch_source){ refresh_meter, read_meter, close_meter };
	m->options = *options;
	m->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = m->root_fd < 0 ? error_set_errno(err, errno, "cannot open '/'")
			   : hierarchy_read(m->root_fd, &m->hierarchy, err);
	if (r >= 0)
		r = find_path(m, err);
	if (r >= 0)
		r = start_meter(m, err);
	if (r < 0)
		close_meter(&m->source);
	else
		*ret = &m->source;
	return r < 0 ? r : 0;
}
