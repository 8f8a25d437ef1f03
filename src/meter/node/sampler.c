/* SPDX-License-Identifier: MIT */
#include "node/sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "sources/node_ports.h"
#include "basic/error.h"
#include "basic/file.h"
#include "cgroup/hierarchy.h"
#include "cgroup/mounts.h"
#include "codec/ledger.h"
#include "codec/trace_post.h"
#include "cgroup/identity.h"
#include "model/document.h"
#include "node/job_record.h"
#include "node/job_state.h"
#include "node/kernel_side.h"
#include "node/group_edges.h"
#include "energy/node_energy.h"
#include "sources/machine.h"
#include "load/meter.h"
#include "counters/place_names.h"
#include "counters/task_sums.h"
#include "node/published.h"
#include "jobs/job_command.h"
#include "jobs/registry.h"
#include "basic/resident.h"
#include "node/sampled_job.h"
#include "node/state.h"
#include "jobs/users.h"

#define OTHER_DESCRIPTORS 768 /* beside those of the jobs' groups: connections, most of them */

#define JOBS_TO_TRIM 100
#define UNKNOWN_NS UINT64_C(1000000000) /* a traced cgroup is searched for once a second */
#define UNKNOWN_LAST_NS UINT64_C(50000000)
#define TRACE_NS UINT64_C(15000000000) /* a trace reports every 10 s */
#define EDGES_NS UINT64_C(50000000) /* edges this close share one sensor reading */
#define COMMANDS_NS                                                                  \
	UINT64_C(10000000000) /* commands are searched for this long after a request \
			       */

struct sampler {
	struct sampler_options options;
	struct hierarchy hierarchy;
	bool has_hierarchy, is_saved; /* the states of what ended at the last reading */
	bool has_last; /* states that wait for the end of the kernel side */
	struct identity_rules *rules;
	struct site_mount *sites;
	struct place_names *names;
	struct kernel_side *kernel;
	struct registry *registry;
	struct state *state;
	struct job_sources sources;
	struct node_energy *energy;
	struct group_edges *edges; /* NULL: no sensor can be asked at one */
	uint64_t edge_ns; /* when they were, last */
	bool edge_waits; /* there was one since */
	uint64_t energy_ns; /* by CLOCK_BOOTTIME: when it was taken last; 0: never */
	bool is_asked; /* the reading was asked for between two at the interval */
	struct state *energy_state; /* NULL: nothing is kept */
	struct published *published; /* NULL: the values of the previous agent are not known */
	bool has_read;
	struct snapshot *last;
	struct node_values node_values; /* and of which snapshot they are, by its boot_ns */
	uint64_t node_values_of_ns;
	struct sampler_state counts;
	struct error news;
	char node[65], boot_id[40];
	char prolog_dir[4096 + 8];
};

struct sampler_options sampler_options_full(int root_fd)
{
	return (struct sampler_options){
		.root_fd = root_fd,
		.tiers = METER_ALL,
		.has_clock = true,
		.has_histograms = true,
		.has_block = true,
		.key = -1,
		.budget = 20000,
	};
}

/* ---- opening ---- */

static int read_hierarchy(struct sampler *s, struct error *err)
{
	int key = s->options.key;
	int r = hierarchy_read(s->options.root_fd, &s->hierarchy, err);

	if (r < 0)
		return r;
	s->has_hierarchy = true;
	if (key < 0)
		return 0;
	if (!s->hierarchy.mount[key])
		return error_set(err, -ENOENT,
				 "key_hierarchy: cgroup v1's '%s' is not mounted here",
				 controller_name((enum controller)key));
	s->hierarchy.is_v2 = false;
	s->hierarchy.key = (enum controller)key;
	return 0;
}

static int make_rules(struct sampler *s, struct error *err)
{
	s->rules = identity_rules_new();
	if (!s->rules)
		return -ENOMEM;
	for (size_t i = 0; i < s->options.rule_count; i++) {
		const struct sampler_rule *rule = &s->options.rules[i];
		int r = identity_rules_add(s->rules, rule->name, rule->manager, rule->pattern,
					   false, err);

		if (r < 0)
			return error_prefix(err, r, "rules[%zu]", i);
	}
	return 0;
}

