/* SPDX-License-Identifier: MIT */
/* children - without BPF: usage from wait() and proc of the children that the calling process
 * has waited for. */
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
/* Raise the values of @to to those of the children. */
void raise_to_children(const struct children_usage *before, struct reading *to);
