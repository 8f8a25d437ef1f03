/* SPDX-License-Identifier: MIT */
/* task_metrics - maps the counters, wait times and polls of tasks to metrics. */
#pragma once

#include "bpf/tasks.h"
#include "model/reading.h"
#include "bpf/task_times.h"

/* Add the counters to the values, which are known from then on. */
void task_metrics_add(struct value values[METRIC_JOB_COUNT], const struct task_counters *from);
/* The same for time by cause. */
void task_times_add(struct value values[METRIC_JOB_COUNT], const struct task_times *from);
/* And for polls; @is_sampled: how long tasks spun is known. */
void polls_add(struct value values[METRIC_JOB_COUNT], const struct polls *from, bool is_sampled);
