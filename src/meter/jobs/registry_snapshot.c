/* SPDX-License-Identifier: MIT */
/* All jobs at one moment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "jobs/registry_internal.h"
#include "model/sections.h"
#include "model/sections/steps.h"

/* A group that is not folded, and one of its jobs. */
struct part {
	struct registry_job *job;
	struct registry_step *step;
	const struct registry_group *group;
	uint32_t rank;
};

struct making {
	struct registry *registry;
	struct snapshot *snapshot;
	struct part *parts; /* by job */
	size_t part_count;
	struct registry_row *rows; /* of the job that is being made */
	size_t row_count;
	struct snapshot_row *merged; /* the same with what was shown, before it gets its own place
				      */
	size_t merged_room;
};

static void making_clear(struct making *m)
{
	free(m->parts);
	free(m->rows);
	free(m->merged);
	snapshot_unref(m->snapshot);
}

/* ---- which jobs, in which order ---- */

static int compare_names(const struct registry_job *a, const struct registry_job *b)
{
	int r = strcmp(a->facts->manager, b->facts->manager);

	return r ? r : strverscmp(a->facts->id, b->facts->id);
}

static int compare_jobs(const void *a, const void *b)
{
	const struct registry_job *x = *(struct registry_job *const *)a,
				  *y = *(struct registry_job *const *)b;
	int r = compare_names(x, y);

	return r ? r : registry_job_compare_shown(x, y);
}

/* Which are to be shown, sorted. */
static int order_jobs(struct registry *r)
{
	struct registry_job **jobs;
	size_t kept = 0;

	if (r->is_ordered)
		return 0;
	jobs = reallocarray(r->order, r->job_count + 1, sizeof(*jobs));
	if (!jobs)
		return -ENOMEM;
	r->order = jobs;
	if (r->job_count) {
		memcpy(jobs, r->jobs, r->job_count * sizeof(*jobs));
		qsort(jobs, r->job_count, sizeof(*jobs), compare_jobs);
	}
	for (size_t i = 0; i < r->job_count; i++) {
		if (kept == 0 || compare_names(jobs[kept - 1], jobs[i]) != 0)
			jobs[kept++] = jobs[i];
	}
	r->order_count = kept;
	r->is_ordered = true;
	return 0;
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->job != y->job)
		return x->job->index < y->job->index ? -1 : 1;
	return (x->group->id > y->group->id) - (x->group->id < y->group->id);
}

static int list_parts(struct making *m)
{
	const struct idmap *groups = &m->registry->groups;
	size_t at = 0;

	m->parts = calloc(groups->count * MEMBERS_MAX + 1, sizeof(*m->parts));
	if (!m->parts)
		return -ENOMEM;
	for (struct registry_group *g; (g = idmap_next(groups, &at));) {
		for (size_t i = 0; i < g->member_count; i++) {
			const struct registry_member *member = &g->members[i];

			if (!member->is_folded &&
			    (g->task || g->row_count || registry_group_has_parts(m->registry, g)))
				m->parts[m->part_count++] =
					(struct part){ member->job, member->step, g, member->rank };
		}
	}
	if (m->part_count > 1)
		qsort(m->parts, m->part_count, sizeof(*m->parts), compare_parts);
	return 0;
}

/* The parts of one job. */
static const struct part *find_parts(const struct making *m, const struct registry_job *j,
				     size_t *ret_count)
{
	size_t low = 0, high = m->part_count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->parts[middle].job->index < j->index)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < m->part_count && m->parts[end].job == j; end++)
		;
	*ret_count = end - low;
	return m->parts + low;
}

/* ---- mounts ---- */

