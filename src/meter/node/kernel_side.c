/* SPDX-License-Identifier: MIT */
#include "node/kernel_side.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftest/canary.h"
#include "counters/details.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "node/governor.h"
#include "cgroup/group_tree.h"
#include "cgroup/hierarchy.h"
#include "basic/idmap.h"
#include "cgroup/group.h"
#include "counters/cgroups.h"
#include "load/losses.h"
#include "load/meter.h"
#include "load/own_costs.h"
#include "counters/place_names.h"
#include "jobs/registry.h"
#include "counters/row_cache.h"
#include "node/sampler.h"
#include "model/section.h"
#include "model/sections.h"

#define JOBS_AT_ONCE 1024 /* that the maps are sized for, as far as their memory reaches */
#define WALK_NS                                                                           \
	UINT64_C(60000000000) /* how often the tree is walked for what no program told of \
			       */
#define NOBODY UINT64_MAX /* no group has that id */

struct kernel_side {
	bool has_bpf, has_clock, has_histograms; /* are wanted */
	const struct sampler_one *one; /* only this group is counted, and slow questions are
					  allowed; NULL: all groups */
	uint64_t began_ns; /* its command, by CLOCK_BOOTTIME; 0: before us */
	bool is_learned, is_following; /* it is; its files are, one by one */
	uint64_t open_syscalls; /* its, as they were read last */
	struct error why_no_canary;
	int root_fd;
	const struct hierarchy *hierarchy;
	struct registry *registry;
	struct place_names *names;
	struct meter *meter; /* NULL: no BPF */
	struct group_tree *tree; /* instead */
	struct row_cache *rows; /* NULL: files are not counted */
	struct governor *governor; /* NULL: nor are they timed */
	uint64_t generation, walked_ns;
	size_t groups;
	uint64_t walks, found_by_walk;
	uint64_t lost_groups, told_groups; /* cgroups that were not counted separately: at the last
					      reading, and as logged */
	uint64_t storm_ns; /* since when there are some that are not in the log; 0: all are */
	struct error news, group_news;
};

/* ---- opening ---- */

/* Nobody is watched until every group that is there has its entry: so all is counted for the right
 * cgroup. */
static int start_watching(struct kernel_side *k, struct error *err)
{
	_cleanup_(task_bases_clear) struct task_bases bases = {};
	struct error why = {};
	uint64_t until_ns = 0;
	int r = cgroups_walk(k->meter, err);

	if (r >= 0)
		r = registry_bases(k->registry, &bases, &until_ns);
	if (r >= 0 && until_ns)
		r = cgroups_take_off(k->meter, &bases, until_ns, err);
	if (r < 0)
		return r;
	if (until_ns && r > 0)
		error_set(
			&k->news, 0,
			"what some tasks did before is missing or counts twice, since the table of tasks was full");
	meter_follow_files(k->meter); /* the file operations of the canary are dropped with the rest
				       */
	if (canary_run(k->meter, k->root_fd, k->hierarchy, 0, true, &why) < 0) {
		error_set(&k->news, 0, "hooks were not checked: %s", why.text);
		meter_watch(k->meter, 0);
	}
	return meter_seal(k->meter, err);
}

/* The group's hooks are tried by less, since somebody waits. */
static void start_one(struct kernel_side *k)
{
	if (meter_has_any_tier(k->meter))
		(void)canary_run(k->meter, k->root_fd, k->hierarchy, group_id(k->one->group), false,
				 &k->why_no_canary);
	k->is_following = k->one->is_own;
	if (k->is_following)
		meter_follow_files(k->meter);
	meter_follow_syscalls(k->meter, k->one->is_own);
}

/* A part of the memory that all counters have. */
static unsigned int followed_max(const struct sampler_options *wanted)
{
	unsigned int mib = wanted->maps_memory_mib ? wanted->maps_memory_mib : SIZING_LIMIT_MIB;

	return wanted->follows_files ? mib * SIZING_FILES_OF_A_MIB : 0;
}

