/* SPDX-License-Identifier: MIT */
/* Numbers of cgroups become those of jobs, and for good where the cgroups ended. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "counters/task_sums.h"
#include "jobs/registry_internal.h"

/* ---- values ---- */

void value_add(struct value *to, enum metric_id id, uint64_t number)
{
	to[id] = (struct value){ to[id].number + number, true };
}

static void value_raise(struct value *to, const struct value *least)
{
	if (least->is_known && (!to->is_known || to->number < least->number))
		*to = *least;
}

void values_add(struct value *to, const struct value *from)
{
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		enum metric_kind kind = metric_get((enum metric_id)i)->kind;

		if (!from[i].is_known)
			continue;
		if (kind == KIND_COUNTER || kind == KIND_GAUGE)
			value_add(to, (enum metric_id)i, from[i].number);
		else
			value_raise(&to[i], &from[i]);
	}
}

void values_raise(struct value *to, const struct value *least)
{
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		enum metric_kind kind = metric_get((enum metric_id)i)->kind;

		if (kind == KIND_COUNTER || kind == KIND_PEAK)
			value_raise(&to[i], &least[i]);
	}
}

static void values_add_tasks(struct value *to, const struct cgroup_tasks *tasks)
{
	const struct value peak = { tasks->process_peak_pages * (uint64_t)sysconf(_SC_PAGESIZE),
				    tasks->process_peak_pages > 0 };

	task_metrics_add(to, &tasks->counters);
	value_add(to, METRIC_TASKS_ENDED, tasks->ended);
	value_add(to, METRIC_TASKS_CRASHED, tasks->crashed);
	value_raise(&to[METRIC_MEMORY_PROCESS_PEAK], &peak);
}

bool registry_is_managers(const struct registry_job *j, const struct registry_step *step,
			  uint32_t rank, const struct cgroup_tasks *tasks)
{
	return strcmp(j->facts->manager, "slurm") == 0 && step && rank == RANK_NONE &&
	       j->facts->uid > 0 && tasks->uid == UINT32_MAX;
}

void registry_add_tasks(const struct registry *r, struct value *to,
			const struct cgroup_tasks *tasks, bool is_managers)
{
	static const struct task_times no_times;

	if (registry_has(r, COUNTED_TASKS))
		values_add_tasks(to, tasks);
	if (registry_has(r, COUNTED_TIMES))
		task_times_add(to, is_managers ? &no_times : &tasks->times);
	if (registry_has(r, COUNTED_LOOKS))
		polls_add(to, &tasks->polls, registry_has(r, COUNTED_SPINNING));
}

void registry_busiest_threads_add_group(struct busiest_threads *to, const struct registry *r,
					const struct registry_group *g)
{
	if (g->task)
		busiest_threads_raise(to, &r->tasks[g->task - 1].busiest);
}

/* ---- folding ---- */

static void hand_over(struct id_list *ids, uint64_t **ret, size_t *ret_count)
{
	ids_sort(ids->items, ids->count);
	*ret = TAKE_PTR(ids->items);
	*ret_count = ids->count;
}

bool registry_group_is_folded(const struct registry_group *g)
{
	if (g->member_count < g->wanted_members)
		return false; /* a state tells of jobs whose own states do not */
	for (size_t i = 0; i < g->member_count; i++) {
		if (!g->members[i].is_folded)
			return false;
	}
	return true;
}

/* An unseen end may be that of any group's task, which is in once the task is freed. */
static bool is_settled(const struct registry *r, const struct registry_group *g, uint64_t boot_ns)
{
	uint64_t wait_ns = 0;

	if (g->task && r->tasks[g->task - 1].unsettled)
		wait_ns = PATIENCE_NS;
	else if (r->unseen_ns && r->unseen_ns + FREEING_NS > boot_ns)
		wait_ns = FREEING_NS;
	return g->died_ns + r->options.grace_ns + wait_ns <= boot_ns;
}

static bool is_ripe(const struct registry *r, const struct registry_group *g, uint64_t boot_ns)
{
	return r->has_rows && registry_group_is_touched(g) && g->is_learned && g->died_ns &&
	       !g->children && !registry_group_is_folded(g) && r->feeds > g->died_feed &&
	       is_settled(r, g, boot_ns);
}

