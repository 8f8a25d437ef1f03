/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "cleanup.h"
#include "collectors.h"
#include "macro.h"
#include "tallies.h"
#include "task_metrics.h"
#include "tasks.h"

int collect_tasks(const struct objects *objects, struct reading *to)
{
	static const struct task_counters nothing; /* no task so far is not unknown */
	_cleanup_(tallies_clear) struct tallies tallies = {};
	uint64_t ended = 0, peak_pages = 0;
	int r = tallies_read(objects, &tallies);

	if (r < 0)
		return r;
	task_metrics_add(to->values, &nothing);
	for (size_t i = 0; i < tallies.count; i++) {
		task_metrics_add(to->values, &tallies.items[i].counters);
		ended += tallies.items[i].ended;
		peak_pages = MAX(peak_pages, tallies.items[i].process_peak_pages);
	}
	reading_add(to, METRIC_TASKS_ENDED, ended);
	if (peak_pages)
		reading_set(to, METRIC_MEMORY_PROCESS_PEAK,
			    peak_pages * (uint64_t)sysconf(_SC_PAGESIZE));
	return 0;
}
