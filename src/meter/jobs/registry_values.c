/* SPDX-License-Identifier: MIT */
/* How numbers of cgroups become those of jobs. */
#include <string.h>
#include <unistd.h>

#include "jobs/registry_internal.h"
#include "counters/task_metrics.h"
#include "counters/task_sums.h"

void value_add(struct value *to, enum metric_id id, uint64_t number)
{
	to[id] = (struct value){ to[id].number + number, true };
}

static void value_raise(struct value *to, const struct value *least)
{
	if (least->is_known && (!to->is_known || to->number < least->number))
		*to = *least;
}

static bool is_sum(enum metric_kind kind)
{
	return kind == KIND_COUNTER || kind == KIND_GAUGE;
}

void values_add(struct value *to, const struct value *from)
{
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		if (!from[i].is_known)
			continue;
		if (is_sum(metric_get((enum metric_id)i)->kind))
			value_add(to, (enum metric_id)i, from[i].number);
		else
			value_raise(&to[i], &from[i]);
	}
}

void values_raise(struct value *to, const struct value *least)
{
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		enum metric_kind kind = metric_get((enum metric_id)i)->kind;

		if (kind == KIND_COUNTER || kind == KIND_PEAK)
			value_raise(&to[i], &least[i]);
	}
}

static void values_add_tasks(struct value *to, const struct cgroup_tasks *tasks)
{
	const struct value peak = { tasks->process_peak_pages * (uint64_t)sysconf(_SC_PAGESIZE),
				    tasks->process_peak_pages > 0 };

	task_metrics_add(to, &tasks->counters);
	value_add(to, METRIC_TASKS_ENDED, tasks->ended);
	value_add(to, METRIC_TASKS_CRASHED, tasks->crashed);
	value_raise(&to[METRIC_MEMORY_PROCESS_PEAK], &peak);
}

bool registry_is_managers(const struct registry_job *j, const struct registry_step *step,
			  uint32_t rank, const struct cgroup_tasks *tasks)
{
	return strcmp(j->facts->manager, "slurm") == 0 && step && rank == RANK_NONE &&
	       j->facts->uid > 0 && tasks->uid == UINT32_MAX;
}

void registry_add_tasks(const struct registry *r, struct value *to,
			const struct cgroup_tasks *tasks, bool is_managers)
{
	static const struct task_times no_times;

	if (registry_has(r, COUNTED_TASKS))
		values_add_tasks(to, tasks);
	if (registry_has(r, COUNTED_TIMES))
		task_times_add(to, is_managers ? &no_times : &tasks->times);
	if (registry_has(r, COUNTED_LOOKS))
		polls_add(to, &tasks->polls, registry_has(r, COUNTED_SPINNING));
}

void registry_busiest_threads_add_group(struct busiest_threads *to, const struct registry *r,
					const struct registry_group *g)
{
	if (g->task)
		busiest_threads_raise(to, &r->tasks[g->task - 1].busiest);
}
