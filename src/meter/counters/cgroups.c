/* SPDX-License-Identifier: MIT */
#include "counters/cgroups.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "load/entries.h"
#include "basic/error.h"
#include "bpf/groups.h"
#include "basic/ids.h"
#include "basic/macro.h"
#include "load/meter.h"
#include "bpf/settings.h"
#include "counters/task_sums.h"

static_assert(GROUP_PATH_SIZE == GROUPS_PATH, "as long as the kernel side's");

/* ---- a list that grows ---- */

struct list {
	char *items;
	size_t count, room, item_size;
	uint64_t only; /* meter_only_cgroup() */
};

static void list_clear(struct list *l)
{
	free(l->items);
	l->items = NULL;
}

/* Room for one more, at the end; NULL: no memory. */
static void *add_item(struct list *l)
{
	if (array_reserve(&l->items, &l->room, l->count, l->item_size) < 0)
		return NULL;
	return l->items + l->count++ * l->item_size;
}

static int map_fd(const struct meter *m, enum object_id id, const char *map)
{
	return objects_map_fd(meter_objects(m), id, map);
}

/* ---- groups ---- */

uint64_t cgroups_generation(const struct meter *m)
{
	int fd = map_fd(m, OBJECT_LIFE, "generations");
	uint64_t sum = 0, value;

	for (uint32_t i = 0; i < GENERATION_COUNT; i++) {
		if (bpf_map_lookup_elem(fd, &i, &value) == 0)
			sum += value;
	}
	return sum;
}

void group_life_fill(uint64_t id, const struct group_entry *from, uint64_t page_bytes,
		     struct group_life *ret)
{
	*ret = (struct group_life){
		.id = id,
		.answers = from->answers,
		.parent = from->parent,
		.born_ns = from->born_ns,
		.died_ns = from->died_ns,
		.peak_bytes = from->peak_pages * page_bytes,
		.oom_kills = from->oom_kills,
		.has_oom_kills = from->has_oom_kills,
		.maker_uid = from->maker_uid,
		.is_delegated = from->is_delegated,
		.is_cut = from->is_cut,
	};
	memcpy(ret->path, from->path, sizeof(ret->path));
	ret->path[sizeof(ret->path) - 1] = '\0';
}

static int visit_group(void *list, const void *key, const void *value)
{
	struct group_life *life = add_item(list);

	if (!life)
		return -ENOMEM;
	group_life_fill(*(const uint64_t *)key, value, (uint64_t)sysconf(_SC_PAGESIZE), life);
	return 0;
}

int cgroups_list_groups(struct meter *m, struct group_life **ret, size_t *ret_count,
			struct error *err)
{
	_cleanup_(list_clear) struct list list = { .item_size = sizeof(struct group_life) };
	int r = entries_visit(map_fd(m, OBJECT_LIFE, "groups"), sizeof(uint64_t),
			      sizeof(struct group_entry), visit_group, &list);

	if (r < 0)
		return error_set_errno(err, r, "cannot read the kernel side's groups");
	*ret_count = list.count;
	*ret = (struct group_life *)TAKE_PTR(list.items);
	return 0;
}

/* ---- tasks ---- */

int cgroups_read_tasks(struct meter *m, struct cgroup_tasks **ret, size_t *ret_count,
		       struct task_bases *bases, struct error *err)
{
	struct sums sums;
	int r = task_sums_read(meter_objects(m), meter_only_cgroup(m), bases, &sums);

	if (r < 0)
		return error_set_errno(err, r, "cannot read the kernel side's tasks");
	free(sums.index);
	*ret = sums.items;
	*ret_count = sums.count;
	return 0;
}

#define BASES_AT_ONCE 512

/* Let the iterator run, which takes off what @bases say, and all of others that were there by
 * @until_ns. */
static int take_off_part(struct meter *m, int fd, const struct task_base *bases, size_t count,
			 uint64_t until_ns)
{
	struct watch *watch = meter_objects(m)->watches[OBJECT_TASKS];
	struct sums sums = {};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < count; i++) {
		const struct earlier_task task = { bases[i].started_ns, bases[i].counters };
		uint64_t pid = bases[i].pid;

		r = bpf_map_update_elem(fd, &pid, &task, BPF_ANY) < 0 ? -errno : 0;
	}
	if (r >= 0) {
		watch->counted_until_ns = until_ns;
		r = task_sums_read(meter_objects(m), 0, NULL, &sums);
		watch->counted_until_ns = 0;
	}
	if (r >= 0)
		task_sums_clear(&sums);
	for (size_t i = 0; i < count; i++) {
		uint64_t pid = bases[i].pid;

		(void)bpf_map_delete_elem(fd, &pid);
	}
	return r;
}

int cgroups_take_off(struct meter *m, const struct task_bases *bases, uint64_t until_ns,
		     struct error *err)
{
	const uint64_t nobody = 1; /* was there by then */
	int fd = map_fd(m, OBJECT_TASKS, "earlier_tasks"), r = 0;

	if (fd < 0 || !meter_objects(m)->watches[OBJECT_TASKS]) /* tasks are not counted */
		return 0;
	for (size_t i = 0; r >= 0 && i < bases->count; i += BASES_AT_ONCE)
		r = take_off_part(m, fd, bases->items + i,
				  MIN(bases->count - i, (size_t)BASES_AT_ONCE), nobody);
	if (r >= 0)
		r = take_off_part(m, fd, NULL, 0, until_ns);
	return r < 0 ? error_set_errno(err, r, "cannot take off what tasks did before") : 0;
}