static int make_registry(struct sampler *s)
{
	const struct clock_moment now = clock_now();
	struct registry_options options = {
		.rules = s->rules,
		.has_units = s->options.has_units,
		.retention_ns = s->options.retention_ns,
		.jobs_max = s->options.jobs_max,
		.user_jobs_max = s->options.user_jobs_max,
		.started_real_ns = now.real_ns,
		.started_boot_ns = now.boot_ns,
	};

	snprintf(options.boot_id, sizeof(options.boot_id), "%s", s->boot_id);
	s->registry = registry_new(&options);
	return s->registry ? 0 : -ENOMEM;
}

/* Nobody's descriptors are raised for one group, since its command would have that too. */
#define DESCRIPTORS_OF_ONE 64
#define OTHERS_OF_ONE 256

static int open_sources_of_one(struct sampler *s)
{
	const struct sampler_one *one = s->options.one;
	const struct source_options options = {
		.root_fd = s->options.root_fd,
		.hierarchy = &s->hierarchy,
		.descriptors = &s->sources.budget,
		.cpu_model = s->options.cpu_model,
		.cpu_tdp_watts = s->options.cpu_tdp_watts,
		.hardware = one->hardware,
	};

	s->sources = (struct job_sources){
		.root_fd = s->options.root_fd,
		.hierarchy = &s->hierarchy,
		.group = one->group,
		.is_own = one->is_own,
		.wanted = group_files_metrics(s->hierarchy.is_v2, kernel_side_has_tasks(s->kernel)),
		.budget = { .max = DESCRIPTORS_OF_ONE },
	};
	metric_set_add(&s->sources.wanted, METRIC_MEMORY_OOM_KILLS); /* no program reports the ends
									of cgroups */
	if (!one->is_own)
		group_files_budget_init(&s->sources.budget, OTHERS_OF_ONE);
	return sources_open(sources_all(), s->options.has_source, &options, &s->sources.sources);
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
		.settings = s->options.source_settings,
		.rules = s->rules,
		.cpu_model = s->options.cpu_model,
		.cpu_tdp_watts = s->options.cpu_tdp_watts,
	};

	if (s->options.one)
		return open_sources_of_one(s);
	s->sources = (struct job_sources){
		.root_fd = s->options.root_fd,
		.hierarchy = options.hierarchy,
		.wanted = group_files_metrics(s->hierarchy.is_v2, kernel_side_has_tasks(s->kernel)),
		.users = users_new(&names),
		.prolog_dir = s->options.run_dir ? s->prolog_dir : NULL,
	};
	if (s->options.run_dir)
		snprintf(s->prolog_dir, sizeof(s->prolog_dir), "%s/jobs",
			 s->options.run_dir + strspn(s->options.run_dir, "/"));
	group_files_budget_init(&s->sources.budget, OTHER_DESCRIPTORS);
	return s->sources.users ? sources_open(sources_all(), s->options.has_source, &options,
					       &s->sources.sources)
				: -ENOMEM;
}

/* All that changed; where nothing is kept, it need not be. */
static bool write_states(struct sampler *s)
{
	return !s->state || job_state_write(s->state, s->registry);
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
	r = registry_feed_ports(s->registry, &now, boot_ns, real_ns,
				machine_cpus_online(s->options.root_fd));
	if (r >= 0) /* counts from before a job are kept nowhere else */
		s->is_saved &= write_states(s);
	return r;
}

static int take_energy(struct sampler *s, struct snapshot *snapshot)
{
	_cleanup_(energy_readings_clear) struct energy_readings readings = {};
	int r = sources_put_energy(s->sources.sources, &readings);

	return r < 0 ? r : node_energy_take(s->energy, &readings, snapshot);
}

static bool is_energy_due(const struct sampler *s, const struct snapshot *snapshot)
{
	if (!s->is_asked || !s->energy_ns ||
	    snapshot->boot_ns - s->energy_ns >= s->options.energy_age_ns)
		return true;
	for (size_t i = 0; i < snapshot->job_count; i++) {
		const struct snapshot_job *job = &snapshot->jobs[i];

		/* its last part would be in no record */
		if (!job->is_live && job->job->end_boot_ns > s->energy_ns)
			return true;
	}
	return false;
}

static int fill_snapshot(void *context, struct snapshot *snapshot)
{
	struct sampler *s = context;

	if (!is_energy_due(s, snapshot))
		return node_energy_show(s->energy, snapshot);
	s->energy_ns = snapshot->boot_ns;
	return take_energy(s, snapshot);
}

