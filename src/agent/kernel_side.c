/* SPDX-License-Identifier: MIT */
#include "kernel_side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "canary.h"
#include "cleanup.h"
#include "clock.h"
#include "config.h"
#include "error.h"
#include "group_tree.h"
#include "heritage.h"
#include "hierarchy.h"
#include "idmap.h"
#include "leaves.h"
#include "macro.h"
#include "meter.h"
#include "place_names.h"
#include "registry.h"
#include "sampler.h"

#define JOBS_AT_ONCE 1024 /* that the maps are sized for, as far as their memory reaches */
#define WALK_NS UINT64_C(60000000000) /* how often the tree is walked for what no program told of */
#define NOBODY UINT64_MAX	      /* no group has that id */

struct kernel_side {
	bool has_bpf, has_clock, has_histograms; /* are wanted */
	int root_fd;
	const struct hierarchy *hierarchy;
	struct meter *meter;	 /* NULL: no BPF */
	struct group_tree *tree; /* instead */
	struct heritage heritage;
	uint64_t generation, walked_ns;
	size_t groups;
	uint64_t walks, found_by_walk;
	struct error news;
};

/* ---- opening ---- */

static unsigned int tiers_of(const struct config *config)
{
	return (config->has_t0 ? METER_T0 : 0) | (config->has_t2 ? METER_T2 : 0);
}

/* Nobody is watched until every group that is there has its entry: so all is counted for the right
 * leaf. */
static int start_watching(struct kernel_side *k, struct error *err)
{
	struct error why = {};
	int r = leaves_walk(k->meter, err);

	if (r < 0)
		return r;
	if (canary_sing(k->meter, k->root_fd, k->hierarchy, 0, true, &why) < 0) {
		error_set(&k->news, 0, "hooks were not checked: %s", why.text);
		meter_watch(k->meter, 0);
	}
	return meter_seal(k->meter, err);
}

/* Programs tell of births and deaths, or at least there is a map for what the walk finds. */
static bool are_groups_told(const struct meter *m)
{
	return objects_map_fd(meter_objects(m), OBJECT_LIFE, "groups") >= 0;
}

static int open_meter(struct kernel_side *k, const struct config *config, struct error *err)
{
	struct meter_options options = {
		.root_fd = k->root_fd,
		.tiers = tiers_of(config),
		.has_clock = config->has_clock,
		.has_histograms = config->has_histograms,
		.has_groups = true,
		.shape = { .jobs = JOBS_AT_ONCE },
		.maps_memory_mib = (unsigned int)config->maps_memory_mib,
		.watched_id = NOBODY,
		.hierarchy = k->hierarchy,
		.pin_dir = config->pin_dir,
	};
	int r = meter_open(&options, &k->meter);

	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	if (!are_groups_told(k->meter)) { /* BPF is refused: each hook says why */
		k->meter = meter_close(k->meter);
		return 0;
	}
	if (meter_why_unpinned(k->meter))
		error_set(&k->news, 0, "nothing outlives this agent if it is killed: %s",
			  meter_why_unpinned(k->meter));
	meter_take_heritage(k->meter, &k->heritage);
	return meter_is_taken_over(k->meter) ? 0 : start_watching(k, err);
}

int kernel_side_open(const struct config *config, int root_fd, const struct hierarchy *h,
		     struct kernel_side **ret, struct error *err)
{
	struct kernel_side *k = calloc(1, sizeof(*k));
	int r = 0;

	if (!k)
		return -ENOMEM;
	*k = (struct kernel_side){
		.has_bpf = config->has_bpf,
		.has_clock = config->has_clock,
		.has_histograms = config->has_histograms,
		.root_fd = root_fd,
		.hierarchy = h,
	};
	if (config->has_bpf && tiers_of(config))
		r = open_meter(k, config, err);
	if (r >= 0 && !k->meter)
		r = group_tree_open(root_fd, h, &k->tree, err);
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
	if (k->meter && keeps)
		meter_keep(k->meter);
	meter_close(k->meter);
	group_tree_close(k->tree);
	heritage_clear(&k->heritage);
	free(k);
	return NULL;
}

struct meter *kernel_side_meter(struct kernel_side *k)
{
	return k->meter;
}

