/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cleanup.h"
#include "collectors.h"
#include "macro.h"
#include "objects.h"
#include "task_metrics.h"
#include "tasks.h"

struct sums {
	struct task_counters ended;
	uint64_t exits, frees, process_peak_pages;
};

static void sum_totals(const struct objects *objects, struct sums *ret)
{
	int fd = objects_map_fd(objects, OBJECT_TASKS, "task_totals");
	struct leaf_cpu key, *previous = NULL;
	struct task_totals totals;

	*ret = (struct sums){};
	for (; bpf_map_get_next_key(fd, previous, &key) == 0; previous = &key) {
		if (bpf_map_lookup_elem(fd, &key, &totals) < 0)
			continue;
		for (size_t i = 0; i < TASK_COUNTERS; i++)
			((uint64_t *)&ret->ended)[i] += ((uint64_t *)&totals.ended)[i];
		ret->exits += totals.exits;
		ret->frees += totals.frees;
		ret->process_peak_pages = MAX(ret->process_peak_pages, totals.process_peak_pages);
	}
}

bool tasks_are_settled(const struct objects *objects)
{
	struct sums sums;

	sum_totals(objects, &sums);
	return sums.exits == sums.frees;
}

/* All the iterator's records, that the caller frees. */
static int read_live_tasks(const struct objects *objects, struct task_record **ret,
			   size_t *ret_count)
{
	int link = objects_link_fd(objects, "read_tasks");
	_cleanup_close_ int fd = -EBADF;
	_cleanup_free_ char *buffer = NULL;
	size_t used = 0, size = 0;

	if (link < 0)
		return link;
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

/* By process, its main thread first: pids may wrap, so a thread's can be the smaller. */
static int compare_tasks(const void *a, const void *b)
{
	const struct task_record *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return (x->pid != x->tgid) - (y->pid != y->tgid);
}

/* As the kernel splits a process' time for getrusage(2): see split_time() of the kernel side. */
static void split_time(uint64_t user, uint64_t system, uint64_t exec, uint64_t said_user,
		       uint64_t said_system, struct task_counters *ret)
{
	if (said_user + said_system >= exec) {
		ret->user_ns = said_user;
		ret->system_ns = said_system;
		return;
	}
	if (system && !user)
		system = exec;
	else if (system)
		system = (uint64_t)((__uint128_t)system * exec / (user + system));
	system = MAX(system, said_system);
	if (exec - system < said_user)
		system = exec - said_user;
	ret->system_ns = system;
	ret->user_ns = exec - system;
}

/* Turn the raw user and system of the @count threads of one process into the process' own, which stand
 * with the first. */
static void settle_process(struct task_record *threads, size_t count)
{
	struct task_record *first = &threads[0];
	uint64_t user = first->ended_user_ns, system = first->ended_system_ns;
	uint64_t exec = first->ended_exec_ns;

	for (size_t i = 0; i < count; i++) {
		user += threads[i].counters.user_ns;
		system += threads[i].counters.system_ns;
		exec += threads[i].exec_ns;
		threads[i].counters.user_ns = threads[i].counters.system_ns = 0;
	}
	split_time(user, system, exec, first->said_user_ns, first->said_system_ns,
		   &first->counters);
}

static void take_off_base(struct task_record *task)
{
	uint64_t *now = (uint64_t *)&task->counters;
	const uint64_t *base = (const uint64_t *)&task->base;

	for (size_t i = 0; i < TASK_COUNTERS; i++)
		now[i] -= MIN(now[i], base[i]);
}

static bool is_live(const struct task_record *tasks, size_t count, uint32_t pid)
{
	for (size_t i = 0; i < count; i++) {
		if (tasks[i].pid == pid)
			return true;
	}
	return false;
}

/* Tasks that ended, and that neither the iterator shows (any more) nor the totals hold (yet). */
static void collect_leaving_tasks(const struct object_map *map, const struct task_record *live, size_t count,
				  struct reading *to)
{
	uint32_t room = map->form.entries, found = room, position;
	_cleanup_free_ struct leaving_task *tasks = calloc(room, sizeof(*tasks));
	_cleanup_free_ uint64_t *keys = calloc(room, sizeof(*keys));

	if (!tasks || !keys)
		return;
	/* In one call: a walk from key to key begins anew where a key has gone meanwhile, and tasks go
	 * all the time.  -ENOENT: that was all of them. */
	if (bpf_map_lookup_batch(map->fd, NULL, &position, keys, tasks,
				 &found, NULL) < 0 && errno != ENOENT)
		return;
	for (uint32_t i = 0; i < found; i++) {
		if (!is_live(live, count, tasks[i].pid))
			task_metrics_add(to->values, &tasks[i].counters);
	}
}

static int collect_live_tasks(const struct objects *objects, struct reading *to)
{
	const struct object_map *leaving = objects_find_map(objects, OBJECT_TASKS, "leaving_tasks");
	_cleanup_free_ struct task_record *tasks = NULL;
	size_t count = 0, end;
	int r;

	r = read_live_tasks(objects, &tasks, &count);
	if (r < 0)
		return r;
	if (leaving)
		collect_leaving_tasks(leaving, tasks, count, to);
	if (count)
		qsort(tasks, count, sizeof(*tasks), compare_tasks);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && tasks[end].tgid == tasks[i].tgid; end++)
			;
		settle_process(&tasks[i], end - i);
	}
	for (size_t i = 0; i < count; i++) {
		take_off_base(&tasks[i]);
		task_metrics_add(to->values, &tasks[i].counters);
	}
	return 0;
}

int collect_tasks(const struct objects *objects, struct reading *to)
{
	struct sums sums;
	int r;

	/* The totals before the others: a task that is freed between is missed this time, and not
	 * counted twice. */
	sum_totals(objects, &sums);
	r = collect_live_tasks(objects, to);
	if (r < 0 && r != -ENOENT)
		return r;
	task_metrics_add(to->values, &sums.ended);
	reading_add(to, METRIC_TASKS_ENDED, sums.frees);
	if (sums.process_peak_pages)
		reading_set(to, METRIC_MEMORY_PROCESS_PEAK,
			    sums.process_peak_pages * (uint64_t)sysconf(_SC_PAGESIZE));
	return 0;
}
