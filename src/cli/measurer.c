/* SPDX-License-Identifier: MIT */
#include "measurer.h"

#include <errno.h>
#include <inttypes.h>

#include "child.h"
#include "collectors/collectors.h"
#include "record.h"

#define CPU_SLACK_NS 10000000 /* ticks */

void measurer_freep(struct measurer **m)
{
	if (*m)
		(*m)->free(*m);
}

bool measurer_is_short(const struct child *child, const struct children_usage *usage,
		       const struct record *record)
{
	const struct value *values = record->reading.values;
	uint64_t counted = values[METRIC_CPU_USER].number + values[METRIC_CPU_SYSTEM].number;
	uint64_t waited = children_cpu_ns(usage);

	return counted + child->overhead_ns + waited / 100 + CPU_SLACK_NS < waited;
}

int measurer_note_syscalls(uint64_t open, struct record *record)
{
	int r = 0;

	if (record->syscalls.is_known && !strings_contain(&record->coverage.tiers, "T3"))
		r = strings_add(&record->coverage.tiers, "T3");
	if (r >= 0 && open)
		r = strings_add(&record->coverage.notes,
				"%" PRIu64 " system call%s that went on at the end %s not counted", open,
				   open == 1 ? "" : "s", open == 1 ? "is" : "are");
	return r;
}

int measurer_note_children(struct record *record)
{
	int r = strings_add(&record->coverage.tiers, "children");

	if (r >= 0)
		r = strings_add(&record->coverage.notes,
				"lower bound: processes that nobody waited for, if there were any, "
				"are not in CPU time "
				"and I/O");
	return r;
}
