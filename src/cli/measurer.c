/* SPDX-License-Identifier: MIT */
#include "measurer.h"

#include <errno.h>

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