/* By slot, so that a mount has one index in all snapshots. */
static int list_mounts(const struct registry *r, struct snapshot *s)
{
	s->mounts = calloc(r->mount_room + 1, sizeof(*s->mounts));
	if (!s->mounts)
		return -ENOMEM;
	for (size_t slot = 0; slot < r->mount_room; slot++) {
		if (!r->mounts[slot].is_used)
			continue;
		s->mount_count = slot + 1;
		if (snapshot_mount_copy(&s->mounts[slot], &r->mounts[slot].mount) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- one job's rows ---- */

static int append_folded(struct making *m, const struct registry_job *j)
{
	m->rows = calloc(j->row_count + 1, sizeof(*m->rows));
	if (!m->rows)
		return -ENOMEM;
	if (j->row_count)
		memcpy(m->rows, j->rows, j->row_count * sizeof(*m->rows));
	m->row_count = j->row_count;
	return 0;
}

/* All of them, over the folded cgroups and the others, in @m. */
static int gather_rows(struct making *m, struct registry_job *j, const struct part *parts,
		       size_t count)
{
	int r;

	free(m->rows);
	r = append_folded(m, j);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = registry_rows_append(&m->rows, &m->row_count, parts[i].group, j);
	if (r == 0)
		m->row_count = registry_rows_sum(m->rows, m->row_count);
	return r;
}

static int compare_keys(const struct snapshot_row *a, const struct snapshot_row *b)
{
	if (a->mount != b->mount)
		return a->mount < b->mount ? -1 : 1;
	return a->op != b->op ? a->op - b->op : a->interface - b->interface;
}

/* The job as it was shown last; NULL: it was not. */
static const struct snapshot_job *last_shown(const struct registry_job *j)
{
	return j->shown ? &j->registry->shown->jobs[j->shown - 1] : NULL;
}

static int make_room_to_merge(struct making *m, size_t count)
{
	struct snapshot_row *larger;

	if (count <= m->merged_room)
		return 0;
	larger = reallocarray(m->merged, count, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	m->merged = larger;
	m->merged_room = count;
	return 0;
}

/* Merge what there is with what was shown, which is the least of each.  Both are sorted; returns
 * how many there are in m->merged. */
static size_t merge_rows(const struct making *m, const struct snapshot_job *last)
{
	size_t last_count = last ? last->row_count : 0, i = 0, k = 0, count = 0;

	while (i < m->row_count || k < last_count) {
		struct snapshot_row now = {}, before = {};
		int order = i == m->row_count ? 1 : k == last_count ? -1 : 0;

		if (i < m->row_count)
			now = (struct snapshot_row){
				m->rows[i].mount, m->rows[i].op, m->rows[i].interface, 0,
				op_counts_of(m->rows[i].op, &m->rows[i].counts)
			};
		if (k < last_count)
			before = last->rows[k];
		order = order ? order : compare_keys(&now, &before);
		m->merged[count] = order > 0 ? before : now;
		if (order == 0)
			op_counts_raise(&m->merged[count].counts, &before.counts);
		count++;
		i += order <= 0;
		k += order >= 0;
	}
	return count;
}

/* Each job's rows take just their room: they stay until others are shown. */
static int make_rows(struct making *m, struct registry_job *j, const struct part *parts,
		     size_t part_count, const struct snapshot_job *last, struct snapshot_job *ret)
{
	size_t count;
	int r = gather_rows(m, j, parts, part_count);

	if (r < 0)
		return r;
	if (make_room_to_merge(m, m->row_count + (last ? last->row_count : 0)) < 0)
		return -ENOMEM;
	count = merge_rows(m, last);
	ret->rows = snapshot_rows_new(count);
	if (!ret->rows)
		return -ENOMEM;
	if (m->merged)
		memcpy(ret->rows, m->merged, count * sizeof(*ret->rows));
	ret->row_count = count;
	return 0;
}

/* Those of a job that did nothing since it was shown are what they were. */
static int put_rows(struct making *m, struct registry_job *j, const struct part *parts,
		    size_t part_count, const struct snapshot_job *last, struct snapshot_job *ret)
{
	if (!last || j->has_new_rows)
		return make_rows(m, j, parts, part_count, last, ret);
	ret->rows = snapshot_rows_ref(last->rows);
	ret->row_count = last->row_count;
	return 0;
}

/* ---- one job's values ---- */

/* What the tasks of all cgroups used, and how many live. */
static void add_parts(const struct registry *r, const struct part *parts, size_t count,
		      const struct registry_step *step, struct value *values)
{
	uint64_t live = 0;

	registry_add_tasks(r, values, &(struct cgroup_tasks){}, false); /* from now on they are
									   known */
	for (size_t i = 0; i < count; i++) {
		const struct part *p = &parts[i];
		const struct cgroup_tasks *tasks = p->group->task ? &r->tasks[p->group->task - 1]
								  : NULL;

		if (!tasks || (step && p->step != step))
			continue;
		registry_add_tasks(r, values, tasks,
				   registry_is_managers(p->job, p->step, p->rank, tasks));
		live += tasks->live;
	}
	if (registry_has(r, COUNTED_TASKS))
		values[METRIC_TASKS_LIVE] = (struct value){ live, true };
}

/* What files of the job's group said: the sum over its top groups. */
static void add_files(const struct registry_job *j, struct value *values)
{
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		enum metric_kind kind = metric_get((enum metric_id)i)->kind;
		struct value said = j->set[i], base = j->base ? j->base[i] : (struct value){};

		if (kind == KIND_COUNTER && base.is_known)
			said = (struct value){ said.number + base.number, true };
		else if (kind == KIND_PEAK && base.is_known)
			said = (struct value){ MAX(said.number, base.number), true };
		if (said.is_known && (!values[i].is_known || values[i].number < said.number))
			values[i] = said;
	}
}

static void drop_gauges(struct value *values)
{
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		if (metric_get((enum metric_id)i)->kind == KIND_GAUGE)
			values[i] = (struct value){};
	}
}

static void put_values(const struct registry_job *j, const struct part *parts, size_t count,
		       const struct snapshot_job *last, struct value *ret)
{
	memcpy(ret, j->folded, sizeof(j->folded));
	add_parts(j->registry, parts, count, NULL, ret);
	add_files(j, ret);
	if (j->facts->allocated_cores.is_known)
		ret[METRIC_CPU_ALLOCATED] = j->facts->allocated_cores;
	if (j->facts->memory_limit.is_known)
		ret[METRIC_MEMORY_LIMIT] = j->facts->memory_limit;
	if (j->least)
		values_raise(ret, j->least);
	if (last)
		values_raise(ret, last->values);
	if (j->is_ended)
		drop_gauges(ret);
}

static const struct registry_group *group_at(const void *parts, size_t i)
{
	return ((const struct part *)parts)[i].group;
}

static int put_step(const struct registry_job *j, const struct registry_step *step,
		    const struct part *parts, size_t count, const struct snapshot_step *last,
		    struct snapshot_step *ret)
{
	ret->id = strdup(step->id);
	if (!ret->id)
		return -ENOMEM;
	ret->is_live = step->live_groups > 0 && !j->is_ended;
	ret->start_ns = step->start_ns;
	ret->end_ns = ret->is_live ? 0 : step->end_ns;
	memcpy(ret->values, step->folded, sizeof(ret->values));
	add_parts(j->registry, parts, count, step, ret->values);
	if (last)
		values_raise(ret->values, last->values);
	if (!ret->is_live)
		drop_gauges(ret->values);
	return registry_parts_show(j->registry, &step->parts, true,
				   &(struct registry_part_groups){ group_at, parts, count },
				   last ? &last->parts : NULL, &ret->parts);
}

static int compare_by_step(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->step > y->step) - (x->step < y->step);
}

/* Steps are never dropped or reordered, so that each stands where it was shown last. */
static int put_steps(const struct registry_job *j, const struct part *parts, size_t count,
		     const struct snapshot_job *last, struct snapshot_job *ret)
{
	_cleanup_free_ struct part *by_step = NULL;

	if (!j->step_count)
		return 0;
	by_step = calloc(count + 1, sizeof(*by_step));
	ret->steps = calloc(j->step_count, sizeof(*ret->steps));
	if (!ret->steps || !by_step)
		return -ENOMEM;
	if (count) {
		memcpy(by_step, parts, count * sizeof(*parts));
		qsort(by_step, count, sizeof(*by_step), compare_by_step);
	}
	for (size_t i = 0; i < j->step_count; i++) {
		const struct part key = { .step = j->steps[i] };
		const struct part *first = bsearch(&key, by_step, count, sizeof(key),
						   compare_by_step),
				  *end = first;
		const struct snapshot_step *before = last && i < last->step_count ? &last->steps[i]
										  : NULL;

		while (first && first > by_step && first[-1].step == j->steps[i])
			first--;
		while (end && end < by_step + count && end->step == j->steps[i])
			end++;
		ret->step_count++;
		if (put_step(j, j->steps[i], first, (size_t)(end - first), before, &ret->steps[i]) <
		    0)
			return -ENOMEM;
	}
	return 0;
}

/* How many, which stands in the snapshot, and which, for who asks the job. */
static int put_cores(const struct making *m, struct registry_job *j, const struct part *parts,
		     size_t count, struct snapshot_job *ret)
{
	_cleanup_(registry_cores_clear) struct registry_cores cores = {};
	const uint64_t elapsed = snapshot_job_elapsed(m->snapshot, ret);
	char *used = NULL;
	int r = registry_cores_copy(&cores, &j->cores);

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = registry_cores_reserve(&cores, j->registry, parts[i].group);
		if (r == 0)
			registry_cores_add_group(&cores, j->registry, parts[i].group);
	}
	if (r == 0)
		r = registry_cores_load_balance(&cores, elapsed, &ret->cores);
	if (r == 0)
		r = registry_cores_list_used(&cores, elapsed, &used);
	if (r < 0)
		return r;
	free(j->cpus_used);
	j->cpus_used = used;
	return 0;
}

