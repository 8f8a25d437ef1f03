/* SPDX-License-Identifier: MIT */
#include "counters/cgroups.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "load/entries.h"
#include "basic/error.h"
#include "basic/ids.h"
#include "basic/macro.h"
#include "load/meter.h"
#include "bpf/block_rows.h" /* the kernel side's */
#include "bpf/settings.h"
#include "counters/task_sums.h"

static_assert(GROUP_PATH_SIZE == GROUPS_PATH, "as long as the kernel side's");

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

int cgroups_list_groups(struct meter *m, struct group_life **ret, size_t *ret_count,
			struct error *err)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_LIFE,
								  "groups");
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	_cleanup_free_ struct group_life *groups = NULL;
	size_t count = 0, room = 0;
	int r = 0;

	while (r >= 0 && (r = entries_next(&e)) > 0) {
		r = array_reserve(&groups, &room, count, sizeof(*groups));
		if (r == 0)
			group_life_fill(*(const uint64_t *)e.key, e.value, page_bytes,
					&groups[count++]);
	}
	if (r < 0)
		return error_set_errno(err, r, "cannot read the kernel side's groups");
	*ret_count = count;
	*ret = TAKE_PTR(groups);
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
	*ret = sums.items;
	*ret_count = sums.count;
	return 0;
}

#define BASES_AT_ONCE 512
#define TRIES 50

/* The kernel may lack room for one task at this moment.  1: it still did when all @tries were made,
 * which are counted down. */
static int run_iterator(struct meter *m, uint64_t until_ns, unsigned int *tries)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct watch *watch = meter_objects(m)->watches[OBJECT_TASKS];

	for (;;) {
		struct sums sums = {};
		bool has_missed;
		int r;

		watch->has_missed = 0;
		watch->counted_until_ns = until_ns;
		r = task_sums_read(meter_objects(m), 0, NULL, &sums);
		watch->counted_until_ns = 0;
		task_sums_clear(&sums);
		has_missed = __atomic_exchange_n(&watch->has_missed, 0, __ATOMIC_SEQ_CST);
		if (r < 0 || !has_missed)
			return r < 0 ? r : 0;
		if (!*tries)
			return 1;
		--*tries;
		nanosleep(&pause, NULL);
	}
}

/* Let the iterator run, which takes off what @bases say, and all of others that were there by
 * @until_ns.  1: as run_iterator(). */
static int take_off_part(struct meter *m, int fd, const struct task_base *bases, size_t count,
			 uint64_t until_ns, unsigned int *tries)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < count; i++) {
		const struct earlier_task task = { bases[i].started_ns, bases[i].counters };
		uint64_t pid = bases[i].pid;

		r = bpf_map_update_elem(fd, &pid, &task, BPF_ANY) < 0 ? -errno : 0;
	}
	if (r >= 0)
		r = run_iterator(m, until_ns, tries);
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
	unsigned int tries = TRIES; /* of all parts: a full table stays full */
	bool has_missed = false;

	if (fd < 0 || !meter_objects(m)->watches[OBJECT_TASKS]) /* tasks are not counted */
		return 0;
	for (size_t i = 0; r >= 0 && i < bases->count; i += BASES_AT_ONCE) {
		r = take_off_part(m, fd, bases->items + i,
				  MIN(bases->count - i, (size_t)BASES_AT_ONCE), nobody, &tries);
		has_missed |= r > 0;
	}
	if (r >= 0)
		r = take_off_part(m, fd, NULL, 0, until_ns, &tries);
	has_missed |= r > 0;
	return r < 0 ? error_set_errno(err, r, "cannot take off what tasks did before")
		     : has_missed;
}

/* ---- cores ---- */