static int open_meter(struct kernel_side *k, const struct sampler_options *wanted,
		      struct error *err)
{
	const struct sampler_one *one = k->one;
	struct meter_options options = {
		.root_fd = k->root_fd,
		.tiers = wanted->tiers,
		.has_clock = wanted->has_clock,
		.has_histograms = wanted->has_histograms,
		.has_block = wanted->has_block,
		.names_syscalls = wanted->names_syscalls,
		.followed_max = one ? one->followed_max : followed_max(wanted),
		.hierarchy = k->hierarchy,
	};
	int r;

	if (one) {
		options.sizes = one->map_sizes;
		options.watched_id = group_id(one->group);
	} else {
		options.has_groups = true;
		options.shape.jobs = JOBS_AT_ONCE;
		options.maps_memory_mib = wanted->maps_memory_mib;
		options.watched_id = NOBODY;
		options.pin_dir = wanted->pin_dir;
	}
	r = meter_open(&options, &k->meter);
	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	if (one) {
		start_one(k);
		return 0;
	}
	/* without this map BPF is refused: each hook has the reason */
	if (objects_map_fd(meter_objects(k->meter), OBJECT_LIFE, "groups") < 0) {
		k->meter = meter_close(k->meter);
		return 0;
	}
	if (meter_why_unpinned(k->meter))
		error_set(&k->news, 0, "nothing outlives this agent if it is killed: %s",
			  meter_why_unpinned(k->meter));
	if (meter_has_removed_pins(k->meter))
		error_set(
			&k->news, 0,
			"removed what another build, or other settings, had left counting; what jobs did since it was last "
			"written down is not known, and they say so");
	return 0;
}

int kernel_side_open(const struct sampler_options *options, const struct hierarchy *h,
		     struct registry *registry, struct place_names *names, struct kernel_side **ret,
		     struct error *err)
{
	struct kernel_side *k = calloc(1, sizeof(*k));
	int r = 0;

	if (!k)
		return -ENOMEM;
	*k = (struct kernel_side){
		.has_bpf = options->tiers || options->names_syscalls,
		.has_clock = options->has_clock,
		.has_histograms = options->has_histograms,
		.root_fd = options->root_fd,
		.hierarchy = h,
		.registry = registry,
		.names = names,
		.one = options->one,
	};
	if (k->one || k->has_bpf)
		r = open_meter(k, options, err);
	if (r >= 0 && !k->meter)
		r = group_tree_open(k->root_fd, h, GROUPS_SEEN_MAX, &k->tree, err);
	if (r < 0) {
		kernel_side_close(k, false);
		return r;
	}
	*ret = k;
	return 0;
}

struct kernel_side *kernel_side_close(struct kernel_side *k, bool keeps)
{
	if (!k)
		return NULL;
	row_cache_close(k->rows);
	governor_free(k->governor);
	if (k->meter && keeps)
		meter_keep(k->meter);
	meter_close(k->meter);
	group_tree_close(k->tree);
	free(k);
	return NULL;
}

struct meter *kernel_side_meter(struct kernel_side *k)
{
	return k->meter;
}

bool kernel_side_has_tasks(const struct kernel_side *k)
{
	return k->meter && meter_is_on(k->meter, "count_freed_task");
}

static const struct snapshot_mount *name_place(void *names, uint64_t place)
{
	return place_names_get(names, place);
}

static int superblocks_fd(const struct kernel_side *k)
{
	return objects_map_fd(meter_objects(k->meter), OBJECT_FILES, "superblocks");
}

/* ---- a reading ---- */

void kernel_side_begin(struct kernel_side *k, uint64_t boot_ns)
{
	k->began_ns = boot_ns;
}

/* The safety net: finds cgroups that no program reported. */
static int walk(struct kernel_side *k, uint64_t boot_ns, struct error *err)
{
	int r;

	if (k->walked_ns && boot_ns - k->walked_ns < WALK_NS)
		return 0;
	r = cgroups_walk(k->meter, err);
	if (r < 0)
		return r;
	k->walks++;
	k->found_by_walk += (uint64_t)r;
	k->walked_ns = boot_ns;
	return 0;
}

