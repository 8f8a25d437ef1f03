/* SPDX-License-Identifier: MIT */
#include "lived.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "bpf/lost.h"
#include "basic/macro.h"
#include "load/meter.h"
#include "bpf/task_times.h"
#include "bpf/tasks.h"
#include "load/entries.h"
#include "worker.h"

#define TRIES_MAX                                                                              \
	50 /* of 1 ms: the worker answers a moment before it sleeps, and only then its wait is \
	      counted */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void add_times(struct look *look, const struct task_times *times)
{
	const uint64_t *blocked = (const uint64_t *)&times->blocked;

	look->on_ns += times->on;
	look->all_ns += times->on + times->stolen + times->queued;
	for (int i = 0; i < TIME_CAUSES; i++)
		look->all_ns += blocked[i];
}

int look_take(const struct meter *m, struct look *ret, struct error *err)
{
	const struct objects *o = meter_objects(m);
	_cleanup_(entries_end) struct entries e = objects_entries(o, OBJECT_TIME, "task_times");
	int r;

	*ret = (struct look){ .earliest_ns = now_ns() };
	r = objects_iterate(o, "charge_tasks");
	ret->latest_ns = now_ns();
	while (e.fd >= 0 && r >= 0 && (r = entries_next(&e)) > 0)
		add_times(ret, e.value);
	return r < 0 ? error_set_errno(err, r, "cannot read T1's times") : 0;
}

struct bounds {
	uint64_t least_ns, most_ns, on_ns;
};

/* The worker's first thread lives all the time; the others' lives it knows. */
static struct bounds bounds_between(const struct look *then, const struct look *now,
				    const struct deeds *before, const struct deeds *after)
{
	uint64_t least = now->earliest_ns - then->latest_ns + after->least_ns - before->least_ns;
	uint64_t most = now->latest_ns - then->earliest_ns + after->most_ns - before->most_ns;

	return (struct bounds){ least - least / 100, most + most / 100,
				(after->cpu_ns - before->cpu_ns) / 100 * 99 };
}

int lived_check(const struct meter *m, const struct look *then, const struct deeds *before,
		const struct worker *w, struct error *err)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const struct deeds after = worker_deeds(w);
	struct bounds bounds = {};
	uint64_t all = 0, on = 0;

	if (!meter_has_tier(m, METER_T1))
		return error_set(err, -ENODEV, "T1 is off");
	for (int i = 0; i < TRIES_MAX; i++) {
		struct look now;
		int r = look_take(m, &now, err);

		if (r < 0)
			return r;
		all = now.all_ns - then->all_ns;
		on = now.on_ns - then->on_ns;
		bounds = bounds_between(then, &now, before, &after);
		if (all >= bounds.least_ns && on >= bounds.on_ns)
			break;
		nanosleep(&pause, NULL);
	}
	if (all < bounds.least_ns || all > bounds.most_ns || on < bounds.on_ns || on > all ||
	    meter_lost(m, LOST_TIME) || meter_lost(m, LOST_TASK_STATE))
		return error_set(err, -ERANGE,
				 "T1 found %" PRIu64 " ns, not %" PRIu64 " to %" PRIu64
				 ", and %" PRIu64 " on a CPU, not %" PRIu64 " or more",
				 all, bounds.least_ns, bounds.most_ns, on, bounds.on_ns);
	return 0;
}