int cgroups_read_cores(struct meter *m, struct cgroup_core **ret, size_t *ret_count,
		       struct error *err)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_TIME,
								  "task_times");
	const uint64_t only = meter_only_cgroup(m);
	_cleanup_free_ struct cgroup_core *cores = NULL;
	size_t count = 0, room = 0;
	int r = 0;

	while (e.fd >= 0 && r >= 0 && (r = entries_next(&e)) > 0) {
		const struct cgroup_cpu *key = e.key;
		const struct task_times *times = e.value;

		if (!times->on)
			continue;
		r = array_reserve(&cores, &room, count, sizeof(*cores));
		if (r == 0)
			cores[count++] = (struct cgroup_core){ .cgroup = only ? only : key->cgroup,
							       .on_ns = times->on,
							       .cpu = key->cpu };
	}
	if (r < 0)
		return error_set_errno(err, r, "cannot read the kernel side's times");
	*ret_count = count;
	*ret = TAKE_PTR(cores);
	return 0;
}

/* ---- rows ---- */

struct file_counts cgroups_counts_of(const struct file_row *row)
{
	return (struct file_counts){
		.calls = row->calls, .errors = row->errors, .ns = row->ns, .amount = row->amount
	};
}

struct row_list {
	struct cgroup_row *items;
	size_t count, room;
	uint64_t only; /* meter_only_cgroup() */
};

static int add_row(struct row_list *to, const struct file_key *key, struct file_counts counts)
{
	if (array_reserve(&to->items, &to->room, to->count, sizeof(*to->items)) < 0)
		return -ENOMEM;
	to->items[to->count] = (struct cgroup_row){ *key, counts };
	if (to->only)
		to->items[to->count].key.cgroup = to->only;
	to->count++;
	return 0;
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
static int list_other_rows(int fd, struct row_list *to)
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
			int r = per_cpu[cpu].calls ? add_row(to, &key, per_cpu[cpu]) : 0;

			if (r < 0)
				return r;
		}
	}
	return 0;
}

int cgroups_read_rows(struct meter *m, struct cgroup_row **ret, size_t *ret_count,
		      struct error *err)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_FILES,
								  "file_rows");
	struct row_list list = { .only = meter_only_cgroup(m) };
	int r = 0;

	while (r >= 0 && (r = entries_next(&e)) > 0)
		r = add_row(&list, e.key, cgroups_counts_of(e.value));
	if (r >= 0)
		r = list_other_rows(map_fd(m, OBJECT_FILES, "other_rows"), &list);
	if (r < 0) {
		free(list.items);
		return error_set_errno(err, r, "cannot read the kernel side's rows of files");
	}
	*ret_count = list.count;
	*ret = list.items;
	return 0;
}

/* ---- histograms ---- */

int cgroups_read_histograms(struct meter *m, const uint64_t *cgroups, size_t count,
			    struct cgroup_histograms **ret, size_t *ret_count, struct error *err)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_FILES,
								  "file_histograms");
	const uint64_t only = meter_only_cgroup(m);
	_cleanup_free_ struct cgroup_histograms *found = NULL;
	size_t found_count = 0, room = 0;
	int r = 0;

	while (count && r >= 0 && (r = entries_next(&e)) > 0) {
		const struct file_key *key = e.key;
		struct cgroup_histograms *item;

		if (!only && !ids_contain(cgroups, count, key->cgroup))
			continue;
		r = array_reserve(&found, &room, found_count, sizeof(*found));
		if (r < 0)
			break;
		item = &found[found_count++];
		item->key = *key;
		if (only)
			item->key.cgroup = only;
		memcpy(&item->histograms, e.value, sizeof(item->histograms));
	}
	if (r < 0)
		return error_set_errno(err, r, "cannot read the kernel side's histograms");
	*ret_count = found_count;
	*ret = TAKE_PTR(found);
	return 0;
}

/* ---- block devices ---- */

static_assert((int)BLOCK_DOES_READ == BLOCK_READ && (int)BLOCK_DOES_WRITE == BLOCK_WRITE &&
		      (int)BLOCK_DOES_DISCARD == BLOCK_DISCARD &&
		      (int)BLOCK_DOES_FLUSH == BLOCK_FLUSH && (int)BLOCK_DOES == BLOCK_OP_COUNT,
	      "both number operations alike");
