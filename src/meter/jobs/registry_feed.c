/* SPDX-License-Identifier: MIT */
/* Taking in what cgroups did. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/macro.h"
#include "jobs/registry_internal.h"

/* A row that is taken: @key is what it is summed by within its group. */
struct fed_row {
	uint32_t key, index;
};

/* The feed's rows of our groups are sorted by index, since they are many and stay where they are:
 * into their groups by counting, and then within each, where they are few. */
struct feeding {
	struct registry *registry;
	const struct registry_feed *feed;
	struct idmap slots; /* by place; the value is the slot, from 1 */
	struct registry_group **groups; /* that have rows, in the order in which they came */
	size_t group_count, group_room;
	uint32_t *group; /* of each row, from 1; 0: not taken */
	uint32_t *key;
	struct fed_row *order; /* the rows that are taken */
	size_t count;
};

static void feeding_clear(struct feeding *f)
{
	for (size_t i = 0; i < f->group_count; i++)
		f->groups[i]->fed = (struct registry_fed){};
	free(f->groups);
	idmap_clear(&f->slots);
	free(f->group);
	free(f->key);
	free(f->order);
}

/* The slot of a place, which is asked for once a feed; MOUNTS_MAX: no memory. */
static uint32_t slot_of(struct feeding *f, uint64_t place)
{
	static const struct snapshot_mount unresolved = { .kind = ROW_UNRESOLVED,
							  .name = (char *)"(unresolved)" };
	size_t at = (size_t)idmap_get(&f->slots, place);
	const struct snapshot_mount *mount;
	uint32_t slot;

	if (at)
		return (uint32_t)(at - 1);
	mount = f->feed->name_place ? f->feed->name_place(f->feed->context, place) : NULL;
	slot = registry_mount_slot(f->registry, mount ? mount : &unresolved);
	if (slot == MOUNTS_MAX || idmap_put(&f->slots, place, (void *)((size_t)slot + 1)) < 0)
		return MOUNTS_MAX;
	return slot;
}

static uint32_t key_of(uint32_t slot, const struct file_key *key)
{
	static_assert(MOUNTS_MAX <= 1 << 16 && OP_COUNT <= 256 && INTERFACE_COUNT <= 256,
		      "they share a word");
	return slot << 16 | (uint32_t)key->op << 8 | key->interface;
}

/* Count the row as the group's; 0: no memory. */
static uint32_t note_group(struct feeding *f, struct registry_group *g)
{
	if (!g->fed.number) {
		if (array_reserve(&f->groups, &f->group_room, f->group_count, sizeof(*f->groups)) <
		    0)
			return 0;
		f->groups[f->group_count++] = g;
		g->fed.number = (uint32_t)f->group_count;
	}
	g->fed.rows++;
	return g->fed.number;
}

static int take_row(struct feeding *f, size_t i)
{
	const struct cgroup_row *row = &f->feed->rows[i];
	struct registry_group *g;
	uint32_t slot;

	if (row->key.op >= OP_COUNT || row->key.interface >= INTERFACE_COUNT)
		return 0;
	g = idmap_get(&f->registry->groups, row->key.cgroup);
	if (!g || registry_group_is_folded(g))
		return 0;
	slot = slot_of(f, row->key.place);
	f->key[i] = key_of(slot, &row->key);
	f->group[i] = note_group(f, g);
	f->count++;
	return slot == MOUNTS_MAX || !f->group[i] ? -ENOMEM : 0;
}

static int compare_keys(const void *a, const void *b)
{
	uint32_t x = ((const struct fed_row *)a)->key, y = ((const struct fed_row *)b)->key;

	return (x > y) - (x < y);
}

/* Each group's rows together, sorted. */
static int order_rows(struct feeding *f)
{
	uint32_t begin = 0;

	f->order = calloc(f->count + 1, sizeof(*f->order));
	if (!f->order)
		return -ENOMEM;
	for (size_t i = 0; i < f->group_count; i++) {
		f->groups[i]->fed.end = begin; /* moves on as they come */
		begin += f->groups[i]->fed.rows;
	}
	for (size_t i = 0; i < f->feed->row_count; i++) {
		if (f->group[i])
			f->order[f->groups[f->group[i] - 1]->fed.end++] =
				(struct fed_row){ f->key[i], (uint32_t)i };
	}
	for (size_t i = 0; i < f->group_count; i++) {
		const struct registry_fed *fed = &f->groups[i]->fed;

		qsort(f->order + fed->end - fed->rows, fed->rows, sizeof(*f->order), compare_keys);
	}
	return 0;
}

