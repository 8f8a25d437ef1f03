/* SPDX-License-Identifier: MIT */
#include "task_metrics.h"

#include "macro.h"

#define COUNTER(member) (offsetof(struct task_counters, member) / sizeof(uint64_t))

/* clang-format off */
static const struct {
	size_t counter;
	enum metric_id metric;
} fields[] = {
	{ COUNTER(user_ns),              METRIC_CPU_USER },
	{ COUNTER(system_ns),            METRIC_CPU_SYSTEM },
	{ COUNTER(run_delay_ns),         METRIC_CPU_RUN_QUEUE },
	{ COUNTER(voluntary_switches),   METRIC_CPU_VOLUNTARY_SWITCHES },
	{ COUNTER(involuntary_switches), METRIC_CPU_INVOLUNTARY_SWITCHES },
	{ COUNTER(minor_faults),         METRIC_MEMORY_MINOR_FAULTS },
	{ COUNTER(major_faults),         METRIC_MEMORY_MAJOR_FAULTS },
	{ COUNTER(rchar),                METRIC_IO_CHARS_READ },
	{ COUNTER(wchar),                METRIC_IO_CHARS_WRITTEN },
	{ COUNTER(syscr),                METRIC_IO_CALLS_READ },
	{ COUNTER(syscw),                METRIC_IO_CALLS_WRITTEN },
	{ COUNTER(read_bytes),           METRIC_IO_STORAGE_READ },
	{ COUNTER(write_bytes),          METRIC_IO_STORAGE_WRITTEN },
};
/* clang-format on */

void task_metrics_add(struct value values[METRIC_JOB_COUNT], const struct task_counters *from)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct value *value = &values[fields[i].metric];

		value->number += ((const uint64_t *)from)[fields[i].counter];
		value->is_known = true;
	}
}
