/* SPDX-License-Identifier: MIT */
/* Task sums out of the kernel side's maps and its iterator. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "load/entries.h"
#include "basic/macro.h"
#include "load/objects.h"
#include "counters/task_sums.h"
#include "load/meter.h"
#include "bpf/traffic.h"

#define ZOMBIES_EVERY_MS 20 /* most tasks are freed sooner; the iterator looks at all tasks */

static int visit_totals(void *sums, const void *key, const void *value)
{
	return task_sums_add_totals(sums, ((const struct cgroup_cpu *)key)->cgroup, value);
}

static int visit_times(void *sums, const void *key, const void *value)
{
	return task_sums_add_times(sums, ((const struct cgroup_cpu *)key)->cgroup, value);
}

static int visit_polls(void *sums, const void *key, const void *value)
{
	return task_sums_add_polls(sums, ((const struct cgroup_cpu *)key)->cgroup, value);
}

static int visit_traffic(void *sums, const void *key, const void *value)
{
	const struct traffic_key *its = key;

	return its->kind < TRAFFIC_KINDS
		       ? task_sums_add_traffic(sums, its->cgroup, its->kind, value)
		       : 0;
}

static const struct source_map {
	enum object_id object;
	const char *name;
	size_t key_size, value_size;
	int (*visit)(void *sums, const void *key, const void *value);
} totals_map = { OBJECT_TASKS, "task_totals", sizeof(struct cgroup_cpu), sizeof(struct task_totals),
		 visit_totals },
  other_maps[] = {
	  { OBJECT_TIME, "task_times", sizeof(struct cgroup_cpu), sizeof(struct task_times),
	    visit_times },
	  { OBJECT_FILES, "polls", sizeof(struct cgroup_cpu), sizeof(struct polls), visit_polls },
	  { OBJECT_FILES, "traffic_rows", sizeof(struct traffic_key), sizeof(struct traffic_counts),
	    visit_traffic },
  };

/* Nothing where its object is not there. */
static int read_map(const struct objects *o, const struct source_map *map, struct sums *to)
{
	int fd = objects_map_fd(o, map->object, map->name);

	return fd < 0 ? 0 : entries_visit(fd, map->key_size, map->value_size, map->visit, to);
}

/* All the iterator's records, that the caller frees.  Without an iterator there are none. */
static int read_live_tasks(const struct objects *o, struct task_record **ret, size_t *ret_count)
{
	int link = objects_link_fd(o, "read_tasks");
	_cleanup_close_ int fd = -EBADF;
	_cleanup_free_ char *buffer = NULL;
	size_t used = 0, size = 0;

	if (link < 0)
		return 0;
	fd = bpf_iter_create(link);
	if (fd < 0)
		return fd;
	for (;;) {
		ssize_t n;

		if (size - used < 16384) {
			char *larger = realloc(buffer, size = size * 2 + 65536);

			if (!larger)
				return -ENOMEM;
			buffer = larger;
		}
		n = read(fd, buffer + used, size - used);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	*ret = (struct task_record *)TAKE_PTR(buffer);
	*ret_count = used / sizeof(struct task_record);
	return 0;
}

struct leaving_list {
	struct leaving_task *items;
	size_t count, room;
};

static void leaving_list_clear(struct leaving_list *l)
{
	free(l->items);
}

static int visit_leaving(void *list, const void *key UNUSED, const void *value)
{
	struct leaving_list *l = list;

	if (array_reserve(&l->items, &l->room, l->count, sizeof(*l->items)) < 0)
		return -ENOMEM;
	l->items[l->count++] = *(const struct leaving_task *)value;
	return 0;
}

static int read_leaving(const struct objects *o, struct leaving_list *ret)
{
	return entries_visit(objects_map_fd(o, OBJECT_TASKS, "leaving_tasks"), sizeof(uint64_t),
			     sizeof(struct leaving_task), visit_leaving, ret);
}

static int visit_settled(void *sum, const void *key UNUSED, const void *value)
{
	const struct task_totals *totals = value;

	*(uint64_t *)sum += totals->exits - totals->frees;
	return 0;
}

static uint64_t count_leaving(const struct objects *o)
{
	uint64_t sum = 0;

	(void)entries_visit(objects_map_fd(o, OBJECT_TASKS, "task_totals"),
			    sizeof(struct cgroup_cpu), sizeof(struct task_totals), visit_settled,
			    &sum);
	return sum;
}

static int compare_pids(const void *a, const void *b)
{
	uint32_t x = ((const struct task_record *)a)->pid, y = ((const struct task_record *)b)->pid;

	return x < y ? -1 : x > y;
}

/* A zombie is freed when its parent waits for it, which may be never: its counters are final, and
 * the iterator shows them. */
static bool are_zombies(const struct objects *o)
{
	_cleanup_(leaving_list_clear) struct leaving_list leaving = {};
	_cleanup_free_ struct task_record *tasks = NULL;
	size_t count = 0;

	if (read_live_tasks(o, &tasks, &count) < 0 || read_leaving(o, &leaving) < 0 || !count)
		return false;
	qsort(tasks, count, sizeof(*tasks), compare_pids);
	for (size_t i = 0; i < leaving.count; i++) {
		struct task_record key = { .pid = leaving.items[i].pid };
		const struct task_record *task = bsearch(&key, tasks, count, sizeof(key),
							 compare_pids);

		if (!task || !task->is_zombie)
			return false;
	}
	return count_leaving(o) == leaving.count;
}

int task_sums_wait(const struct meter *m, int timeout_ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const struct objects *o = meter_objects(m);

	if (!meter_is_on(m, "count_freed_task") || !meter_is_on(m, "count_exit"))
		return 0;
	for (int waited = 0; waited < timeout_ms; waited++) {
		if (count_leaving(o) == 0)
			return 0;
		if (waited % ZOMBIES_EVERY_MS == ZOMBIES_EVERY_MS - 1 && are_zombies(o))
			return 0;
		nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

static int read_tasks(const struct objects *o, struct sums *to)
{
	_cleanup_(leaving_list_clear) struct leaving_list leaving = {};
	_cleanup_free_ struct task_record *live = NULL;
	size_t live_count = 0;
	struct timespec now;
	int r;

	clock_gettime(CLOCK_BOOTTIME, &now);
	/* The totals before the others: a task that is freed between is missed this time, and not
	 * counted twice. */
	r = read_map(o, &totals_map, to);
	if (r >= 0)
		r = read_live_tasks(o, &live, &live_count);
	if (r >= 0)
		r = read_leaving(o, &leaving);
	if (r >= 0)
		r = task_sums_add_tasks(to, live, live_count, leaving.items, leaving.count,
					(uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	return r;
}

int task_sums_read(const struct objects *o, uint64_t only, struct task_bases *bases,
		   struct sums *ret)
{
	_cleanup_(task_sums_clear) struct sums t = { .only = only, .bases = bases };
	int r = 0;

	if (objects_map_fd(o, OBJECT_TASKS, "task_totals") >= 0)
		r = read_tasks(o, &t);
	if (r >= 0)
		r = objects_iterate(o, "charge_tasks"); /* waits that go on, and tasks not known yet
							 */
	for (size_t i = 0; i < ARRAY_SIZE(other_maps) && r >= 0; i++)
		r = read_map(o, &other_maps[i], &t);
	if (r < 0)
		return r;
	task_sums_settle(&t);
	*ret = t;
	t = (struct sums){};
	return 0;
}