/* The step that did most of those that start ranks; NULL: there is none. */
static const struct registry_step *main_step(const struct registry_job *j,
					     const struct snapshot_job *job)
{
	const struct registry_step *found = NULL;
	uint64_t most = 0, ns;

	for (size_t i = 0; i < job->step_count; i++) {
		if (!step_has_ranks(job->steps[i].id) ||
		    !rank_work(job->steps[i].values, registry_has(j->registry, COUNTED_SPINNING),
			       &ns) ||
		    (found && ns <= most))
			continue;
		found = j->steps[i];
		most = ns;
	}
	return found;
}

static int put_ranks(const struct registry_job *j, const struct part *parts, size_t count,
		     struct snapshot_job *ret)
{
	_cleanup_(registry_cores_clear) struct registry_cores ranks = {};
	const struct registry_step *step = main_step(j, ret);
	struct rank_times times = {};
	int r;

	if (!step || step->lacks_ranks || !registry_has(j->registry, COUNTED_TASKS))
		return 0;
	r = registry_cores_copy(&ranks, &step->ranks);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (parts[i].step == step && parts[i].rank != RANK_NONE && ranks.count < RANKS_MAX)
			r = registry_cores_add(&ranks, parts[i].rank,
					       registry_group_work(j->registry, parts[i].group));
	}
	if (r == 0)
		r = registry_ranks_load_balance(&ranks, &ret->ranks);
	for (size_t i = 0; r == 0 && ranks.count > 1 && i < ranks.count; i++)
		r = rank_times_add(&times, "", step->id, ranks.items[i].key, ranks.items[i].on_ns);
	if (r == 0 && times.count)
		r = parts_put(&ret->parts, &rank_work_section, &times);
	rank_times_clear(&times);
	return r;
}

