/* SPDX-License-Identifier: MIT */
/* Mounts by slot, and rows of counts on them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/fnv.h"
#include "jobs/registry_internal.h"
#include "basic/text.h"
#include "basic/utf8.h"

/* ---- mounts ---- */

/* Output is text: names that are none would be shown alike, and so are alike from the beginning. */
static int repair(char **text)
{
	char *repaired = *text ? utf8_repair(*text) : NULL;

	if (*text && !repaired)
		return -ENOMEM;
	free(*text);
	*text = repaired;
	return 0;
}

static int copy_repaired(struct snapshot_mount *to, const struct snapshot_mount *from)
{
	int r = snapshot_mount_copy(to, from);

	for (size_t i = 0; r == 0 && i < SNAPSHOT_MOUNT_TEXTS; i++)
		r = repair(snapshot_mount_text(to, i));
	if (r < 0)
		snapshot_mount_clear(to);
	return r;
}

static int grow_mounts(struct registry *r)
{
	size_t room = r->mount_room ? r->mount_room * 2 : 32;
	struct registry_mount *larger = reallocarray(r->mounts, room, sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	memset(larger + r->mount_room, 0, (room - r->mount_room) * sizeof(*larger));
	r->mounts = larger;
	r->mount_room = room;
	return 0;
}

/* A free slot; the caller knows that there are not too many. */
static size_t find_room(struct registry *r)
{
	size_t slot = r->mount_room;

	if (r->mounts_by_name.count < r->mount_room) {
		for (slot = 0; r->mounts[slot].is_used; slot++)
			;
	}
	return slot < r->mount_room || grow_mounts(r) == 0 ? slot : MOUNTS_MAX;
}

static uint32_t add_mount(struct registry *r, uint64_t hash, struct snapshot_mount *mount)
{
	size_t slot = find_room(r);

	if (slot == MOUNTS_MAX || idmap_put(&r->mounts_by_name, hash, (void *)(slot + 1)) < 0)
		return MOUNTS_MAX;
	r->mounts[slot] = (struct registry_mount){ .mount = *mount, .hash = hash, .is_used = true };
	*mount = (struct snapshot_mount){};
	return (uint32_t)slot;
}

static const struct snapshot_mount other = { .kind = ROW_OTHER, .name = (char *)"(other)" };

uint32_t registry_mount_slot(struct registry *r, const struct snapshot_mount *mount)
{
	_cleanup_(snapshot_mount_clear) struct snapshot_mount copy = {};
	uint64_t hash;
	size_t at;

	if (copy_repaired(&copy, mount) < 0)
		return MOUNTS_MAX;
	hash = fnv_text(r->seed ^ (uint64_t)copy.kind, copy.name ? copy.name : "");
	hash = fnv_text(hash, copy.fstype ? copy.fstype : "");
	/* where another has the same hash, the next one is this one's */
	for (; (at = (size_t)idmap_get(&r->mounts_by_name, hash)); hash++) {
		const struct snapshot_mount *known = &r->mounts[at - 1].mount;

		if (known->kind == copy.kind && text_is_equal(known->name, copy.name) &&
		    text_is_equal(known->fstype, copy.fstype))
			return (uint32_t)(at - 1);
	}
	if (r->mounts_by_name.count + 1 < MOUNTS_MAX)
		return add_mount(r, hash, &copy);
	/* one slot is left for those that have no other */
	return mount->kind == ROW_OTHER ? add_mount(r, hash, &copy)
					: registry_mount_slot(r, &other);
}

size_t registry_job_find_mount(const struct registry_job *j, uint32_t slot)
{
	size_t low = 0, high = j->mount_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (j->mounts[middle] < slot)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t registry_job_mount(struct registry_job *j, uint32_t slot)
{
	size_t at = registry_job_find_mount(j, slot);
	uint32_t *larger;

	if (at < j->mount_count && j->mounts[at] == slot)
		return slot;
	if (j->mount_count + 1 >= MOUNTS_JOB_MAX &&
	    j->registry->mounts[slot].mount.kind != ROW_OTHER) {
		slot = registry_mount_slot(j->registry, &other);
		return slot == MOUNTS_MAX ? slot : registry_job_mount(j, slot);
	}
	larger = reallocarray(j->mounts, j->mount_count + 1, sizeof(*larger));
	if (!larger)
		return MOUNTS_MAX;
	j->mounts = larger;
	memmove(larger + at + 1, larger + at, (j->mount_count - at) * sizeof(*larger));
	larger[at] = slot;
	j->mount_count++;
	return slot;
}

void registry_mounts_sweep(struct registry *r)
{
	for (size_t i = 0; i < r->mount_room; i++)
		r->mounts[i].is_marked = false;
	for (size_t i = 0; i < r->job_count; i++) {
		for (size_t k = 0; k < r->jobs[i]->mount_count; k++)
			r->mounts[r->jobs[i]->mounts[k]].is_marked = true;
	}
	for (size_t i = 0; i < r->row_count; i++)
		r->mounts[r->rows[i].mount].is_marked = true;
	for (size_t i = 0; i < r->mount_room; i++) {
		struct registry_mount *m = &r->mounts[i];

		if (!m->is_used || m->is_marked)
			continue;
		idmap_remove(&r->mounts_by_name, m->hash);
		snapshot_mount_clear(&m->mount);
		*m = (struct registry_mount){};
	}
}

/* ---- rows ---- */

int registry_row_compare(const void *a, const void *b)
{
	const struct registry_row *x = a, *y = b;

	if (x->mount != y->mount)
		return x->mount < y->mount ? -1 : 1;
	return x->op != y->op ? x->op - y->op : x->interface - y->interface;
}

void registry_counts_add(struct file_counts *to, const struct file_counts *from)
{
	to->calls += from->calls;
	to->errors += from->errors;
	to->ns += from->ns;
	to->amount += from->amount;
}

size_t registry_rows_sum(struct registry_row *rows, size_t count)
{
	size_t kept = 0;

	if (count > 1)
		qsort(rows, count, sizeof(*rows), registry_row_compare);
	for (size_t i = 1; i < count; i++) {
		if (registry_row_compare(&rows[kept], &rows[i]) == 0)
			registry_counts_add(&rows[kept].counts, &rows[i].counts);
		else
			rows[++kept] = rows[i];
	}
	return count ? kept + 1 : 0;
}

int registry_rows_append(struct registry_row **rows, size_t *count, const struct registry_group *g,
			 struct registry_job *j)
{
	struct registry_row *larger;

	if (!g->row_count)
		return 0;
	larger = reallocarray(*rows, *count + g->row_count, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	*rows = larger;
	for (size_t i = 0; i < g->row_count; i++) {
		struct registry_row *row = &larger[*count + i];

		*row = j->registry->rows[g->first_row + i];
		row->mount = registry_job_mount(j, row->mount);
		if (row->mount == MOUNTS_MAX)
			return -ENOMEM;
	}
	*count += g->row_count;
	return 0;
}
