/* SPDX-License-Identifier: MIT */
/* Taking in what leaves did. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "macro.h"
#include "registry_parts.h"

/* A group's row while they are summed over CPUs. */
struct fed_row {
	struct registry_group *group;
	struct registry_row row;
};

struct feeding {
	struct registry *registry;
	const struct registry_feed *feed;
	struct idmap slots; /* by place; the value is the slot, from 1 */
	struct fed_row *rows;
	size_t count, room;
	uint32_t *table;    /* open addressing: of each row its index, from 1 */
	size_t table_size;  /* a power of two, above twice the room */
	struct op_counts unplaced[OP_COUNT];
};

static void feeding_clear(struct feeding *f)
{
	idmap_clear(&f->slots);
	free(f->rows);
	free(f->table);
}

static uint64_t hash_row(const struct fed_row *row)
{
	uint64_t hash = row->group->id * UINT64_C(0x9e3779b97f4a7c15);

	hash ^= (uint64_t)row->row.mount << 16 | (uint64_t)row->row.op << 8 | row->row.way;
	return (hash * UINT64_C(0xff51afd7ed558ccd)) >> 16;
}

static bool is_same_row(const struct fed_row *a, const struct fed_row *b)
{
	return a->group == b->group && registry_row_compare(&a->row, &b->row) == 0;
}

/* Where the row stands in the table, or the empty place where it would. */
static uint32_t *find_row(const struct feeding *f, const struct fed_row *row)
{
	size_t i = (size_t)hash_row(row) & (f->table_size - 1);

	while (f->table[i] && !is_same_row(&f->rows[f->table[i] - 1], row))
		i = (i + 1) & (f->table_size - 1);
	return &f->table[i];
}

static int grow(struct feeding *f)
{
	size_t room = f->room ? f->room * 2 : 1024;
	struct fed_row *rows = reallocarray(f->rows, room, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	f->rows = rows;
	f->room = room;
	free(f->table);
	f->table_size = room * 2;
	f->table = calloc(f->table_size, sizeof(*f->table));
	if (!f->table)
		return -ENOMEM;
	for (size_t i = 0; i < f->count; i++)
		*find_row(f, &f->rows[i]) = (uint32_t)i + 1;
	return 0;
}

static int add_row(struct feeding *f, const struct fed_row *row)
{
	struct file_counts *to;
	uint32_t *at;
	int r = f->count == f->room ? grow(f) : 0;

	if (r < 0)
		return r;
	at = find_row(f, row);
	if (!*at) {
		f->rows[f->count++] = *row;
		*at = (uint32_t)f->count;
		return 0;
	}
	to = &f->rows[*at - 1].row.counts;
	to->calls += row->row.counts.calls;
	to->errors += row->row.counts.errors;
	to->ns += row->row.counts.ns;
	to->amount += row->row.counts.amount;
	return 0;
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

static int take_row(struct feeding *f, const struct leaf_row *row)
{
	struct fed_row fed = { .row = { .op = row->key.op, .way = row->key.way, .counts = row->counts } };

	if (row->key.op >= OP_COUNT || row->key.way >= WAY_COUNT)
		return 0;
	if (row->key.leaf == LEAF_OTHER) {
		add_unplaced(f, row);
		return 0;
	}
	fed.group = idmap_get(&f->registry->groups, row->key.leaf);
	if (!fed.group || registry_group_is_folded(fed.group))
		return 0;
	fed.row.mount = slot_of(f, row->key.place);
	return fed.row.mount == MOUNTS_MAX ? -ENOMEM : add_row(f, &fed);
}

static int compare_groups(const void *a, const void *b)
{
	const struct fed_row *x = a, *y = b;

	if (x->group->id != y->group->id)
		return x->group->id < y->group->id ? -1 : 1;
	return registry_row_compare(&x->row, &y->row);
}

static void raise_counts(struct op_counts *to, const struct op_counts *least)
{
	to->calls = MAX(to->calls, least->calls);
	to->bytes = MAX(to->bytes, least->bytes);
	to->errors = MAX(to->errors, least->errors);
	to->ns = MAX(to->ns, least->ns);
	to->not_found = MAX(to->not_found, least->not_found);
}

/* The registry's rows are those of the feed from now on. */
static int hand_over(struct feeding *f)
{
	struct registry *r = f->registry;
	struct registry_row *rows = calloc(MAX(f->count, (size_t)1), sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	if (f->count > 1)
		qsort(f->rows, f->count, sizeof(*f->rows), compare_groups);
	for (size_t i = 0; i < f->count; i++) {
		struct registry_group *g = f->rows[i].group;

		if (g->row_count++ == 0)
			g->first_row = i;
		rows[i] = f->rows[i].row;
	}
	free(r->rows);
	r->rows = rows;
	r->row_count = f->count;
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
	free(r->tasks);
	r->tasks = smaller ? smaller : tasks;
	r->task_count = count;
	return 0;
}

static void forget_last(struct registry *r)
{
	size_t at = 0;

	for (struct registry_group *g; (g = idmap_next(&r->groups, &at));)
		g->task = g->first_row = g->row_count = 0;
	r->task_count = r->row_count = 0;
}

int registry_feed(struct registry *r, const struct registry_feed *feed)
{
	_cleanup_(feeding_clear) struct feeding f = { .registry = r, .feed = feed };
	int code = 0;

	for (size_t i = 0; code == 0 && i < feed->row_count; i++)
		code = take_row(&f, &feed->rows[i]);
	if (code < 0)
		return code; /* what was fed before stands */
	forget_last(r);
	code = take_tasks(r, feed);
	if (code == 0)
		code = hand_over(&f);
	if (code < 0) {
		forget_last(r);
		return code;
	}
	r->has_tasks = feed->has_tasks;
	r->has_files = feed->has_files;
	r->has_clock = feed->has_clock;
	r->feeds++;
	return 0;
}