static int read_energy(void *context, const char *name UNUSED, const char *text, size_t length,
		       struct error *err)
{
	struct sampler *s = context;
	int r = node_energy_parse_state(s->energy, s->boot_id, text, length, err);

	if (r == -EINVAL) { /* nothing of it is valid */
		s->energy = node_energy_free(s->energy);
		return node_energy_new(machine_for_energy(s->options.root_fd),
				       (enum energy_policy)s->options.idle_policy, &s->energy) < 0
			       ? -ENOMEM
			       : r;
	}
	return r;
}

static int open_energy(struct sampler *s, struct error *err)
{
	const enum energy_policy policy = (enum energy_policy)s->options.idle_policy;
	char dir[PATH_MAX];
	int r = node_energy_new(machine_for_energy(s->options.root_fd), policy, &s->energy);

	if (r < 0)
		return r;
	registry_set_filler(s->registry, fill_snapshot, s);
	if (!s->options.state_dir)
		return 0;
	snprintf(dir, sizeof(dir), "%s/energy", s->options.state_dir);
	r = state_open(dir, s->options.uid, s->options.gid, &s->energy_state, err);
	return r < 0 ? r : state_read_all(s->energy_state, read_energy, s, err);
}

/* After a crash the last one counts: later energy is divided anew, by the work of jobs until
 * then. */
static void write_energy(struct sampler *s)
{
	_cleanup_free_ char *text = NULL;
	size_t length;

	if (s->energy_state && node_energy_format_state(s->energy, s->boot_id, &text, &length) == 0)
		(void)state_write(s->energy_state, "energy" STATE_OF_BYTES, text, length, false,
				  NULL);
}

/* What went through before the command begins is not its. */
static int begin_sources(struct sampler *s)
{
	uint64_t boot_ns = clock_now_ns(CLOCK_BOOTTIME);
	int r = sources_sample(s->sources.sources, boot_ns);

	if (r >= 0)
		r = take_energy(s, &(struct snapshot){ .boot_ns = boot_ns });
	return r < 0 ? r : feed_ports(s, boot_ns, clock_now_ns(CLOCK_REALTIME));
}

static bool is_pinned(void *context, uint32_t kernel_side)
{
	const struct sampler *s = context;

	return kernel_side && meter_is_pinned(s->options.pin_dir, kernel_side);
}

/* After the kernel side is open, which takes over what is pinned or removes it. */
static int open_state(struct sampler *s, struct error *err)
{
	char dir[PATH_MAX];
	int r;

	if (!s->options.state_dir)
		return 0;
	snprintf(dir, sizeof(dir), "%s/jobs", s->options.state_dir);
	r = state_open(dir, s->options.uid, s->options.gid, &s->state, err);
	if (r >= 0)
		r = state_settle(s->state, is_pinned, s, err);
	return r < 0 ? r : job_state_read(s->state, s->registry, err);
}

/* It works without, but then live jobs may show less than before. */
static void open_published(struct sampler *s)
{
	char path[PATH_MAX];
	int r;

	if (!kernel_side_meter(s->kernel) || !s->options.state_dir)
		return;
	snprintf(path, sizeof(path), "%s/published", s->options.run_dir);
	r = published_open(path, s->boot_id, s->options.jobs_max, &s->published);
	if (r < 0)
		error_set_errno(&s->news, r,
				"after a restart values may be less than before: cannot keep '%s'",
				path);
}