static int take_rows(struct feeding *f)
{
	int r = 0;

	if (f->feed->row_count > UINT32_MAX)
		return -E2BIG;
	f->group = calloc(f->feed->row_count + 1, sizeof(*f->group));
	f->key = calloc(f->feed->row_count + 1, sizeof(*f->key));
	if (!f->group || !f->key)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < f->feed->row_count; i++)
		r = take_row(f, i);
	return r < 0 ? r : order_rows(f);
}

static bool begins_row(const struct fed_row *order, size_t i, size_t begin)
{
	return i == begin || order[i].key != order[i - 1].key;
}

/* Rows of one cgroup, mount, operation and way, which are its CPUs', become one; returns how many
 * there are then.
 * @rows: NULL, they are only counted. */
static size_t sum_rows(const struct feeding *f, struct registry_row *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < f->group_count; i++) {
		struct registry_group *g = f->groups[i];
		const size_t begin = g->fed.end - g->fed.rows, first = count;

		for (size_t k = begin; k < g->fed.end; k++) {
			const struct cgroup_row *from = &f->feed->rows[f->order[k].index];

			if (begins_row(f->order, k, begin) && rows)
				rows[count] =
					(struct registry_row){ .mount = f->order[k].key >> 16,
							       .op = from->key.op,
							       .interface = from->key.interface };
			count += begins_row(f->order, k, begin);
			if (rows)
				registry_counts_add(&rows[count - 1].counts, &from->counts);
		}
		if (rows) {
			g->first_row = first;
			g->row_count = count - first;
		}
	}
	return count;
}

