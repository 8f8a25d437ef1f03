/* SPDX-License-Identifier: MIT */
/* children - without BPF: what wait() and proc give the calling process of the children that it
 * waited for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/reading.h"

/* What was before: collect_children() gives the difference. */
struct children_usage {
	uint64_t before[METRIC_JOB_COUNT];
	bool has_io;
};
void children_usage_begin(int root_fd, struct children_usage *ret);
void collect_children(int root_fd, const struct children_usage *before, struct reading *to);

/* Is it one of the numbers that collect_children() can give? */
bool children_know(enum metric_id metric);

/* CPU time in ns of the children that were waited for. */
uint64_t children_cpu_ns(const struct children_usage *before);
/* Raise what @to knows to what the children are known to have used. */
void raise_to_children(const struct children_usage *before, struct reading *to);