static struct threads threads_of(const struct registry_job *j, const struct part *parts,
				 size_t count)
{
	struct busiest_threads busiest = j->busiest;

	for (size_t i = 0; i < count; i++)
		registry_busiest_threads_add_group(&busiest, j->registry, parts[i].group);
	return threads_of_sum(busiest.count, busiest.sum_ns, busiest.greatest_ns);
}

static int put_job(struct making *m, struct registry_job *j, struct snapshot_job *ret)
{
	const struct snapshot_job *last = last_shown(j);
	size_t count;
	const struct part *parts = find_parts(m, j, &count);
	int r = put_rows(m, j, parts, count, last, ret);

	ret->is_live = !j->is_ended;
	ret->is_settling = j->is_ended && j->groups > j->pending_count; /* some are not folded */
	ret->groupless_ns = ret->is_live && !j->live_groups ? j->last_death_ns : 0;
	ret->job = job_ref(j->facts);
	ret->threads = threads_of(j, parts, count);
	ret->thermal = thermal_samples_of(&j->thermal);
	if (ret->is_live)
		ret->now = j->now;
	j->now = (struct thermal_now){};
	if (r == 0)
		r = registry_parts_show(j->registry, &j->parts, false,
					&(struct registry_part_groups){ group_at, parts, count },
					last ? &last->parts : NULL, &ret->parts);
	if (r == 0)
		r = put_steps(j, parts, count, last, ret);
	if (r == 0)
		r = put_cores(m, j, parts, count, ret);
	if (r == 0)
		r = put_ranks(j, parts, count, ret);
	if (r == 0)
		put_values(j, parts, count, last, ret->values);
	if (r < 0)
		return r;
	ret->changed_ns = last && snapshot_job_is_same(ret, last) ? last->changed_ns
								  : m->snapshot->boot_ns;
	return 0;
}