struct registry_member *registry_group_member(struct registry_group *g,
					      const struct registry_job *j)
{
	for (size_t i = 0; g && i < g->member_count; i++) {
		if (g->members[i].job == j)
			return &g->members[i];
	}
	return NULL;
}

/* A group's kills are those that it counts itself, which are its descendants' too on cgroup v2, or
 * theirs together, which they are on v1.  Where the job or the step ends upwards, they are that
 * one's. */
static void add_oom_kills(struct registry_group *g, struct registry_member *m,
			  struct registry_group *parent)
{
	const struct registry_member *above = registry_group_member(parent, m->job);
	uint64_t kills = MAX(g->oom_kills, g->oom_below);

	if (!g->has_oom_kills && !g->oom_below)
		return;
	if (!above)
		value_add(m->job->folded, METRIC_MEMORY_OOM_KILLS, kills);
	if (m->step && (!above || above->step != m->step))
		value_add(m->step->folded, METRIC_MEMORY_OOM_KILLS, kills);
}

/* What its tasks did, and the most memory that it had. */
static void add_values(struct registry_member *m, const struct registry_group *g,
		       uint64_t peak_bytes)
{
	const struct registry *r = m->job->registry;
	const struct cgroup_tasks *tasks = g->task ? &r->tasks[g->task - 1] : NULL;
	struct value cgroup[METRIC_JOB_COUNT] = {};

	if (tasks)
		registry_add_tasks(r, cgroup, tasks,
				   registry_is_managers(m->job, m->step, m->rank, tasks));
	if (peak_bytes)
		cgroup[METRIC_MEMORY_PEAK] = (struct value){ peak_bytes, true };
	values_add(m->job->folded, cgroup);
	if (!m->step)
		return;
	values_add(m->step->folded, cgroup);
	registry_step_add_rank(m->step, m->rank, r, g);
}

static int add_rows(struct registry_job *j, const struct registry_group *g)
{
	int r = registry_rows_append(&j->rows, &j->row_count, g, j);

	if (r < 0)
		return r;
	j->row_count = registry_rows_sum(j->rows, j->row_count);
	j->has_new_rows = true;
	return 0;
}

/* What can fail comes first. */
int registry_member_add(struct registry_member *m, const struct registry_group *g,
			uint64_t peak_bytes)
{
	_cleanup_(parts_clear) struct parts of_job = {}, of_step = {};
	int r = registry_cores_reserve(&m->job->cores, m->job->registry, g);

	if (r == 0 && m->step)
		r = registry_step_reserve_rank(m->step, m->rank);
	if (r == 0)
		r = registry_parts_fold(m, g, &of_job, &of_step);
	if (r == 0)
		r = add_rows(m->job, g);
	if (r < 0)
		return r;
	registry_cores_add_group(&m->job->cores, m->job->registry, g);
	registry_busiest_threads_add_group(&m->job->busiest, m->job->registry, g);
	parts_move(&m->job->parts, &of_job);
	if (m->step)
		parts_move(&m->step->parts, &of_step);
	add_values(m, g, peak_bytes);
	m->job->is_changed = true;
	return 0;
}