/* ---- cores ---- */

static int visit_core(void *list, const void *key, const void *value)
{
	const struct cgroup_cpu *its = key;
	const struct task_times *times = value;
	struct list *l = list;
	struct cgroup_core *core = times->on ? add_item(l) : NULL;

	if (core)
		*core = (struct cgroup_core){ .cgroup = l->only ? l->only : its->cgroup,
					      .on_ns = times->on,
					      .cpu = its->cpu };
	return !core && times->on ? -ENOMEM : 0;
}

int cgroups_read_cores(struct meter *m, struct cgroup_core **ret, size_t *ret_count,
		       struct error *err)
{
	_cleanup_(list_clear) struct list list = { .item_size = sizeof(struct cgroup_core),
						   .only = meter_only_cgroup(m) };
	int fd = map_fd(m, OBJECT_TIME, "task_times");
	int r = fd < 0 ? 0
		       : entries_visit(fd, sizeof(struct cgroup_cpu), sizeof(struct task_times),
				       visit_core, &list);

	if (r < 0)
		return error_set_errno(err, r, "cannot read the kernel side's times");
	*ret_count = list.count;
	*ret = (struct cgroup_core *)TAKE_PTR(list.items);
	return 0;
}

/* ---- rows ---- */

struct file_counts cgroups_counts_of(const struct file_row *row)
{
	return (struct file_counts){
		.calls = row->calls, .errors = row->errors, .ns = row->ns, .amount = row->amount
	};
}

static int add_row(struct list *to, const struct file_key *key, const struct file_counts *counts)
{
	struct cgroup_row *row = add_item(to);

	if (!row)
		return -ENOMEM;
	*row = (struct cgroup_row){ *key, *counts };
	if (to->only)
		row->key.cgroup = to->only;
	return 0;
}

static int visit_row(void *list, const void *key, const void *value)
{
	const struct file_counts counts = cgroups_counts_of(value);

	return add_row(list, key, &counts);
}

/* The way back from OTHER_ROW(). */
static struct file_key other_key(uint32_t other, int cpu)
{
	struct file_key key = { .cgroup = CGROUP_OTHER,
				.place = PLACE_OTHER,
				.cpu = (uint16_t)cpu };

	if (other < FILES_OPS) {
		key.op = (uint8_t)other;
	} else {
		key.op = (uint8_t)((other - FILES_OPS) % 2);
		key.interface = (uint8_t)((other - FILES_OPS) / 2);
	}
	return key;
}

/* What the kernel side had no room for. */
static int list_other_rows(int fd, struct list *to)
{
	unsigned int cpus = sizing_cpus();
	_cleanup_free_ struct file_counts *per_cpu = calloc(cpus, sizeof(*per_cpu));

	if (!per_cpu)
		return -ENOMEM;
	for (uint32_t other = 0; other < OTHER_ROWS; other++) {
		if (bpf_map_lookup_elem(fd, &other, per_cpu) < 0)
			return -errno;
		for (unsigned int cpu = 0; cpu < cpus; cpu++) {
			const struct file_key key = other_key(other, (int)cpu);
			int r = per_cpu[cpu].calls ? add_row(to, &key, &per_cpu[cpu]) : 0;

			if (r < 0)
				return r;
		}
	}
	return 0;
}

int cgroups_read_rows(struct meter *m, struct cgroup_row **ret, size_t *ret_count,
		      struct error *err)
{
	_cleanup_(list_clear) struct list list = { .item_size = sizeof(struct cgroup_row),
						   .only = meter_only_cgroup(m) };
	int r = entries_visit(map_fd(m, OBJECT_FILES, "file_rows"), sizeof(struct file_key),
			      sizeof(struct file_row), visit_row, &list);

	if (r >= 0)
		r = list_other_rows(map_fd(m, OBJECT_FILES, "other_rows"), &list);
	if (r < 0)
		return error_set_errno(err, r, "cannot read the kernel side's rows of files");
	*ret_count = list.count;
	*ret = (struct cgroup_row *)TAKE_PTR(list.items);
	return 0;
}

/* ---- histograms ---- */

struct search {
	const uint64_t *cgroups;
	size_t count;
	struct list found;
};

static int visit_histograms(void *context, const void *key, const void *value)
{
	const struct file_key *its = key;
	struct search *search = context;
	struct cgroup_histograms *item;

	if (!search->found.only && !ids_contain(search->cgroups, search->count, its->cgroup))
		return 0;
	item = add_item(&search->found);
	if (!item)
		return -ENOMEM;
	item->key = *its;
	if (search->found.only)
		item->key.cgroup = search->found.only;
	memcpy(&item->histograms, value, sizeof(item->histograms));
	return 0;
}

int cgroups_read_histograms(struct meter *m, const uint64_t *cgroups, size_t count,
			    struct cgroup_histograms **ret, size_t *ret_count, struct error *err)
{
	struct search search = { cgroups,
				 count,
				 { .item_size = sizeof(struct cgroup_histograms),
				   .only = meter_only_cgroup(m) } };
	int r = 0;

	if (count)
		r = entries_visit(map_fd(m, OBJECT_FILES, "file_histograms"),
				  sizeof(struct file_key), sizeof(struct file_histograms),
				  visit_histograms, &search);
	if (r < 0) {
		list_clear(&search.found);
		return error_set_errno(err, r, "cannot read the kernel side's histograms");
	}
	*ret_count = search.found.count;
	*ret = (struct cgroup_histograms *)search.found.items;
	return 0;
}
