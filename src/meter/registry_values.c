/* SPDX-License-Identifier: MIT */
/* How numbers of leaves become those of jobs. */
#include <unistd.h>

#include "macro.h"
#include "registry_parts.h"
#include "task_metrics.h"

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

void values_add_tasks(struct value *to, const struct leaf_tasks *tasks)
{
	const struct value peak = { tasks->process_peak_pages * (uint64_t)sysconf(_SC_PAGESIZE),
				    tasks->process_peak_pages > 0 };

	task_metrics_add(to, &tasks->counters);
	value_add(to, METRIC_TASKS_ENDED, tasks->ended);
	value_raise(&to[METRIC_MEMORY_PROCESS_PEAK], &peak);
}