static int learn_one(struct kernel_side *k, uint64_t boot_ns, uint64_t real_ns)
{
	struct group_life life = { .id = group_id(k->one->group), .born_ns = k->began_ns };
	int r;

	if (k->is_learned)
		return 0;
	snprintf(life.path, sizeof(life.path), "%s", k->one->path);
	r = registry_learn_one(k->registry, &life, k->one->manager, k->one->id, boot_ns, real_ns);
	k->is_learned = r >= 0;
	return r;
}

int kernel_side_learn(struct kernel_side *k, uint64_t boot_ns, uint64_t real_ns, struct error *err)
{
	_cleanup_free_ struct group_life *groups = NULL;
	uint64_t generation;
	int r;

	if (k->one)
		return learn_one(k, boot_ns, real_ns);
	if (!k->meter) { /* from directories */
		r = group_tree_look(k->tree, boot_ns, &groups, &k->groups, err);
		return r < 0 ? r : registry_learn(k->registry, groups, k->groups, boot_ns, real_ns);
	}
	r = walk(k, boot_ns, err);
	if (r < 0)
		return r;
	/* before the list: what comes meanwhile is listed again */
	generation = cgroups_generation(k->meter);
	if (generation == k->generation && !registry_wants_groups(k->registry))
		return 0;
	r = cgroups_list_groups(k->meter, &groups, &k->groups, err);
	if (r >= 0)
		r = registry_learn(k->registry, groups, k->groups, boot_ns, real_ns);
	if (r >= 0)
		k->generation = generation;
	return r;
}

/* The rows of active jobs, or all. Their mounts are in the kernel's map before the rows: so read
 * it after them. */
static int feed_rows(struct kernel_side *k, uint64_t boot_ns, struct cgroup_row **ret,
		     struct registry_feed *feed, struct error *err)
{
	_cleanup_free_ uint64_t *cgroups = NULL;
	size_t count;
	const uint64_t *changed = row_cache_begin(k->rows, boot_ns, &count);
	bool is_whole;
	int r = changed ? registry_touch(k->registry, changed, count, &cgroups, &count) : 0;

	if (r >= 0)
		r = row_cache_read(k->rows, cgroups, count, ret, &feed->row_count, &is_whole, err);
	if (r >= 0)
		r = place_names_refresh(k->names, superblocks_fd(k), is_whole, err);
	feed->rows = *ret;
	feed->is_partial = r >= 0 && !is_whole;
	return r;
}

static int add_oom_kill(void *registry, uint64_t cgroup, const struct oom_kill *oom_kill)
{
	return registry_add_oom_kill(registry, cgroup, oom_kill);
}

#define STORM_NS UINT64_C(60000000000)

static uint64_t count_lost_groups(const struct kernel_side *k)
{
	return meter_lost(k->meter, LOST_GROUP) + meter_lost(k->meter, LOST_GUEST);
}

/* A line a storm: once it is over, or a minute old. */
static void tell_lost_groups(struct kernel_side *k, uint64_t boot_ns)
{
	uint64_t lost = count_lost_groups(k);
	bool goes_on = lost != k->lost_groups;

	k->lost_groups = lost;
	if (lost == k->told_groups)
		return;
	k->storm_ns = k->storm_ns ? k->storm_ns : boot_ns;
	if (goes_on && boot_ns - k->storm_ns < STORM_NS)
		return;
	error_set(
		&k->group_news, 0,
		"%" PRIu64
		" cgroups could not be counted by themselves: the table of them was full, or a user made more than 256 in one, "
		"or they were deeper than 64. What ran in them is counted with the cgroup above, and in no job where "
		"that one is part of none",
		lost - k->told_groups);
	k->told_groups = lost;
	k->storm_ns = 0;
}

/* @bases: as of cgroups_read_tasks(). */
static int feed(struct kernel_side *k, uint64_t boot_ns, struct task_bases *bases,
		struct error *err)
{
	struct registry_feed feed = {
		.counted = (k->has_clock ? COUNTED_CLOCK : 0) | (k->rows ? COUNTED_FILES : 0) |
			   (k->meter ? meter_counted(k->meter) : 0),
		.name_place = name_place,
		.context = k->names,
	};
	_cleanup_free_ struct cgroup_tasks *tasks = NULL;
	_cleanup_free_ struct cgroup_core *cores = NULL;
	_cleanup_free_ struct cgroup_block *blocks = NULL;
	_cleanup_free_ struct cgroup_row *rows = NULL;
	_cleanup_free_ struct cgroup_loss *losses = NULL;
	struct losses nowhere;
	int r = 0;