static int remember(struct registry_job *j, const struct registry_group *g)
{
	struct registry_cgroup_name *larger = j->pending;

	if ((j->pending_count & (j->pending_count - 1)) == 0) /* there is room for a power of two */
		larger = reallocarray(larger, MAX(j->pending_count * 2, (size_t)1),
				      sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	j->pending = larger;
	larger[j->pending_count++] = (struct registry_cgroup_name){ g->id, g->member_count, 0 };
	return 0;
}

static int fold_member(struct registry_group *g, struct registry_member *m,
		       struct registry_group *parent)
{
	int r;

	if (m->is_folded)
		return 0;
	r = remember(m->job, g);
	if (r < 0)
		return r;
	r = registry_member_add(m, g, g->peak_bytes);
	if (r < 0) {
		m->job->pending_count--;
		return r;
	}
	add_oom_kills(g, m, parent);
	m->is_folded = true;
	return 0;
}

static int fold_group(struct registry *r, struct registry_group *g,
		      struct registry_group **ret_parent)
{
	struct registry_group *parent = idmap_get(&r->groups, g->parent);

	for (size_t i = 0; i < g->member_count; i++) {
		int code = fold_member(g, &g->members[i], parent);

		if (code < 0)
			return code;
	}
	if (g->is_counted && parent) {
		assert(parent->children > 0);
		parent->children--;
		g->is_counted = false;
	}
	if (parent && parent->is_learned) {
		parent->oom_below += MAX(g->oom_kills, g->oom_below);
		*ret_parent = parent;
	} else {
		*ret_parent = NULL;
	}
	g->task = g->row_count = 0;
	return 0;
}

/* From a cgroup upwards, as far as the groups above have ended too and wait for nobody else. */
static int fold_upwards(struct registry *r, struct registry_group *g, uint64_t boot_ns,
			struct id_list *folded)
{
	while (g && is_ripe(r, g, boot_ns)) {
		struct registry_group *parent;
		uint64_t id = g->id;
		int code = fold_group(r, g, &parent);

		if (code == 0)
			code = id_list_add(folded, id);
		if (code < 0)
			return code;
		g = parent;
	}
	return 0;
}

int registry_fold(struct registry *r, uint64_t boot_ns, uint64_t **ret_cgroups, size_t *ret_count)
{
	_cleanup_(id_list_clear) struct id_list folded = {};
	size_t at = 0;
	int code = 0;

	if (r->unseen_ends != r->folded_unseen)
		r->unseen_ns = boot_ns;
	r->folded_unseen = r->unseen_ends;
	for (struct registry_group *g; code == 0 && (g = idmap_next(&r->groups, &at));)
		code = fold_upwards(r, g, boot_ns, &folded);
	registry_end_jobs(r, boot_ns);
	if (code < 0)
		return code; /* what is folded by now is in registry_folded() */
	hand_over(&folded, ret_cgroups, ret_count);
	return 0;
}

int registry_folded(const struct registry *r, uint64_t **ret_cgroups, size_t *ret_count)
{
	_cleanup_(id_list_clear) struct id_list folded = {};
	size_t at = 0;

	for (struct registry_group *g; (g = idmap_next(&r->groups, &at));) {
		if (registry_group_is_folded(g) && id_list_add(&folded, g->id) < 0)
			return -ENOMEM;
	}
	hand_over(&folded, ret_cgroups, ret_count);
	return 0;
}

static void forget_pending(struct registry_job *j, uint64_t id)
{
	for (size_t i = 0; i < j->pending_count; i++) {
		if (j->pending[i].id != id)
			continue;
		j->pending[i] = j->pending[j->pending_count - 1];
		/* keeps the room of a power of two, which is more than is needed until it is filled
		 * again */
		j->pending_count--;
		return;
	}
}

int registry_forget(struct registry *r, const uint64_t *cgroups, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct registry_group *g = idmap_get(&r->groups, cgroups[i]);

		if (!g || !registry_group_is_folded(g))
			continue;
		for (size_t k = 0; k < g->member_count; k++) {
			assert(g->members[k].job->groups > 0);
			g->members[k].job->groups--;
			forget_pending(g->members[k].job, g->id);
		}
		idmap_remove(&r->groups, g->id);
		free(g);
	}
	return 0;
}

/* A cgroup that one of its jobs' states tells of and another's does not was to be learned again,
 * for the other's sake; it is no more. */
void registry_drop_halves(struct registry *r)
{
	size_t at = 0;

	if (!r->has_restored)
		return;
	for (struct registry_group *g; (g = idmap_next(&r->groups, &at));) {
		if (!g->is_learned)
			g->wanted_members = 0; /* so that it is among those to be forgotten */
	}
	r->has_restored = false;
}

/* ---- histograms ---- */

static int compare_buckets(const void *a, const void *b)
{
	const struct registry_bucket *x = a, *y = b;

	if (x->mount != y->mount)
		return x->mount < y->mount ? -1 : 1;
	if (x->op != y->op)
		return x->op - y->op;
	return x->kind != y->kind ? x->kind - y->kind : x->bucket - y->bucket;
}

size_t registry_buckets_sum(struct registry_bucket *buckets, size_t count)
{
	size_t kept = 0;

	if (count > 1)
		qsort(buckets, count, sizeof(*buckets), compare_buckets);
	for (size_t i = 1; i < count; i++) {
		if (compare_buckets(&buckets[kept], &buckets[i]) == 0)
			buckets[kept].count += buckets[i].count;
		else
			buckets[++kept] = buckets[i];
	}
	return count ? kept + 1 : 0;
}

