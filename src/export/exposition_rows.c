/* SPDX-License-Identifier: MIT */
#include "export/exposition_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"

/* ---- mounts ---- */

static const char *name_of(const struct snapshot_mount *mount, const struct exposition_name *names)
{
	for (; mount->kind == ROW_MOUNT && names && names->mount; names++) {
		if (strcmp(names->mount, mount->name) == 0)
			return names->name;
		for (size_t i = 0; i < MOUNT_ALIASES_MAX && mount->aliases[i]; i++) {
			if (strcmp(names->mount, mount->aliases[i]) == 0)
				return names->name;
		}
	}
	return mount->name;
}

const char *shown_mounts_name(const struct shown_mounts *m, uint32_t mount)
{
	return name_of(&m->snapshot->mounts[mount], m->names);
}

/* By what is shown, then by index. */
static int compare_mounts(const void *a, const void *b, void *context)
{
	const struct shown_mounts *m = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const char *x_type = m->snapshot->mounts[x].fstype, *y_type = m->snapshot->mounts[y].fstype;
	int r = strcmp(shown_mounts_name(m, x), shown_mounts_name(m, y));

	if (r == 0)
		r = strcmp(x_type ? x_type : "", y_type ? y_type : "");
	return r ? r : (x > y) - (x < y);
}

static bool is_shown_alike(const struct shown_mounts *m, uint32_t a, uint32_t b)
{
	const char *a_type = m->snapshot->mounts[a].fstype, *b_type = m->snapshot->mounts[b].fstype;

	return strcmp(shown_mounts_name(m, a), shown_mounts_name(m, b)) == 0 &&
	       strcmp(a_type ? a_type : "", b_type ? b_type : "") == 0;
}

int shown_mounts_init(struct shown_mounts *m, const struct snapshot *snapshot,
		      const struct exposition_name *names)
{
	size_t room = snapshot ? snapshot->mount_count : 0, count = 0;
	_cleanup_free_ uint32_t *order = calloc(room + 1, sizeof(*order)),
				*first = calloc(room + 1, sizeof(*first));
	bool is_any = false;

	*m = (struct shown_mounts){ .snapshot = snapshot, .names = names };
	if (!order || !first)
		return -ENOMEM;
	for (uint32_t i = 0; i < room; i++) {
		if (snapshot->mounts[i].name)
			order[count++] = i;
	}
	if (count > 1)
		qsort_r(order, count, sizeof(*order), compare_mounts, m);
	for (size_t i = 0; i < count; i++) {
		bool is_same = i > 0 && is_shown_alike(m, order[i - 1], order[i]);

		first[order[i]] = is_same ? first[order[i - 1]] : order[i];
		is_any |= is_same;
	}
	m->first = is_any ? TAKE_PTR(first) : NULL;
	return 0;
}

void shown_mounts_clear(struct shown_mounts *m)
{
	free(m->first);
	*m = (struct shown_mounts){};
}

static uint32_t first_of(const struct shown_mounts *m, uint32_t mount)
{
	return m->first ? m->first[mount] : mount;
}

/* ---- rows ---- */

struct order_context {
	const struct shown_mounts *mounts;
	const struct snapshot_row *rows;
};

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct order_context *o = context;
	const struct snapshot_row *x = &o->rows[*(const uint32_t *)a],
				  *y = &o->rows[*(const uint32_t *)b];
	uint32_t x_mount = first_of(o->mounts, x->mount), y_mount = first_of(o->mounts, y->mount);

	if (x_mount != y_mount)
		return x_mount < y_mount ? -1 : 1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return (x->interface > y->interface) - (x->interface < y->interface);
}

/* A row is of a mount that is shown under another one: then the snapshot's order does not hold. */
static bool needs_order(const struct shown_mounts *m, const struct snapshot_job *job)
{
	for (size_t i = 0; m->first && i < job->row_count; i++) {
		if (m->first[job->rows[i].mount] != job->rows[i].mount)
			return true;
	}
	return false;
}

int row_order_set(struct row_order *o, const struct shown_mounts *m, const struct snapshot_job *job)
{
	struct order_context context = { m, job->rows };

	if (o->job == job)
		return 0;
	row_order_clear(o);
	if (needs_order(m, job)) {
		o->rows = calloc(job->row_count, sizeof(*o->rows));
		if (!o->rows)
			return -ENOMEM;
		for (uint32_t i = 0; i < job->row_count; i++)
			o->rows[i] = i;
		qsort_r(o->rows, job->row_count, sizeof(*o->rows), compare_rows, &context);
	}
	o->job = job;
	return 0;
}

void row_order_clear(struct row_order *o)
{
	free(o->rows);
	*o = (struct row_order){};
}

static const struct snapshot_row *row_at(const struct row_order *o, size_t place)
{
	return &o->job->rows[o->rows ? o->rows[place] : place];
}

static bool is_same_series(const struct shown_mounts *m, enum metric_scope scope,
			   const struct snapshot_row *a, const struct snapshot_row *b)
{
	return first_of(m, a->mount) == first_of(m, b->mount) &&
	       (scope != SCOPE_MOUNT_OP || a->op == b->op) &&
	       (scope != SCOPE_MOUNT_INTERFACE || a->interface == b->interface);
}

bool row_order_next(const struct row_order *o, const struct shown_mounts *m, enum metric_id id,
		    size_t *place, const struct snapshot_row **ret_row, uint64_t *ret_number)
{
	enum metric_scope scope = metric_get(id)->scope;
	const struct snapshot_row *found = NULL;
	uint64_t sum = 0;

	for (; *place < o->job->row_count; (*place)++) {
		const struct snapshot_row *row = row_at(o, *place);

		if (!metric_takes(id, (enum file_op)row->op, (enum file_interface)row->interface))
			continue;
		if (found && !is_same_series(m, scope, found, row))
			break;
		found = found ? found : row;
		sum += op_counts_number(&row->counts, id);
	}
	*ret_row = found;
	*ret_number = sum;
	return found;
}