	if (k->meter && !k->one) {
		r = losses_read(k->meter, &losses, &feed.loss_count, &nowhere, err);
		tell_lost_groups(k, boot_ns);
		feed.losses = losses;
		feed.nowhere = &nowhere;
		feed.unseen_ends = meter_unseen_ends(k->meter);
	}
	if (r >= 0 && (feed.counted & (COUNTED_TASKS | COUNTED_TIMES | COUNTED_LOOKS)))
		r = cgroups_read_tasks(k->meter, &tasks, &feed.task_count, bases, err);
	if (r >= 0 && feed.counted & COUNTED_TIMES)
		r = cgroups_read_cores(k->meter, &cores, &feed.core_count, err);
	if (r >= 0 && feed.counted & COUNTED_BLOCK)
		r = cgroups_read_blocks(k->meter, &blocks, &feed.block_count);
	if (r >= 0 && feed.counted & COUNTED_FILES)
		r = feed_rows(k, boot_ns, &rows, &feed, err);
	feed.tasks = tasks;
	feed.cores = cores;
	feed.blocks = blocks;
	if (r >= 0)
		r = registry_feed(k->registry, &feed);
	if (r >= 0 && feed.counted & COUNTED_TASKS)
		r = cgroups_visit_kills(k->meter, add_oom_kill, k->registry);
	if (r < 0)
		kernel_side_distrust(k); /* the changes are lost */
	return r;
}

int kernel_side_feed(struct kernel_side *k, uint64_t boot_ns, struct error *err)
{
	return feed(k, boot_ns, NULL, err);
}

void kernel_side_distrust(struct kernel_side *k)
{
	if (k->rows)
		row_cache_invalidate(k->rows);
}

/* They are of the calls on files. */
static bool sorts_calls(const struct kernel_side *k)
{
	return k->has_histograms && k->rows;
}

/* ---- what is counted on demand: no feed has it ---- */

static int read_files_of(const struct meter *m, struct place_names *names,
			 const struct details_of *of, void *ret, struct error *err)
{
	return hot_files_read(m, names, of, ret, err);
}

static int read_syscalls_of(const struct meter *m, struct place_names *names UNUSED,
			    const struct details_of *of, void *ret, struct error *err)
{
	return syscalls_read(m, of, ret, err);
}

static const struct detail {
	const struct section *section;
	int (*read)(const struct meter *m, struct place_names *names, const struct details_of *of,
		    void *ret, struct error *err);
	const char *words;
} details[] = {
	{ &files_section, read_files_of, "hot files" },
	{ &syscalls_section, read_syscalls_of, "system calls by name" },
};

static bool has_detail(const struct kernel_side *k, const struct detail *detail)
{
	return k->meter && meter_counted(k->meter) & detail->section->counted;
}

typedef int (*detail_taker)(struct registry *registry, const struct cgroup_part *part);

/* What each of the cgroups did, which are sorted. */
static int hand_over_detail(struct kernel_side *k, const struct detail *detail,
			    const uint64_t *cgroups, size_t count, detail_taker take,
			    struct error *err)
{
	const struct details_of of = { cgroups, count, .is_apart = true };
	const struct section *s = detail->section;
	_cleanup_free_ char *parts = calloc(count + 1, s->size);
	int r = parts ? detail->read(k->meter, k->names, &of, parts, err) : -ENOMEM;

	for (size_t i = 0; parts && i < count; i++) {
		void *part = parts + i * s->size;

		if (r >= 0 && section_is_known(s, part))
			r = take(k->registry, &(struct cgroup_part){ cgroups[i], s, part });
		section_clear(s, part);
	}
	return r;
}

static int hand_over_details(struct kernel_side *k, const uint64_t *cgroups, size_t count,
			     detail_taker take, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(details) && r >= 0 && count && !k->one; i++) {
		if (has_detail(k, &details[i]))
			r = hand_over_detail(k, &details[i], cgroups, count, take, err);
	}
	return r;
}

