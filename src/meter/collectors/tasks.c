/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "cleanup.h"
#include "collectors.h"
#include "macro.h"
#include "tallies.h"
#include "task_metrics.h"
#include "tasks.h"
#include "teams.h"

static void add_totals(const struct tallies *tallies, struct reading *to)
{
	static const struct task_counters nothing; /* no task so far is not unknown */
	uint64_t ended = 0, crashed = 0, peak_pages = 0;

	task_metrics_add(to->values, &nothing);
	for (size_t i = 0; i < tallies->count; i++) {
		task_metrics_add(to->values, &tallies->items[i].counters);
		ended += tallies->items[i].ended;
		crashed += tallies->items[i].crashed;
		peak_pages = MAX(peak_pages, tallies->items[i].process_peak_pages);
	}
	reading_add(to, METRIC_TASKS_ENDED, ended);
	reading_add(to, METRIC_TASKS_CRASHED, crashed);
	if (peak_pages)
		reading_set(to, METRIC_MEMORY_PROCESS_PEAK,
			    peak_pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void add_times(const struct tallies *tallies, struct reading *to)
{
	static const struct task_times nothing;

	task_times_add(to->values, &nothing);
	for (size_t i = 0; i < tallies->count; i++)
		task_times_add(to->values, &tallies->items[i].times);
}

static void add_looks(const struct tallies *tallies, struct reading *to)
{
	static const struct looks nothing;

	looks_add(to->values, &nothing);
	for (size_t i = 0; i < tallies->count; i++)
		looks_add(to->values, &tallies->items[i].looks);
}

static void add_network(const struct tallies *tallies, bool has_connections, struct reading *to)
{
	to->network.is_known = true;
	to->network.has_connections = to->network.has_details = has_connections;
	for (size_t i = 0; i < tallies->count; i++)
		network_add(&to->network, &tallies->items[i].network);
}

static struct threads busiest_threads(const struct tallies *tallies)
{
	struct thread_team team = {};

	for (size_t i = 0; i < tallies->count; i++)
		thread_team_raise(&team, &tallies->items[i].team);
	return threads_of_sum(team.count, team.sum_ns, team.greatest_ns);
}

int collect_tasks(const struct objects *objects, struct tasks_known known, struct reading *to,
		  struct threads *ret_threads)
{
	_cleanup_(tallies_clear) struct tallies tallies = {};
	int r = tallies_read(objects, 0, NULL, &tallies);

	if (r < 0)
		return r;
	if (known.has_totals)
		add_totals(&tallies, to);
	*ret_threads = known.has_totals ? busiest_threads(&tallies) : (struct threads){};
	if (known.has_times)
		add_times(&tallies, to);
	if (known.has_looks)
		add_looks(&tallies, to);
	if (known.has_network)
		add_network(&tallies, known.has_connections, to);
	return 0;
}