bool kernel_side_has_tasks(const struct kernel_side *k)
{
	return k->meter && meter_has_tier(k->meter, METER_T0);
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

static int learn_from_folders(struct kernel_side *k, struct registry *registry, uint64_t boot_ns,
			      uint64_t real_ns, struct error *err)
{
	_cleanup_free_ struct group_life *groups = NULL;
	int r = group_tree_look(k->tree, boot_ns, &groups, &k->groups, err);

	return r < 0 ? r : registry_learn(registry, groups, k->groups, boot_ns, real_ns);
}

/* The safety net; what it found the programs had not told. */
static int walk(struct kernel_side *k, uint64_t boot_ns, struct error *err)
{
	int r;

	if (k->walked_ns && boot_ns - k->walked_ns < WALK_NS)
		return 0;
	r = leaves_walk(k->meter, err);
	if (r < 0)
		return r;
	k->walks++;
	k->found_by_walk += (uint64_t)r;
	k->walked_ns = boot_ns;
	return 0;
}

int kernel_side_learn(struct kernel_side *k, struct registry *registry, uint64_t boot_ns,
		      uint64_t real_ns, struct error *err)
{
	_cleanup_free_ struct group_life *groups = NULL;
	uint64_t generation;
	int r;

	if (!k->meter)
		return learn_from_folders(k, registry, boot_ns, real_ns, err);
	r = walk(k, boot_ns, err);
	if (r < 0)
		return r;
	/* before the list: what comes meanwhile is listed again */
	generation = leaves_generation(k->meter);
	if (generation == k->generation)
		return 0;
	r = leaves_list_groups(k->meter, &groups, &k->groups, err);
	if (r >= 0)
		r = registry_learn(registry, groups, k->groups, boot_ns, real_ns);
	if (r >= 0)
		k->generation = generation;
	return r;
}

int kernel_side_feed(struct kernel_side *k, struct registry *registry, struct place_names *names,
		     struct error *err)
{
	struct registry_feed feed = {
		.has_tasks = kernel_side_has_tasks(k),
		.has_files = k->meter && meter_has_tier(k->meter, METER_T2),
		.has_clock = k->has_clock,
		.name_place = name_place,
		.context = names,
	};
	_cleanup_free_ struct leaf_tasks *tasks = NULL;
	_cleanup_free_ struct leaf_row *rows = NULL;
	int r = 0;

	if (feed.has_tasks)
		r = leaves_read_tasks(k->meter, &tasks, &feed.task_count, err);
	if (r >= 0 && feed.has_files)
		r = place_names_refresh(names, superblocks_fd(k), err);
	if (r >= 0 && feed.has_files)
		r = leaves_read_rows(k->meter, &rows, &feed.row_count, err);
	feed.tasks = tasks;
	feed.rows = rows;
	return r < 0 ? r : registry_feed(registry, &feed);
}

/* They are of the calls on files. */
static bool sorts_calls(const struct kernel_side *k)
{
	return k->has_histograms && k->meter && meter_has_tier(k->meter, METER_T2);
}

int kernel_side_fold_histograms(struct kernel_side *k, struct registry *registry,
				struct place_names *names, const uint64_t *leaves, size_t count,
				struct error *err)
{
	_cleanup_free_ struct leaf_histograms *histograms = NULL;
	size_t found = 0;
	int r;

	if (!sorts_calls(k))
		return 0;
	r = leaves_read_histograms(k->meter, leaves, count, &histograms, &found, err);
	return r < 0 ? r : registry_fold_histograms(registry, histograms, found, name_place, names);
}

int kernel_side_forget_folded(struct kernel_side *k, struct registry *registry)
{
	_cleanup_free_ uint64_t *leaves = NULL;
	size_t count = 0;
	int r = registry_folded(registry, &leaves, &count);

	if (r < 0 || !count)
		return r;
	if (k->meter)
		r = leaves_forget(k->meter, leaves, count);
	if (r >= 0 && k->meter)
		r = leaves_forget_places(k->meter);
	return r < 0 ? r : registry_forget(registry, leaves, count);
}

/* Those of the job's leaves that are not folded; the caller frees. */
static int read_histograms_of(struct kernel_side *k, const struct registry_job *job, struct leaf_histograms **ret,
			      size_t *ret_count, struct error *err)
{
	_cleanup_free_ uint64_t *leaves = NULL;
	size_t count = 0;
	int r = registry_job_leaves(job, &leaves, &count);

	return r < 0 ? r : leaves_read_histograms(k->meter, leaves, count, ret, ret_count, err);
}

static int put_histograms_aside(struct kernel_side *k, struct registry *registry, struct place_names *names,
				struct error *err)
{
	for (struct registry_job *job = NULL; (job = registry_next(registry, job));) {
		_cleanup_free_ struct leaf_histograms *histograms = NULL;
		size_t count = 0;
		int r = read_histograms_of(k, job, &histograms, &count, err);

		if (r >= 0)
			r = registry_inherit_histograms(registry, job, histograms, count, name_place, names);
		if (r < 0)
			return r;
	}
	return 0;
}

int kernel_side_put_aside(struct kernel_side *k, struct registry *registry, struct place_names *names,
			  struct error *err)
{
	int r = kernel_side_feed(k, registry, names, err);

	if (r >= 0 && sorts_calls(k))
		r = put_histograms_aside(k, registry, names, err);
	return r < 0 ? r : registry_inherit(registry);
}

/* ---- the start ---- */

/* Groups that ended after their kernel side did are told by nobody else. */
static int end_groups_of_before(struct kernel_side *k, struct group_life *groups, size_t count, uint64_t boot_ns,
				struct error *err)
{
	_cleanup_free_ struct group_life *now = NULL;
	struct idmap there = {};
	size_t now_count = 0;
	int r = leaves_list_groups(k->meter, &now, &now_count, err);

	for (size_t i = 0; r >= 0 && i < now_count; i++)
		r = idmap_put(&there, now[i].id, k);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		if (!groups[i].died_ns && !idmap_get(&there, groups[i].id))
			groups[i].died_ns = boot_ns;
	}
	idmap_clear(&there);
	return r;
}