static int open_all(struct sampler *s, struct error *err)
{
	const size_t sites_size = s->options.mount_count * sizeof(*s->sites);
	const struct meter *meter;
	int r = read_hierarchy(s, err);

	s->sites = malloc(sites_size + 1);
	if (s->sites && sites_size)
		memcpy(s->sites, s->options.mounts, sites_size);
	if (r >= 0)
		r = s->sites ? 0 : -ENOMEM;
	if (r >= 0)
		r = make_rules(s, err);
	if (r >= 0)
		r = place_names_open(s->options.root_fd, s->options.one ? "self" : NULL, s->sites,
				     s->options.mount_count, &s->names, err);
	if (r >= 0)
		r = make_registry(s);
	if (r >= 0)
		r = kernel_side_open(&s->options, &s->hierarchy, s->registry, s->names, &s->kernel,
				     err);
	if (r >= 0)
		r = open_state(s, err);
	if (r >= 0)
		r = kernel_side_resume(s->kernel, err);
	meter = r >= 0 ? kernel_side_meter(s->kernel) : NULL;
	if (r >= 0 && !(meter && meter_is_taken_over(meter)))
		registry_lose_ports(s->registry);
	if (r >= 0)
		r = open_sources(s);
	if (r >= 0)
		r = open_energy(s, err);
	if (r >= 0 && s->has_hierarchy && !s->options.one && sources_can_peek(s->sources.sources))
		s->edges = group_edges_open(s->options.root_fd, &s->hierarchy);
	if (r >= 0 && s->options.one && s->options.one->is_own)
		r = begin_sources(s);
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
	if (options->node && *options->node)
		snprintf(s->node, sizeof(s->node), "%s", options->node);
	else
		(void)file_read_one_line(options->root_fd, "proc/sys/kernel/hostname", s->node,
					 sizeof(s->node));
	(void)file_read_one_line(options->root_fd, "proc/sys/kernel/random/boot_id", s->boot_id,
				 sizeof(s->boot_id));
	r = open_all(s, err);
	if (r < 0) {
		sampler_close(s, false);
		return r;
	}
	s->options.mounts = NULL; /* they are the caller's again */
	s->options.rules = NULL;
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
	if (s->has_last && !keeps)
		(void)state_settle(s->state, is_pinned, s, NULL); /* else the next agent does it */
	node_energy_free(s->energy);
	group_edges_close(s->edges);
	state_close(s->energy_state);
	registry_free(s->registry); /* returns what jobs have of the sources */
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

void sampler_set_budget(struct sampler *s, uint64_t budget)
{
	s->options.budget = budget;
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
	if (s->state)
		job_state_remove(s->state, job);
}

/* What ended is erased on the kernel side only when all of it is written down. */
static int fold(struct sampler *s, uint64_t boot_ns, struct error *err)
{
	_cleanup_free_ uint64_t *cgroups = NULL;
	size_t count = 0;
	int r = registry_fold(s->registry, boot_ns, &cgroups, &count);

	if (r >= 0 && count)
		r = kernel_side_fold_details(s->kernel, cgroups, count, err);
	s->is_saved = r >= 0 && write_states(s);
	if (s->is_saved)
		r = kernel_side_forget_folded(s->kernel);
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

static int read_all(struct sampler *s, uint64_t boot_ns, uint64_t real_ns, struct snapshot **ret,
		    struct error *err)
{
	int r = kernel_side_learn(s->kernel, boot_ns, real_ns, err);

	if (r >= 0)
		r = take_published(s);
	if (r >= 0)
		r = kernel_side_feed(s->kernel, boot_ns, err);
	s->sources.command_lookups = 0;
	sampler_work(s); /* names that are known by now */
	if (r >= 0)
		r = sources_sample(s->sources.sources, boot_ns);
	for (struct registry_job *job = NULL; r >= 0 && (job = registry_next(s->registry, job));)
		r = sampled_job_read(&s->sources, job, boot_ns);
	if (r >= 0)
		r = kernel_side_govern(s->kernel, s->options.budget, boot_ns);
	if (s->sources.users)
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

/* @boot_ns, @real_ns: as of when. */
static int take_reading(struct sampler *s, uint64_t boot_ns, uint64_t real_ns, struct error *err)
{
	uint64_t started_ns = clock_now_ns(CLOCK_BOOTTIME);
	struct snapshot *snapshot = NULL;
	int r;

	s->counts.readings++;
	r = read_all(s, boot_ns, real_ns, &snapshot, err);
	sources_ask(s->sources.sources);
	if (r < 0) {
		s->counts.failed_readings++;
		kernel_side_distrust(s->kernel);
		return *err->text ? r : error_set_errno(err, r, "cannot take a reading");
	}
	snapshot->took_ns = s->counts.last_reading_ns = clock_now_ns(CLOCK_BOOTTIME) - started_ns;
	if (s->published)
		published_put(s->published, snapshot);
	write_energy(s);
	if (s->edges) {
		group_edges_begin(s->edges);
		for (struct registry_job *job = NULL; (job = registry_next(s->registry, job));) {
			if (registry_job_path(job))
				group_edges_watch(s->edges, registry_job_path(job));
		}
		group_edges_end(s->edges);
	}
	snapshot_unref(s->last);
	s->last = snapshot;
	if (s->counts.readings == 1 && !s->options.one)
		resident_drop_text(); /* that of starting is not needed again */
	if (snapshot->job_count >= JOBS_TO_TRIM)
		malloc_trim(0); /* both were there at once: some MiB, which the next reading wants
				   again */
	return 0;
}

int sampler_get(struct sampler *s, uint64_t max_age_ns, struct snapshot **ret, struct error *err)
{
	int r = 0;

	s->is_asked = max_age_ns > 0;
	if (!s->last || clock_now_ns(CLOCK_BOOTTIME) - s->last->boot_ns > max_age_ns) {
		const struct clock_moment now = clock_now();

		r = take_reading(s, now.boot_ns, now.real_ns, err);
	}
	if (r >= 0)
		*ret = snapshot_ref(s->last);
	return r;
}

bool sampler_counts_tasks(struct sampler *s)
{
	return kernel_side_has_tasks(s->kernel);
}

bool sampler_has_totals(struct sampler *s)
{
	const struct meter *meter = kernel_side_meter(s->kernel);

	return meter && meter_has_tier(meter, METER_T0);
}

int sampler_settle(struct sampler *s, int timeout_ms)
{
	struct meter *meter = kernel_side_meter(s->kernel);

	return meter ? task_sums_wait(meter, timeout_ms) : 0;
}

void sampler_begin(struct sampler *s, uint64_t boot_ns)
{
	kernel_side_begin(s->kernel, boot_ns);
}

int sampler_get_end(struct sampler *s, uint64_t boot_ns, uint64_t real_ns, struct snapshot **ret,
		    struct error *err)
{
	int r;

	s->sources.has_ended = true;
	s->is_asked = false;
	r = take_reading(s, boot_ns, real_ns, err);
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
		r = error_set_errno(err,
				    state_failure(s->state) < 0 ? state_failure(s->state) : -EIO,
				    "the state of jobs cannot be written to '%s'",
				    s->options.state_dir);
	if (r >= 0)
		r = kernel_side_put_aside(s->kernel, err);
	s->has_last = r >= 0;
	registry_save_timelines(s->registry);
	registry_cut_ports(s->registry);
	if (r >= 0)
		r = job_state_write_last(s->state, s->registry, kernel_side_pinned_id(s->kernel),
					 err);
	return r;
}

/* ---- records ---- */

static struct registry_job *find_known(struct sampler *s, const struct snapshot_job *job)
{
	return registry_find(s->registry, job->job->manager, job->job->id);
}

void sampler_get_node(const struct sampler *s, struct job_record_node *ret)
{
	*ret = (struct job_record_node){ s->options.cluster, s->node, s->boot_id };
}

static int describe_lost_groups(const struct registry_job *job, struct record *record)
{
	uint64_t count = registry_job_lost_groups(job);

	return count ? strings_add(&record->coverage.notes,
				   "lower bound: %" PRIu64
				   " of its cgroups are not in, since there were too many jobs "
				   "(jobs_max) while they lived",
				   count)
		     : 0;
}

/* Which CPUs it used, and the NUMA nodes of these and of those that it may use. */
static int describe_cpus(const struct sampler *s, const struct registry_job *job,
			 struct record *record)
{
	const char *used = registry_job_cpus_used(job);

	record->job.cpus_used = used ? strdup(used) : NULL;
	if (used && !record->job.cpus_used)
		return -ENOMEM;
	return machine_describe_numa(s->options.root_fd, record);
}

int sampler_get_record(struct sampler *s, const struct snapshot *snapshot,
		       const struct snapshot_job *job, struct record **ret, struct error *err)
{
	struct registry_job *known = find_known(s, job);
	_cleanup_(record_freep) struct record *record = NULL;
	struct job_record_node node;
	int r;

	sampler_get_node(s, &node);
	if (!known)
		return error_set(err, -ENOENT, "there is no such job");
	r = job_record_make(snapshot, job, &node, false, &record);
	if (r >= 0 && (job->job->label || job_command_names(job->job->manager)))
		r = job_record_add_label(job, record);
	if (r >= 0)
		r = kernel_side_add_histograms(s->kernel, known, &record->reading, err);
	if (r >= 0)
		r = describe_cpus(s, known, record);
	if (r >= 0)
		r = timeline_copy(&record->timeline, registry_job_timeline(known));
	if (r >= 0)
		r = kernel_side_add_details(s->kernel, known, record, err);
	if (r >= 0)
		r = kernel_side_describe(s->kernel, registry_job_losses(known), record);
	if (r >= 0)
		r = describe_lost_groups(known, record);
	if (r >= 0)
		r = job_sources_describe(&s->sources, known, record);
	if (r >= 0)
		r = kernel_side_tell_budget(
			s->kernel, job->job->start_boot_ns,
			job->is_live ? snapshot->boot_ns : job->job->end_boot_ns, record);
	if (r >= 0)
		oom_list_merge(&record->oom_list, registry_job_oom_kills(known));
	s->sources.has_begun = true;
	if (r < 0)
		return *err->text ? r : error_set_errno(err, r, "cannot make the record");
	record_close_accounting(record);
	*ret = TAKE_PTR(record);
	return 0;
}

/* ---- what others count ---- */

static struct registry_job *find_group(const struct sampler *s, uint64_t group_id)
{
	struct registry_job *job = NULL;

	while ((job = registry_next(s->registry, job)) &&
	       registry_job_known(job)->group_id != group_id)
		;
	return job;
}

/* Of a job that is over already this may be the last word, before a reading has learned of it. */
int sampler_add_trace(struct sampler *s, const struct trace_post *post, struct error *err)
{
	const uint64_t until_ns = post->is_last ? 0 : clock_now_ns(CLOCK_BOOTTIME) + TRACE_NS;
	struct registry_job *job = find_group(s, post->group_id);
	struct snapshot *snapshot;
	int r;

	if (!job &&
	    sampler_get(s, post->is_last ? UNKNOWN_LAST_NS : UNKNOWN_NS, &snapshot, err) == 0) {
		snapshot_unref(snapshot);
		job = find_group(s, post->group_id);
	}
	if (!job)
		return error_set(err, -ENOENT, "there is no such job");
	r = registry_job_add_trace(job, post->trace_id, until_ns, &post->calls);
	if (r == -ESTALE)
		return error_set(err, r, "too many others trace this job");
	return r < 0 ? error_set_errno(err, r, "cannot take what was traced") : 0;
}

/* ---- records that go elsewhere ---- */

void sampler_wait_for_reports(struct sampler *s, bool waits)
{
	registry_wait_for_reports(s->registry, waits);
	s->sources.wants_names = waits;
	node_energy_want_ledger(s->energy, waits, clock_now_ns(CLOCK_REALTIME));
}

bool sampler_get_ledger(struct sampler *s, struct ledger *ret)
{
	if (!s->last || !node_energy_get_ledger(s->energy, s->last->real_ns, ret))
		return false;
	ret->cluster = s->options.cluster;
	ret->node = s->node;
	ret->boot_id = s->boot_id;
	return true;
}

void sampler_set_ledger_written(struct sampler *s, const struct ledger *ledger)
{
	node_energy_set_written(s->energy, ledger);
	write_energy(s);
}

const struct snapshot_job *sampler_next_to_report(struct sampler *s,
						  const struct snapshot *snapshot, size_t *at)
{
	while (*at < snapshot->job_count) {
		const struct snapshot_job *job = &snapshot->jobs[(*at)++];
		const struct registry_job *known = job->is_live ? NULL : find_known(s, job);

		if (known && registry_job_is_to_report(known))
			return job;
	}
	return NULL;
}

void sampler_set_reported(struct sampler *s, const struct snapshot_job *job)
{
	struct registry_job *known = find_known(s, job);

	if (!known)
		return;
	registry_job_set_reported(known);
	if (s->state)
		(void)job_state_write_one(s->state, known); /* else it is written again later */
	if (s->state && s->has_last) /* which takes the other's place */
		(void)job_state_write_last_one(s->state, known, kernel_side_pinned_id(s->kernel),
					       NULL);
}

int sampler_keep_start(struct sampler *s, const struct snapshot_job *job)
{
	struct registry_job *known = find_known(s, job);

	if (!s->state || !known || registry_job_has_state(known))
		return 0;
	return job_state_write_one(s->state, known) ? 0 : -EIO;
}

/* ---- what others may know ---- */

int sampler_describe(const struct sampler *s, struct record *record)
{
	int failure = s->state ? state_failure(s->state) : 0,
	    r = kernel_side_describe(s->kernel, NULL, record);

	if (r >= 0)
		r = sources_describe(s->sources.sources, record);
	if (r >= 0 && failure < 0)
		r = strings_add(&record->coverage.notes,
				"the state of jobs cannot be written to '%s/jobs': %s",
				s->options.state_dir, strerror(-failure));
	return r;
}

int sampler_put_samples(struct sampler *s, bool wants_node, struct samples *to)
{
	int r = wants_node ? sources_put_node(s->sources.sources, clock_now_ns(CLOCK_BOOTTIME), to)
			   : 0;

	if (r >= 0 && wants_node)
		r = node_energy_put_samples(s->energy, to);
	return r < 0 ? r : sources_put_late(s->sources.sources, to);
}

void sampler_format_energy(const struct sampler *s, struct document *d)
{
	node_energy_format(s->energy, d);
}

void sampler_format_gpus(const struct sampler *s, int64_t only_uid, struct document *d)
{
	document_begin_map(d);
	document_put_string(d, "schema", "jobmeter.gpus/1");
	(void)sources_format(s->sources.sources, "gpu", only_uid, d);
	document_end_map(d);
}

struct node_values sampler_get_node_values(struct sampler *s)
{
	_cleanup_(samples_clear) struct samples samples = {};
	const struct samples *gpus = sources_find(s->sources.sources, "gpu");
	uint64_t boot_ns = clock_now_ns(CLOCK_BOOTTIME);

	if (!s->last || s->node_values_of_ns == s->last->boot_ns)
		return s->node_values;
	s->node_values_of_ns = s->last->boot_ns;
	s->node_values = (struct node_values){};
	if (sources_put_one(s->sources.sources, NODE_FILES_SOURCE, boot_ns, &samples) >= 0 &&
	    samples.count)
		node_values_add(&s->node_values, &samples, boot_ns);
	if (s->node_values.boot_ns && gpus)
		node_values_add(&s->node_values, gpus, boot_ns);
	return s->node_values;
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

int sampler_edge_fd(const struct sampler *s)
{
	return s->edges ? group_edges_fd(s->edges) : -EBADF;
}

int sampler_edge_timeout_ms(const struct sampler *s)
{
	const uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME), due_ns = s->edge_ns + EDGES_NS;

	if (!s->edge_waits)
		return -1;
	return now_ns < due_ns ? (int)((due_ns - now_ns) / 1000000) + 1 : 0;
}

void sampler_take_edge(struct sampler *s)
{
	_cleanup_(energy_readings_clear) struct energy_readings readings = {};
	const uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME);

	if (!s->edges)
		return;
	s->edge_waits |= group_edges_take(s->edges);
	if (!s->edge_waits || now_ns < s->edge_ns + EDGES_NS)
		return;
	s->edge_waits = false;
	s->edge_ns = now_ns;
	if (sources_peek(s->sources.sources, &readings) == 0)
		node_energy_mark(s->energy, &readings);
}

int sampler_fd(const struct sampler *s)
{
	return s->sources.users ? users_fd(s->sources.users) : -EBADF;
}

void sampler_work(struct sampler *s)
{
	if (s->sources.users)
		users_work(s->sources.users, clock_now_ns(CLOCK_BOOTTIME));
}

bool sampler_has_news(struct sampler *s, struct error *err)
{
	if (*s->news.text) {
		*err = s->news;
		*s->news.text = '\0';
		return true;
	}
	return (s->state && state_has_news(s->state, err)) ||
	       (s->energy_state && !(s->state && state_failure(s->state)) &&
		state_has_news(s->energy_state, err)) ||
	       kernel_side_has_news(s->kernel, err) ||
	       notices_get(&s->sources.prolog_news, clock_now_ns(CLOCK_BOOTTIME), err);
}

void sampler_get_state(const struct sampler *s, struct sampler_state *ret)
{
	const struct state_counts files = s->state ? state_get_counts(s->state)
						   : (struct state_counts){};

	*ret = s->counts;
	kernel_side_count(s->kernel, clock_now_ns(CLOCK_BOOTTIME), ret);
	for (size_t i = 0; s->last && i < s->last->job_count; i++) {
		ret->jobs_live += s->last->jobs[i].is_live;
		ret->jobs_ended += !s->last->jobs[i].is_live;
	}
	ret->state_errors = files.errors;
	ret->set_aside = files.set_aside;
	ret->unreported = registry_unreported(s->registry);
	ret->bad_prologs = s->sources.bad_prologs;
	ret->reopened_files = s->sources.budget.reopened;
	ret->refused_files = s->sources.budget.refused;
}