int kernel_side_fold_details(struct kernel_side *k, const uint64_t *cgroups, size_t count,
			     struct error *err)
{
	_cleanup_free_ struct cgroup_histograms *histograms = NULL;
	size_t found = 0;
	int r = 0;

	if (sorts_calls(k))
		r = cgroups_read_histograms(k->meter, cgroups, count, &histograms, &found, err);
	if (r >= 0)
		r = registry_fold_histograms(k->registry, histograms, found, name_place, k->names);
	return r < 0 ? r : hand_over_details(k, cgroups, count, registry_fold_part, err);
}

int kernel_side_forget_folded(struct kernel_side *k)
{
	_cleanup_free_ uint64_t *cgroups = NULL;
	size_t count = 0;
	int r = registry_folded(k->registry, &cgroups, &count);

	if (r < 0 || !count)
		return r;
	if (k->meter)
		r = cgroups_forget(k->meter, cgroups, count);
	if (r >= 0 && k->meter)
		r = cgroups_forget_places(k->meter);
	return r < 0 ? r : registry_forget(k->registry, cgroups, count);
}

/* Those of the job's cgroups that are not folded; the caller frees. */
static int read_histograms_of(struct kernel_side *k, const struct registry_job *job,
			      struct cgroup_histograms **ret, size_t *ret_count, struct error *err)
{
	_cleanup_free_ uint64_t *cgroups = NULL;
	size_t count = 0;
	int r = registry_job_cgroups(job, &cgroups, &count);

	return r < 0 ? r : cgroups_read_histograms(k->meter, cgroups, count, ret, ret_count, err);
}

static int put_histograms_aside(struct kernel_side *k, struct error *err)
{
	for (struct registry_job *job = NULL; (job = registry_next(k->registry, job));) {
		_cleanup_free_ struct cgroup_histograms *histograms = NULL;
		size_t count = 0;
		int r = read_histograms_of(k, job, &histograms, &count, err);

		if (r >= 0)
			r = registry_inherit_histograms(k->registry, job, histograms, count,
							name_place, k->names);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_details_aside(struct kernel_side *k, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};

	for (struct registry_job *job = NULL; (job = registry_next(k->registry, job));) {
		_cleanup_free_ uint64_t *cgroups = NULL;
		size_t count = 0;
		int r = registry_job_cgroups(job, &cgroups, &count);

		for (size_t i = 0; r >= 0 && i < count; i++)
			r = id_list_add(&ids, cgroups[i]);
		if (r < 0)
			return r;
	}
	ids_sort(ids.items, ids.count);
	ids.count = ids_unique(ids.items, ids.count); /* one may be of two jobs */
	return hand_over_details(k, ids.items, ids.count, registry_inherit_part, err);
}

int kernel_side_put_aside(struct kernel_side *k, struct error *err)
{
	_cleanup_(task_bases_clear) struct task_bases bases = {};
	uint64_t boot_ns = clock_now_ns(CLOCK_BOOTTIME);
	int r;

	kernel_side_distrust(k); /* all rows are wanted */
	r = feed(k, boot_ns, &bases, err);
	if (r >= 0 && sorts_calls(k))
		r = put_histograms_aside(k, err);
	if (r >= 0)
		r = put_details_aside(k, err);
	return r < 0 ? r : registry_put_aside(k->registry, &bases, boot_ns);
}

uint32_t kernel_side_pinned_id(const struct kernel_side *k)
{
	return k->meter ? meter_pinned_id(k->meter) : 0;
}

/* ---- the start ---- */

int kernel_side_resume(struct kernel_side *k, struct error *err)
{
	bool is_taken_over = k->meter && meter_is_taken_over(k->meter);
	int r = k->meter && !is_taken_over && !k->one ? start_watching(k, err) : 0;

	if (r >= 0 && k->meter && meter_is_on(k->meter, "leave_call"))
		r = row_cache_open(k->meter, &k->rows);
	if (r >= 0 && k->rows && k->has_clock && !k->one) { /* there are times to give up */
		k->governor = governor_new(own_costs_unclocked(meter_objects(k->meter)));
		r = k->governor ? 0 : -ENOMEM;
	}
	if (r < 0)
		return r;
	r = kernel_side_forget_folded(k);
	if (r < 0)
		return error_set_errno(err, r, "cannot erase what the state holds already");
	if (k->meter)
		k->told_groups = k->lost_groups = count_lost_groups(k); /* another agent's, if it
									   was taken over */
	return registry_resume(k->registry, is_taken_over, clock_now_ns(CLOCK_BOOTTIME));
}

/* ---- records ---- */

static int add_histograms(const struct cgroup_histograms *from, struct place_names *names,
			  struct reading *to)
{
	const struct snapshot_mount *mount = place_names_get(names, from->key.place);
	struct mount_row *row;

	if (!mount)
		return -ENOMEM;
	if (from->key.op >= OP_DATA_COUNT)
		return 0;
	row = reading_find_mount(to, mount->kind, mount->name, mount->fstype);
	if (!row) /* it came after the snapshot */
		return 0;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		row->sizes[from->key.op].counts[i] += from->histograms.sizes[i];
		row->latencies[from->key.op].counts[i] += from->histograms.latencies[i];
	}
	row->has_histograms = true;
	return 0;
}