/* Give each job its "(other)" now, if it needs one: mounts are listed before rows are made. */
static int settle_mounts(struct making *m)
{
	for (size_t i = 0; i < m->part_count; i++) {
		const struct part *part = &m->parts[i];

		for (size_t k = 0; k < part->group->row_count; k++) {
			uint32_t slot = m->registry->rows[part->group->first_row + k].mount;

			if (registry_job_mount(part->job, slot) == MOUNTS_MAX)
				return -ENOMEM;
		}
	}
	return 0;
}

static int make(struct making *m)
{
	const struct registry *registry = m->registry;
	struct snapshot *s = m->snapshot;
	int r = list_parts(m);

	if (r == 0)
		r = settle_mounts(m);
	if (r == 0) {
		registry_mounts_sweep(m->registry);
		r = list_mounts(registry, s);
	}
	s->jobs = calloc(registry->order_count + 1, sizeof(*s->jobs));
	if (r == 0 && !s->jobs)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < registry->order_count; i++) {
		s->job_count++;
		r = put_job(m, registry->order[i], &s->jobs[i]);
	}
	if (r == 0 && registry->fill)
		r = registry->fill(registry->fill_context, s);
	for (size_t i = 0; r == 0 && i < registry->order_count; i++)
		r = registry_feed_timeline(registry->order[i], s, &s->jobs[i]);
	return r;
}

/* From now on it is the least that is shown. */
static void remember(struct making *m)
{
	struct registry *r = m->registry;

	for (size_t i = 0; i < r->job_count; i++)
		r->jobs[i]->shown = 0;
	for (size_t i = 0; i < r->order_count; i++) {
		r->order[i]->shown = i + 1;
		r->order[i]->has_new_rows = false;
	}
	snapshot_unref(r->shown);
	r->shown = snapshot_ref(m->snapshot);
}

void registry_set_filler(struct registry *r, int (*fill)(void *context, struct snapshot *s),
			 void *context)
{
	r->fill = fill;
	r->fill_context = context;
}

int registry_snapshot(struct registry *r, uint64_t boot_ns, uint64_t real_ns, struct snapshot **ret)
{
	_cleanup_(making_clear) struct making m = { .registry = r, .snapshot = snapshot_new() };
	int code;

	if (!m.snapshot)
		return -ENOMEM;
	registry_end_jobs(r, boot_ns);
	registry_allow_saves(r);
	m.snapshot->boot_ns = boot_ns;
	m.snapshot->real_ns = real_ns;
	m.snapshot->has_mounts = registry_has(r, COUNTED_FILES);
	m.snapshot->has_seconds = registry_has(r, COUNTED_FILES) && registry_has(r, COUNTED_CLOCK);
	code = order_jobs(r);
	if (code == 0)
		code = make(&m);
	if (code < 0)
		return code;
	remember(&m);
	registry_forget_feed(r); /* it is the snapshot's now, which is the least that is shown */
	*ret = TAKE_PTR(m.snapshot);
	return 0;
}