/* Superblocks of theirs are in our map by now, so that places have their names. */
static int inherit(struct kernel_side *k, struct registry *registry, struct place_names *names, struct error *err)
{
	const struct heritage *h = &k->heritage;
	const struct registry_feed feed = {
		.tasks = h->tasks,
		.task_count = h->task_count,
		.rows = h->rows,
		.row_count = h->row_count,
		.has_tasks = true,
		.has_files = true,
		.has_clock = true,
		.name_place = name_place,
		.context = names,
	};
	uint64_t boot_ns = clock_now_ns(CLOCK_BOOTTIME);
	int r = end_groups_of_before(k, h->groups, h->group_count, boot_ns, err);

	if (r >= 0)
		r = registry_learn(registry, h->groups, h->group_count, boot_ns, clock_now_ns(CLOCK_REALTIME));
	if (r >= 0)
		r = place_names_refresh(names, superblocks_fd(k), err);
	if (r >= 0)
		r = registry_feed(registry, &feed);
	if (r >= 0)
		r = registry_inherit(registry);
	if (r >= 0)
		r = registry_inherit_histograms(registry, NULL, h->histograms, h->histogram_count, name_place, names);
	if (r < 0)
		return r;
	error_set(&k->news, 0,
		  "took over what another build, or other settings, had counted until now; what ran since was not "
		  "counted%s%s", *h->why ? "; not understood: " : "", h->why);
	return 0;
}

int kernel_side_resume(struct kernel_side *k, struct registry *registry, struct place_names *names,
		       struct error *err)
{
	int r = kernel_side_forget_folded(k, registry);

	if (r < 0)
		return error_set_errno(err, r, "cannot erase what the state holds already");
	r = k->heritage.sets ? inherit(k, registry, names, err) : 0;
	heritage_clear(&k->heritage);
	return r;
}

/* ---- records ---- */

static int add_histograms(const struct leaf_histograms *from, struct place_names *names,
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
	return 0;
}

int kernel_side_add_histograms(struct kernel_side *k, const struct registry_job *job,
			       struct place_names *names, struct reading *to, struct error *err)
{
	_cleanup_free_ struct leaf_histograms *histograms = NULL;
	size_t count = 0;
	int r;

	if (!sorts_calls(k))
		return 0;
	for (size_t i = 0; i < to->mount_count; i++)
		to->mounts[i].has_histograms = true;
	r = read_histograms_of(k, job, &histograms, &count, err);
	for (size_t i = 0; r >= 0 && i < count; i++)
		r = add_histograms(&histograms[i], names, to);
	return r < 0 ? r : registry_add_histograms(job, to);
}

int kernel_side_describe(const struct kernel_side *k, struct record *record)
{
	int r;

	if (k->meter)
		return meter_describe(k->meter, record);
	r = strings_add(&record->coverage.tiers, "files of the group");
	return r < 0 ? r
		     : strings_add(&record->coverage.missing,
				   "files by mount and waiting for a CPU: %s",
				   k->has_bpf ? "the kernel does not permit BPF"
					      : "BPF is switched off");
}

bool kernel_side_has_news(struct kernel_side *k, struct error *err)
{
	if (!*k->news.text)
		return false;
	*err = k->news;
	*k->news.text = '\0';
	return true;
}

void kernel_side_count(const struct kernel_side *k, struct sampler_state *to)
{
	to->groups = k->groups;
	to->walks = k->walks;
	to->found_by_walk = k->found_by_walk;
}