int kernel_side_add_histograms(struct kernel_side *k, const struct registry_job *job,
			       struct reading *to, struct error *err)
{
	_cleanup_free_ struct cgroup_histograms *histograms = NULL;
	size_t count = 0;
	int r;

	if (!sorts_calls(k))
		return 0;
	for (size_t i = 0; i < to->mount_count && !k->one; i++)
		to->mounts[i].has_histograms = true;
	r = read_histograms_of(k, job, &histograms, &count, err);
	for (size_t i = 0; r >= 0 && i < count; i++)
		r = add_histograms(&histograms[i], k->names, to);
	return r < 0 ? r : registry_add_histograms(job, to);
}

/* Of the job's cgroups, live and ended. */
static int add_detail(struct kernel_side *k, const struct detail *detail,
		      const struct registry_job *job, const struct details_of *of,
		      struct record *record, struct error *err)
{
	const struct section *s = detail->section;
	const void *folded = registry_job_part(job, s);
	void *to = section_of(record, s);
	int r;

	if (!has_detail(k, detail) || (folded && !section_is_known(s, folded)))
		return 0;
	r = detail->read(k->meter, k->names, of, to, err);
	return r < 0 || !folded ? r : section_add(s, to, folded);
}

/* On cgroup v1 the group's file does not count those of groups below it. */
static int count_killed(struct kernel_side *k, struct reading *reading)
{
	struct value *kills = &reading->values[METRIC_MEMORY_OOM_KILLS];
	uint64_t count;
	int r = cgroups_count_kills(k->meter, &count);

	if (r >= 0 && kills->is_known)
		kills->number = MAX(kills->number, count);
	return r;
}

static int add_details_of_one(struct kernel_side *k, struct record *record, struct error *err)
{
	const struct details_of all = { .is_all = true };
	int r = place_names_refresh(k->names, superblocks_fd(k), false, err);

	if (r < 0)
		return r;
	/* a list of the most used files cannot be divided by time: so the first record begins it */
	if (k->is_following)
		r = hot_files_read(k->meter, k->names, &all, &record->files, err);
	else
		meter_follow_files(k->meter);
	k->is_following = true;
	if (r >= 0)
		r = syscalls_read(k->meter, &all, &record->syscalls, err);
	k->open_syscalls = record->syscalls.is_known ? syscalls_count_open(k->meter, &all) : 0;
	return r < 0 ? r : count_killed(k, &record->reading);
}

/* System calls that have not returned. */
static int note_open(uint64_t open, struct record *record)
{
	return open ? strings_add(&record->coverage.notes,
				  "%" PRIu64
				  " system call%s that went on at the end %s not counted",
				  open, open == 1 ? "" : "s", open == 1 ? "is" : "are")
		    : 0;
}

int kernel_side_add_details(struct kernel_side *k, const struct registry_job *job,
			    struct record *record, struct error *err)
{
	_cleanup_free_ uint64_t *cgroups = NULL;
	struct details_of of = {};
	int r;