static_assert(BLOCK_BUCKETS == HISTOGRAM_BUCKETS && BLOCK_NAME == BLOCK_DEVICE_SIZE,
	      "and have as much room");

static bool fill_block(uint32_t op, const struct block_value *value, struct block_row *ret)
{
	if (op >= BLOCK_OP_COUNT)
		return false;
	*ret = (struct block_row){ .op = (enum block_op)op };
	memcpy(ret->device, *value->name ? value->name : BLOCK_OTHER,
	       *value->name ? sizeof(ret->device) : sizeof(BLOCK_OTHER));
	ret->device[sizeof(ret->device) - 1] = '\0';
	ret->counts.bytes = value->bytes;
	ret->counts.requests = value->requests;
	ret->counts.errors = value->errors;
	ret->counts.ns = value->ns;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		ret->counts.latencies.counts[i] = value->latencies[i];
	return true;
}

int cgroups_read_blocks(struct meter *m, struct cgroup_block **ret, size_t *ret_count)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_BLOCK,
								  "block_rows");
	const uint64_t only = meter_only_cgroup(m);
	_cleanup_free_ struct cgroup_block *blocks = NULL;
	size_t count = 0, room = 0;
	int r = 0;

	while (e.fd >= 0 && (r = entries_next(&e)) > 0) {
		const struct block_key *key = e.key;

		if (array_reserve(&blocks, &room, count, sizeof(*blocks)) < 0)
			return -ENOMEM;
		blocks[count].cgroup = only ? only : key->cgroup;
		count += fill_block(key->op, e.value, &blocks[count].row);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(blocks);
	*ret_count = count;
	return 0;
}

/* ---- what the OOM killer ended ---- */

static struct value bytes_of(const struct oom_kill_entry *from, uint64_t pages, uint64_t page_bytes)
{
	return (struct value){ from->has_pages ? pages * page_bytes : 0, from->has_pages != 0 };
}

struct oom_kill oom_kill_describe(const struct oom_kill_entry *from, uint64_t boot_ns,
				  uint64_t real_ns, uint64_t page_bytes)
{
	uint64_t since_ns = boot_ns - MIN(boot_ns, from->killed_ns);
	struct oom_kill oom_kill = {
		.time_ns = real_ns - MIN(real_ns, since_ns),
		.pid = (int)from->pid,
		.uid = from->uid,
		.rss = bytes_of(from, from->anon_pages + from->file_pages + from->shmem_pages,
				page_bytes),
		.anon = bytes_of(from, from->anon_pages, page_bytes),
		.file = bytes_of(from, from->file_pages, page_bytes),
		.shmem = bytes_of(from, from->shmem_pages, page_bytes),
	};

	snprintf(oom_kill.command, sizeof(oom_kill.command), "%.*s", (int)sizeof(from->command),
		 from->command);
	return oom_kill;
}

int cgroups_visit_kills(struct meter *m,
			int (*visit)(void *context, uint64_t cgroup, const struct oom_kill *kill),
			void *context)
{
	const uint64_t boot_ns = clock_now_ns(CLOCK_BOOTTIME),
		       real_ns = clock_now_ns(CLOCK_REALTIME);
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), only = meter_only_cgroup(m);
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_TASKS,
								  "oom_kills_by_task");
	int r = 0;

	while (e.fd >= 0 && r >= 0 && (r = entries_next(&e)) > 0) {
		const struct oom_kill kill = oom_kill_describe(e.value, boot_ns, real_ns,
							       page_bytes);
		const struct cgroup_cpu *key = e.key;

		r = visit(context, only ? only : key->cgroup, &kill);
	}
	return r;
}

int cgroups_count_kills(struct meter *m, uint64_t *ret)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_TASKS,
								  "oom_kills_by_task");
	int r = 0;

	*ret = 0;
	while (e.fd >= 0 && (r = entries_next(&e)) > 0)
		*ret += 1 + ((const struct oom_kill_entry *)e.value)->more;
	return r;
}
