/* SPDX-License-Identifier: MIT */
/* Taking in what leaves did. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "macro.h"
#include "registry_parts.h"

/* The feed's rows of our groups are sorted by index, since they are many and stay where they are. */
struct feeding {
	struct registry *registry;
	const struct registry_feed *feed;
	struct idmap slots;   /* by place; the value is the slot, from 1 */
	uint32_t *slot;       /* of each row */
	uint32_t *order;      /* the rows that are taken */
	size_t count;
	struct op_counts unplaced[OP_COUNT];
};

static void feeding_clear(struct feeding *f)
{
	idmap_clear(&f->slots);
	free(f->slot);
	free(f->order);
}

/* The slot of a place, which is asked for once a feed; MOUNTS_MAX: no memory. */
static uint32_t slot_of(struct feeding *f, uint64_t place)
{
	static const struct snapshot_mount unresolved = { .kind = ROW_UNRESOLVED, .name = (char *)"(unresolved)" };
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

static void add_unplaced(struct feeding *f, const struct leaf_row *row)
{
	struct op_counts *to = &f->unplaced[row->key.op];

	to->calls += row->counts.calls;
	to->errors += row->counts.errors;
	to->ns += row->counts.ns;
	if (row->key.op >= OP_DATA_COUNT)
		to->not_found += row->counts.amount;
	else if (row->key.way != WAY_MAPPING)
		to->bytes += row->counts.amount;
}

static int take_row(struct feeding *f, size_t i)
{
	const struct leaf_row *row = &f->feed->rows[i];
	const struct registry_group *g;

	if (row->key.op >= OP_COUNT || row->key.way >= WAY_COUNT)
		return 0;
	if (row->key.leaf == LEAF_OTHER) {
		add_unplaced(f, row);
		return 0;
	}
	g = idmap_get(&f->registry->groups, row->key.leaf);
	if (!g || registry_group_is_folded(g))
		return 0;
	f->slot[i] = slot_of(f, row->key.place);
	f->order[f->count++] = (uint32_t)i;
	return f->slot[i] == MOUNTS_MAX ? -ENOMEM : 0;
}

static int take_rows(struct feeding *f)
{
	int r = 0;

	if (f->feed->row_count > UINT32_MAX)
		return -E2BIG;
	f->slot = calloc(f->feed->row_count + 1, sizeof(*f->slot));
	f->order = calloc(f->feed->row_count + 1, sizeof(*f->order));
	if (!f->slot || !f->order)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < f->feed->row_count; i++)
		r = take_row(f, i);
	return r;
}

static int compare_order(const void *a, const void *b, void *context)
{
	const struct feeding *f = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct file_key *x = &f->feed->rows[i].key, *y = &f->feed->rows[k].key;

	if (x->leaf != y->leaf)
		return x->leaf < y->leaf ? -1 : 1;
	if (f->slot[i] != f->slot[k])
		return f->slot[i] < f->slot[k] ? -1 : 1;
	return x->op != y->op ? x->op - y->op : x->way - y->way;
}

static bool is_new_row(const struct feeding *f, size_t i)
{
	return i == 0 || compare_order(&f->order[i - 1], &f->order[i], (void *)f) != 0;
}

static void raise_counts(struct op_counts *to, const struct op_counts *least)
{
	to->calls = MAX(to->calls, least->calls);
	to->bytes = MAX(to->bytes, least->bytes);
	to->errors = MAX(to->errors, least->errors);
	to->ns = MAX(to->ns, least->ns);
	to->not_found = MAX(to->not_found, least->not_found);
}

/* Rows of one leaf, mount, operation and way, which are its CPUs', become one. */
static void sum_rows(struct feeding *f, struct registry_row *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < f->count; i++) {
		const struct leaf_row *from = &f->feed->rows[f->order[i]];

		if (is_new_row(f, i)) {
			struct registry_group *g = idmap_get(&f->registry->groups, from->key.leaf);

			if (g->row_count++ == 0)
				g->first_row = count;
			rows[count++] = (struct registry_row){ .mount = f->slot[f->order[i]], .op = from->key.op,
							       .way = from->key.way };
		}
		registry_counts_add(&rows[count - 1].counts, &from->counts);
	}
}

/* The registry's rows are those of the feed from now on. */
static int hand_over(struct feeding *f)
{
	struct registry *r = f->registry;
	struct registry_row *rows;
	size_t count = 0;

	if (f->count > 1)
		qsort_r(f->order, f->count, sizeof(*f->order), compare_order, f);
	for (size_t i = 0; i < f->count; i++)
		count += is_new_row(f, i);
	rows = calloc(MAX(count, (size_t)1), sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	sum_rows(f, rows);
	r->rows = rows;
	r->row_count = count;
	r->has_rows = true;
	for (size_t op = 0; op < OP_COUNT; op++)
		raise_counts(&r->unplaced[op], &f->unplaced[op]);
	return 0;
}

/* The first task that was not root's tells whose a job is, if its path does not. */
static void take_uid(struct registry_group *g, uint32_t uid)
{
	for (size_t i = 0; uid != UINT32_MAX && i < g->member_count; i++) {
		struct registry_job *j = g->members[i].job;
		struct job *facts = j->facts->uid < 0 ? registry_job_facts(j) : NULL;

		if (facts)
			facts->uid = uid;
	}
}

static int take_tasks(struct registry *r, const struct registry_feed *feed)
{
	size_t count = 0;
	struct leaf_tasks *tasks = calloc(feed->task_count + 1, sizeof(*tasks)), *smaller;

	if (!tasks)
		return -ENOMEM;
	for (size_t i = 0; i < feed->task_count; i++) {
		struct registry_group *g = idmap_get(&r->groups, feed->tasks[i].leaf);

		if (!g || registry_group_is_folded(g) || g->task)
			continue;
		tasks[count++] = feed->tasks[i];
		g->task = count;
		take_uid(g, feed->tasks[i].uid);
	}
	smaller = realloc(tasks, (count + 1) * sizeof(*tasks));
	r->tasks = smaller ? smaller : tasks;
	r->task_count = count;
	return 0;
}

void registry_forget_rows(struct registry *r)
{
	size_t at = 0;

	for (struct registry_group *g; (g = idmap_next(&r->groups, &at));)
		g->first_row = g->row_count = 0;
	free(r->rows);
	r->rows = NULL;
	r->row_count = 0;
	r->has_rows = false;
}

static void forget_feed(struct registry *r)
{
	size_t at = 0;

	registry_forget_rows(r);
	for (struct registry_group *g; (g = idmap_next(&r->groups, &at));)
		g->task = 0;
	free(r->tasks);
	r->tasks = NULL;
	r->task_count = 0;
}

int registry_feed(struct registry *r, const struct registry_feed *feed)
{
	_cleanup_(feeding_clear) struct feeding f = { .registry = r, .feed = feed };
	int code = take_rows(&f);

	if (code < 0)
		return code; /* what was fed before stands */
	forget_feed(r);
	code = take_tasks(r, feed);
	if (code == 0)
		code = hand_over(&f);
	if (code < 0) {
		forget_feed(r);
		return code;
	}
	r->has_tasks = feed->has_tasks;
	r->has_files = feed->has_files;
	r->has_clock = feed->has_clock;
	r->feeds++;
	return 0;
}