/* The registry's rows are those of the feed from now on. */
static int hand_over(struct feeding *f)
{
	struct registry *r = f->registry;
	size_t count = sum_rows(f, NULL);
	struct registry_row *rows = calloc(MAX(count, (size_t)1), sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	sum_rows(f, rows);
	r->rows = rows;
	r->row_count = count;
	r->has_rows = true;
	return 0;
}

/* The first task that was not root's tells whose a job is, if its path does not. */
static void take_uid(struct registry_group *g, uint32_t uid)
{
	for (size_t i = 0; uid != UINT32_MAX && i < g->member_count; i++) {
		struct registry_job *j = g->members[i].job;
		struct job *facts = j->facts->uid < 0 || j->is_roots ? registry_job_facts(j) : NULL;

		if (!facts)
			continue;
		facts->uid = uid;
		if (j->is_roots) { /* he was named already */
			free(facts->user);
			facts->user = NULL;
		}
		j->is_roots = false;
	}
}

static void add_work(struct registry_group *g, const struct cgroup_tasks *tasks)
{
	const struct task_counters *c = &tasks->counters;

	for (size_t i = 0; i < g->member_count; i++)
		g->members[i].job->work += c->user_ns + c->system_ns + c->voluntary_switches +
					   c->involuntary_switches + tasks->ended + tasks->live;
}

static int take_tasks(struct registry *r, const struct registry_feed *feed)
{
	size_t count = 0;
	struct cgroup_tasks *tasks = calloc(feed->task_count + 1, sizeof(*tasks)), *smaller;

	if (!tasks)
		return -ENOMEM;
	for (size_t i = 0; i < r->job_count; i++) {
		r->jobs[i]->last_work = r->jobs[i]->work;
		r->jobs[i]->work = 0;
	}
	for (size_t i = 0; i < feed->task_count; i++) {
		struct registry_group *g = idmap_get(&r->groups, feed->tasks[i].cgroup);

		if (!g || registry_group_is_folded(g) || g->task)
			continue;
		tasks[count++] = feed->tasks[i];
		g->task = count;
		add_work(g, &feed->tasks[i]);
		take_uid(g, feed->tasks[i].uid);
	}
	smaller = realloc(tasks, (count + 1) * sizeof(*tasks));
	r->tasks = smaller ? smaller : tasks;
	r->task_count = count;
	return 0;
}

/* ---- what is to be fed ---- */

static bool is_to_be_fed(const struct registry_group *g, const uint64_t *changed, size_t count)
{
	if (registry_group_is_folded(g))
		return false;
	return !g->is_fed || g->died_ns || ids_contain(changed, count, g->id);
}

bool registry_group_is_touched(const struct registry_group *g)
{
	for (size_t i = 0; i < g->member_count; i++) {
		if (g->members[i].job->is_touched)
			return true;
	}
	return false;
}

/* Whether that was new of one. */
static bool touch(struct registry_group *g)
{
	bool is_new = false;

	for (size_t i = 0; i < g->member_count; i++) {
		is_new |= !g->members[i].job->is_touched;
		g->members[i].job->is_touched = true;
	}
	return is_new;
}

/* A group of two jobs touches both, and so their other groups. */
static void touch_jobs(struct registry *r, const uint64_t *changed, size_t count)
{
	bool is_new = true;

	for (size_t i = 0; i < r->job_count; i++)
		r->jobs[i]->is_touched = !r->jobs[i]->shown; /* of others it is known what was shown
								last */
	while (is_new) {
		size_t at = 0;

		is_new = false;
		for (struct registry_group *g; (g = idmap_next(&r->groups, &at));) {
			if (registry_group_is_touched(g) || is_to_be_fed(g, changed, count))
				is_new |= touch(g);
		}
	}
}

int registry_touch(struct registry *r, const uint64_t *changed, size_t count, uint64_t **ret,
		   size_t *ret_count)
{
	uint64_t *cgroups = calloc(r->groups.count + 1, sizeof(*cgroups));
	size_t found = 0, at = 0;

	if (!cgroups)
		return -ENOMEM;
	touch_jobs(r, changed, count);
	for (struct registry_group *g; (g = idmap_next(&r->groups, &at));) {
		if (registry_group_is_touched(g) && !registry_group_is_folded(g))
			cgroups[found++] = g->id;
	}
	ids_sort(cgroups, found);
	*ret = cgroups;
	*ret_count = found;
	return 0;
}

void registry_forget_feed(struct registry *r)
{
	size_t at = 0;

	for (struct registry_group *g; (g = idmap_next(&r->groups, &at));)
		g->task = g->first_row = g->row_count = 0;
	free(r->rows);
	r->rows = NULL;
	r->row_count = 0;
	r->has_rows = false;
	free(r->tasks);
	r->tasks = NULL;
	r->task_count = 0;
	registry_forget_cores(r);
	registry_forget_parts(r);
}

/* Whose rows it has. */
static void note_fed(struct registry *r, bool is_partial)
{
	size_t at = 0;

	for (size_t i = 0; i < r->job_count; i++) {
		r->jobs[i]->is_touched |= !is_partial;
		r->jobs[i]->has_new_rows |= r->jobs[i]->is_touched;
	}
	for (struct registry_group *g; (g = idmap_next(&r->groups, &at));)
		g->is_fed |= registry_group_is_touched(g);
}

int registry_feed(struct registry *r, const struct registry_feed *feed)
{
	_cleanup_(feeding_clear) struct feeding f = { .registry = r, .feed = feed };
	int code = take_rows(&f);

	if (code < 0)
		return code; /* what was fed before stands */
	registry_forget_feed(r);
	code = take_tasks(r, feed);
	if (code == 0)
		code = registry_take_cores(r, feed->cores, feed->core_count);
	if (code == 0)
		code = registry_take_parts(r, feed);
	if (code == 0)
		code = registry_take_losses(r, feed);
	if (code == 0)
		code = hand_over(&f);
	if (code < 0) {
		registry_forget_feed(r);
		return code;
	}
	note_fed(r, feed->is_partial);
	r->counted = feed->counted;
	r->unseen_ends = feed->unseen_ends;
	r->feeds++;
	return 0;
}

/* ---- whom the kernel killed: known to the jobs at once ---- */

static const struct oom_list nobody;

const struct oom_list *registry_job_oom_kills(const struct registry_job *j)
{
	return j->oom_list ? j->oom_list : &nobody;
}

static int add_to_job(struct registry_job *j, const struct oom_kill *oom_kill)
{
	if (!j->oom_list)
		j->oom_list = calloc(1, sizeof(*j->oom_list));
	if (!j->oom_list)
		return -ENOMEM;
	j->is_changed |= oom_list_add(j->oom_list, oom_kill);
	return 0;
}

int registry_add_oom_kill(struct registry *r, uint64_t cgroup, const struct oom_kill *oom_kill)
{
	struct registry_group *g = idmap_get(&r->groups, cgroup);
	int code = 0;

	for (size_t i = 0; g && code == 0 && i < g->member_count; i++)
		code = add_to_job(g->members[i].job, oom_kill);
	return code;
}
