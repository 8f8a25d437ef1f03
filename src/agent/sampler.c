/* SPDX-License-Identifier: MIT */
#include "sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "collectors/node_ports.h"
#include "config.h"
#include "error.h"
#include "file.h"
#include "hierarchy.h"
#include "identity.h"
#include "job_record.h"
#include "job_state.h"
#include "kernel_side.h"
#include "machine.h"
#include "macro.h"
#include "meter.h"
#include "place_names.h"
#include "published.h"
#include "registry.h"
#include "resident.h"
#include "sampled_job.h"
#include "state.h"
#include "users.h"

#define OTHER_DESCRIPTORS 768 /* beside those of the jobs' groups: connections, most of them */

#define JOBS_TO_TRIM 100
#define COMMANDS_NS UINT64_C(10000000000) /* so long after somebody looked they are looked for */

struct sampler {
	struct sampler_options options;
	const struct config *config;
	struct hierarchy hierarchy;
	bool has_hierarchy, is_saved; /* what had ended at the last reading */
	bool has_last;		      /* states that wait for the end of the kernel side */
	struct identity_rules *rules;
	struct site_mount *sites;
	struct place_names *names;
	struct kernel_side *kernel;
	struct registry *registry;
	struct state *state;
	struct job_sources sources;
	struct published *published; /* NULL: what an agent before us showed is not known */
	bool has_read;
	struct snapshot *last;
	struct sampler_state counts;
	struct error news;
	char node[65], boot_id[40];
	char prolog_dir[4096 + 8];
};