static size_t append_buckets(struct registry_bucket *to, uint32_t mount, uint8_t op,
			     enum histogram_kind kind, const __u64 counts[FILES_BUCKETS])
{
	size_t count = 0;

	for (size_t i = 0; i < FILES_BUCKETS; i++) {
		if (counts[i])
			to[count++] = (struct registry_bucket){ mount,	    op, (uint8_t)kind,
								(uint8_t)i, 0,	counts[i] };
	}
	return count;
}

static int add_histograms(struct registry_job *j, const struct cgroup_histograms *from,
			  uint32_t slot)
{
	struct registry_bucket *larger =
		reallocarray(j->buckets, j->bucket_count + 2 * FILES_BUCKETS, sizeof(*larger));
	uint32_t mount = registry_job_mount(j, slot);
	size_t count = j->bucket_count;

	if (larger)
		j->buckets = larger;
	if (!larger || mount == MOUNTS_MAX)
		return -ENOMEM;
	count += append_buckets(larger + count, mount, from->key.op, HISTOGRAM_SIZE,
				from->histograms.sizes);
	count += append_buckets(larger + count, mount, from->key.op, HISTOGRAM_LATENCY,
				from->histograms.latencies);
	j->bucket_count = registry_buckets_sum(larger, count);
	j->is_changed = true;
	return 0;
}

static bool takes_histograms(const struct registry_group *g)
{
	return g && g->is_learned && g->died_ns && registry_group_is_folded(g) &&
	       !g->has_folded_histograms;
}

/* @only: NULL: of all jobs that the group belongs to. */
static int fold_histograms(struct registry *r, const struct registry_group *g,
			   const struct registry_job *only, const struct cgroup_histograms *from,
			   registry_name_place name_place, void *context)
{
	const struct snapshot_mount *mount;
	uint32_t slot;

	if (from->key.op >= OP_DATA_COUNT)
		return 0;
	mount = name_place(context, from->key.place);
	slot = mount ? registry_mount_slot(r, mount) : MOUNTS_MAX;
	if (slot == MOUNTS_MAX)
		return -ENOMEM;
	for (size_t i = 0; i < g->member_count; i++) {
		int code = only && only != g->members[i].job
				   ? 0
				   : add_histograms(g->members[i].job, from, slot);

		if (code < 0)
			return code;
	}
	return 0;
}

int registry_fold_histograms(struct registry *r, const struct cgroup_histograms *histograms,
			     size_t count, registry_name_place name_place, void *context)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < count; i++) {
		const struct registry_group *g = idmap_get(&r->groups, histograms[i].key.cgroup);

		if (takes_histograms(g))
			code = fold_histograms(r, g, NULL, &histograms[i], name_place, context);
	}
	for (size_t i = 0; i < count; i++) { /* after a failure, too: rather too few than twice */
		struct registry_group *g = idmap_get(&r->groups, histograms[i].key.cgroup);

		if (takes_histograms(g))
			g->has_folded_histograms = true;
	}
	return code;
}

int registry_inherit_histograms(struct registry *r, const struct registry_job *only,
				const struct cgroup_histograms *histograms, size_t count,
				registry_name_place name_place, void *context)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < count; i++) {
		const struct registry_group *g = idmap_get(&r->groups, histograms[i].key.cgroup);

		if (g && g->is_learned && !registry_group_is_folded(g))
			code = fold_histograms(r, g, only, &histograms[i], name_place, context);
	}
	return code;
}

int registry_add_histograms(const struct registry_job *j, struct reading *to)
{
	for (size_t i = 0; i < j->bucket_count; i++) {
		const struct registry_bucket *from = &j->buckets[i];
		const struct snapshot_mount *mount = &j->registry->mounts[from->mount].mount;
		struct mount_row *row = reading_get_mount(to, mount->kind, mount->name,
							  mount->fstype);
		struct histogram *h;

		if (!row)
			return -ENOMEM;
		h = from->kind == HISTOGRAM_SIZE ? &row->sizes[from->op]
						 : &row->latencies[from->op];
		h->counts[from->bucket] += from->count;
		row->has_histograms = true;
	}
	return 0;
}