	if (k->one)
		return add_details_of_one(k, record, err);
	r = registry_job_cgroups(job, &cgroups, &of.count);
	of.cgroups = cgroups;
	for (size_t i = 0; i < ARRAY_SIZE(details) && r >= 0; i++)
		r = add_detail(k, &details[i], job, &of, record, err);
	return r < 0 || !record->syscalls.is_known
		       ? r
		       : note_open(syscalls_count_open(k->meter, &of), record);
}

int kernel_side_govern(struct kernel_side *k, uint64_t budget, uint64_t boot_ns)
{
	return k->governor ? governor_hold(k->governor, meter_objects(k->meter), budget, boot_ns,
					   &k->news)
			   : 0;
}

int kernel_side_tell_budget(const struct kernel_side *k, uint64_t from_ns, uint64_t to_ns,
			    struct record *record)
{
	if (k->meter && k->one)
		return governor_describe_cost(meter_objects(k->meter), record);
	return k->governor ? governor_describe(k->governor, from_ns, to_ns, record) : 0;
}

/* @losses: as below.  Of a node it is said which details it has. */
static int describe_detail(const struct kernel_side *k, const struct detail *detail,
			   const struct losses *losses, struct record *record)
{
	struct strings *tiers = &record->coverage.tiers;
	int r = 0;

	if (!has_detail(k, detail))
		return 0;
	if (!losses)
		r = strings_add(tiers, "T3 (%s)", detail->section->name);
	else if (!strings_contain(tiers, "T3"))
		r = strings_add(tiers, "T3");
	if (r < 0 || !losses ||
	    section_is_known(detail->section, section_get(record, detail->section)))
		return r;
	return strings_add(&record->coverage.missing,
			   "%s: an earlier agent, which measured a part of the job, did not count "
			   "them",
			   detail->words);
}

static int describe_one(const struct kernel_side *k, struct record *record)
{
	int r = meter_describe(k->meter, NULL, record);

	if (r >= 0 && *k->why_no_canary.text)
		r = strings_add(&record->coverage.notes, "hooks were not checked: %s",
				k->why_no_canary.text);
	if (r >= 0 && k->one->followed_max && !meter_is_on(k->meter, "leave_call"))
		r = strings_add(&record->coverage.missing, "hot files: they need files by mount");
	else if (r >= 0 && k->one->followed_max)
		r = strings_add(&record->coverage.tiers, "T3");
	if (r >= 0 && record->syscalls.is_known && !strings_contain(&record->coverage.tiers, "T3"))
		r = strings_add(&record->coverage.tiers, "T3");
	return r < 0 ? r : note_open(k->open_syscalls, record);
}

int kernel_side_describe(const struct kernel_side *k, const struct losses *losses,
			 struct record *record)
{
	int r;

	if (k->one)
		return describe_one(k, record);
	if (k->meter) {
		r = meter_describe(k->meter, losses, record);
		for (size_t i = 0; i < ARRAY_SIZE(details) && r >= 0; i++)
			r = describe_detail(k, &details[i], losses, record);
		return r;
	}
	r = strings_add(&record->coverage.tiers, "files of the group");
	return r < 0 ? r
		     : strings_add(&record->coverage.missing, "files by mount, wait times: %s",
				   k->has_bpf ? "the kernel does not permit BPF"
					      : "BPF is switched off");
}

bool kernel_side_has_news(struct kernel_side *k, struct error *err)
{
	struct error *news = *k->news.text ? &k->news : &k->group_news;

	if (!*news->text)
		return false;
	*err = *news;
	*news->text = '\0';
	return true;
}

void kernel_side_count(const struct kernel_side *k, uint64_t boot_ns, struct sampler_state *to)
{
	struct governor_state costs;

	to->groups = k->groups;
	to->walks = k->walks;
	to->found_by_walk = k->found_by_walk;
	to->is_governed = k->governor;
	if (!k->governor)
		return;
	costs = governor_state(k->governor, boot_ns);
	to->hooked_calls = costs.calls;
	to->cost_ns = costs.cost_ns;
	to->unclocked_ns = costs.unclocked_total_ns;
}
