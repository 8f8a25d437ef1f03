/* SPDX-License-Identifier: MIT */
#include "counters/task_metrics.h"

#include "model/cause.h"
#include "basic/macro.h"

struct field {
	size_t counter;
	enum metric_id metric;
};

#define COUNTER(member) (offsetof(struct task_counters, member) / sizeof(uint64_t))

/* clang-format off */
static const struct field fields[] = {
	{ COUNTER(user_ns),              METRIC_CPU_USER },
	{ COUNTER(system_ns),            METRIC_CPU_SYSTEM },
	{ COUNTER(run_delay_ns),         METRIC_CPU_RUN_QUEUE },
	{ COUNTER(voluntary_switches),   METRIC_CPU_VOLUNTARY_SWITCHES },
	{ COUNTER(involuntary_switches), METRIC_CPU_INVOLUNTARY_SWITCHES },
	{ COUNTER(migrations),           METRIC_CPU_MIGRATIONS },
	{ COUNTER(minor_faults),         METRIC_MEMORY_MINOR_FAULTS },
	{ COUNTER(major_faults),         METRIC_MEMORY_MAJOR_FAULTS },
	{ COUNTER(rchar),                METRIC_IO_CHARS_READ },
	{ COUNTER(wchar),                METRIC_IO_CHARS_WRITTEN },
	{ COUNTER(syscr),                METRIC_IO_CALLS_READ },
	{ COUNTER(syscw),                METRIC_IO_CALLS_WRITTEN },
	{ COUNTER(read_bytes),           METRIC_IO_STORAGE_READ },
	{ COUNTER(write_bytes),          METRIC_IO_STORAGE_WRITTEN },
};

#define POLLS(member) (offsetof(struct polls, member) / sizeof(uint64_t))

static const struct field look_fields[] = {
	{ POLLS(polls),  METRIC_CPU_EMPTY_POLLS },
	{ POLLS(yields), METRIC_CPU_YIELDS },
	{ POLLS(ns),     METRIC_CPU_POLLING },
};
/* clang-format on */

static void add_fields(struct value values[METRIC_JOB_COUNT], const struct field *from,
		       size_t count, const uint64_t *counters)
{
	for (size_t i = 0; i < count; i++) {
		struct value *value = &values[from[i].metric];

		value->number += counters[from[i].counter];
		value->is_known = true;
	}
}

void task_metrics_add(struct value values[METRIC_JOB_COUNT], const struct task_counters *from)
{
	add_fields(values, fields, ARRAY_SIZE(fields), (const uint64_t *)from);
}

void task_times_add(struct value values[METRIC_JOB_COUNT], const struct task_times *from)
{
	const uint64_t *blocked = (const uint64_t *)&from->blocked;
	struct value *stolen = &values[METRIC_CPU_STOLEN];

	stolen->number += from->stolen;
	stolen->is_known = true;
	for (size_t cause = 0; cause < CAUSE_COUNT; cause++) {
		struct value *value = &values[cause_metric((enum cause)cause)];

		value->number += blocked[cause];
		value->is_known = true;
	}
}

void polls_add(struct value values[METRIC_JOB_COUNT], const struct polls *from, bool is_sampled)
{
	add_fields(values, look_fields, ARRAY_SIZE(look_fields) - !is_sampled,
		   (const uint64_t *)from);
}