static void read_word(int root_fd, const char *path, char *ret, size_t size)
{
	if (file_read_small(root_fd, path, ret, size) < 0)
		*ret = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

/* ---- opening ---- */

static int read_hierarchy(struct sampler *s, struct error *err)
{
	static const enum controller controllers[] = {
		[CONFIG_KEY_MEMORY] = CONTROLLER_MEMORY,
		[CONFIG_KEY_CPUACCT] = CONTROLLER_CPUACCT,
		[CONFIG_KEY_FREEZER] = CONTROLLER_FREEZER,
		[CONFIG_KEY_CPUSET] = CONTROLLER_CPUSET,
	};
	unsigned int key = s->config->key_hierarchy;
	int r = hierarchy_read(s->options.root_fd, &s->hierarchy, err);

	if (r < 0)
		return r;
	s->has_hierarchy = true;
	if (key == CONFIG_KEY_AUTO)
		return 0;
	if (!s->hierarchy.mount[controllers[key]])
		return error_set(err, -ENOENT,
				 "key_hierarchy: cgroup v1's '%s' is not mounted here",
				 controller_name(controllers[key]));
	s->hierarchy.is_v2 = false;
	s->hierarchy.key = controllers[key];
	return 0;
}

static int make_rules(struct sampler *s, struct error *err)
{
	const struct setting_list *rules = &s->config->rules;

	s->rules = identity_rules_new();
	if (!s->rules)
		return -ENOMEM;
	for (size_t i = 0; i < rules->count; i++) {
		int r = identity_rules_add(s->rules, setting_list_get(rules, i, CONFIG_RULE_NAME),
					   setting_list_get(rules, i, CONFIG_RULE_MANAGER),
					   setting_list_get(rules, i, CONFIG_RULE_PATTERN), 0, err);

		if (r < 0)
			return error_prefix(err, r, "rules[%zu]", i);
	}
	return 0;
}

static int open_names(struct sampler *s, struct error *err)
{
	const struct setting_list *mounts = &s->config->mounts;

	s->sites = calloc(mounts->count + 1, sizeof(*s->sites));
	if (!s->sites)
		return -ENOMEM;
	for (size_t i = 0; i < mounts->count; i++)
		s->sites[i] = (struct site_mount){
			.path = setting_list_get(mounts, i, CONFIG_MOUNT_PATH),
			.name = setting_list_get(mounts, i, CONFIG_MOUNT_NAME),
		};
	return place_names_open(s->options.root_fd, s->sites, mounts->count, &s->names, err);
}

static int make_registry(struct sampler *s)
{
	struct registry_options options = {
		.rules = s->rules,
		.has_units = s->config->has_units,
		.retention_ns = s->config->retention_ns,
		.jobs_max = s->config->jobs_max,
		.started_real_ns = clock_now_ns(CLOCK_REALTIME),
		.started_boot_ns = clock_now_ns(CLOCK_BOOTTIME),
	};

	snprintf(options.boot_id, sizeof(options.boot_id), "%s", s->boot_id);
	s->registry = registry_new(&options);
	return s->registry ? 0 : -ENOMEM;
}

static int open_sources(struct sampler *s)
{
	static const struct users_options names = {};
	const struct source_options options = {
		.root_fd = s->options.root_fd,
		.hierarchy = s->has_hierarchy ? &s->hierarchy : NULL,
		.descriptors = &s->sources.budget,
		.may_ask = s->options.may_ask,
		.context = s->options.context,
	};

	s->sources = (struct job_sources){
		.root_fd = s->options.root_fd,
		.hierarchy = options.hierarchy,
		.wanted = group_files_metrics(s->hierarchy.is_v2, kernel_side_has_tasks(s->kernel)),
		.users = users_new(&names),
		.prolog_dir = s->prolog_dir,
	};
	snprintf(s->prolog_dir, sizeof(s->prolog_dir), "%s/jobs",
		 s->config->run_dir + strspn(s->config->run_dir, "/"));
	group_files_budget_init(&s->sources.budget, OTHER_DESCRIPTORS);
	return s->sources.users ? sources_open(sources_all(), s->options.has_source, &options, &s->sources.sources) : -ENOMEM;
}

static bool is_pinned(void *context, uint32_t kernel_side)
{
	const struct sampler *s = context;

	return kernel_side && meter_is_pinned(s->config->pin_dir, kernel_side);
}

/* Before the kernel side is opened, which takes over what is pinned, or makes an end of it. */
static int open_state(struct sampler *s, struct error *err)
{
	_cleanup_free_ char *folder = NULL;
	int r;

	if (asprintf(&folder, "%s/jobs", s->options.state_dir ? s->options.state_dir : s->config->state_dir) < 0) {
		folder = NULL;
		return -ENOMEM;
	}
	r = state_open(folder, s->options.uid, s->options.gid, &s->state, err);
	if (r >= 0)
		r = state_settle(s->state, is_pinned, s, err);
	return r < 0 ? r : job_state_read(s->state, s->registry, err);
}

static bool is_taken_over(struct sampler *s)
{
	const struct meter *meter = kernel_side_meter(s->kernel);

	return meter && meter_is_taken_over(meter);
}

/* What can be had without is more than nothing; but what goes on is shown with less than before,
 * perhaps. */
static void open_published(struct sampler *s)
{
	_cleanup_free_ char *path = NULL;
	int r;

	if (!kernel_side_meter(s->kernel) || s->options.state_dir)
		return;
	if (asprintf(&path, "%s/published", s->config->run_dir) < 0) {
		path = NULL;
		return;
	}
	r = published_open(path, s->boot_id, s->config->jobs_max, &s->published);
	if (r < 0)
		error_set_errno(&s->news, r,
				"after a restart values may be less than before: cannot keep '%s'",
				path);
	else if (!is_taken_over(s))
		published_clear(s->published);
}

static int open_all(struct sampler *s, struct error *err)
{
	int r = read_hierarchy(s, err);

	if (r >= 0)
		r = make_rules(s, err);
	if (r >= 0)
		r = open_names(s, err);
	if (r >= 0)
		r = make_registry(s);
	if (r >= 0)
		r = open_state(s, err);
	if (r >= 0)
		r = kernel_side_open(s->config, s->options.root_fd, &s->hierarchy, !s->options.state_dir,
				     s->registry, &s->kernel, err);
	if (r >= 0)
		r = kernel_side_resume(s->kernel, s->registry, s->names, err);
	if (r >= 0 && !is_taken_over(s))
		registry_lose_ports(s->registry);
	if (r >= 0)
		r = open_sources(s);
	if (r >= 0)
		open_published(s);
	return r == -ENOMEM ? error_set_errno(err, r, "cannot start") : r;
}

int sampler_open(const struct sampler_options *options, struct sampler **ret, struct error *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot start");
	s->options = *options;
	s->config = options->config;
	read_word(options->root_fd, "proc/sys/kernel/hostname", s->node, sizeof(s->node));
	read_word(options->root_fd, "proc/sys/kernel/random/boot_id", s->boot_id,
		  sizeof(s->boot_id));
	r = open_all(s, err);
	if (r < 0) {
		sampler_close(s, false);
		return r;
	}
	*ret = s;
	return 0;
}

bool sampler_can_keep(struct sampler *s)
{
	return kernel_side_pinned_id(s->kernel);
}

struct sampler *sampler_close(struct sampler *s, bool keeps)
{
	if (!s)
		return NULL;
	snapshot_unref(s->last);
	if (s->published && !keeps)
		published_clear(s->published);
	published_close(s->published);
	kernel_side_close(s->kernel, keeps);
	if (s->has_last)
		(void)state_settle(s->state, is_pinned, s, NULL); /* else the next agent does it */
	registry_free(s->registry); /* gives back what jobs have from the sources */
	users_free(s->sources.users);
	sources_free(s->sources.sources);
	state_close(s->state);
	place_names_close(s->names);
	free(s->sites);
	identity_rules_free(s->rules);
	hierarchy_clear(&s->hierarchy);
	free(s);
	return NULL;
}

void sampler_configure(struct sampler *s, const struct config *config)
{
	s->config = config;
}

void sampler_set_owners(struct sampler *s, int64_t (*find_owner)(void *context, uint64_t group_id),
			void *context)
{
	s->sources.find_owner = find_owner;
	s->sources.context = context;
}

/* ---- a reading ---- */

static void drop_state(void *context, struct registry_job *job)
{
	struct sampler *s = context;
	const struct job *known = registry_job_known(job);
	const struct registry_job *shown = registry_find(s->registry, known->manager, known->id);

	if (shown != job && registry_job_maker(shown) == registry_job_maker(job))
		return; /* the file is that one's by now */
	job_state_remove(s->state, job);
}

/* What ended is erased on the kernel side only when all of it is written down. */
static int fold(struct sampler *s, uint64_t boot_ns, struct error *err)
{
	_cleanup_free_ uint64_t *leaves = NULL;
	size_t count = 0;
	int r = registry_fold(s->registry, boot_ns, &leaves, &count);

	if (r >= 0 && count)
		r = kernel_side_fold_histograms(s->kernel, s->registry, s->names, leaves, count,
						err);
	s->is_saved = r >= 0 && job_state_write(s->state, s->registry);
	if (s->is_saved)
		r = kernel_side_forget_folded(s->kernel, s->registry);
	return r < 0 ? error_set_errno(err, r, "cannot fold what ended") : 0;
}

/* Jobs that are there at our first reading were there before us. */
static int take_published(struct sampler *s)
{
	struct value values[METRIC_JOB_COUNT];
	int r = 0;

	if (!s->published || s->has_read)
		return 0;
	for (struct registry_job *job = NULL; r == 0 && (job = registry_next(s->registry, job));) {
		if (published_get(s->published, registry_job_known(job), values))
			r = registry_job_set_least(job, values);
	}
	s->has_read = r == 0;
	return r;
}

static int feed_ports(struct sampler *s, uint64_t boot_ns, uint64_t real_ns)
{
	const struct samples *samples = sources_find(s->sources.sources, NODE_PORTS_SOURCE);
	struct ports now = {};
	int r;

	if (samples)
		node_ports_take(samples, &now);
	if (!now.count)
		return 0;
	r = registry_feed_ports(s->registry, &now, boot_ns, real_ns, machine_cpus_online(s->options.root_fd));
	if (r >= 0) /* what was counted before a job is known to nobody else */
		s->is_saved &= job_state_write(s->state, s->registry);
	return r;
}

static int read_all(struct sampler *s, uint64_t boot_ns, struct snapshot **ret, struct error *err)
{
	uint64_t real_ns = clock_now_ns(CLOCK_REALTIME);
	int r = kernel_side_learn(s->kernel, s->registry, boot_ns, real_ns, err);

	if (r >= 0)
		r = take_published(s);
	if (r >= 0)
		r = kernel_side_feed(s->kernel, s->registry, s->names, boot_ns, err);
	s->sources.command_looks = 0;
	if (r >= 0)
		r = sources_sample(s->sources.sources, boot_ns);
	for (struct registry_job *job = NULL; r >= 0 && (job = registry_next(s->registry, job));)
		r = sampled_job_read(&s->sources, job, boot_ns);
	if (r >= 0)
		r = kernel_side_govern(s->kernel, s->config->budget, boot_ns);
	users_work(s->sources.users, boot_ns); /* asks for the names that were missing */
	if (r >= 0)
		r = fold(s, boot_ns, err);
	if (r < 0)
		return r;
	r = feed_ports(s, boot_ns, real_ns);
	if (r < 0)
		return r;
	registry_expire(s->registry, boot_ns, drop_state, s);
	return registry_snapshot(s->registry, boot_ns, real_ns, ret);
}

static int take_reading(struct sampler *s, struct error *err)
{
	uint64_t started_ns = clock_now_ns(CLOCK_BOOTTIME);
	struct snapshot *snapshot = NULL;
	int r;

	s->counts.readings++;
	r = read_all(s, started_ns, &snapshot, err);
	sources_ask(s->sources.sources);
	if (r < 0) {
		s->counts.failed_readings++;
		kernel_side_distrust(s->kernel);
		return *err->text ? r : error_set_errno(err, r, "cannot take a reading");
	}
	snapshot->took_ns = s->counts.last_reading_ns = clock_now_ns(CLOCK_BOOTTIME) - started_ns;
	if (s->published)
		published_put(s->published, snapshot);
	snapshot_unref(s->last);
	s->last = snapshot;
	if (s->counts.readings == 1)
		resident_drop_text(); /* that of starting is not needed again */
	if (snapshot->job_count >= JOBS_TO_TRIM)
		malloc_trim(0); /* both were there at once: some MiB, which the next reading wants again */
	return 0;
}

int sampler_get(struct sampler *s, uint64_t max_age_ns, struct snapshot **ret, struct error *err)
{
	int r = 0;

	if (!s->last || clock_now_ns(CLOCK_BOOTTIME) - s->last->boot_ns > max_age_ns)
		r = take_reading(s, err);
	if (r >= 0)
		*ret = snapshot_ref(s->last);
	return r;
}

void sampler_want_commands(struct sampler *s)
{
	s->sources.commands_until_ns = clock_now_ns(CLOCK_BOOTTIME) + COMMANDS_NS;
}

/*
 * What live jobs did must be in the kernel or in their states, and not in both, wherever this is
 * cut off: so all states are written beside those that are there, and take their place when the
 * kernel side is gone, which is one call, the first in pins_remove().
 */
int sampler_finish(struct sampler *s, struct error *err)
{
	struct snapshot *last = NULL;
	int r = sampler_get(s, 0, &last, err);

	snapshot_unref(last);
	if (r >= 0 && !s->is_saved) /* then the rest would fail, too */
		r = error_set_errno(err, state_failure(s->state) < 0 ? state_failure(s->state) : -EIO,
				    "the state of jobs cannot be written to '%s'", s->config->state_dir);
	if (r >= 0)
		r = kernel_side_put_aside(s->kernel, s->registry, s->names, err);
	s->has_last = r >= 0;
	registry_save_timelines(s->registry);
	registry_cut_ports(s->registry);
	if (r >= 0)
		r = job_state_write_last(s->state, s->registry, kernel_side_pinned_id(s->kernel),
					 err);
	return r;
}

/* ---- records ---- */

void sampler_get_node(const struct sampler *s, struct job_record_node *ret)
{
	*ret = (struct job_record_node){ s->config->cluster, s->node, s->boot_id };
}

static int describe_lost_groups(const struct registry_job *job, struct record *record)
{
	uint64_t count = registry_job_lost_groups(job);

	return count ? strings_add(&record->coverage.notes,
				   "lower bound: %" PRIu64 " of its cgroups are not in, since there were too many jobs "
				   "(jobs_max) while they lived", count)
		     : 0;
}

int sampler_get_record(struct sampler *s, const struct snapshot *snapshot,
		       const struct snapshot_job *job, struct record **ret, struct error *err)
{
	struct registry_job *known = registry_find(s->registry, job->job->manager, job->job->id);
	_cleanup_(record_freep) struct record *record = NULL;
	struct job_record_node node;
	int r;

	sampler_get_node(s, &node);
	if (!known)
		return error_set(err, -ENOENT, "there is no such job");
	r = job_record_make(snapshot, job, &node, &record);
	if (r >= 0)
		r = kernel_side_add_histograms(s->kernel, known, s->names, &record->reading, err);
	if (r >= 0)
		r = timeline_copy(&record->timeline, registry_job_timeline(known));
	if (r >= 0)
		r = kernel_side_describe(s->kernel, registry_job_losses(known), record);
	if (r >= 0)
		r = describe_lost_groups(known, record);
	if (r >= 0)
		r = job_sources_describe(&s->sources, known, record);
	if (r >= 0)
		r = kernel_side_tell_budget(s->kernel, job->job->start_boot_ns,
					    job->is_live ? snapshot->boot_ns : job->job->end_boot_ns, record);
	if (r >= 0)
		victims_merge(&record->victims, registry_job_victims(known));
	if (r < 0)
		return *err->text ? r : error_set_errno(err, r, "cannot make the record");
	record_close_books(record);
	*ret = TAKE_PTR(record);
	return 0;
}

/* ---- what others may know ---- */

int sampler_describe(const struct sampler *s, struct record *record)
{
	int failure = state_failure(s->state), r = kernel_side_describe(s->kernel, NULL, record);

	if (r >= 0)
		r = sources_describe(s->sources.sources, record);
	if (r >= 0 && failure < 0)
		r = strings_add(&record->coverage.notes, "the state of jobs cannot be written to '%s/jobs': %s",
				s->config->state_dir, strerror(-failure));
	return r;
}

int sampler_put_samples(struct sampler *s, bool wants_node, struct samples *to)
{
	int r = wants_node ? sources_put_node(s->sources.sources, clock_now_ns(CLOCK_BOOTTIME), to) : 0;

	return r < 0 ? r : sources_put_late(s->sources.sources, to);
}

struct meter *sampler_meter(struct sampler *s)
{
	return kernel_side_meter(s->kernel);
}

const struct hierarchy *sampler_hierarchy(const struct sampler *s)
{
	return s->has_hierarchy ? &s->hierarchy : NULL;
}

const struct identity_rules *sampler_rules(const struct sampler *s)
{
	return s->rules;
}

int sampler_fd(const struct sampler *s)
{
	return users_fd(s->sources.users);
}

void sampler_work(struct sampler *s)
{
	users_work(s->sources.users, clock_now_ns(CLOCK_BOOTTIME));
}

bool sampler_has_news(struct sampler *s, struct error *err)
{
	if (*s->news.text) {
		*err = s->news;
		*s->news.text = '\0';
		return true;
	}
	return state_has_news(s->state, err) || kernel_side_has_news(s->kernel, err) ||
	       notices_get(&s->sources.prolog_news, clock_now_ns(CLOCK_BOOTTIME), err);
}

void sampler_get_state(const struct sampler *s, struct sampler_state *ret)
{
	const struct state_counts files = state_get_counts(s->state);

	*ret = s->counts;
	kernel_side_count(s->kernel, clock_now_ns(CLOCK_BOOTTIME), ret);
	for (size_t i = 0; s->last && i < s->last->job_count; i++) {
		ret->jobs_live += s->last->jobs[i].is_live;
		ret->jobs_ended += !s->last->jobs[i].is_live;
	}
	ret->state_errors = files.errors;
	ret->set_aside = files.set_aside;
	ret->bad_prologs = s->sources.bad_prologs;
	ret->reopened_files = s->sources.budget.reopened;
	ret->refused_files = s->sources.budget.refused;
}
