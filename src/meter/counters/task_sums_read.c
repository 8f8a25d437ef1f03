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
#include "load/objects.h"
#include "counters/task_sums.h"
#include "load/meter.h"
#include "bpf/traffic.h"

#define ZOMBIES_EVERY_MS 20 /* most tasks are freed sooner; the iterator looks at all tasks */

enum source { TOTALS, TIMES, POLLS, TRAFFIC, SOURCE_COUNT };

static const struct {
	enum object_id object;
	const char *name; /* a map, whose keys begin with a cgroup */
} sources[SOURCE_COUNT] = {
	[TOTALS] = { OBJECT_TASKS, "task_totals" },
	[TIMES] = { OBJECT_TIME, "task_times" },
	[POLLS] = { OBJECT_FILES, "polls" },
	[TRAFFIC] = { OBJECT_FILES, "traffic_rows" },
};

static int add_entry(struct sums *to, enum source source, const struct entries *e)
{
	const uint64_t cgroup = *(const uint64_t *)e->key;
	uint32_t kind;

	switch (source) {
	case TOTALS:
		return task_sums_add_totals(to, cgroup, e->value);
	case TIMES:
		return task_sums_add_times(to, cgroup, e->value);
	case POLLS:
		return task_sums_add_polls(to, cgroup, e->value);
	default:
		kind = ((const struct traffic_key *)e->key)->kind;
		return kind < TRAFFIC_KINDS ? task_sums_add_traffic(to, cgroup, kind, e->value) : 0;
	}
}

/* Adds nothing where the object is not loaded. */
static int read_map(const struct objects *o, enum source source, struct sums *to)
{
	_cleanup_(entries_end) struct entries e = objects_entries(o, sources[source].object,
								  sources[source].name);
	int r = 0;

	while (e.fd >= 0 && r >= 0 && (r = entries_next(&e)) > 0)
		r = add_entry(to, source, &e);
	return r;
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

/* That the caller frees, also on failure. */
static int read_leaving(const struct objects *o, struct leaving_task **ret, size_t *ret_count)
{
	_cleanup_(entries_end) struct entries e = objects_entries(o, OBJECT_TASKS, "leaving_tasks");
	size_t room = 0;
	int r = 0;

	while (r >= 0 && (r = entries_next(&e)) > 0) {
		r = array_reserve(ret, &room, *ret_count, sizeof(**ret));
		if (r == 0)
			(*ret)[(*ret_count)++] = *(const struct leaving_task *)e.value;
	}
	return r;
}

static uint64_t count_leaving(const struct objects *o)
{
	_cleanup_(entries_end) struct entries e = objects_entries(o, OBJECT_TASKS, "task_totals");
	uint64_t sum = 0;

	while (entries_next(&e) > 0) {
		const struct task_totals *totals = e.value;

		sum += totals->exits - totals->frees;
	}
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
	_cleanup_free_ struct leaving_task *leaving = NULL;
	_cleanup_free_ struct task_record *tasks = NULL;
	size_t count = 0, leaving_count = 0;

	if (read_live_tasks(o, &tasks, &count) < 0 ||
	    read_leaving(o, &leaving, &leaving_count) < 0 || !count)
		return false;
	qsort(tasks, count, sizeof(*tasks), compare_pids);
	for (size_t i = 0; i < leaving_count; i++) {
		struct task_record key = { .pid = leaving[i].pid };
		const struct task_record *task = bsearch(&key, tasks, count, sizeof(key),
							 compare_pids);

		if (!task || !task->is_zombie)
			return false;
	}
	return count_leaving(o) == leaving_count;
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
	_cleanup_free_ struct leaving_task *leaving = NULL;
	_cleanup_free_ struct task_record *live = NULL;
	size_t live_count = 0, leaving_count = 0;
	struct timespec now;
	int r;

	clock_gettime(CLOCK_BOOTTIME, &now);
	/* The totals before the others: a task that is freed between is missed this time, and not
	 * counted twice. */
	r = read_map(o, TOTALS, to);
	if (r >= 0)
		r = read_live_tasks(o, &live, &live_count);
	if (r >= 0)
		r = read_leaving(o, &leaving, &leaving_count);
	if (r >= 0)
		r = task_sums_add_tasks(to, live, live_count, leaving, leaving_count,
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
		r = objects_iterate(o, "charge_tasks"); /* waits in progress, and new tasks */
	for (int source = TIMES; source < SOURCE_COUNT && r >= 0; source++)
		r = read_map(o, (enum source)source, &t);
	if (r < 0)
		return r;
	task_sums_settle(&t);
	*ret = t;
	t = (struct sums){};
	return 0;
}
